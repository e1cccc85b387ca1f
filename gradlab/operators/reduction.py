"""Many to one: sums and means, products, extremes and order statistics, norms, and the running versions along a dim."""

from __future__ import annotations

import builtins
import math
from collections import namedtuple

import numpy as np

from gradlab.engine import operator
from gradlab.errors import no_kernel
from gradlab.operators._arguments import axes, axis, count, index, kept, one_dimensional
from gradlab.operators._sums import average, free, reduced, running, variance, wide
from gradlab.operators.indexing import place, place_sum
from gradlab.operators.joining import concatenated, flipped
from gradlab.operators.pointwise import exp, maximum, minimum, sign, where, zeros_like_grad
from gradlab.operators.shape import cast, cut, expand_to


def _all_dims(shape, dims, keepdim, *values):
    """Reduced values with the dims that were left out as 1."""
    return values if keepdim else [x.reshape(kept(shape, dims)) for x in values]


# -- sums and means ----------------------------------------------------------------------------------------------------


def _spread(g, self_shape, dim, keepdim):
    """A reduced gradient, spread over the shape that was reduced."""
    return expand_to(g if keepdim else g.reshape(kept(self_shape, axes(dim, len(self_shape)))), tuple(self_shape))


def _mean_grad(g, self_shape, dim, keepdim):
    return _spread(g / (count(self_shape, axes(dim, len(self_shape))) or math.nan), self_shape, dim, keepdim)


sum_all = operator("SumBackward0", lambda self: reduced(np.add, self), self=lambda g, self_shape: expand_to(g, tuple(self_shape)))
sum_dims = operator("SumBackward1", lambda self, dim, keepdim: reduced(np.add, self, axes(dim, self.ndim), keepdim), self=_spread)
mean_all = operator(
    "MeanBackward0",
    lambda self: average(self, tuple(range(self.ndim))),
    self=lambda g, self_shape: expand_to(g / (math.prod(self_shape) or math.nan), tuple(self_shape)),
)
mean_dims = operator("MeanBackward1", lambda self, dim, keepdim: average(self, axes(dim, self.ndim), keepdim), self=_mean_grad)


def sum(self, dim=None, keepdim=False, *, dtype=None):
    """The sum of all elements, or along one or several dims.

    >>> import gradlab
    >>> x = gradlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.sum(), x.sum(0), x.sum(dim=1, keepdim=True).shape
    (tensor(10.), tensor([4., 6.]), gradlab.Size([2, 1]))
    """
    return _typed(sum_all, self, dtype) if dim is None and not keepdim else _typed(sum_dims, self, dtype, dim, keepdim)


def _typed(operator, self, dtype, *options):
    """operator(self, *options), computed and given in a dtype if there is one."""
    return operator(self, *options) if dtype is None else cast(operator(cast(self, dtype), *options), dtype)


def mean(self, dim=None, keepdim=False, *, dtype=None):
    """The mean of all elements, or along one or several dims; of floating-point tensors only.

    >>> import gradlab
    >>> gradlab.tensor([[1.0, 2.0], [3.0, 4.0]]).mean(dim=0)
    tensor([2., 3.])
    """
    if dtype is not None:
        self = cast(self, dtype)
    _needs_float(self, "mean")
    return mean_all(self) if dim is None and not keepdim else mean_dims(self, dim, keepdim)


def _needs_float(self, name):
    if not self.dtype.is_floating_point:
        raise RuntimeError(f"{name}(): input dtype must be floating point, but got {self.dtype}; convert with .float() first")


def _centred(self, dim):
    return wide(self) - mean_dims(wide(self), axes(dim, self.ndim), True)


def _free(shape, dim, correction):
    """How many degrees of freedom the deviations have; torch divides by 0 when there are too few."""
    return builtins.max(count(shape, axes(dim, len(shape))) - correction, 0)


def _var(self, dim, correction, keepdim):
    return variance(self, axes(dim, self.ndim), correction, keepdim)


def _var_grad(g, self, dim, correction, keepdim):
    n = free(self.shape, axes(dim, len(self.shape)), correction)
    return _spread(g * (2 / n if n else math.inf), self.shape, dim, keepdim) * _centred(self, dim)


var_dims = operator("VarBackward0", _var, self=_var_grad)
std_dims = operator(
    "StdBackward0",
    lambda self, dim, correction, keepdim: np.sqrt(_var(self, dim, correction, keepdim)),
    self=lambda g, self, dim, correction, keepdim, result: _var_grad(
        where(result == 0, 0, g / (result * 2)), self, dim, correction, keepdim
    ),
)


def _spread_and_mean(node_name, spread, spread_grad):
    """The operator of the spread and the mean together: one node with two outputs."""

    def gradient(grads, self, dim, correction, keepdim, result0):
        parts = []
        if grads[0] is not None:
            parts.append(spread_grad(grads[0], result0, self, dim, correction, keepdim))
        if grads[1] is not None:
            n = count(self.shape, axes(dim, len(self.shape)))
            parts.append(_spread(grads[1] * (1 / n if n else math.inf), self.shape, dim, keepdim))
        return builtins.sum(parts[1:], parts[0])

    return operator(
        node_name,
        lambda self, dim, correction, keepdim: (
            spread(self, dim, correction, keepdim),
            average(self, axes(dim, self.ndim), keepdim),
        ),
        outputs=("result0", "result1"),
        self=gradient,
    )


var_mean_dims = _spread_and_mean("VarMeanBackward0", _var, lambda g, result, *rest: _var_grad(g, *rest))
std_mean_dims = _spread_and_mean(
    "StdMeanBackward0",
    lambda *given: np.sqrt(_var(*given)),
    lambda g, result, *rest: _var_grad(where(result == 0, 0, g / (result * 2)), *rest),
)


def _spread_options(self, name, dim, unbiased, correction):
    """torch takes var(unbiased), var(dim, unbiased) and var(dim, correction=1)."""
    _needs_float(self, name)
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    elif unbiased is not None:
        raise TypeError(f"{name}(): give either unbiased or correction, not both")
    return dim, correction


def var(self, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The variance, by default over n - 1 (`correction=1`).

    >>> import gradlab
    >>> gradlab.tensor([1.0, 2.0, 3.0]).var(), gradlab.tensor([1.0, 2.0, 3.0]).var(correction=0)
    (tensor(1.), tensor(0.6667))
    """
    dim, correction = _spread_options(self, "var", dim, unbiased, correction)
    return var_dims(self, dim, correction, keepdim)


def std(self, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The standard deviation, by default over n - 1 (`correction=1`).

    >>> import gradlab
    >>> gradlab.std(gradlab.tensor([1.0, 2.0, 4.0])), gradlab.std(gradlab.tensor([1.0, 2.0, 4.0]), correction=0)
    (tensor(1.5275), tensor(1.2472))
    """
    dim, correction = _spread_options(self, "std", dim, unbiased, correction)
    return std_dims(self, dim, correction, keepdim)


def var_mean(self, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The variance and the mean, as a tuple.

    >>> import gradlab
    >>> gradlab.var_mean(gradlab.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    dim, correction = _spread_options(self, "var_mean", dim, unbiased, correction)
    return tuple(var_mean_dims(self, dim, correction, keepdim))


def std_mean(self, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The standard deviation and the mean, as a tuple.

    >>> import gradlab
    >>> gradlab.std_mean(gradlab.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    dim, correction = _spread_options(self, "std_mean", dim, unbiased, correction)
    return tuple(std_mean_dims(self, dim, correction, keepdim))


# -- products and running sums -----------------------------------------------------------------------------------------


def _ones_at(self, dim):
    return cut(self, dim, 0, 1) * 0 + 1


def _products_of_others(self, dim):
    """For every element the product of all the others along `dim`: exact also where some of them are zero."""
    size, one = self.shape[dim], _ones_at(self, dim)
    before = products(concatenated([one, cut(self, dim, 0, size - 1)], dim), dim)
    after = products(concatenated([one, flipped(cut(self, dim, 1, size), (dim,))], dim), dim)
    return before * flipped(after, (dim,))


def _prod_grad(g, self, dim, keepdim):
    shape = tuple(self.shape)
    if not shape or math.prod(shape) == 0:
        return g if not shape else zeros_like_grad(self)
    if dim is None:
        return expand_to(g, shape) * _products_of_others(self.reshape((-1,)), 0).reshape(shape)
    return _spread(g, shape, dim, keepdim) * _products_of_others(self, axis(dim, len(shape)))


prod_all = operator(
    "ProdBackward0", lambda self: reduced(np.multiply, self), self=lambda g, self: _prod_grad(g, self, None, False)
)
prod_dim = operator(
    "ProdBackward1", lambda self, dim, keepdim: reduced(np.multiply, self, axes(dim, self.ndim), keepdim), self=_prod_grad
)


def prod(self, dim=None, keepdim=False, *, dtype=None):
    """The product of all elements, or along one dim; its gradient is exact also with zeros among them.

    >>> import gradlab
    >>> gradlab.tensor([[1.0, 2.0], [3.0, 4.0]]).prod(dim=1)
    tensor([ 2., 12.])
    """
    if dim is None:
        return _typed(_whole(prod_all, keepdim), self, dtype)
    return _typed(prod_dim, self, dtype, axis(dim, self.ndim), keepdim)


def _whole(operator, keepdim):
    if keepdim:
        raise TypeError("keepdim=True goes with a dim; without one there is one element, of shape []")
    return operator


def _sum_from(g, dim):
    """Sums over this place and all later ones: the transpose of a running sum."""
    return flipped(sums(flipped(g, (dim,)), dim), (dim,)) if g.ndim else g


_cumsum = one_dimensional(lambda self, dim: running(np.add, self, dim))
_cumprod = one_dimensional(lambda self, dim: running(np.multiply, self, dim))
sums = operator("CumsumBackward0", lambda self, dim: _cumsum(self, dim), self=_sum_from)


def _cumprod_grad(g, self, dim, result):
    """Each element is part of every later output; dividing it out is wrong where some element is zero."""
    if not self.ndim or 0 in self.shape:
        return g
    if not bool((self == 0).any()):
        return _sum_from(g * result, dim) / self
    size, pieces = self.shape[dim], []
    for k in range(size):
        after = products(concatenated([_ones_at(self, dim), cut(self, dim, k + 1, size)], dim), dim)
        part = cut(g, dim, k, size) * after
        if k:
            part = part * cut(result, dim, k - 1, k)
        pieces.append(part.sum(axis=dim, keepdims=True))
    return concatenated(pieces, dim)


products = operator("CumprodBackward0", lambda self, dim: _cumprod(self, dim), self=_cumprod_grad)


def cumsum(self, dim, *, dtype=None):
    """Running sums along `dim`.

    >>> import gradlab
    >>> gradlab.tensor([1.0, 2.0, 3.0]).cumsum(0)
    tensor([1., 3., 6.])
    """
    return _typed(sums, self, dtype, axis(dim, self.ndim))


def cumprod(self, dim, *, dtype=None):
    """Running products along `dim`.

    >>> import gradlab
    >>> gradlab.cumprod(gradlab.tensor([1.0, 2.0, 3.0]), dim=0)
    tensor([1., 2., 6.])
    """
    return _typed(products, self, dtype, axis(dim, self.ndim))


# -- extremes and order statistics: values picked by index --------------------------------------------------------------


def _picked(pick):
    """A forward whose values are elements of the input, with their indices along `dim`: pick(self, dim, *options)."""

    def forward(self, dim, keepdim, *options):
        if not self.ndim:
            return self.copy(), np.zeros((), np.int64)
        if not self.shape[dim]:
            raise IndexError(f"Expected reduction dim {dim} to have non-zero size.")
        indices = pick(self, dim, *options)
        values = np.take_along_axis(self, indices, dim)
        return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))

    return forward


def _back(g, indices, shape, dim, keepdim=True):
    """The gradient of picked values goes to the places they came from."""
    shape = tuple(shape)
    if not shape:
        return g
    g, indices = _all_dims(shape, (dim,), keepdim, g, indices)
    return place(g, shape, dim, indices)


def _picking(name, forward):
    """An operator that gives some of the elements, and where along `dim` they stood."""
    return operator(
        name,
        forward,
        outputs=("values", "indices"),
        self=(lambda g, indices, self_shape, dim, keepdim: _back(g, indices, self_shape, dim, keepdim))
        if "keepdim" in forward.__code__.co_varnames
        else lambda g, indices, self_shape, dim: _back(g, indices, self_shape, dim),
    )


_max = _picked(lambda self, dim: self.argmax(axis=dim, keepdims=True))
_min = _picked(lambda self, dim: self.argmin(axis=dim, keepdims=True))
_median = _picked(lambda self, dim: _ranked(self, dim, _median_rank(self, dim)))
_kth = _picked(lambda self, dim, k: _ranked(self, dim, k - 1))


def _median_rank(self, dim):
    """The lower of the two middle ones; a lane with a NaN gives the NaN."""
    middle = np.full(kept(self.shape, (dim,)), (self.shape[dim] - 1) // 2)
    if self.dtype.kind == "f":
        nans = np.isnan(self)
        if nans.any():
            middle = np.where(nans.any(axis=dim, keepdims=True), self.shape[dim] - nans.sum(axis=dim, keepdims=True), middle)
    return middle


def _numbers(self, name="median, kthvalue or topk"):
    if self.dtype.kind == "b":
        raise no_kernel(name, self.dtype)
    return self


def _ranked(self, dim, rank):
    order = np.argsort(_numbers(self), axis=dim, kind="stable")
    return np.take_along_axis(order, np.broadcast_to(rank, kept(self.shape, (dim,))), dim)


max_dim = _picking("MaxBackward0", lambda self, dim, keepdim: _max(self, dim, keepdim))
min_dim = _picking("MinBackward0", lambda self, dim, keepdim: _min(self, dim, keepdim))
median_dim = _picking("MedianBackward1", lambda self, dim, keepdim: _median(self, dim, keepdim))
kth_value = _picking("KthvalueBackward0", lambda self, k, dim, keepdim: _kth(self, dim, keepdim, k))


def _evenly(g, self, result):
    """Ties share the gradient evenly; where the result is NaN, the NaNs share it."""
    ties = (self == result) | ((self != self) & (result != result))
    return where(ties, g / ties.sum(), 0)


def _some(self, name):
    if not self.size:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify it with the 'dim' argument."
        )
    return self


max_all = operator("MaxBackward1", lambda self: np.maximum.reduce(_some(self, "max"), None), self=_evenly)
min_all = operator("MinBackward1", lambda self: np.minimum.reduce(_some(self, "min"), None), self=_evenly)
median_all = operator(
    "MedianBackward0",
    lambda self: _median(self.reshape(-1), 0, False)[0] if self.size else np.full((), math.nan, self.dtype),
    self=_evenly,
    promote="numbers",
)

class Picked(namedtuple("Picked", "values indices")):
    """What `max(dim)` and its kin return: the elements that were picked, and where they stood. It shows itself as in torch."""

    __slots__ = ()

    def __reduce__(self):
        return _picked_by, (type(self).__name__, tuple(self))

    def __repr__(self):
        return f"gradlab.return_types.{type(self).__name__}(\nvalues={self.values!r},\nindices={self.indices!r})"


def _picked_by(name, pair):
    return _KINDS[name](*pair)


_KINDS = {name: type(name, (Picked,), {"__slots__": ()}) for name in "max min median kthvalue sort topk cummax cummin".split()}


def _most(name, of_all, along, of_two, self, dim, keepdim, other):
    other = dim if hasattr(dim, "shape") else other
    if other is not None:
        return of_two(self, other)
    if dim is None:
        return _whole(of_all, keepdim)(self)
    return _picked_by(name, along(self, axis(dim, self.ndim), keepdim))


def max(self, dim=None, keepdim=False, *, other=None):
    """The largest element, or (values, indices) along a dim, or the larger of two tensors.

    Without a dim ties share the gradient; along a dim it goes to the one that was picked.

    >>> import gradlab
    >>> x = gradlab.tensor([[1.0, 5.0], [7.0, 2.0]])
    >>> x.max(), x.max(dim=1).indices
    (tensor(7.), tensor([1, 0]))
    """
    return _most("max", max_all, max_dim, maximum, self, dim, keepdim, other)


def min(self, dim=None, keepdim=False, *, other=None):
    """The smallest element, or (values, indices) along a dim, or the smaller of two tensors.

    >>> import gradlab
    >>> x = gradlab.tensor([[1.0, 5.0], [7.0, 2.0]])
    >>> gradlab.min(x), gradlab.min(x, dim=1).values
    (tensor(1.), tensor([1., 2.]))
    """
    return _most("min", min_all, min_dim, minimum, self, dim, keepdim, other)


def median(self, dim=None, keepdim=False):
    """The middle element (the lower of two), or (values, indices) along a dim.

    >>> import gradlab
    >>> gradlab.median(gradlab.tensor([3.0, 1.0, 4.0, 2.0]))
    tensor(2.)
    """
    if dim is None:
        return _whole(median_all, keepdim)(self)
    return _picked_by("median", median_dim(self, axis(dim, self.ndim), keepdim))


def kthvalue(self, k, dim=-1, keepdim=False):
    """The k-th smallest element along a dim, counted from 1, and its index.

    >>> import gradlab
    >>> values, indices = gradlab.kthvalue(gradlab.tensor([3.0, 1.0, 2.0]), 2)
    >>> values, indices
    (tensor(2.), tensor(2))
    """
    dim, k = axis(dim, self.ndim), index(k, "k")
    if not 1 <= k <= (self.shape[dim] if self.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    return _picked_by("kthvalue", kth_value(self, k, dim, keepdim))


def _share(g, self, result, dim, keepdim):
    dims = axes(dim, len(self.shape))
    g, result = _all_dims(self.shape, dims, keepdim, g, result)
    ties = self == result
    return g * ties / ties.sum(axis=dims, keepdims=True)


def _extreme(ufunc):
    def forward(self, dim, keepdim):
        dims = axes(dim, self.ndim)
        if not count(self.shape, dims):
            named = dim is not None and dim != () and dim != []
            raise (IndexError if named else RuntimeError)(
                "amax()/amin(): Expected reduction dim to be specified and to have non-zero size."
            )
        return ufunc.reduce(self, axis=dims, keepdims=keepdim)

    return forward


largest, smallest = [
    operator(name, _extreme(ufunc), self=_share)
    for name, ufunc in (("AmaxBackward0", np.maximum), ("AminBackward0", np.minimum))
]


def amax(self, dim=(), keepdim=False):
    """The largest element along dims (default: all); ties share the gradient evenly.

    >>> import gradlab
    >>> x = gradlab.tensor([[1.0, 5.0], [7.0, 2.0]])
    >>> gradlab.amax(x), gradlab.amax(x, dim=0)
    (tensor(7.), tensor([7., 5.]))
    """
    return largest(self, dim, keepdim)


def amin(self, dim=(), keepdim=False):
    """The smallest element along dims (default: all); ties share the gradient evenly.

    >>> import gradlab
    >>> x = gradlab.tensor([[1.0, 5.0], [7.0, 2.0]])
    >>> gradlab.amin(x), gradlab.amin(x, dim=0)
    (tensor(1.), tensor([1., 2.]))
    """
    return smallest(self, dim, keepdim)


def _running_indices(self, dim, beats):
    """Where the running extreme along `dim` was last reached (a later equal one counts, and so does a NaN)."""
    lanes = np.moveaxis(self, dim, 0)
    indices = np.zeros(lanes.shape, np.int64)
    best = lanes[:1].copy()[0] if len(lanes) else None
    for n in range(1, len(lanes)):
        newer = beats(lanes[n], best) | np.isnan(lanes[n]) if self.dtype.kind == "f" else beats(lanes[n], best)
        indices[n] = np.where(newer, n, indices[n - 1])
        best = np.where(newer, lanes[n], best)
    return np.moveaxis(indices, 0, dim)


def _running(beats):
    def forward(self, dim):
        indices = _running_indices(self, dim, beats)
        return np.take_along_axis(self, indices, dim), indices

    return one_dimensional(forward)


running_max, running_min = [
    operator(
        name,
        _running(beats),
        outputs=("values", "indices"),
        self=lambda g, self_shape, dim, indices: place_sum(g, tuple(self_shape), dim, indices) if self_shape else g,
    )
    for name, beats in (("CummaxBackward0", np.greater_equal), ("CumminBackward0", np.less_equal))
]


def cummax(self, dim):
    """The running maximum along `dim`, and where it was reached.

    >>> import gradlab
    >>> values, indices = gradlab.cummax(gradlab.tensor([2.0, 1.0, 3.0]), dim=0)
    >>> values, indices
    (tensor([2., 2., 3.]), tensor([0, 0, 2]))
    """
    return _picked_by("cummax", running_max(self, axis(dim, self.ndim)))


def cummin(self, dim):
    """The running minimum along `dim`, and where it was reached.

    >>> import gradlab
    >>> values, indices = gradlab.cummin(gradlab.tensor([2.0, 1.0, 3.0]), dim=0)
    >>> values, indices
    (tensor([2., 1., 1.]), tensor([0, 1, 1]))
    """
    return _picked_by("cummin", running_min(self, axis(dim, self.ndim)))


def _order(self, dim, descending):
    """Stable; NaN counts as the largest."""
    if not descending:
        return np.argsort(self, axis=dim, kind="stable")
    backwards = np.argsort(np.flip(self, dim), axis=dim, kind="stable")
    return self.shape[dim] - 1 - np.flip(backwards, dim)


def _sort(self, dim, descending):
    order = _order(self, dim, descending)
    return np.take_along_axis(self, order, dim), order


_sorted = one_dimensional(_sort)
sorted_by = _picking("SortBackward0", lambda self, dim, descending: _sorted(self, dim, descending))
sorted_stable = _picking("SortBackward1", lambda self, dim, descending, stable: _sorted(self, dim, descending))


def sort(self, dim=-1, descending=False, stable=None):
    """The elements in order along a dim, and their indices; equal ones keep their order, NaN is the largest.

    >>> import gradlab
    >>> gradlab.tensor([2.0, 3.0, 1.0]).sort().indices
    tensor([2, 0, 1])
    """
    dim = axis(dim, self.ndim)
    return _picked_by(
        "sort", sorted_by(self, dim, descending) if stable is None else sorted_stable(self, dim, descending, stable)
    )


def argsort(self, dim=-1, descending=False, stable=None):
    """The indices that sort along a dim.

    >>> import gradlab
    >>> gradlab.argsort(gradlab.tensor([2.0, 3.0, 1.0]), descending=True)
    tensor([1, 0, 2])
    """
    return sort(self.detach(), dim, descending).indices


_topk = one_dimensional(lambda self, dim, k, largest: tuple([np.take(a, range(k), dim) for a in _sort(self, dim, largest)]))
top = _picking("TopkBackward0", lambda self, dim, k, largest: _topk(_numbers(self), dim, k, largest))


def topk(self, k, dim=-1, largest=True, sorted=True):
    """The k largest (or smallest) elements along a dim, in order, and their indices.

    >>> import gradlab
    >>> values, indices = gradlab.topk(gradlab.tensor([2.0, 3.0, 1.0]), 2)
    >>> values, indices
    (tensor([3., 2.]), tensor([1, 0]))
    """
    dim, k = axis(dim, self.ndim), index(k, "k")
    if not 0 <= k <= (self.shape[dim] if self.ndim else 1):
        raise RuntimeError("selected index k out of range")
    return _picked_by("topk", top(self, dim, k, largest))


# -- norms and log-sum-exp ----------------------------------------------------------------------------------------------


def _lse(self, dim, keepdim):
    dims = axes(dim, self.ndim)
    if not count(self.shape, dims):
        return np.log(np.add.reduce(np.exp(self), dims, keepdims=keepdim))
    peak = np.maximum.reduce(self, dims, keepdims=True)
    peak = np.where(np.isinf(peak), 0, peak)
    out = np.log(reduced(np.add, np.exp(self - peak), dims, True)) + peak
    return out if keepdim else out.squeeze(dims)


def _lse_grad(g, self, result, dim, keepdim):
    g, result = _all_dims(self.shape, axes(dim, len(self.shape)), keepdim, g, result)
    return g * exp(self - result)


log_sum_exp = operator("LogsumexpBackward0", _lse, self=_lse_grad, promote="float")


def logsumexp(self, dim, keepdim=False):
    """`log(sum(exp(self)))` along dims, without overflow.

    >>> import gradlab
    >>> gradlab.tensor([1000.0, 1000.0]).logsumexp(0)
    tensor(1000.6932)
    """
    return log_sum_exp(self, dim, keepdim)


def _norm(self, ord, dim, keepdim):
    return _norm_of(np.abs(wide(self)), ord, axes(dim, self.ndim), keepdim).astype(self.dtype, copy=False)


def _norm_of(size, ord, dims, keepdim):
    if ord in (math.inf, -math.inf):
        if not count(size.shape, dims):
            raise RuntimeError(f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor: it has no identity")
        return (np.maximum if ord > 0 else np.minimum).reduce(size, dims, keepdims=keepdim)
    if ord == 0:
        return np.add.reduce(size != 0, dims, size.dtype, keepdims=keepdim)
    if ord == 1:
        return np.add.reduce(size, dims, keepdims=keepdim)
    if ord == 2:
        return np.sqrt(np.add.reduce(np.square(size), dims, keepdims=keepdim))
    return np.add.reduce(size**ord, dims, keepdims=keepdim) ** (1 / ord)


def _norm_grad(g, self, ord, result, dim, keepdim):
    """Zero where the norm is zero (the smallest subgradient), as in torch."""
    dims = axes(dim, len(self.shape))
    g, result = _all_dims(self.shape, dims, keepdim, g, result)
    if ord == 0:
        return None
    if ord == 1:
        return g * sign(self)
    if ord == 2:
        return g * where(result == 0, 0, self / result)
    size = self * sign(self)
    if ord in (math.inf, -math.inf):
        ties = (size == result) | ((size != size) & (result != result))
        return sign(self) * where(ties, g / ties.sum(axis=dims, keepdims=True), 0)
    if ord < 1:
        powered = sign(self) * where(self == 0, 0, size ** (ord - 1))
        return powered * (g * where(result == 0, 0, result ** (1 - ord)))
    if ord < 2:
        powered = sign(self) * where(self == 0, 0, size ** (ord - 1))
    else:
        powered = self * where(self == 0, 0, size ** (ord - 2))
    return powered * where(result == 0, 0, g / where(result == 0, 1, result) ** (ord - 1))


vector_norm_dims = operator("LinalgVectorNormBackward0", _norm, self=_norm_grad)


def vector_norm(self, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The norm of the elements taken as a vector: (sum |x|^ord)^(1/ord), all of them or along dims.

    >>> import gradlab
    >>> gradlab.linalg.vector_norm(gradlab.tensor([3.0, 4.0]))
    tensor(5.)
    """
    _needs_float(self, "linalg.vector_norm")
    if dtype is not None:
        self = cast(self, dtype)
    return vector_norm_dims(self, float(ord), None if dim is None else axes(dim, self.ndim), keepdim)


# -- no derivative -------------------------------------------------------------------------------------------------------


def _arg(find):
    def forward(self, dim=None, keepdim=False):
        if self.dtype.kind == "b":
            raise RuntimeError(f"{find.__name__}(): does not support bool input; convert with .long() first")
        if not self.size and (dim is None or not self.shape[axis(dim, self.ndim)]):
            raise IndexError("argmax()/argmin(): Expected reduction dim to be specified and to have non-zero size.")
        if dim is None or not self.ndim:
            return find(self, axis=None, keepdims=keepdim)
        return find(self, axis=axis(dim, self.ndim), keepdims=keepdim)

    return forward


argmax = operator(None, _arg(np.argmax))
argmin = operator(None, _arg(np.argmin))
def _logical(ufunc):
    """Of uint8 as uint8, as in torch, where it once stood for bool."""

    def forward(self, dim=None, keepdim=False):
        dims = dim if dim == () else axes(dim, self.ndim)
        return ufunc.reduce(self, dims, keepdims=keepdim).astype(self.dtype if self.dtype == np.uint8 else bool)

    return forward


any, all = operator(None, _logical(np.logical_or)), operator(None, _logical(np.logical_and))
count_nonzero = operator(None, lambda self, dim=None: np.count_nonzero(self, axis=axes(dim, self.ndim)))
bincount = operator(None, lambda self, weights=None, minlength=0: np.bincount(_numbers(self, "bincount"), weights, minlength))
unique = operator(None, lambda self, sorted=True: np.unique(self, equal_nan=False))


def norm(self, p="fro", dim=None, keepdim=False, *, dtype=None):
    """The p-norm of the elements taken as a vector ("fro" is 2); "nuc" sums the singular values of a matrix.

    >>> import gradlab
    >>> x = gradlab.tensor([3.0, -4.0])
    >>> gradlab.norm(x), gradlab.norm(x, p=1)
    (tensor(5.), tensor(7.))
    """
    from gradlab.operators.linalg import nuclear_norm

    if dtype is not None:
        self = cast(self, dtype)
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    if p == "nuc":
        return nuclear_norm(self, dim, keepdim)
    return vector_norm(self, 2 if p in ("fro", None) else p, dim, keepdim)
