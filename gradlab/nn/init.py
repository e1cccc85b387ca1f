"""torch.nn.init's names: first values for parameters. Every function writes in place and returns the tensor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradlab.autograd.grad_mode import no_grad
from gradlab.random import source

_GAINS = {"linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the scale of activations through a nonlinearity.

    >>> import gradlab
    >>> gradlab.nn.init.calculate_gain("relu") ** 2
    2.0000000000000004
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def _fans(tensor: Any) -> tuple[int, int]:
    """How many inputs and outputs each unit has."""
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


_calculate_fan_in_and_fan_out = _fans


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Uniform between a and b.

    >>> import gradlab
    >>> x = gradlab.nn.init.uniform_(gradlab.empty(100), 2, 3)
    >>> bool(((x >= 2) & (x <= 3)).all())
    True
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Normal with a mean and a standard deviation.

    >>> import gradlab
    >>> gradlab.nn.init.normal_(gradlab.empty(2), mean=5.0, std=0.0)
    tensor([5., 5.])
    """
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Any:
    """Normal, drawn again where it falls outside [a, b].

    >>> import gradlab
    >>> x = gradlab.nn.init.trunc_normal_(gradlab.empty(100))
    >>> bool((x.abs() <= 2).all())
    True
    """
    draw = source(generator)
    values = draw.normal(mean, std, tensor._array.shape)
    while (outside := (values < a) | (values > b)).any():
        values[outside] = draw.normal(mean, std, int(outside.sum()))
    return _write(tensor, values)


def _write(tensor: Any, values: np.ndarray) -> Any:
    from gradlab.operators._writing import write

    write(tensor, np.asarray(values, tensor._array.dtype))
    return tensor


def constant_(tensor: Any, val: float) -> Any:
    """One value everywhere.

    >>> import gradlab
    >>> gradlab.nn.init.constant_(gradlab.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Any) -> Any:
    """Ones.

    >>> import gradlab
    >>> gradlab.nn.init.ones_(gradlab.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Any) -> Any:
    """Zeros.

    >>> import gradlab
    >>> gradlab.nn.init.zeros_(gradlab.empty(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


def eye_(tensor: Any) -> Any:
    """The identity, for a matrix.

    >>> import gradlab
    >>> gradlab.nn.init.eye_(gradlab.empty(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _write(tensor, np.eye(*tensor.shape))


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Uniform within gain * sqrt(6 / (fan_in + fan_out)) (X. Glorot and Y. Bengio, 2010).

    >>> import gradlab
    >>> w = gradlab.nn.init.xavier_uniform_(gradlab.empty(2, 4))
    >>> bool((w.abs() <= 1).all())
    True
    """
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Normal with standard deviation gain * sqrt(2 / (fan_in + fan_out)) (X. Glorot and Y. Bengio, 2010).

    >>> import gradlab
    >>> gradlab.nn.init.xavier_normal_(gradlab.empty(2, 4)).shape
    gradlab.Size([2, 4])
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))), generator)


def _scale(tensor: Any, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return calculate_gain(nonlinearity, a) / math.sqrt(_fans(tensor)[mode == "fan_out"])


def kaiming_uniform_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Uniform within gain * sqrt(3 / fan) (K. He et al., 2015).

    >>> import gradlab
    >>> w = gradlab.nn.init.kaiming_uniform_(gradlab.empty(2, 6))
    >>> bool((w.abs() <= 1).all())
    True
    """
    if 0 in tensor.shape:
        return tensor
    bound = math.sqrt(3.0) * _scale(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Normal with standard deviation gain / sqrt(fan) (K. He et al., 2015).

    >>> import gradlab
    >>> gradlab.nn.init.kaiming_normal_(gradlab.empty(2, 6)).shape
    gradlab.Size([2, 6])
    """
    return normal_(tensor, 0.0, _scale(tensor, a, mode, nonlinearity), generator) if 0 not in tensor.shape else tensor


def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Any:
    """Orthogonal rows or columns (A. Saxe et al., 2013).

    >>> import gradlab
    >>> w = gradlab.nn.init.orthogonal_(gradlab.empty(3, 3, dtype=gradlab.float64))
    >>> gradlab.allclose(w @ w.T, gradlab.eye(3, dtype=gradlab.float64))
    True
    """
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    flat = source(generator).standard_normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(flat)
    q = q * np.sign(np.diag(r))
    return _write(tensor, gain * (q.T if rows < columns else q).reshape(tensor.shape))
