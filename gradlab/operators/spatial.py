"""Convolution, pooling and padding over the last one or two dims."""

from __future__ import annotations

import math

import numpy as np

from gradlab import dtypes
from gradlab.engine import operator
from gradlab.errors import no_kernel
from gradlab.operators._sums import wide
from gradlab.operators.indexing import rows_sum
from gradlab.operators.pointwise import tie
from gradlab.operators.shape import take_key

# -- convolution: three operators that are linear in both inputs and are each other's derivatives ---------------------------


def _lifted(x):
    """(N, C, L) as (N, C, 1, L): one dim is two dims with a height of 1. Masks have no convolution."""
    if x.dtype.kind == "b":
        raise no_kernel("convolution", x.dtype)
    return x[:, :, None, :] if x.ndim == 3 else x


def _two(values, fill):
    return (fill, values[0]) if len(values) == 1 else tuple(values)


def _window(size, kernel, stride, padding, dilation):
    """How many places the kernel takes along one dim."""
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def _padded(x, padding):
    top, left = padding
    if not top and not left:
        return x
    n, c, h, w = x.shape
    out = np.zeros((n, c, h + 2 * top, w + 2 * left), x.dtype)
    out[:, :, top : top + h, left : left + w] = x
    return out


def _taps(kernel, places, stride, dilation):
    """For each place in the kernel, the part of the padded input that it meets."""
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            rows = slice(i * dilation[0], i * dilation[0] + stride[0] * (places[0] - 1) + 1, stride[0])
            columns = slice(j * dilation[1], j * dilation[1] + stride[1] * (places[1] - 1) + 1, stride[1])
            yield i, j, (slice(None), slice(None), rows, columns)


def _columns(x, kernel, places, stride, padding, dilation, groups):
    """What every place of the kernel sees: (N, groups, C / groups * kernel, places)."""
    padded = _padded(x, padding)
    n, c = x.shape[:2]
    out = np.empty((n, c, *kernel, *places), x.dtype)
    for i, j, tap in _taps(kernel, places, stride, dilation):
        out[:, :, i, j] = padded[tap]
    return out.reshape(n, groups, c // groups * kernel[0] * kernel[1], places[0] * places[1])


def _grouped(weight, groups):
    return weight.reshape(groups, weight.shape[0] // groups, -1)


def _options(stride, padding, dilation):
    return _two(stride, 1), _two(padding, 0), _two(dilation, 1)


def _convolve(input, weight, bias, stride, padding, dilation, groups):
    x, w = _lifted(input), _lifted(weight)
    stride, padding, dilation = _options(stride, padding, dilation)
    places = tuple([_window(x.shape[d + 2], w.shape[d + 2], stride[d], padding[d], dilation[d]) for d in (0, 1)])
    out = np.matmul(_grouped(w, groups), _columns(x, w.shape[2:], places, stride, padding, dilation, groups))
    out = out.reshape(x.shape[0], w.shape[0], *places)
    if bias is not None:
        out += bias[:, None, None]
    return out.reshape(out.shape[:2] + out.shape[3:]) if input.ndim == 3 else out


def _convolve_back(self, weight, shape, stride, padding, dilation, groups):
    g, w = _lifted(self), _lifted(weight)
    stride, padding, dilation = _options(stride, padding, dilation)
    n, c, h, width = shape if len(shape) == 4 else (*shape[:2], 1, shape[2])
    places, kernel = g.shape[2:], w.shape[2:]
    columns = np.matmul(_grouped(w, groups).swapaxes(1, 2), g.reshape(n, groups, g.shape[1] // groups, places[0] * places[1]))
    columns = columns.reshape(n, c, *kernel, *places)
    out = np.zeros((n, c, h + 2 * padding[0], width + 2 * padding[1]), g.dtype)
    for i, j, tap in _taps(kernel, places, stride, dilation):
        out[tap] += columns[:, :, i, j]
    return out[:, :, padding[0] : padding[0] + h, padding[1] : padding[1] + width].reshape(shape)


def _convolve_weight(self, input, shape, stride, padding, dilation, groups):
    g, x = _lifted(self), _lifted(input)
    stride, padding, dilation = _options(stride, padding, dilation)
    kernel = shape[2:] if len(shape) == 4 else (1, shape[2])
    places = g.shape[2:]
    columns = _columns(x, kernel, places, stride, padding, dilation, groups)
    gradients = g.reshape(g.shape[0], groups, g.shape[1] // groups, places[0] * places[1])
    return np.matmul(gradients, columns.swapaxes(2, 3)).sum(axis=0).reshape(shape)


def _bias_grad(g):
    return g.sum(axis=(0, 2, 3) if g.ndim == 4 else (0, 2))


convolution = operator(
    "ConvolutionBackward0",
    _convolve,
    input=lambda g, weight, input_shape, stride, padding, dilation, groups: (
        convolution_back(g, weight, tuple(input_shape), stride, padding, dilation, groups)
    ),
    weight=lambda g, input, weight_shape, stride, padding, dilation, groups: (
        convolution_weight(g, input, tuple(weight_shape), stride, padding, dilation, groups)
    ),
    bias=_bias_grad,
)
convolution_back = operator(
    "ConvolutionBackwardBackward0",
    _convolve_back,
    self=lambda g, weight, stride, padding, dilation, groups: convolution(g, weight, None, stride, padding, dilation, groups),
    weight=lambda g, self, weight_shape, stride, padding, dilation, groups: (
        convolution_weight(self, g, tuple(weight_shape), stride, padding, dilation, groups)
    ),
)
convolution_weight = operator(
    "ConvolutionBackwardBackward0",
    _convolve_weight,
    self=lambda g, input, stride, padding, dilation, groups: convolution(input, g, None, stride, padding, dilation, groups),
    input=lambda g, self, input_shape, stride, padding, dilation, groups: (
        convolution_back(self, g, tuple(input_shape), stride, padding, dilation, groups)
    ),
)


def _convolve_transposed(input, weight, bias, shape, stride, padding, dilation, groups):
    out = _convolve_back(input, weight, shape, stride, padding, dilation, groups)
    return out if bias is None else out + bias.reshape((-1,) + (1,) * (input.ndim - 2))


convolution_transposed = operator(  # the convolution's derivative by its input, as an operation of its own
    "ConvolutionBackward0",
    _convolve_transposed,
    input=lambda g, weight, input_shape, stride, padding, dilation, groups: _first_places(
        convolution(g, weight, None, stride, padding, dilation, groups), tuple(input_shape)
    ),
    weight=lambda g, input, weight_shape, stride, padding, dilation, groups: (
        convolution_weight(input, g, tuple(weight_shape), stride, padding, dilation, groups)
    ),
    bias=_bias_grad,
)


def _first_places(g, shape):
    """Without the places that only the output padding made."""
    return g if g.shape == shape else take_key(g, tuple([slice(n) for n in shape]))


# -- pooling -----------------------------------------------------------------------------------------------------------


def pooled_size(size, kernel, stride, padding, dilation, ceil_mode):
    """How many windows fit along one dim; the last must start inside the input or its left padding."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    places = -(-span // stride) + 1 if ceil_mode else span // stride + 1
    return places - 1 if ceil_mode and (places - 1) * stride >= size + padding else places


def _bordered(self, kernel, places, stride, padding, dilation):
    """The input with a border of -inf (the least value of an integer dtype), wide enough for every window."""
    h, w = self.shape[-2:]
    rows, columns = [(places[d] - 1) * stride[d] + dilation[d] * (kernel[d] - 1) + 1 for d in (0, 1)]
    if padding == (0, 0) and rows <= h and columns <= w:
        return self
    low = -math.inf if self.dtype.kind == "f" else np.iinfo(self.dtype).min
    out = np.full((*self.shape[:2], max(rows, h + padding[0]), max(columns, w + padding[1])), low, self.dtype)
    out[:, :, padding[0] : padding[0] + h, padding[1] : padding[1] + w] = self
    return out


def _max_pool(self, kernel, stride, padding, dilation, ceil_mode):
    """The largest value of each window, and its place in the plane."""
    if self.dtype.kind == "b":
        raise no_kernel("max_pool", self.dtype)
    x = self if self.ndim == 4 else self[None]
    places = tuple([pooled_size(x.shape[d + 2], kernel[d], stride[d], padding[d], dilation[d], ceil_mode) for d in (0, 1)])
    bordered = _bordered(x, kernel, places, stride, padding, dilation)
    best, tap_of = None, None
    for i, j, tap in _taps(kernel, places, stride, dilation):
        values = bordered[tap]
        if best is None:
            best, tap_of = values.copy(), np.zeros(values.shape, np.int32)
            continue
        better = ~(values <= best)  # a NaN is better than anything, as in torch
        if x.dtype.kind == "f":
            better &= best == best if not np.isnan(values).any() else (best == best) | (values != values)
        np.copyto(best, values, where=better)
        tap_of[better] = i * kernel[1] + j
    indices = _plane_places(tap_of, x.shape[-1], kernel, places, stride, padding, dilation)
    shape = self.shape[:-2] + places
    return best.reshape(shape), indices.reshape(shape)


def _plane_places(tap_of, width, kernel, places, stride, padding, dilation):
    """Indices into the flattened plane, out of which place of the kernel won."""
    offsets = [i * dilation[0] * width + j * dilation[1] for i in range(kernel[0]) for j in range(kernel[1])]
    rows = (np.arange(places[0]) * stride[0] - padding[0])[:, None] * width
    return np.array(offsets)[tap_of] + (rows + np.arange(places[1]) * stride[1] - padding[1])


def _flat_places(indices, shape):
    """Indices into the whole flattened input, out of indices into each plane."""
    planes = math.prod(shape[:-2])
    firsts = np.arange(planes) * (shape[-2] * shape[-1])
    return (indices.reshape(planes, math.prod(indices.shape[-2:])) + firsts[:, None]).reshape(-1)


def _planes_sum(self, shape, indices, apart):
    flat = np.zeros(math.prod(shape), self.dtype)
    places = _flat_places(indices, shape)
    if apart:
        flat[places] = self.reshape(-1)
    else:
        np.add.at(flat, places, self.reshape(-1))
    return flat.reshape(shape)


planes_sum = operator(  # `apart`: the windows do not overlap, so that each place gets one gradient at most
    "MaxPool2DWithIndicesBackwardBackward0", _planes_sum, self=lambda g, indices: planes_picked(g, indices)
)
planes_picked = operator(
    "GatherBackward0",
    lambda self, indices: self.reshape(-1)[_flat_places(indices, self.shape)].reshape(indices.shape),
    self=lambda g, self_shape, indices: planes_sum(g, tuple(self_shape), indices, False),
)


def _apart(kernel, stride, dilation):
    return all([stride[d] >= dilation[d] * (kernel[d] - 1) + 1 for d in (0, 1)])


max_pool = operator(
    "MaxPool2DWithIndicesBackward0",
    _max_pool,
    outputs=("result0", "result1"),
    self=lambda g, self, result1, kernel, stride, dilation: planes_sum(
        tie(g, self), tuple(self.shape), result1, _apart(kernel, stride, dilation)
    ),
)


def _applied(self, rows, columns):
    """A linear map of each plane, one matrix for its rows and one for its columns; integers without fractions."""
    if self.dtype.kind != "f":
        return np.trunc(np.round(np.matmul(np.matmul(rows, self), columns.T), 6)).astype(self.dtype)
    x = wide(self)
    return np.matmul(np.matmul(rows.astype(x.dtype), x), columns.T.astype(x.dtype)).astype(self.dtype, copy=False)


def _plane_map(name, promote="floats"):
    """An operator that maps each plane by (rows, columns); the derivative maps back by their transposes."""
    return operator(
        name,
        lambda self, rows, columns: _applied(self, rows, columns),
        self=lambda g, self, rows, columns: planes_mapped(tie(g, self), rows.T, columns.T),
        promote=promote,
    )


planes_mapped = _plane_map("AvgPool2DBackwardBackward0")
average_pool, adaptive_pool = _plane_map("AvgPool2DBackward0", "numbers"), _plane_map("AdaptiveAvgPool2DBackward0")


def average_matrix(size, kernel, stride, padding, ceil_mode, count_include_pad, divided):
    """One row for each window along a dim: 1 / length at what it covers (1 where a divisor is given)."""
    out = np.zeros((pooled_size(size, kernel, stride, padding, 1, ceil_mode), size))
    for n, row in enumerate(out):
        start = n * stride - padding
        stop = min(start + kernel, size + padding)
        covered = slice(max(start, 0), min(stop, size))
        length = stop - start if count_include_pad else covered.stop - covered.start
        row[covered] = 1 if divided else 1 / length
    return out


def adaptive_matrix(size, places):
    """One row for each of `places` windows of about equal length that cover a dim."""
    out = np.zeros((places, size))
    for n, row in enumerate(out):
        window = slice(n * size // places, -(-(n + 1) * size // places))
        row[window] = 1 / (window.stop - window.start)
    return out


# -- padding -------------------------------------------------------------------------------------------------------------


def _by_dim(padding, ndim):
    """torch's flat list, last dim first, as (dim, before, after)."""
    return [(ndim - 1 - n, padding[2 * n], padding[2 * n + 1]) for n in range(len(padding) // 2)]


def _constant_pad(self, padding, value):
    inner, widths = [slice(None)] * self.ndim, [(0, 0)] * self.ndim
    for dim, before, after in _by_dim(padding, self.ndim):
        size = self.shape[dim]
        if size + before + after < 0:
            raise RuntimeError(f"pad: the padding {(before, after)} removes more than dim {dim} of size {size} has")
        inner[dim] = slice(max(-before, 0), max(size + min(after, 0), 0))
        widths[dim] = (max(before, 0), max(after, 0))
    return np.pad(self[tuple(inner)], widths, constant_values=dtypes.fitted(value, self.dtype))


constant_pad = operator(
    "ConstantPadNdBackward0", _constant_pad, self=lambda g, padding: constant_pad(g, tuple([-n for n in padding]), 0)
)


def _pad_index(size, before, after, mode):
    """Which element each place of the padded dim shows."""
    places = np.arange(-before, size + after)
    if mode == "replicate":
        return places.clip(0, size - 1)
    if mode == "circular":  # what negative padding leaves is what goes round
        left = np.arange(max(-before, 0), size + min(after, 0))
        return left[np.arange(-max(before, 0), len(left) + max(after, 0)) % len(left)]
    turned = np.abs(places)
    return np.where(turned >= size, 2 * (size - 1) - turned, turned)


def _index_pad(self, padding, mode):
    for dim, before, after in _by_dim(padding, self.ndim):
        self = np.take(self, _pad_index(self.shape[dim], before, after, mode), dim)
    return self


def _index_pad_grad(g, shape, padding, mode):
    """The gradient of every place goes to the element that it shows, one dim after the other."""
    wide = list(g.shape)
    for dim, before, after in _by_dim(padding, len(shape)):
        wide[dim] = shape[dim]
        g = rows_sum(g, tuple(wide), dim, _pad_index(shape[dim], before, after, mode))
    return g


def _index_pad_operator(name):
    return operator(
        name, lambda self, padding, mode: _index_pad(self, padding, mode),
        self=lambda g, self, padding, mode: _index_pad_grad(
            g if mode == "circular" else tie(g, self), tuple(self.shape), padding, mode
        ),
    )


index_pads = {
    (mode, n): _index_pad_operator(f"{name}{n}DBackward0")
    for mode, name in (("reflect", "ReflectionPad"), ("replicate", "ReplicationPad"), ("circular", "CircularPad"))
    for n in (1, 2, 3)
}
