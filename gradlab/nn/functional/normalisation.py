"""Mean 0 and variance 1, or length 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradlab.dtypes import float16, float32
from gradlab.nn.functional.losses import without_gradient
from gradlab.operators import neural, reduction, shape
from gradlab.operators._sums import average, variance, wide


def layer_norm(
    input: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Mean 0 and variance 1 over the last dims, then times weight plus bias.

    J. L. Ba, J. R. Kiros and G. E. Hinton, Layer normalization (2016).

    >>> import gradlab
    >>> gradlab.nn.functional.layer_norm(gradlab.tensor([[1.0, 3.0]]), (2,))
    tensor([[-1.0000,  1.0000]])
    """
    if not isinstance(normalized_shape, (tuple, list)):
        kind = type(normalized_shape).__name__
        raise TypeError(f"layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not {kind}")
    wanted = tuple(normalized_shape)
    if not wanted or tuple(input.shape[-len(wanted) :]) != wanted:
        raise RuntimeError(
            f"Given normalized_shape={list(wanted)}, expected input with shape [*, "
            f"{', '.join(map(str, wanted))}], but got input of size {list(input.shape)}"
        )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and tuple(value.shape) != wanted:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {list(value.shape)} and "
                f"{list(wanted)}"
            )
    _check_dtypes(input, weight, bias)
    return neural.layer_norm(input, wanted, weight, bias, eps)[0]


def _check_dtypes(input: Any, *parameters: Any) -> None:
    """Parameters are of the input's dtype; those of a float16 input may be float32."""
    allowed = {input.dtype, float32} if input.dtype is float16 else {input.dtype}
    for value in parameters:
        if value is not None and value.dtype not in allowed and input.is_floating_point():
            raise RuntimeError(
                f"mixed dtype (CPU): expect parameter to have scalar type of {input.dtype}, but it is {value.dtype}: convert one "
                "of them with .to(dtype)"
            )


def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Mean 0 and variance 1 per channel, over the batch (training, which moves the running ones) or by the running ones.

    S. Ioffe and C. Szegedy, Batch normalization (2015).

    >>> import gradlab
    >>> gradlab.nn.functional.batch_norm(gradlab.tensor([[1.0], [3.0]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    per_channel = input.numel() // input.shape[1] if input.ndim > 1 and input.shape[1] else input.numel()
    if training and per_channel == 1 and input.ndim > 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    if not input.ndim and training:
        raise IndexError("tuple index out of range: batch_norm takes a batch of channels")
    if eps < 0 or (training and not eps):
        raise ValueError(f"batch_norm eps must be {'positive during training' if training else 'non-negative'}, but got {eps}")
    channels = input.shape[1] if input.ndim > 1 else 0
    without_gradient("native_batch_norm", running_mean=running_mean, running_var=running_var)
    for name, value in (
        ("running_mean", running_mean),
        ("running_var", running_var),
        ("weight", weight),
        ("bias", bias),
    ):
        if value is not None and value.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {value.numel()}")
    _check_dtypes(input, weight, bias, running_mean, running_var)
    if training and (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if not training and (running_mean is None or running_var is None):
        raise RuntimeError("running_mean and running_var must be defined in evaluation mode")
    if not input.numel():
        out = shape.copied(input)
        out = out if weight is None else out * weight[0]
        return out if bias is None else out + bias[0]
    if input.ndim < 2:
        raise IndexError(f"Dimension out of range: batch_norm takes a batch of channels, got shape {list(input.shape)}")
    if training and running_mean is not None:
        _move_statistics(input, running_mean, running_var, momentum)
    return neural.batch_norm(input, weight, bias, running_mean, running_var, training, eps)[0]


def _move_statistics(input: Any, running_mean: Any, running_var: Any, momentum: float) -> None:
    """running = (1 - momentum) * running + momentum * batch; the variance is the unbiased one."""
    dims = (0, *range(2, input.ndim))
    seen = wide(input._array)
    for running, value in ((running_mean._array, average(seen, dims)), (running_var._array, variance(seen, dims, 1))):
        running *= 1 - momentum  # without counting a write: torch's kernel does not either
        running += (momentum * value).astype(running.dtype)


def normalize(input: Any, p: float | None = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Any:
    """`x / max(norm(x), eps)` along a dim.

    >>> import gradlab
    >>> gradlab.nn.functional.normalize(gradlab.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    if out is not None:
        raise NotImplementedError("normalize(out=...): leave out away.")
    return input / shape.expand_as(reduction.vector_norm(input, 2.0 if p is None else p, dim, True).clamp_min(eps), input)
