"""torch.nn.functional's names: activations, losses, convolution, pooling, normalisation, on tensors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradlab import dtypes
from gradlab.autograd.grad_mode import no_grad
from gradlab.engine import make, notify
from gradlab.operators import creation, linalg, neural, pointwise, reduction, shape, spatial
from gradlab.operators import inplace as written
from gradlab.operators._arguments import index, pair
from gradlab.operators._writing import inplace as in_place_form
from gradlab.operators.neural import log_softmax, softmax

__all__ = ["log_softmax", "softmax"]

# -- activations ---------------------------------------------------------------------------------------------------------


def relu(input: Any, inplace: bool = False) -> Any:
    """`max(x, 0)`; its derivative at 0 is 0.

    >>> import gradlab
    >>> gradlab.nn.functional.relu(gradlab.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return written.relu_(input) if inplace else neural.relu(input)


def _maybe_inplace(function: Any, inplace: bool, input: Any, *options: Any) -> Any:
    return in_place_form(function)(input, *options) if inplace else function(input, *options)


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """x, or `negative_slope * x` where it is negative.

    >>> import gradlab
    >>> gradlab.nn.functional.leaky_relu(gradlab.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return _maybe_inplace(neural.leaky_relu, inplace, input, negative_slope)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x, or `alpha * (exp(x) - 1)` where it is negative.

    >>> import gradlab
    >>> gradlab.nn.functional.elu(gradlab.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return _maybe_inplace(neural.elu, inplace, input, alpha)


def gelu(input: Any, approximate: str = "none") -> Any:
    """x times the normal distribution function of x, or its tanh approximation.

    >>> import gradlab
    >>> gradlab.nn.functional.gelu(gradlab.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"approximate argument must be either none or tanh, got {approximate!r}")
    return neural.gelu(input, approximate)


def silu(input: Any, inplace: bool = False) -> Any:
    """`x * sigmoid(x)`.

    >>> import gradlab
    >>> gradlab.nn.functional.silu(gradlab.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """
    return _maybe_inplace(neural.silu, inplace, input)


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """`log(1 + exp(beta * x)) / beta`; x itself where beta * x is above the threshold.

    >>> import gradlab
    >>> gradlab.nn.functional.softplus(gradlab.tensor([-1.0, 2.0]))
    tensor([0.3133, 2.1269])
    """
    return neural.softplus(input, beta, threshold)


def softsign(input: Any) -> Any:
    """`x / (1 + |x|)`.

    >>> import gradlab
    >>> gradlab.nn.functional.softsign(gradlab.tensor([-1.0, 2.0]))
    tensor([-0.5000,  0.6667])
    """
    return input / (input.abs() + 1)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """x held between two limits; its derivative at a limit is 0.

    >>> import gradlab
    >>> gradlab.nn.functional.hardtanh(gradlab.tensor([-1.0, 2.0]))
    tensor([-1.,  1.])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _maybe_inplace(neural.hardtanh, inplace, input, min_val, max_val)


def relu6(input: Any, inplace: bool = False) -> Any:
    """x held between 0 and 6.

    >>> import gradlab
    >>> gradlab.nn.functional.relu6(gradlab.tensor([-1.0, 2.0, 8.0]))
    tensor([0., 2., 6.])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


def logsigmoid(input: Any) -> Any:
    """`log(sigmoid(x))`, without overflow.

    >>> import gradlab
    >>> gradlab.nn.functional.logsigmoid(gradlab.tensor([0.0, -200.0]))
    tensor([  -0.6931, -200.0000])
    """
    return neural.log_sigmoid(input)


def sigmoid(input: Any) -> Any:
    """`1 / (1 + exp(-x))`.

    >>> import gradlab
    >>> gradlab.nn.functional.sigmoid(gradlab.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """
    return pointwise.sigmoid(input)


def tanh(input: Any) -> Any:
    """The hyperbolic tangent.

    >>> import gradlab
    >>> gradlab.nn.functional.tanh(gradlab.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """
    return pointwise.tanh(input)


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero each element with probability p and scale the others by 1 / (1 - p); the input itself when not training.

    >>> import gradlab
    >>> _ = gradlab.manual_seed(0)
    >>> sorted(set(gradlab.nn.functional.dropout(gradlab.ones(50), 0.5).tolist()))
    [0.0, 2.0]
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0 or not input.numel():
        return input
    array = input._array
    kept = creation.source().random(array.shape) >= p
    noise = make(kept.astype(array.dtype) / (1 - p) if p < 1 else np.zeros_like(array))
    noise = noise if noise.dtype is input.dtype else noise.to(input.dtype)
    return written.mul_(input, noise) if inplace else pointwise.mul(input, noise)


# -- linear, embedding, distance -----------------------------------------------------------------------------------------


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """`input @ weight.T + bias`, over the last dim.

    >>> import gradlab
    >>> gradlab.nn.functional.linear(gradlab.ones(5, 3), gradlab.ones(2, 3)).shape
    gradlab.Size([5, 2])
    """
    if input.ndim == 2 and weight.ndim == 2:
        turned = shape.turned(weight)
        return linalg.mm_turned(input, turned) if bias is None else linalg.addmm_turned(bias, input, turned)
    if bias is None or weight.ndim != 2 or input.ndim < 1:
        out = linalg.matmul(input, shape.t(weight))
        return out if bias is None else out + bias
    lead = tuple(input.shape[:-1])
    rows = shape.reshape(input, (math.prod(lead), input.shape[-1]))
    return shape.view(linalg.addmm_turned(bias, rows, shape.turned(weight)), (*lead, weight.shape[0]))


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """Rows of `weight` picked by index; the row `padding_idx` takes no gradient.

    >>> import gradlab
    >>> gradlab.nn.functional.embedding(gradlab.tensor([1, 1]), gradlab.eye(2)).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    if sparse:
        raise NotImplementedError("embedding(sparse=True): gradlab has no sparse gradients.")
    if input.dtype.name not in ("int64", "int32"):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, "
            f"Int; but got {input.dtype}"
        )
    if weight.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, got {weight.ndim}-D")
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    if input.numel() and not (0 <= int(input._array.min()) and int(input._array.max()) < rows):
        raise IndexError(f"index out of range in self: the embedding has {rows} rows")
    if max_norm is not None:
        _shorten_rows(weight, input, max_norm, norm_type)
    return neural.embedding(weight, input, None if padding_idx is None else padding_idx % rows, scale_grad_by_freq)


def _shorten_rows(weight: Any, input: Any, max_norm: float, norm_type: float) -> None:
    """Rows about to be picked that are longer than max_norm are scaled down in place."""
    with no_grad():
        for row in np.unique(input._array):
            length = float(reduction.vector_norm(weight.detach()[int(row)], norm_type))
            if length > max_norm:
                weight.detach()[int(row)] *= max_norm / (length + 1e-7)


def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """Ones at the index, along a new last dim.

    >>> import gradlab
    >>> gradlab.nn.functional.one_hot(gradlab.tensor([0, 2]), num_classes=3)
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if tensor.dtype.name != "int64":
        raise RuntimeError(f"one_hot is only applicable to index tensor of type LongTensor, got {tensor.dtype}")
    classes = int(tensor._array.max()) + 1 if num_classes == -1 else num_classes
    if tensor.numel() and not (0 <= int(tensor._array.min()) and int(tensor._array.max()) < classes):
        raise RuntimeError("Class values must be non-negative and smaller than num_classes.")
    out = make((tensor._array[..., None] == np.arange(classes)).astype(np.int64))
    notify("one_hot", (tensor, classes), out)
    return out


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Any:
    """`x / max(norm(x), eps)` along a dim.

    >>> import gradlab
    >>> gradlab.nn.functional.normalize(gradlab.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    if out is not None:
        raise NotImplementedError("normalize(out=...): leave out away.")
    return input / shape.expand_as(reduction.vector_norm(input, p, dim, True).clamp_min(eps), input)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors along a dim.

    >>> import gradlab
    >>> gradlab.nn.functional.cosine_similarity(gradlab.tensor([[1.0, 0.0]]), gradlab.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    if not (x1.is_floating_point() or x2.is_floating_point()):
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {x1.dtype}")
    if x1.shape != x2.shape:
        x2, x1 = shape.broadcast_tensors(x2, x1)
    lengths = []
    for x in (x1, x2):
        lengths.append(reduction.vector_norm(x, 2, dim, True).clone())
        with no_grad():
            lengths[-1].detach().clamp_min_(eps)
    second = x2 / lengths[1]  # torch's order of making the nodes
    return ((x1 / lengths[0]) * second).sum(dim)


# -- losses --------------------------------------------------------------------------------------------------------------


def _reduction(reduction: str, size_average: Any = None, reduce: Any = None) -> str:
    if size_average is not None or reduce is not None:
        warnings.warn("size_average and reduce args will be deprecated, please use reduction instead.", stacklevel=3)
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
            stacklevel=3,
        )
        return shape.broadcast_tensors(input, target)
    return input, target


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
    input, target = _same_shapes(input, target)
    how = _reduction(reduction, size_average, reduce)
    if weight is not None:
        return _weighted_mean(neural.mse_loss(input, target, "none", 0) * weight, weight, how)
    return neural.mse_loss(input, target, how, 0)


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
    input, target = _same_shapes(input, target)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if weight is not None:
        return _weighted_mean(neural.huber_loss(input, target, "none", delta) * weight, weight, _reduction(reduction))
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
    how = _reduction(reduction, size_average, reduce)
    size, found = input._array.shape, target._array.shape
    ndim = len(size)
    if ndim < 1 or len(found) != ndim - 1 and not (ndim == 1 and not found):
        raise RuntimeError(f"Expected target of {ndim - 1} dims (one less than the input), got shape {list(found)}")
    if target.dtype not in (dtypes.int64, dtypes.uint8):
        raise RuntimeError(f"expected scalar type Long but found {target.dtype}: nll_loss takes class indices")
    if ndim > 1 and (size[0] != found[0] or size[2:] != found[1:]):
        raise ValueError(
            f"Expected input batch_size ({size[0]}) to match target batch_size ({found[0]}), "
            f"shapes {list(size)} and {list(found)}"
        )
    classes = size[int(ndim > 1)]
    if weight is not None and weight._array.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight "
            f"tensor of shape: {list(weight.shape)}"
        )
    if ndim < 3:
        return neural.nll_rows(input, target, weight, how, ignore_index)[0]
    return _nll_planes(input, target, weight, how, ignore_index)


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
    dim = int(input.ndim != 1)
    logs = log_softmax(input, dim)
    soft = target.is_floating_point()
    if target._array.shape == input._array.shape and (soft or input.ndim > 1 and target.dtype is not dtypes.int64):
        return _soft_cross_entropy(logs, target, weight, how, label_smoothing, dim)
    if soft:
        raise RuntimeError(
            f"expected scalar type Long but found {target.dtype}: targets are class indices, or "
            f"probabilities of the shape {list(input.shape)}"
        )
    loss = nll_loss(logs, target, weight, None, ignore_index, None, how)
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
    if log_target:
        difference = target - input  # the right side first: torch's order of making the nodes
        loss = pointwise.exp(target) * difference
    else:
        product = target * input
        loss = pointwise.xlogy(target, target) - product
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.ndim else loss.sum()
    return _reduce(loss, reduction)


# -- normalisation ---------------------------------------------------------------------------------------------------------


def layer_norm(
    input: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Mean 0 and variance 1 over the last dims, then times weight plus bias.

    J. L. Ba, J. R. Kiros and G. E. Hinton, Layer normalization (2016).

    >>> import gradlab
    >>> gradlab.nn.functional.layer_norm(gradlab.tensor([[1.0, 3.0]]), (2,))
    tensor([[-1.0000,  1.0000]])
    """
    wanted = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
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
    return neural.layer_norm(input, wanted, weight, bias, eps)[0]


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
    channels = input.shape[1] if input.ndim > 1 else input.shape[0]
    for name, value in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if value is not None and value.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {value.numel()}")
    if not training and (running_mean is None or running_var is None):
        raise RuntimeError("running_mean and running_var must be defined in evaluation mode")
    if not input.numel():
        return shape.copied(input)
    if training and running_mean is not None:
        _move_statistics(input, running_mean, running_var, momentum)
    return neural.batch_norm(input, weight, bias, running_mean, running_var, training, eps)[0]


def _move_statistics(input: Any, running_mean: Any, running_var: Any, momentum: float) -> None:
    """running = (1 - momentum) * running + momentum * batch; the variance is the unbiased one."""
    dims = (0, *range(2, input.ndim))
    seen = input._array
    for running, value in ((running_mean._array, seen.mean(dims)), (running_var._array, seen.var(dims, ddof=1))):
        running *= 1 - momentum  # without counting a write: torch's kernel does not either
        running += (momentum * value).astype(running.dtype)


# -- convolution and pooling -------------------------------------------------------------------------------------------------


def _spatial(value: Any, n: int, name: str) -> tuple[int, ...]:
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    values = values * n if len(values) == 1 else values
    if len(values) != n:
        raise RuntimeError(f"expected {name} to be a single integer value or a list of {n} values, but got {name}={list(values)}")
    return tuple([index(v, name) for v in values])


def _convolution(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, n: int) -> Any:
    stride, dilation = _spatial(stride, n, "stride"), _spatial(dilation, n, "dilation")
    _check_convolution(input, weight, bias, groups, stride, dilation, n)
    batched = input.ndim == n + 2
    input = input if batched else shape.unsqueeze(input, 0)
    if isinstance(padding, str):
        input, padding = _named_padding(input, weight, padding, stride, dilation, n)
    padding = _spatial(padding, n, "padding")
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    spans = [dilation[d] * (weight.shape[2 + d] - 1) + 1 for d in range(n)]
    wide = [input.shape[d - n] + 2 * padding[d] for d in range(n)]
    if any(w < s for w, s in zip(wide, spans)):
        raise RuntimeError(
            f"Calculated padded input size per channel: {wide}. Kernel size: {spans}. Kernel size can't be "
            "greater than actual input size"
        )
    out = spatial.convolution(input, weight, bias, stride, padding, dilation, groups)
    return out if batched else shape.squeeze(out, 0)


def _check_convolution(input: Any, weight: Any, bias: Any, groups: int, stride: tuple, dilation: tuple, n: int) -> None:
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to conv{n}d, but got input of size: "
            f"{list(input.shape)}"
        )
    if weight.ndim != n + 2:
        raise RuntimeError(f"conv{n}d: the weight has {n + 2} dims (out, in / groups, kernel), got {list(weight.shape)}")
    if groups <= 0 or min(stride) <= 0 or min(dilation) <= 0:
        raise RuntimeError("non-positive stride, dilation or groups is not supported")
    channels = input.shape[-n - 1]
    if weight.shape[1] * groups != channels or weight.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight.shape)}, expected input{list(input.shape)} "
            f"to have {weight.shape[1] * groups} channels, but got {channels} channels instead"
        )
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        raise RuntimeError(
            f"Given weight of size {list(weight.shape)}, expected bias to be 1-dimensional with "
            f"{weight.shape[0]} elements, but got bias of size {list(bias.shape)} instead"
        )
    if input.dtype is not weight.dtype or (bias is not None and bias.dtype is not input.dtype):
        raise RuntimeError(f"Input type ({input.dtype}) and weight or bias type ({weight.dtype}) should be the same")


def _named_padding(input: Any, weight: Any, padding: str, stride: tuple, dilation: tuple, n: int) -> tuple[Any, Any]:
    if padding == "valid":
        return input, 0
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: {padding!r}; it is 'valid' or 'same'")
    if max(stride) != 1:
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [dilation[d] * (weight.shape[2 + d] - 1) for d in range(n)]
    if any(t % 2 for t in total):
        extra = [x for t in reversed(total) for x in (0, t % 2)]
        input = pad(input, extra)
    return input, tuple([t // 2 for t in total])


def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """A kernel slid along one dim: (N, C, L) or (C, L) input, (out, C / groups, k) weight.

    >>> import gradlab
    >>> gradlab.nn.functional.conv1d(gradlab.tensor([[[1.0, 2.0, 3.0]]]), gradlab.tensor([[[1.0, 10.0]]]))
    tensor([[[21., 32.]]])
    """
    return _convolution(input, weight, bias, stride, padding, dilation, groups, 1)


def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """A kernel slid over two dims: (N, C, H, W) or (C, H, W) input, (out, C / groups, kh, kw) weight.

    >>> import gradlab
    >>> gradlab.nn.functional.conv2d(gradlab.ones(1, 1, 4, 4), gradlab.ones(1, 1, 3, 3)).flatten()
    tensor([9., 9., 9., 9.])
    """
    return _convolution(input, weight, bias, stride, padding, dilation, groups, 2)


def _convolution_transposed(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, extra: Any, groups: int, dilation: Any, n: int
) -> Any:
    stride, padding = _spatial(stride, n, "stride"), _spatial(padding, n, "padding")
    dilation, extra = _spatial(dilation, n, "dilation"), _spatial(extra, n, "output_padding")
    if input.ndim not in (n + 1, n + 2) or weight.ndim != n + 2:
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to conv_transpose{n}d, but got input "
            f"of size: {list(input.shape)}"
        )
    if groups <= 0 or min(stride) <= 0 or min(dilation) <= 0 or min(padding) < 0 or min(extra) < 0:
        raise RuntimeError("non-positive stride, dilation or groups, or negative padding, is not supported")
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got output_padding={list(extra)}")
    batched = input if input.ndim == n + 2 else shape.unsqueeze(input, 0)
    if batched.shape[1] != weight.shape[0] or weight.shape[0] % groups:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(weight.shape)}, expected input{list(input.shape)} to "
            f"have {weight.shape[0]} channels, but got {batched.shape[1]} channels instead"
        )
    if bias is not None and tuple(bias.shape) != (weight.shape[1] * groups,):
        raise RuntimeError(
            f"expected bias to be 1-dimensional with {weight.shape[1] * groups} elements, but got bias of "
            f"size {list(bias.shape)} instead"
        )
    places = [
        (batched.shape[2 + d] - 1) * stride[d] - 2 * padding[d] + dilation[d] * (weight.shape[2 + d] - 1) + extra[d] + 1
        for d in range(n)
    ]
    if min(places) < 1:
        raise RuntimeError(f"Calculated output size {places} is too small")
    size = (batched.shape[0], weight.shape[1] * groups, *places)
    out = spatial.convolution_transposed(batched, weight, bias, size, stride, padding, dilation, groups)
    return out if batched is input else shape.squeeze(out, 0)


def conv_transpose1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The transpose of conv1d: (N, C, L) or (C, L) input, (C, out / groups, k) weight.

    >>> import gradlab
    >>> gradlab.nn.functional.conv_transpose1d(gradlab.tensor([[[1.0, 2.0]]]), gradlab.tensor([[[1.0, 10.0]]]))
    tensor([[[ 1., 12., 20.]]])
    """
    return _convolution_transposed(input, weight, bias, stride, padding, output_padding, groups, dilation, 1)


def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The transpose of conv2d: (N, C, H, W) or (C, H, W) input, (C, out / groups, kh, kw) weight.

    >>> import gradlab
    >>> gradlab.nn.functional.conv_transpose2d(gradlab.ones(1, 2, 4, 4), gradlab.ones(2, 3, 2, 2), stride=2).shape
    gradlab.Size([1, 3, 8, 8])
    """
    return _convolution_transposed(input, weight, bias, stride, padding, output_padding, groups, dilation, 2)


def max_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest value of each window along the last dim.

    >>> import gradlab
    >>> gradlab.nn.functional.max_pool1d(gradlab.tensor([[[1.0, 3.0, 2.0, 4.0]]]), 2)
    tensor([[[3., 4.]]])
    """
    if input.ndim not in (2, 3):
        raise RuntimeError(
            "max_pool1d() Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, "
            f"but got: {list(input.shape)}"
        )
    kernel, padding, dilation = [(1, _spatial(v, 1, "kernel_size")[0]) for v in (kernel_size, padding, dilation)]
    stride = kernel if stride is None or stride == [] else (1, _spatial(stride, 1, "stride")[0])
    found = max_pool2d(shape.unsqueeze(input, -2), kernel, stride, (0, padding[1]), dilation, ceil_mode, return_indices)
    return tuple([shape.squeeze(x, -2) for x in found]) if return_indices else shape.squeeze(found, -2)


def avg_pool1d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True
) -> Any:
    """The mean of each window along the last dim.

    >>> import gradlab
    >>> gradlab.nn.functional.avg_pool1d(gradlab.tensor([[[1.0, 3.0, 2.0, 4.0]]]), 2)
    tensor([[[2., 3.]]])
    """
    kernel = (1, _spatial(kernel_size, 1, "kernel_size")[0])
    stride = kernel if stride is None or stride in ([], ()) else (1, _spatial(stride, 1, "stride")[0])
    around = (0, _spatial(padding, 1, "padding")[0])
    return shape.squeeze(avg_pool2d(shape.unsqueeze(input, -2), kernel, stride, around, ceil_mode, count_include_pad), -2)


def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest value of each window; with `return_indices` also its place in the plane.

    >>> import gradlab
    >>> x = gradlab.arange(16.0).reshape(1, 1, 4, 4)
    >>> gradlab.nn.functional.max_pool2d(x, 2).tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """
    kernel, padding, dilation = pair(kernel_size, "kernel_size"), pair(padding, "padding"), pair(dilation, "dilation")
    stride = kernel if stride is None or stride == [] else pair(stride, "stride")
    _check_pool("max_pool2d", input, kernel, stride, padding, dilation, ceil_mode)
    values, indices = spatial.max_pool(input, kernel, stride, padding, dilation, ceil_mode)
    return (values, indices) if return_indices else values


def _check_pool(name: str, input: Any, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, ceil_mode: bool) -> None:
    if input.ndim not in (3, 4) or 0 in input.shape[1 if input.ndim == 4 else 0 :]:
        raise RuntimeError(
            f"{name}(): Expected a 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, "
            f"but got: {list(input.shape)}"
        )
    if min(stride) <= 0 or min(kernel) <= 0 or min(dilation) <= 0:
        raise RuntimeError(f"{name}(): kernel size, stride and dilation should be greater than zero")
    if min(padding) < 0 or any(p > (dilation[d] * (kernel[d] - 1) + 1) // 2 for d, p in enumerate(padding)):
        raise RuntimeError(
            f"{name}(): pad should be non-negative and at most half of effective kernel size, but got "
            f"pad={list(padding)} and kernel_size={list(kernel)}"
        )
    for d in (0, 1):
        if spatial.pooled_size(input.shape[d - 2], kernel[d], stride[d], padding[d], dilation[d], ceil_mode) < 1:
            raise RuntimeError(f"{name}(): Given input size {list(input.shape[-2:])}: Calculated output size is too small")


def avg_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """The mean of each window, or its sum over `divisor_override`.

    >>> import gradlab
    >>> x = gradlab.arange(16.0).reshape(1, 1, 4, 4)
    >>> gradlab.nn.functional.avg_pool2d(x, 2).tolist()
    [[[[2.5, 4.5], [10.5, 12.5]]]]
    """
    kernel, padding = pair(kernel_size, "kernel_size"), pair(padding, "padding")
    stride = kernel if stride is None or stride == [] or stride == () else pair(stride, "stride")
    _check_pool("avg_pool2d", input, kernel, stride, padding, (1, 1), ceil_mode)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    rows, columns = [
        spatial.average_matrix(
            input.shape[d - 2], kernel[d], stride[d], padding[d], ceil_mode, count_include_pad, divisor_override is not None
        )
        for d in (0, 1)
    ]
    return spatial.average_pool(input, rows / (divisor_override or 1), columns)


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """Means of as many windows as asked for; None keeps the input's size.

    >>> import gradlab
    >>> x = gradlab.arange(16.0).reshape(1, 1, 4, 4)
    >>> gradlab.nn.functional.adaptive_avg_pool2d(x, 1).tolist()
    [[[[7.5]]]]
    """
    if input.ndim < 3:
        raise ValueError(f"Input dimension should be at least 3, got {input.ndim}")
    if input.ndim > 4:
        raise RuntimeError(f"adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got {list(input.shape)}")
    wanted = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size, output_size)
    if len(wanted) != 2:
        raise RuntimeError("adaptive_avg_pool2d: output_size must be 2")
    height, width = [input.shape[d - 2] if wanted[d] is None else wanted[d] for d in (0, 1)]
    if height < 0 or width < 0:
        raise RuntimeError("adaptive_avg_pool2d: elements of output_size must be greater than or equal to 0")
    if (height, width) == (1, 1):
        return input.mean((-1, -2), True)
    rows, columns = spatial.adaptive_matrix(input.shape[-2], height), spatial.adaptive_matrix(input.shape[-1], width)
    return spatial.adaptive_pool(input, rows, columns)


def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    """Elements put around: `pad` is (before, after) of the last dim, then of the one before it, and so on.

    Modes: "constant", "reflect", "replicate", "circular". Negative numbers cut off.

    >>> import gradlab
    >>> gradlab.nn.functional.pad(gradlab.tensor([1.0, 2.0]), (1, 0))
    tensor([0., 1., 2.])
    """
    padding = tuple([index(n, "pad") for n in pad])
    if len(padding) % 2 or len(padding) // 2 > input.ndim:
        raise RuntimeError(
            "Padding length must be divisible by 2 and at most twice the number of dimensions "
            f"({input.ndim}), got {list(padding)}"
        )
    if mode == "constant":
        return spatial.constant_pad(input, padding, 0 if value is None else value)
    if value is not None and value != 0:
        raise ValueError(f"Padding mode {mode!r} doesn't take in value argument")
    n = len(padding) // 2
    if (mode, n) not in spatial.index_pads or input.ndim not in (n + 1, n + 2):
        raise NotImplementedError(
            f"Only 2D, 3D, 4D, 5D padding with non-constant padding are supported, got {mode!r} with "
            f"{len(padding)} numbers for {input.ndim}D"
        )
    _check_index_pad(input, padding, mode)
    return spatial.index_pads[mode, n](input, padding, mode)


def _check_index_pad(input: Any, padding: tuple, mode: str) -> None:
    for dim, before, after in spatial._by_dim(padding, input.ndim):
        size, most = input.shape[dim], max(before, after)
        if size == 0 and (before or after) or size + before + after < 1:
            raise RuntimeError(f"Expected a non-empty result of padding {list(padding)} for input {list(input.shape)}")
        if mode == "reflect" and most >= size or mode == "circular" and most > size:
            raise RuntimeError(
                "Padding size should be less than the corresponding input dimension, but got: padding "
                f"{(before, after)} at dimension {dim} of input {list(input.shape)}"
            )
