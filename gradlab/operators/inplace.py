"""The in-place forms: an operator's name with an underscore writes its result into `self`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradlab.engine import TensorBase, operator
from gradlab.errors import no_kernel
from gradlab.operators import indexing, joining, linalg, neural, pointwise, reduction, shape
from gradlab.operators._arguments import axis, is_number
from gradlab.operators._views import copy
from gradlab.operators._writing import inplace
from gradlab.operators.creation import filled as full_array
from gradlab.operators.pointwise import zeros_like_grad
from gradlab.random import source

add_, sub_ = inplace(pointwise.add), inplace(pointwise.sub)
mul_, div_ = inplace(pointwise.mul), inplace(pointwise.div)
true_divide_, floor_divide_ = inplace(pointwise.true_divide), inplace(pointwise.floor_divide)
remainder_, pow_, square_ = inplace(pointwise.remainder), inplace(pointwise.pow), inplace(pointwise.square)
neg_, abs_, sign_, reciprocal_ = map(inplace, (pointwise.neg, pointwise.abs, pointwise.sign, pointwise.reciprocal))
exp_, expm1_, sqrt_, rsqrt_ = map(inplace, (pointwise.exp, pointwise.expm1, pointwise.sqrt, pointwise.rsqrt))
log_, log2_, log10_, log1p_ = map(inplace, (pointwise.log, pointwise.log2, pointwise.log10, pointwise.log1p))
sin_, cos_, tan_ = map(inplace, (pointwise.sin, pointwise.cos, pointwise.tan))
asin_, acos_, atan_, atan2_ = map(inplace, (pointwise.asin, pointwise.acos, pointwise.atan, pointwise.atan2))
sinh_, cosh_, tanh_ = map(inplace, (pointwise.sinh, pointwise.cosh, pointwise.tanh))
sigmoid_, erf_, xlogy_ = map(inplace, (pointwise.sigmoid, pointwise.erf, pointwise.xlogy))
floor_, ceil_, trunc_ = map(inplace, (pointwise.floor, pointwise.ceil, pointwise.trunc))
frac_, round_, nan_to_num_ = map(inplace, (pointwise.frac, pointwise.round, pointwise.nan_to_num))
clamp_, clamp_min_, clamp_max_ = map(inplace, (pointwise.clamp, pointwise.clamp_min, pointwise.clamp_max))
lerp_, addcmul_, addcdiv_ = map(inplace, (pointwise.lerp, pointwise.addcmul, pointwise.addcdiv))
tril_, triu_, cumsum_, cumprod_ = map(inplace, (joining.tril, joining.triu, reduction.cumsum, reduction.cumprod))
masked_fill_, index_put_ = inplace(indexing.masked_fill), inplace(indexing.index_put)
scatter_, scatter_add_ = inplace(indexing.scatter), inplace(indexing.scatter_add)
index_add_, index_copy_ = inplace(indexing.index_add), inplace(indexing.index_copy)
index_fill_ = inplace(indexing.index_fill)
addmm_, relu_ = inplace(linalg.addmm), inplace(neural.relu)
copied_into, copied_onto_itself = inplace(copy), inplace(copy, overlap=True)
logical_not_, bitwise_and_ = inplace(pointwise.logical_not), inplace(pointwise.bitwise_and)
bitwise_or_, bitwise_xor_ = inplace(pointwise.bitwise_or), inplace(pointwise.bitwise_xor)
bitwise_not_, logical_and_ = inplace(pointwise.bitwise_not), inplace(pointwise.logical_and)
logical_or_, logical_xor_ = inplace(pointwise.logical_or), inplace(pointwise.logical_xor)


def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Write the values of `src`, broadcast to this shape, into this tensor; gradients then go to `src`.

    >>> import gradlab
    >>> gradlab.zeros(2, 2).copy_(gradlab.tensor([1.0, 2.0])).tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    if is_number(src):
        return fill_(self, src)
    if not isinstance(src, TensorBase):
        raise TypeError(f"copy_(): argument 'other' must be Tensor, not {type(src).__name__}")
    return copied_onto_itself(self, src) if src is self else copied_into(self, src)


# -- filling -------------------------------------------------------------------------------------------------------------


def _fill_operators(number_node, tensor_node):
    """torch has nodes of their own for fill_ and for fill."""
    full = lambda self, value: full_array(self.shape, value, self.dtype)  # noqa: E731
    return (
        operator(number_node, full, self=lambda g: zeros_like_grad(g)),
        operator(tensor_node, full, self=lambda g: zeros_like_grad(g), value=lambda g: g.sum()),
    )


filled_number, filled = _fill_operators("FillBackward0", "FillBackward1")
_by_number, _by_tensor = _fill_operators("FillBackward2", "FillBackward3")
fill_number_, fill_tensor_ = inplace(_by_number, overlap=True), inplace(_by_tensor)
zero_ = inplace(operator("ZeroBackward0", lambda self: np.zeros_like(self), self=lambda g: zeros_like_grad(g)), overlap=True)


def _value(value):
    if not is_number(value) and value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return value


def fill(self: Any, value: Any) -> Any:
    """One value everywhere, in the shape and dtype of `self`.

    >>> import gradlab
    >>> gradlab.fill(gradlab.zeros(2), 3)
    tensor([3., 3.])
    """
    return filled_number(self, value) if is_number(_value(value)) else filled(self, value)


def fill_(self: Any, value: Any) -> Any:
    """Write one value (a number or a 0-d tensor) everywhere.

    >>> import gradlab
    >>> gradlab.zeros(2).fill_(3)
    tensor([3., 3.])
    """
    return fill_number_(self, value) if is_number(_value(value)) else fill_tensor_(self, value)


def _random(node, draw):
    """Random values written over the tensor: nothing flows back to what was there."""
    return inplace(operator(node, draw, self=lambda g: zeros_like_grad(g)))


def _drawn(self, generator, distribution, *parameters):
    if distribution != "integers" and self.dtype.kind != "f":
        raise no_kernel(f"{distribution}_", self.dtype)
    return getattr(source(generator), distribution)(*parameters, self.shape).astype(self.dtype)


_uniform = _random("UniformBackward0", lambda self, a, b, generator: _drawn(self, generator, "uniform", a, b))
_normal = _random("NormalBackward0", lambda self, mean, std, generator: _drawn(self, generator, "normal", mean, std))
_integers = _random("RandomBackward0", lambda self, low, high, generator: _drawn(self, generator, "integers", low, high))
_bernoulli = _random(
    "BernoulliBackward2", lambda self, p, generator: (source(generator).random(self.shape) < p).astype(self.dtype)
)


def uniform_(self: Any, a: float = 0.0, b: float = 1.0, *, generator: Any = None) -> Any:
    """Draw every element uniformly between a and b.

    >>> import gradlab
    >>> x = gradlab.empty(100).uniform_(2, 3)
    >>> bool(((x >= 2) & (x <= 3)).all())
    True
    """
    return _uniform(self, a, b, generator)


def normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
    """Draw every element from a normal distribution.

    >>> import gradlab
    >>> gradlab.empty(2).normal_(5, 0)
    tensor([5., 5.])
    """
    return _normal(self, mean, std, generator)


def bernoulli_(self: Any, p: float = 0.5, *, generator: Any = None) -> Any:
    """Make every element 1 with probability p, else 0.

    >>> import gradlab
    >>> gradlab.empty(3).bernoulli_(1.0)
    tensor([1., 1., 1.])
    """
    if is_number(p) and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return _bernoulli(self, p, generator)


def random_(self: Any, low: int = 0, high: int | None = None, *, generator: Any = None) -> Any:
    """Draw whole numbers from low up to but without high.

    >>> import gradlab
    >>> x = gradlab.empty(100).random_(1, 7)
    >>> bool(((x >= 1) & (x <= 6)).all())
    True
    """
    low, high = (0, low) if high is None and low else (low, high)
    return _integers(self, low, 2**24 if high is None else high, generator)


# -- views that change the tensor's own shape: torch's nodes have names of their own -----------------------------------------


def _reshaping(node, forward):
    return inplace(operator(node, forward, view=True, self=lambda g, self_shape: g.reshape(self_shape)))


_squeeze_all = _reshaping("SqueezeBackward3", lambda self: self.squeeze())
_squeeze_dim = _reshaping("SqueezeBackward4", lambda self, dim: shape._squeezed(self, (dim,)))
_squeeze_dims = _reshaping("SqueezeBackward5", lambda self, dim: shape._squeezed(self, dim))
_unsqueeze = _reshaping("UnsqueezeBackward1", lambda self, dim: np.expand_dims(self, dim))
_transpose = inplace(
    operator("TransposeBackward1", shape._swap, view=True, self=lambda g, dim0, dim1: shape.swapped(g, dim0, dim1))
)
_turn = inplace(operator("TBackward1", lambda self: self.T, view=True, self=lambda g: g.T))


def squeeze_(self: Any, dim: Any = None) -> Any:
    """Leave out dims of size 1, in place.

    >>> import gradlab
    >>> gradlab.ones(1, 3).squeeze_().shape
    gradlab.Size([3])
    """
    if dim is None:
        return _squeeze_all(self)
    ndim = self.ndim
    if isinstance(dim, (tuple, list)):
        return _squeeze_dims(self, tuple([axis(d, ndim) for d in dim]))
    return _squeeze_dim(self, axis(dim, ndim))


def unsqueeze_(self: Any, dim: int) -> Any:
    """Put in a dim of size 1, in place.

    >>> import gradlab
    >>> gradlab.ones(3).unsqueeze_(0).shape
    gradlab.Size([1, 3])
    """
    return _unsqueeze(self, axis(dim, self.ndim + 1))


def transpose_(self: Any, dim0: int, dim1: int) -> Any:
    """Swap two dims, in place.

    >>> import gradlab
    >>> gradlab.ones(2, 3).transpose_(0, 1).shape
    gradlab.Size([3, 2])
    """
    return _transpose(self, axis(dim0, self.ndim), axis(dim1, self.ndim))


def t_(self: Any) -> Any:
    """Transpose a matrix, in place.

    >>> import gradlab
    >>> gradlab.ones(2, 3).t_().shape
    gradlab.Size([3, 2])
    """
    if self.ndim > 2:
        raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return _turn(self)
