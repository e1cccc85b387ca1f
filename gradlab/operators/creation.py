"""New tensors: from data, filled, counted, and random."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradlab import dtypes
from gradlab.devices import device as check_device
from gradlab.engine import TensorBase, make, modes
from gradlab.engine.modes import EXTRAS, notify
from gradlab.operators._arguments import check_listed, sizes
from gradlab.random import source


def finished(array: np.ndarray, requires_grad: bool = False, device: Any = None) -> Any:
    """The array as a new leaf."""
    if device is not None:
        check_device(device)
    tensor = make(array)
    if requires_grad is not False and requires_grad is not None:
        check_requires_grad(requires_grad)
        tensor.requires_grad = True
    notify("new", (), tensor)
    return tensor


def check_requires_grad(wanted: Any) -> None:
    """TypeError for what only counts as true or false."""
    if type(wanted) is not bool:
        raise TypeError(f"argument 'requires_grad' must be bool, not {type(wanted).__name__}")


# -- from data -----------------------------------------------------------------------------------------------------------


def plain(data: Any) -> Any:
    """Nested lists with the tensors in them taken to plain values: one element each, as in torch."""
    if isinstance(data, (list, tuple)):
        return [_element(item) if isinstance(item, TensorBase) else plain(item) for item in data]
    return data._array if isinstance(data, TensorBase) else data


def _element(tensor: Any) -> np.ndarray:
    if tensor._array.size != 1:
        raise ValueError(
            "only one element tensors can be converted to Python scalars. gradlab.stack makes one tensor of several."
        )
    return tensor._array.reshape(())


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Any:
    """A new leaf with a copy of the data: a number, nested lists, a numpy array.

    Floats become the default dtype (float32), a numpy array keeps its own.

    >>> import gradlab
    >>> gradlab.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True).is_leaf
    True
    """
    if isinstance(data, TensorBase):
        import warnings

        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() rather than "
            "torch.tensor(sourceTensor).",
            stacklevel=2,
        )
    check_requires_grad(requires_grad)
    out = finished(dtypes.array_of(plain(data), dtype), requires_grad, device)
    if modes.word == EXTRAS:
        notify("tensor", (data,), out)
    return out


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """The tensor itself, or one on the memory of a numpy array where the dtype allows, or a new one.

    >>> import gradlab
    >>> x = gradlab.ones(2)
    >>> gradlab.as_tensor(x) is x, gradlab.as_tensor([1, 2])
    (True, tensor([1, 2]))
    """
    if isinstance(data, TensorBase):
        return data.to(dtype) if dtype is not None else data
    if isinstance(data, np.ndarray) and (dtype is None or dtypes.to_numpy(dtype) == data.dtype):
        return from_numpy(data)
    return tensor(data, dtype=dtype, device=device)


def from_numpy(array: np.ndarray) -> Any:
    """A tensor on the array's memory: writing to one changes the other.

    >>> import gradlab, numpy
    >>> a = numpy.zeros(2)
    >>> t = gradlab.from_numpy(a)
    >>> a[0] = 5
    >>> t
    tensor([5., 0.], dtype=gradlab.float64)
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    array = np.asarray(array)
    if any(step < 0 for step in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides "
            "are not currently supported. Pass array.copy()."
        )
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte "
            "orders is currently not supported."
        )
    if not array.flags.writeable:
        import warnings

        warnings.warn("The given NumPy array is not writable, and PyTorch does not support non-writable tensors.", stacklevel=2)
    out = make(dtypes.supported(array))
    if modes.word == EXTRAS:
        notify("from_numpy", (array,), out)
    return out


def scalar_tensor(value: Any, *, dtype: Any = None, requires_grad: bool = False) -> Any:
    """A 0-d tensor.

    >>> import gradlab
    >>> gradlab.scalar_tensor(3)
    tensor(3.)
    """
    kind = dtype or dtypes.get_default_dtype()
    return tensor(value, dtype=kind, requires_grad=False if requires_grad is None else requires_grad)


# -- filled ----------------------------------------------------------------------------------------------------------------


def _kind(dtype: Any, fallback: Any = None) -> np.dtype:
    return dtypes.to_numpy(dtype) if dtype is not None else fallback or dtypes.get_default_dtype().numpy


def _shape(size: tuple, named: Any = None) -> tuple[int, ...]:
    shape = sizes(size, named)
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    return shape


def zeros(*shape: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Zeros of a shape, given as `zeros(2, 3)` or `zeros((2, 3))`.

    >>> import gradlab
    >>> gradlab.zeros(2)
    tensor([0., 0.])
    """
    return finished(np.zeros(_shape(shape, size), _kind(dtype)), requires_grad, device)


def ones(*shape: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Ones of a shape.

    >>> import gradlab
    >>> gradlab.ones(2, dtype=gradlab.int64)
    tensor([1, 1])
    """
    return finished(np.ones(_shape(shape, size), _kind(dtype)), requires_grad, device)


def empty(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None) -> Any:
    """A tensor with whatever was in the memory.

    >>> import gradlab
    >>> gradlab.empty(2, 3).shape
    gradlab.Size([2, 3])
    """
    return finished(np.empty(_shape(size), _kind(dtype)), requires_grad, device)


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """One value everywhere; the dtype is the value's.

    >>> import gradlab
    >>> gradlab.full((2,), 7)
    tensor([7, 7])
    """
    value = _number(fill_value)
    return finished(filled(_shape((tuple(size),)), value, _kind(dtype, dtypes.guessed(value))), requires_grad, device)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, (TensorBase, np.generic)) else value


def filled(shape: Any, value: Any, kind: np.dtype) -> np.ndarray:
    """An array with one value everywhere; RuntimeError for a number that its dtype cannot hold."""
    return np.full(shape, value if isinstance(value, np.ndarray) else dtypes.fitted(value, kind), kind)


def _like(made: Any, self: Any, dtype: Any, memory_format: Any = None) -> np.ndarray:
    """An array that numpy makes like another's, in memory in the same order, unless some of its elements share a place."""
    if not isinstance(self, TensorBase):
        raise TypeError(f"argument 'input' must be Tensor, not {type(self).__name__}")
    kept = memory_format in (None, "preserve_format") and 0 not in self._array.strides
    return made(self._array, dtype=_kind(dtype, self._array.dtype), order="K" if kept else "C")


def zeros_like(
    input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None
) -> Any:
    """Zeros of the shape and dtype of another tensor.

    >>> import gradlab
    >>> gradlab.zeros_like(gradlab.tensor([1, 2]))
    tensor([0, 0])
    """
    return finished(_like(np.zeros_like, input, dtype, memory_format), requires_grad, device)


def ones_like(
    input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None
) -> Any:
    """Ones of the shape and dtype of another tensor.

    >>> import gradlab
    >>> gradlab.ones_like(gradlab.tensor([1.5, 2.5]))
    tensor([1., 1.])
    """
    return finished(_like(np.ones_like, input, dtype, memory_format), requires_grad, device)


def empty_like(
    input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None
) -> Any:
    """An uninitialised tensor of the shape and dtype of another.

    >>> import gradlab
    >>> gradlab.empty_like(gradlab.ones(2, 3)).shape
    gradlab.Size([2, 3])
    """
    return finished(_like(np.empty_like, input, dtype, memory_format), requires_grad, device)


def full_like(input: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """One value everywhere, in the shape and dtype of another tensor.

    >>> import gradlab
    >>> gradlab.full_like(gradlab.tensor([1.0, 2.0]), 7)
    tensor([7., 7.])
    """
    out = _like(np.empty_like, input, dtype)
    out[...] = dtypes.fitted(_number(fill_value), out.dtype)
    return finished(out, requires_grad, device)


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Ones on the diagonal, zeros elsewhere.

    >>> import gradlab
    >>> gradlab.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    return finished(np.eye(*_shape((n, n if m is None else m)), dtype=_kind(dtype)), requires_grad, device)


# -- counted ---------------------------------------------------------------------------------------------------------------


def arange(
    start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """From `start` (0) up to but without `end`, by `step`.

    >>> import gradlab
    >>> gradlab.arange(3), gradlab.arange(0, 1, 0.5)
    (tensor([0, 1, 2]), tensor([0.0000, 0.5000]))
    """
    start, end = (0, start) if end is None else (start, end)
    kind = None if dtype is None else dtypes.to_numpy(dtype)
    start, end, step = map(_number, (start, end, step))
    span, pace = end - start, step
    if kind is not None and kind.kind != "f":
        start, step = int(start), int(step)
        span, pace = (int(end) - start, step) if kind == np.int64 else (span, pace)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if span * pace < 0:
        raise RuntimeError(f"upper bound and lower bound inconsistent with step sign: {start}, {end}, {step}")
    whole = all(isinstance(x, int) for x in (start, end, step))
    count = math.ceil(span / pace)
    values = start + step * np.arange(count, dtype=np.int64 if whole else np.float64)
    return finished(values.astype(kind or _kind(None, np.dtype(np.int64) if whole else None)), requires_grad, device)


def linspace(start: float, end: float, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """So many points at equal distances, both ends included.

    >>> import gradlab
    >>> gradlab.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    (start, end), (count,) = map(_number, (start, end)), _shape((steps,))
    return finished(np.linspace(start, end, count).astype(_kind(dtype)), requires_grad, device)


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple:
    """Coordinates of a grid: each vector spread over the dims of the others.

    >>> import gradlab
    >>> x, y = gradlab.meshgrid(gradlab.arange(2), gradlab.arange(3), indexing="ij")
    >>> x.tolist(), y.tolist()
    ([[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 1, 2]])
    """
    from gradlab.operators.shape import expand, view

    tensors = tuple(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    check_listed(tensors)
    swapped = indexing == "xy" and len(tensors) > 1
    ordered = (tensors[1], tensors[0], *tensors[2:]) if swapped else tensors
    shape = [t.numel() for t in ordered]
    grids = [expand(view(t, [-1 if n == d else 1 for n in range(len(shape))]), shape) for d, t in enumerate(ordered)]
    return (grids[1], grids[0], *grids[2:]) if swapped else tuple(grids)


# -- random ------------------------------------------------------------------------------------------------------------------


def _floats(dtype: Any) -> np.dtype:
    kind = _kind(dtype)
    if kind.kind != "f":
        raise RuntimeError(f"random floats have a floating-point dtype, not {kind}")
    return kind


def rand(
    *shape: Any, size: Any = None, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """Uniform on [0, 1).

    >>> import gradlab
    >>> x = gradlab.rand(2, 3)
    >>> x.shape, bool(((x >= 0) & (x < 1)).all())
    (gradlab.Size([2, 3]), True)
    """
    kind = _floats(dtype)
    draw = np.float64 if kind == np.float64 else np.float32
    return finished(source(generator).random(_shape(shape, size), dtype=draw).astype(kind, copy=False), requires_grad, device)


def randn(
    *shape: Any, size: Any = None, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """Normal with mean 0 and standard deviation 1.

    >>> import gradlab
    >>> gradlab.randn(2, 3).shape
    gradlab.Size([2, 3])
    """
    values = source(generator).standard_normal(_shape(shape, size))
    return finished(np.asarray(values, _floats(dtype)), requires_grad, device)


def _drawn(draw: Any, *parameters: Any) -> Any:
    """What numpy draws; parameters out of range are a RuntimeError, as in torch."""
    try:
        return draw(*parameters)
    except ValueError as error:
        raise RuntimeError(f"{draw.__name__}: {error}") from None


def randint(
    low: int,
    high: Any = None,
    size: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Whole numbers from `low` (0) up to but without `high`: `randint(10, (2,))` or `randint(1, 7, (2,))`.

    >>> import gradlab
    >>> x = gradlab.randint(1, 7, (100,))
    >>> x.dtype, bool(((x >= 1) & (x <= 6)).all())
    (gradlab.int64, True)
    """
    if size is None:
        low, high, size = 0, low, high
    values = _drawn(source(generator).integers, low, high, _shape((tuple(size),)))
    return finished(np.asarray(values, _kind(dtype, np.dtype(np.int64))), requires_grad, device)


def randperm(n: int, *, generator: Any = None, dtype: Any = None, device: Any = None) -> Any:
    """The numbers 0 to n - 1 in random order.

    >>> import gradlab
    >>> gradlab.randperm(4).sort().values
    tensor([0, 1, 2, 3])
    """
    return finished(source(generator).permutation(*_shape((n,))).astype(_kind(dtype, np.dtype(np.int64))), False, device)


def rand_like(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Uniform on [0, 1), in the shape of another tensor.

    >>> import gradlab
    >>> gradlab.rand_like(gradlab.ones(2, 3)).shape
    gradlab.Size([2, 3])
    """
    return finished(empty_like(input, dtype=dtype).uniform_()._array, requires_grad, device)


def randn_like(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Normal numbers in the shape of another tensor.

    >>> import gradlab
    >>> gradlab.randn_like(gradlab.ones(2, 3)).shape
    gradlab.Size([2, 3])
    """
    return finished(empty_like(input, dtype=dtype).normal_()._array, requires_grad, device)


def randint_like(input: Any, low: int, high: Any = None, *, dtype: Any = None, device: Any = None) -> Any:
    """Whole numbers in the shape and dtype of another tensor.

    >>> import gradlab
    >>> gradlab.randint_like(gradlab.ones(2), 5, 6)
    tensor([5., 5.])
    """
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, tuple(input.shape), dtype=dtype or input.dtype, device=device)


def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None) -> Any:
    """Normal numbers with the given mean and standard deviation (numbers or tensors).

    >>> import gradlab
    >>> gradlab.normal(gradlab.tensor([1.0, 100.0]), 0.0)
    tensor([  1., 100.])
    """
    mean_, std_ = [x._array if isinstance(x, TensorBase) else x for x in (mean, std)]
    values = _drawn(source(generator).normal, mean_, std_, None if size is None else _shape((size,)))
    kinds = [x._array.dtype for x in (mean, std) if isinstance(x, TensorBase)]
    out = make(np.asarray(values, kinds[0] if kinds else dtypes.get_default_dtype().numpy))
    notify("normal", (mean, std), out)
    return out


def bernoulli(input: Any, *, generator: Any = None) -> Any:
    """1 with the probability that the element says, else 0.

    >>> import gradlab
    >>> gradlab.bernoulli(gradlab.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    array = input._array
    if array.size and not (array.min() >= 0 and array.max() <= 1):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1: bernoulli takes probabilities")
    out = make((source(generator).random(array.shape) < array).astype(array.dtype))
    notify("bernoulli", (input,), out)
    return out


def multinomial(input: Any, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Any:
    """Indices drawn by weight, from a vector of weights or from each row of a matrix.

    >>> import gradlab
    >>> gradlab.multinomial(gradlab.tensor([0.0, 1.0, 0.0]), 2, replacement=True)
    tensor([1, 1])
    """
    rows = input._array if input.ndim == 2 else input._array[None]
    draws = [
        _drawn(source(generator).choice, len(row), num_samples, replacement, row.astype(float) / row.sum(dtype=float))
        for row in rows
    ]
    out = make(np.array(draws, np.int64) if input.ndim == 2 else draws[0].astype(np.int64))
    notify("multinomial", (input, num_samples), out)
    return out
