"""What networks are made of: activations, softmax, losses, normalisation, embedding. Their public forms are in nn.functional."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from gradlab import dtypes
from gradlab.engine import TensorBase, operator
from gradlab.errors import no_kernel
from gradlab.operators._arguments import axis, count, one_dimensional
from gradlab.operators._sums import average, reduced, sum_kept, wide
from gradlab.operators.indexing import place, rows_sum
from gradlab.operators.pointwise import (
    _erf,
    erf,
    exp,
    log,
    masked,
    rsqrt,
    sigmoid,
    sign,
    tanh,
    tie,
    where,
    zeros_like_grad,
)
from gradlab.operators.shape import cast

# -- activations -------------------------------------------------------------------------------------------------------

relu = operator(
    "ReluBackward0",
    lambda self: np.maximum(self, self.dtype.type(0)),
    self=lambda g, result: threshold_backward(g, result),
    promote="numbers",
)
threshold_backward = operator(
    "ThresholdBackwardBackward0",
    lambda grad_output, self: masked(grad_output, self.astype(bool)),  # relu's result is 0, positive or nan
    grad_output=lambda g, self: threshold_backward(g, self),
    self=lambda g: zeros_like_grad(g),
)


def _activation(name, forward, formula):
    return operator(name, forward, self=formula, promote="floats")


leaky_relu = _activation(
    "LeakyReluBackward0",
    lambda self, negative_slope: np.where(self > 0, self, self * negative_slope),
    lambda g, self, negative_slope: where(self > 0, tie(g, self), g * negative_slope),
)
elu = _activation(
    "EluBackward0",
    lambda self, alpha: np.where(self > 0, self, alpha * np.expm1(np.minimum(self, 0))),
    lambda g, self, alpha: where(self <= 0, g * (alpha * exp(where(self < 0, wide(self), 0))), g),
)
silu = _activation(
    "SiluBackward0",
    lambda self: (self / (1 + np.exp(-wide(self)))).astype(self.dtype, copy=False),
    lambda g, self: g * _silu_slope(wide(self), sigmoid(wide(self))),
)


def _silu_slope(x, s):
    return s * (1 + x * (1 - s))


def _gelu(self, approximate):
    x = wide(self)
    if approximate == "tanh":
        out = 1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))
    else:
        out = _erf(x * math.sqrt(0.5))
        out += 1
    out *= x
    out *= 0.5
    return out.astype(self.dtype, copy=False)


def _gelu_grad(g, self, approximate):
    """D. Hendrycks and K. Gimpel, Gaussian error linear units (2016): x times the normal distribution function."""
    self = wide(self)
    if approximate == "tanh":
        t = tanh(math.sqrt(2 / math.pi) * (self + 0.044715 * self * self * self))
        inner = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * self * self)
        return g * (0.5 * (1 + t) + 0.5 * self * (1 - t * t) * inner)
    density = exp(self * self * -0.5) * (1 / math.sqrt(2 * math.pi))
    return g * ((erf(self * math.sqrt(0.5)) + 1) * 0.5 + self * density)


gelu = _activation("GeluBackward0", _gelu, _gelu_grad)
softplus = _activation(
    "SoftplusBackward0",
    lambda self, beta, threshold: np.where(self * beta > threshold, self, np.logaddexp(self * beta, 0) / beta),
    lambda g, self, beta, threshold: where(
        self * beta > threshold, g, g * sigmoid(where(self * beta < threshold, wide(self) * beta, threshold))
    ),
)
log_sigmoid = _activation("LogSigmoidBackward0", lambda self: -np.logaddexp(-self, 0), lambda g, self: g * sigmoid(-wide(self)))


def _hardtanh(self, min_val, max_val):
    if self.dtype.kind != "f":
        if self.dtype.kind == "u" and min_val < 0:
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
        min_val, max_val = dtypes.fitted(min_val, self.dtype), dtypes.fitted(max_val, self.dtype)
    return np.clip(self, min_val, max_val)


hardtanh = operator(
    "HardtanhBackward0",
    _hardtanh,
    promote="numbers",
    self=lambda g, self, min_val, max_val: where((self <= min_val) | (self >= max_val), 0, tie(g, self)),
)

# -- softmax -----------------------------------------------------------------------------------------------------------


def _greatest(x, dim):
    """The maximum along a dim, which is kept; along the last by argmax, which takes a quarter of the time."""
    if dim != x.ndim - 1:
        return np.maximum.reduce(x, dim, keepdims=True)
    rows = x if x.ndim == 2 else x.reshape(-1, x.shape[-1])
    return rows.take(_starts(rows.shape) + rows.argmax(1)).reshape((*x.shape[:-1], 1))


@lru_cache(64)
def _few_starts(rows, size):
    return np.arange(0, rows * size, size)


def _starts(shape):
    """Where the rows of a matrix begin in its memory."""
    rows, size = shape
    return _few_starts(rows, size) if rows <= 1024 else np.arange(0, rows * size, size)


@one_dimensional
def _softmax(self, dim):
    _check_floats(self, "softmax")
    if not self.size:
        return self.copy()
    out = self - _greatest(self, dim)
    np.exp(out, out)
    out /= sum_kept(out, (dim,))
    return out


@one_dimensional
def _log_softmax(self, dim):
    _check_floats(self, "log_softmax")
    if not self.size:
        return self.copy()
    x = wide(self)
    out = x - _greatest(x, dim)
    out -= np.log(sum_kept(np.exp(out), (dim,)))
    return out.astype(self.dtype, copy=False)


softmax_along = operator("SoftmaxBackward0", _softmax, self=lambda g, result, dim: result * (g - sum_kept(g * result, (dim,))))
log_softmax_along = operator(
    "LogSoftmaxBackward0", _log_softmax, self=lambda g, result, dim: g - exp(result) * sum_kept(g, (dim,))
)


def softmax(self, dim=None, dtype=None):
    """`exp(x) / sum(exp(x))` along `dim`.

    >>> import gradlab
    >>> gradlab.softmax(gradlab.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return softmax_along(self if dtype is None else cast(self, dtype), axis(dim, self._array.ndim))


def log_softmax(self, dim=None, dtype=None):
    """`log(softmax(x))` along `dim`, computed without overflow.

    >>> import gradlab
    >>> gradlab.log_softmax(gradlab.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    return log_softmax_along(self if dtype is None else cast(self, dtype), axis(dim, self._array.ndim))


# -- losses ------------------------------------------------------------------------------------------------------------


def _reduced(loss, reduction):
    if reduction == "none":
        return loss
    return reduced(np.add, loss) if reduction == "sum" else average(loss, tuple(range(loss.ndim)))


def _share(shape, reduction):
    """What each element's gradient is multiplied by: the mean divides by their number."""
    return 1 / (math.prod(shape) or math.nan) if reduction == "mean" else 1


def _scaled(g, shape, reduction):
    share = _share(shape, reduction)
    return g if share == 1 else g * share


def _difference_loss(name, loss, slope):
    """A loss of input - target: one node for both, with opposite gradients. `slope` is the loss's derivative (option last)."""
    return operator(
        name,
        lambda self, target, reduction, size: _reduced(loss(self - target, size), reduction),
        self=lambda g, self, target, reduction, size: _scaled(g, self.shape, reduction) * slope(self - target, size),
        target=lambda g, self, target, reduction, size: _scaled(g, self.shape, reduction) * slope(target - self, size),
        promote="floats",
    )


def _smooth(d, beta):
    size = np.abs(d)
    return np.where(size < beta, 0.5 * d * d / beta, size - 0.5 * beta)


def _huber(d, delta):
    size = np.abs(d)
    return np.where(size <= delta, 0.5 * d * d, delta * (size - 0.5 * delta))


mse_loss = _difference_loss("MseLossBackward0", lambda d, _: d * d, lambda d, _: d * 2)
smooth_l1_loss = _difference_loss("SmoothL1LossBackward0", _smooth, lambda d, beta: where(abs(d) < beta, d / beta, sign(d)))
huber_loss = _difference_loss("HuberLossBackward0", _huber, lambda d, delta: where(abs(d) < delta, d, sign(d) * delta))


def _check_floats(input, name):
    if input.dtype.kind != "f":
        raise no_kernel(name, input.dtype)


def _bce(self, target, weight, reduction):
    _check_floats(self, "binary_cross_entropy")
    if target.dtype != self.dtype:
        raise RuntimeError(f"Found dtype {target.dtype} but expected {self.dtype}: convert the target with .to(input.dtype)")
    for x, name in ((self, "input"), (target, "target")):
        if x.size and not (x.min() >= 0 and x.max() <= 1):
            raise RuntimeError(f"all elements of {name} should be between 0 and 1; for logits there is the loss with logits")
    loss = (target - 1) * np.maximum(np.log1p(-self), -100) - target * np.maximum(np.log(self), -100)
    return _reduced(loss if weight is None else loss * weight, reduction)


def _weighted(g, weight, shape, reduction):
    g = _scaled(g, shape, reduction)
    return g if weight is None else g * weight


def _bce_slope(x, target):
    return (x - target) / where((1 - x) * x < 1e-12, 1e-12, (1 - x) * x)


binary_cross_entropy = operator(
    "BinaryCrossEntropyBackward0",
    _bce,
    self=lambda g, self, target, weight, reduction: _weighted(g, weight, self.shape, reduction) * _bce_slope(self, target),
    target=lambda g, self, weight, reduction: _weighted(g, weight, self.shape, reduction) * (log(1 - self) - log(self)),
)


def _bce_logits(self, target, weight, pos_weight, reduction):
    _check_floats(self, "binary_cross_entropy_with_logits")
    if target.dtype.kind != "f":
        raise RuntimeError(f"result type {self.dtype} can't be cast to the desired output type {target.dtype}: a float target")
    softplus_minus = np.logaddexp(-self, 0)  # -log(sigmoid(x))
    if pos_weight is not None:
        softplus_minus = softplus_minus * (1 + (pos_weight - 1) * target)
    loss = (1 - target) * self + softplus_minus
    return _reduced(loss if weight is None else np.multiply(*dtypes.promoted([loss, weight], (0, 1), False)), reduction)


def _bce_logits_slope(x, target, pos_weight):
    if pos_weight is None:
        return sigmoid(x) - target
    positive = pos_weight * target
    return (positive + 1 - target) * sigmoid(x) - positive


def _bce_logits_target_slope(x, pos_weight):
    return -x if pos_weight is None else log_sigmoid(-x) - pos_weight * log_sigmoid(x)


binary_cross_entropy_with_logits = operator(
    "BinaryCrossEntropyWithLogitsBackward0",
    _bce_logits,
    self=lambda g, self, target, weight, pos_weight, reduction: (
        _weighted(g, weight, self.shape, reduction) * _bce_logits_slope(self, target, pos_weight)
    ),
    target=lambda g, self, weight, pos_weight, reduction: (
        _weighted(g, weight, self.shape, reduction) * _bce_logits_target_slope(self, pos_weight)
    ),
)


def _nll(self, target, weight, reduction, ignore_index):
    """The picked log-probabilities, weighted; the second output is the sum of the weights, for the mean."""
    if reduction == "mean" and weight is None and self.ndim == 2 and _all_count(target, self.shape[1], ignore_index):
        total = self.dtype.type(len(target))
        return np.add.reduce(self.take(_starts(self.shape) + target)) / -total, total
    dim = self.ndim != 1
    index = np.expand_dims(target, int(dim))
    scale = _nll_scale(target, weight, ignore_index, self.shape[dim], self.dtype)
    loss = np.take_along_axis(self, np.where(index == ignore_index, 0, index), int(dim)).squeeze(int(dim)) * -scale
    if reduction == "none":
        return loss, np.zeros((), self.dtype)
    total, loss = reduced(np.add, scale), reduced(np.add, loss)
    return (loss if reduction == "sum" else loss / total), total


def _all_count(target, classes, ignore_index):
    """Whether every target is a class and none is ignored: the common case, which needs no weights."""
    unsigned = _UNSIGNED[target.itemsize]  # where -1 is large
    return ignore_index < 0 < target.size and np.maximum.reduce(target.view(unsigned)) < classes


_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def _nll_scale(target, weight, ignore_index, classes, dtype):
    """The weight of each target: its class's, 1 without weights, 0 where it is ignored."""
    ignored = target == ignore_index
    if target.size and not bool((ignored | ((target >= 0) & (target < classes))).all()):
        wrong = target[~(ignored | ((target >= 0) & (target < classes)))].flat[0]
        raise IndexError(f"Target {wrong} is out of bounds: there are {classes} classes.")
    return np.where(ignored, 0, 1 if weight is None else weight[np.where(ignored, 0, target)]).astype(dtype)


nll_index = operator(None, lambda target, ignore_index, dim: np.expand_dims(np.where(target == ignore_index, 0, target), dim))


def _nll_grad(g, shape, target, weight, total_weight, reduction, ignore_index):
    if (
        weight is None
        and len(shape) == 2
        and isinstance(total_weight, np.ndarray)
        and reduction == "mean"
        and 0 < shape[0] == total_weight.item()
    ):
        out = np.zeros(shape, total_weight.dtype)  # every target counts: the same without weights
        out.put(_starts(shape) + target, g.item() * (-1 / shape[0]))
        return out
    dim = int(len(shape) != 1)
    index = nll_index(target, ignore_index, dim)
    factors = nll_factors(g, tuple(shape), target, weight, total_weight, reduction, ignore_index)
    if reduction == "none":
        g = g.reshape(index.shape)
    return place(g * factors, tuple(shape), dim, index)


def _nll_factors(like, shape, target, weight, total_weight, reduction, ignore_index):
    dim = int(len(shape) != 1)
    scale = _nll_scale(target, weight, ignore_index, shape[dim], like.dtype)
    if reduction == "mean":
        np.divide(scale, total_weight, out=scale, where=target != ignore_index)  # all ignored: 0, though the loss is NaN
    return np.expand_dims(-scale, dim)


nll_factors = operator(None, _nll_factors)


def _nll_operator(name):
    return operator(
        name,
        _nll,
        outputs=("output", "total_weight"),
        self=lambda g, self, target, weight, total_weight, reduction, ignore_index: _nll_grad(
            tie(g, self), self.shape, target, weight, total_weight, reduction, ignore_index
        ),
        promote="floats",
    )


nll_rows, nll_planes = _nll_operator("NllLossBackward0"), _nll_operator("NllLoss2DBackward0")

# -- normalisation -------------------------------------------------------------------------------------------------------


def _standardised(x, dims, eps):
    """(x - mean) / sqrt(var + eps), with the mean and 1 / sqrt(var + eps), on arrays; of float16 in float32, as in torch."""
    _check_floats(x, "layer_norm or batch_norm")
    x = wide(x)
    n = count(x.shape, dims)
    mean = sum_kept(x, dims) / n
    out = x - mean
    rest = sum_kept(out, dims) / n  # of rounding: equal elements are to give zeros
    out -= rest
    mean += rest
    rstd = 1 / np.sqrt(sum_kept(np.square(out), dims) / n + eps)
    out *= rstd
    return out, mean, rstd


def _standardised_again(x, mean, rstd, dims, eps):
    """For backward: from the saved statistics on arrays; on tensors from x itself, so that they are differentiated too."""
    if isinstance(x, TensorBase):
        n = count(x.shape, dims)
        centred = x - x.sum(axis=dims, keepdims=True) / n
        rstd = rsqrt((centred * centred).sum(axis=dims, keepdims=True) / n + eps)
        return centred * rstd, rstd
    return (x - mean) * rstd, rstd


def _standardised_grad(g, normal, rstd, dims):
    n = count(g.shape, dims)
    return rstd * (g - sum_kept(g, dims) / n - normal * (sum_kept(g * normal, dims) / n))


def _layer_norm(input, normalized_shape, weight, bias, eps):
    out, mean, rstd = _standardised(input, tuple(range(input.ndim - len(normalized_shape), input.ndim)), eps)
    if weight is not None:
        out *= weight
    if bias is not None:
        out += bias
    return out.astype(input.dtype, copy=False), mean, rstd


def _layer_norm_grad(g, need, input, normalized_shape, weight, result1, result2, eps):
    dims = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    normal, rstd = _standardised_again(input, result1, result2, dims, eps)
    scaled = g if weight is None else g * weight
    return (
        _standardised_grad(scaled, normal, rstd, dims) if need[0] else None,
        g * normal if need[1] else None,
        g if need[2] else None,
    )


layer_norm = operator(
    "NativeLayerNormBackward0",
    _layer_norm,
    outputs=("result", "result1", "result2"),
    backward=_layer_norm_grad,
    inputs=("input", "weight", "bias"),
)


def _channelwise(values, ndim):
    """One value per channel, shaped to go with (N, C, ...)."""
    return values.reshape((1, -1) + (1,) * (ndim - 2))


def _batch_norm(input, weight, bias, running_mean, running_var, training, eps):
    dims = (0, *range(2, input.ndim))
    if training:
        out, mean, rstd = _standardised(input, dims, eps)
    else:
        _check_floats(input, "batch_norm")
        mean, rstd = _channelwise(running_mean, input.ndim), 1 / np.sqrt(_channelwise(running_var, input.ndim) + eps)
        out = (input - mean) * rstd
    if weight is not None:
        out *= _channelwise(weight, input.ndim)
    if bias is not None:
        out += _channelwise(bias, input.ndim)
    return out.astype(input.dtype, copy=False), mean, rstd


def _batch_norm_grad(g, need, input, weight, running_mean, running_var, result1, result2, training, eps):
    ndim, dims = input.ndim, (0, *range(2, input.ndim))
    if training:
        normal, rstd = _standardised_again(input, result1, result2, dims, eps)
    else:
        rstd = rsqrt(_channelwise(running_var, ndim) + eps)
        normal = (input - _channelwise(running_mean, ndim)) * rstd
    scaled = g if weight is None else g * _channelwise(weight, ndim)
    return (
        None if not need[0] else _standardised_grad(scaled, normal, rstd, dims) if training else scaled * rstd,
        (g * normal).sum(axis=dims) if need[1] else None,
        g.sum(axis=dims) if need[2] else None,
    )


batch_norm = operator(
    "NativeBatchNormBackward0",
    _batch_norm,
    outputs=("result0", "result1", "result2"),
    backward=_batch_norm_grad,
    inputs=("input", "weight", "bias"),
)

# -- embedding -----------------------------------------------------------------------------------------------------------


def _embedding_factors(like, indices, padding_idx, scale_grad_by_freq):
    factors = np.ones(indices.shape, like.dtype)
    if scale_grad_by_freq:
        _, inverse, counts = np.unique(indices, return_inverse=True, return_counts=True)
        factors /= counts[inverse].reshape(indices.shape)
    if padding_idx is not None:
        factors[indices == padding_idx] = 0
    return factors[..., None]


embedding_factors = operator(None, _embedding_factors)


def _embedding_grad(g, shape, indices, padding_idx, scale_grad_by_freq):
    if padding_idx is not None or scale_grad_by_freq:
        g = g * embedding_factors(g, indices, padding_idx, scale_grad_by_freq)
    return rows_sum(g.reshape((-1, shape[1])), tuple(shape), 0, indices.reshape((-1,)))


embedding = operator(
    "EmbeddingBackward0",
    lambda weight, indices, padding_idx, scale_grad_by_freq: weight[indices],
    weight=lambda g, weight_shape, indices, padding_idx, scale_grad_by_freq: _embedding_grad(
        g, weight_shape, indices, padding_idx, scale_grad_by_freq
    ),
)
