"""Losses, and the similarity of vectors."""

from __future__ import annotations

import math
import warnings
from typing import Any

from gradlab import dtypes
from gradlab.autograd.grad_mode import no_grad
from gradlab.engine import modes
from gradlab.operators import neural, pointwise, reduction, shape

INT64 = dtypes.int64.numpy


def _reduction(reduction: str, size_average: Any = None, reduce: Any = None, level: int = 4) -> str:
    if size_average is not None or reduce is not None:
        warnings.warn(
            "size_average and reduce args will be deprecated, please use reduction instead.", stacklevel=level
        )
        average = size_average is None or size_average
        reduction = "none" if reduce is False else "mean" if average else "sum"
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def _same_shapes(input: Any, target: Any) -> tuple:
    """Both broadcast to one shape; shapes that differ get torch's warning."""
    if input.shape != target.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely lead to "
            "incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=4,  # who called the public function
        )
        return shape.broadcast_tensors(input, target)
    return input, target


def without_gradient(function: str, **tensors: Any) -> None:
    """RuntimeError for a tensor that wants a gradient where there is none."""
    for name, value in tensors.items():
        if value is not None and value.requires_grad and modes.grad:
            raise RuntimeError(
                f"The function '{function}' is not differentiable with respect to argument '{name}'. This input cannot have "
                "requires_grad True: pass it detached."
            )


def _reduce(loss: Any, how: str) -> Any:
    return loss if how == "none" else loss.sum() if how == "sum" else loss.mean()


def mse_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None
) -> Any:
    """The mean (or sum, or each) of `(input - target) ** 2`.

    >>> import gradlab
    >>> gradlab.nn.functional.mse_loss(gradlab.tensor([1.0, 3.0]), gradlab.tensor([0.0, 0.0]))
    tensor(5.)
    """
    _check_weight(weight, input)
    input, target = _same_shapes(input, target)
    how = _reduction(reduction, size_average, reduce)
    if weight is not None:
        return _weighted_mean(neural.mse_loss(input, target, "none", 0) * weight, weight, how)
    return neural.mse_loss(input, target, how, 0)


def _check_weight(weight: Any, input: Any) -> None:
    if weight is not None and weight.shape != input.shape:
        raise ValueError(f"Weights and input must have the same size, got {list(weight.shape)} and {list(input.shape)}")


def _weighted_mean(loss: Any, weight: Any, how: str) -> Any:
    return loss.sum() / weight.sum() if how == "mean" else _reduce(loss, how)


def l1_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None
) -> Any:
    """The mean (or sum, or each) of `|input - target|`.

    >>> import gradlab
    >>> gradlab.nn.functional.l1_loss(gradlab.tensor([1.0, 3.0]), gradlab.tensor([0.0, 0.0]))
    tensor(2.)
    """
    _check_weight(weight, input)
    input, target = _same_shapes(input, target)
    how = _reduction(reduction, size_average, reduce)
    loss = (input - target).abs()
    return _reduce(loss, how) if weight is None else _weighted_mean(loss * weight, weight, how)


def smooth_l1_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
) -> Any:
    """`|d| - beta / 2`, or `d ** 2 / (2 * beta)` where the difference d is below beta.

    >>> import gradlab
    >>> gradlab.nn.functional.smooth_l1_loss(gradlab.tensor([1.0, 3.0]), gradlab.tensor([0.0, 0.0]))
    tensor(1.5000)
    """
    input, target = _same_shapes(input, target)
    how = _reduction(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return _reduce((input - target).abs(), how) if beta == 0 else neural.smooth_l1_loss(input, target, how, beta)


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Any:
    """`d ** 2 / 2`, or `delta * (|d| - delta / 2)` where the difference d is above delta.

    >>> import gradlab
    >>> gradlab.nn.functional.huber_loss(gradlab.tensor([1.0, 3.0]), gradlab.tensor([0.0, 0.0]), delta=2.0)
    tensor(2.2500)
    """
    _check_weight(weight, input)
    input, target = _same_shapes(input, target)
    if not input.is_floating_point() and target.is_floating_point():
        raise RuntimeError(f"result type {target.dtype} can't be cast to {input.dtype}: convert the input with .float()")
    target = target.to(input.dtype)  # the loss is of the input's dtype
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if weight is not None:
        return _reduce(neural.huber_loss(input, target, "none", delta) * weight, _reduction(reduction))
    return neural.huber_loss(input, target, _reduction(reduction), delta)


def binary_cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """`-(t * log(p) + (1 - t) * log(1 - p))` of probabilities p; the logarithms are held above -100.

    >>> import gradlab
    >>> gradlab.nn.functional.binary_cross_entropy(gradlab.tensor([0.5, 0.8]), gradlab.tensor([0.0, 1.0]))
    tensor(0.4581)
    """
    how = _reduction(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. Please "
            "ensure they have the same size."
        )
    without_gradient("binary_cross_entropy", weight=weight)
    return neural.binary_cross_entropy(input, target, None if weight is None else shape.expand_as(weight, input), how)


def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Any:
    """`binary_cross_entropy(sigmoid(input), target)`, without overflow.

    >>> import gradlab
    >>> gradlab.nn.functional.binary_cross_entropy_with_logits(gradlab.tensor([0.0, 2.0]), gradlab.tensor([0.0, 1.0]))
    tensor(0.4100)
    """
    how = _reduction(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    without_gradient("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    return neural.binary_cross_entropy_with_logits(input, target, weight, pos_weight, how)


def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """Minus the log-probability of each target class, averaged by class weight; (N, C) or (N, C, ...) inputs.

    >>> import gradlab
    >>> logs = gradlab.log(gradlab.tensor([[0.5, 0.5], [0.2, 0.8]]))
    >>> gradlab.nn.functional.nll_loss(logs, gradlab.tensor([0, 1]))
    tensor(0.4581)
    """
    return _nll(input, target, weight, ignore_index, _reduction(reduction, size_average, reduce))


def _nll(input: Any, target: Any, weight: Any, ignore_index: int, how: str) -> Any:
    size, found = input._array.shape, target._array.shape
    if len(size) == len(found) == 1:
        if found != (1,):
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {found[0]}")
        target, found = shape.reshape(target, ()), ()
    if len(size) != 2 or found != size[:1] or target._array.dtype != INT64 or weight is not None:
        _check_classes(input, target, weight)
    if len(size) < 3:
        return neural.nll_rows(input, target, weight, how, ignore_index)[0]
    return _nll_planes(input, target, weight, how, ignore_index)


def _check_classes(input: Any, target: Any, weight: Any) -> None:
    """A class index for every row, pixel, ..., and a weight for every class, which gets no gradient."""
    size, found = input._array.shape, target._array.shape
    ndim = len(size)
    without_gradient("nll_loss2d_forward" if ndim > 2 else "nll_loss_forward", weight=weight)
    if ndim != 1 and (not ndim or size[:1] != found[:1]):
        raise ValueError(
            f"Expected 1 or more dimensions, and input batch_size ({size[:1]}) to match target batch_size ({found[:1]}); got the "
            f"shapes {list(size)} and {list(found)}"
        )
    if len(found) != ndim - 1 and not (ndim == 1 and not found):
        raise RuntimeError(f"Expected target of {ndim - 1} dims (one less than the input), got shape {list(found)}")
    if target.dtype not in (dtypes.int64, dtypes.uint8):
        raise RuntimeError(f"expected scalar type Long but found {target.dtype}: nll_loss takes class indices")
    if size[2:] != found[1:]:
        raise RuntimeError(f"Expected a target for each of {list(size[2:])} places, got shapes {list(size)} and {list(found)}")
    classes = size[int(ndim > 1)]
    if weight is not None and weight._array.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight "
            f"tensor of shape: {list(weight.shape)}"
        )
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype} but found {weight.dtype}: use weight.to(input.dtype)")


def _nll_planes(input: Any, target: Any, weight: Any, how: str, ignore_index: int) -> Any:
    """Four dims as they are; others as (N, C, 1, everything else), as in torch."""
    if input.ndim == 4:
        return neural.nll_planes(input, target, weight, how, ignore_index)[0]
    n, c = input.shape[:2]
    flat = math.prod(input.shape[2:])
    out = neural.nll_planes(
        shape.reshape(input, (n, c, 1, flat)), shape.reshape(target, (n, 1, flat)), weight, how, ignore_index
    )[0]
    return shape.view(out, tuple(target.shape)) if how == "none" else out


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """`nll_loss(log_softmax(input, 1), target)`; targets are class indices, or probabilities of the input's shape.

    >>> import gradlab
    >>> gradlab.nn.functional.cross_entropy(gradlab.zeros(2, 4), gradlab.tensor([0, 3]))
    tensor(1.3863)
    """
    how = _reduction(reduction, size_average, reduce)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if input._array.ndim < 2 and target._array.shape == input._array.shape and target._array.dtype.kind != "f":
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {target.dtype}")
    dim = int(input._array.ndim != 1)
    logs = neural.log_softmax_along(input, dim)
    soft = target._array.dtype.kind == "f"
    if target._array.shape == input._array.shape and (soft or dim and target._array.dtype != INT64):
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target: probabilities have no class to ignore")
        return _soft_cross_entropy(logs, target, weight, how, label_smoothing, dim)
    if soft:
        raise RuntimeError(
            f"expected scalar type Long but found {target.dtype}: targets are class indices, or "
            f"probabilities of the shape {list(input.shape)}"
        )
    loss = _nll(logs, target, weight, ignore_index, how)
    return _smoothed(loss, logs, target, weight, how, ignore_index, label_smoothing, dim) if label_smoothing else loss


def _by_class(weight: Any, ndim: int, dim: int) -> Any:
    return shape.view(weight, [-1 if d == dim else 1 for d in range(ndim)])


def _soft_cross_entropy(logs: Any, target: Any, weight: Any, how: str, smoothing: float, dim: int) -> Any:
    classes = logs.shape[dim]
    if smoothing:
        target = target * (1 - smoothing) + smoothing / classes
    picked = logs * target
    if weight is not None:
        picked = picked * _by_class(weight, logs.ndim, dim)
    if how == "none":
        return -picked.sum(dim)
    return pointwise.divide_number(-picked.sum(), logs.numel() / classes) if how == "mean" else -picked.sum()


def _smoothed(
    loss: Any, logs: Any, target: Any, weight: Any, how: str, ignore_index: int, smoothing: float, dim: int
) -> Any:
    """Label smoothing: part of the target spread evenly over the classes (C. Szegedy et al., 2016)."""
    even = -(logs if weight is None else logs * _by_class(weight, logs.ndim, dim)).sum(dim)
    ignored = target == ignore_index
    even = even.masked_fill(ignored, 0)
    if how == "mean":
        counted = ~ignored
        total = counted.sum() if weight is None else weight[target[counted]].sum()
        even = even.sum() / total
    elif how == "sum":
        even = even.sum()
    return (1 - smoothing) * loss + even * (smoothing / logs.shape[dim])


def kl_div(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    """`target * (log(target) - input)` for log-probabilities `input`; "batchmean" divides by the batch size.

    >>> import gradlab
    >>> logs = gradlab.log(gradlab.tensor([[0.5, 0.5]]))
    >>> gradlab.nn.functional.kl_div(logs, gradlab.tensor([[0.2, 0.8]]), reduction="batchmean")
    tensor(0.1927)
    """
    if reduction != "batchmean":
        reduction = _reduction(reduction, size_average, reduce)
    if reduction == "mean":
        warnings.warn(
            "kl_div: reduction 'mean' divides by the number of elements; use 'batchmean', which divides by the batch size, for "
            "the divergence as it is defined.",
            stacklevel=3,
        )
    if not (input.is_floating_point() and target.is_floating_point()):
        raise RuntimeError(f"kl_div: Integral inputs not supported: got {input.dtype} and {target.dtype}, convert with .float()")
    if log_target:
        difference = target - input  # the right side first: torch's order of making the nodes
        loss = pointwise.exp(target) * difference
    else:
        product = target * input
        loss = pointwise.xlogy(target, target) - product
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.ndim else loss.sum()
    return _reduce(loss, reduction)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors along a dim.

    >>> import gradlab
    >>> gradlab.nn.functional.cosine_similarity(gradlab.tensor([[1.0, 0.0]]), gradlab.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    if not (x1.is_floating_point() or x2.is_floating_point()):
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {x1.dtype}")
    if x1.shape != x2.shape:
        common = shape.broadcast_tensors(x2, x1)[0].shape
        x2, x1 = shape.expand(x2, common), shape.expand(x1, common)
    lengths = []
    for x in (x1, x2):
        lengths.append(reduction.vector_norm(x, 2, dim, True).clone())
        with no_grad():
            lengths[-1].detach().clamp_min_(eps)
    second = x2 / lengths[1]  # torch's order of making the nodes
    return ((x1 / lengths[0]) * second).sum(dim)
