"""Same elements, other shape: copies and casts, views of the whole and of a part.

An operator with `view=True` shares memory with its input. A linear operator and its transpose are each other's derivative.
"""

from __future__ import annotations

import math

import numpy as np

from gradlab import dtypes
from gradlab.devices import device as checked_device
from gradlab.engine import TensorBase, operator
from gradlab.operators._arguments import axis, check_listed, each, index, sizes
from gradlab.operators._sums import reduced

# -- copies and casts ------------------------------------------------------------------------------------------------


def _laid_out(array, memory_format, order):
    """A copy in the given memory format ("channels_last" keeps the channels innermost)."""
    name = str(memory_format).rpartition(".")[2]
    if name == "channels_last":
        return np.ascontiguousarray(np.moveaxis(array, 1, -1)).copy() if array.ndim != 4 else _channels_last(array)
    return array.copy(order="C" if name == "contiguous_format" else order)


def _channels_last(array):
    return array.transpose(0, 2, 3, 1).copy(order="C").transpose(0, 3, 1, 2)


copied = operator(
    "CloneBackward0", lambda self, memory_format="preserve_format": _laid_out(self, memory_format, "K"), self=lambda g: g
)
cast_copied = operator(
    "ToCopyBackward0",
    lambda self, dtype, memory_format="preserve_format": _laid_out(self.astype(dtype), memory_format, "K"),
    self=lambda g: g,
)


def clone(self, *, memory_format="preserve_format"):
    """A copy with its own memory; gradients flow through it.

    >>> import gradlab
    >>> x = gradlab.ones(2, requires_grad=True)
    >>> x.clone().grad_fn.name()
    'CloneBackward0'
    """
    return copied(self) if memory_format == "preserve_format" else copied(self, memory_format)


def contiguous(self, memory_format="contiguous_format"):
    """`self` when its memory is in row order, else a copy that is.

    >>> import gradlab
    >>> x = gradlab.ones(2, 3)
    >>> x.contiguous() is x, x.t().contiguous() is x
    (True, False)
    """
    array = self._array
    if memory_format == "channels_last":
        in_order = array.ndim == 4 and array.transpose(0, 2, 3, 1).flags.c_contiguous
    else:
        in_order = array.flags.c_contiguous
    return self if in_order else copied(self, memory_format)


def is_contiguous(self, memory_format="contiguous_format"):
    """Whether the memory is in row order.

    >>> import gradlab
    >>> x = gradlab.ones(2, 3)
    >>> x.is_contiguous(), x.t().is_contiguous()
    (True, False)
    """
    return contiguous(self, memory_format) is self


def cast(self, dtype):
    """The same values in another dtype; `self` itself when it has it already."""
    wanted = dtypes.to_numpy(dtype)
    return self if (self if isinstance(self, np.ndarray) else self._array).dtype == wanted else cast_copied(self, wanted)


def to(self, *args, dtype=None, device=None, non_blocking=False, copy=False, memory_format="preserve_format"):
    """The tensor in another dtype: `to(dtype)`, `to(device)`, `to(device, dtype)` or `to(other)`.

    Returns `self` when nothing changes; otherwise a copy, which is not a leaf if `self` requires grad.

    >>> import gradlab
    >>> gradlab.ones(2).to(gradlab.float64).dtype
    gradlab.float64
    """
    rest = list(args)
    if rest and isinstance(rest[0], TensorBase):
        dtype = rest.pop(0).dtype
    elif rest and (rest[0] is None or isinstance(rest[0], str) or not _is_dtype(rest[0])):
        device = rest.pop(0)
        dtype = rest.pop(0) if rest and (rest[0] is None or _is_dtype(rest[0])) else dtype
    elif rest:
        dtype = rest.pop(0)
    copy = rest[1] if len(rest) > 1 else copy
    if device is not None:
        checked_device(device)
    wanted = self._array.dtype if dtype is None else dtypes.to_numpy(dtype)
    relaid = memory_format == "channels_last" and not is_contiguous(self, memory_format)
    if wanted == self._array.dtype and not copy and not relaid:
        return self
    return cast_copied(self, wanted, memory_format)


def _is_dtype(value):
    return isinstance(value, (dtypes.dtype, type, np.dtype)) and not isinstance(value, bool)


# -- views: another shape of the same memory ---------------------------------------------------------------------------


def _resolved(shape, wanted, size):
    """`wanted` with its -1 worked out; RuntimeError when it does not hold `size` elements."""
    unknown = wanted.count(-1)
    known = math.prod([n for n in wanted if n != -1])
    if unknown > 1:
        raise RuntimeError("only one dimension can be inferred: the shape has more than one -1")
    if any(n < -1 for n in wanted):
        raise RuntimeError(f"invalid shape dimension {min(wanted)}")
    if unknown and known == 0:
        raise RuntimeError(f"cannot reshape tensor of {size} elements into shape {list(wanted)}: the -1 could be any value")
    if known != size and not (unknown and size % known == 0):
        raise RuntimeError(f"shape '{list(wanted)}' is invalid for input of size {size} (a tensor of shape {list(shape)})")
    return tuple([size // known if n == -1 else n for n in wanted]) if unknown else wanted


def _view(self, shape):
    out = self.reshape(shape)
    if self.size and not np.may_share_memory(out, self):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return out


viewed = operator("ViewBackward0", _view, view=True, self=lambda g, self_shape: g.reshape(self_shape))
viewed_alias = operator("ReshapeAliasBackward0", _view, view=True, self=lambda g, self_shape: g.reshape(self_shape))
unsafe_view = operator(
    "UnsafeViewBackward0", lambda self, shape: self.reshape(shape), self=lambda g, self_shape: g.reshape(self_shape)
)


def view(self, *shape, size=None, dtype=None):
    """The same memory in another shape; RuntimeError where only a copy could have it (use `reshape`).

    >>> import gradlab
    >>> gradlab.arange(6).view(2, -1).shape
    gradlab.Size([2, 3])
    """
    shape = (size,) if size is not None else shape
    if dtype is not None or (len(shape) == 1 and _is_dtype(shape[0])):
        raise NotImplementedError("view(dtype) reinterprets bytes, which gradlab does not do: use .to(dtype) to convert.")
    array = self._array
    return viewed(self, _resolved(array.shape, sizes(shape), array.size))


def view_as(self, other):
    """`view` in the shape of another tensor.

    >>> import gradlab
    >>> gradlab.arange(4).view_as(gradlab.ones(2, 2)).tolist()
    [[0, 1], [2, 3]]
    """
    return view(self, other.shape)


def reshape(self, *args, shape=None):
    """The elements in another shape: a view where possible, else a copy.

    >>> import gradlab
    >>> gradlab.arange(6).reshape(3, 2).tolist()
    [[0, 1], [2, 3], [4, 5]]
    """
    array = self if isinstance(self, np.ndarray) else self._array
    shape = _resolved(array.shape, sizes(args, shape), array.size)
    if array.flags.c_contiguous or not array.size:
        return viewed(self, shape)
    if np.may_share_memory(array.reshape(shape), array):
        return viewed_alias(self, shape)
    return unsafe_view(copied(self, "contiguous_format"), shape)


def reshape_as(self, other):
    """`reshape` in the shape of another tensor.

    >>> import gradlab
    >>> gradlab.arange(4).reshape_as(gradlab.ones(2, 2)).tolist()
    [[0, 1], [2, 3]]
    """
    return reshape(self, other.shape)


def flatten(self, start_dim=0, end_dim=-1):
    """The dims from `start_dim` to `end_dim` made one; `self` where that changes nothing.

    >>> import gradlab
    >>> gradlab.flatten(gradlab.ones(2, 3, 4), start_dim=1).shape
    gradlab.Size([2, 12])
    """
    shape = self.shape
    first, last = axis(start_dim, len(shape)), axis(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(self, (1,))
    if first == last:
        return self
    return reshape(self, (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]))


def ravel(self):
    """All elements in one dimension.

    >>> import gradlab
    >>> gradlab.ravel(gradlab.tensor([[1, 2], [3, 4]]))
    tensor([1, 2, 3, 4])
    """
    return view(contiguous(self), -1) if self.numel() else reshape(contiguous(self), (0,))


def unflatten(self, dim, sizes):
    """One dim made several; one of the sizes may be -1.

    >>> import gradlab
    >>> gradlab.unflatten(gradlab.ones(2, 6), 1, (3, -1)).shape
    gradlab.Size([2, 3, 2])
    """
    shape = tuple(self.shape)
    dim, wanted = axis(dim, len(shape)), tuple(sizes)
    if not wanted:
        raise RuntimeError("unflatten: sizes must be non-empty")
    known = math.prod([n for n in wanted if n != -1])
    if -1 not in wanted and known != shape[dim] or -1 in wanted and (not known or shape[dim] % known):
        raise RuntimeError(f"unflatten: Provided sizes {list(wanted)} don't multiply up to the size of dim {dim} ({shape[dim]})")
    return view(self, (*shape[:dim], *_resolved((), wanted, shape[dim]), *shape[dim + 1 :]))


def _expanded(shape, wanted):
    if len(wanted) < len(shape):
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(wanted)}) must be greater or equal to the number of dimensions "
            f"in the tensor ({len(shape)})"
        )
    lead = len(wanted) - len(shape)
    full = []
    for n, size in enumerate(wanted):
        have = shape[n - lead] if n >= lead else 1
        size = have if size == -1 and n >= lead else size
        if size < 0 or (have != 1 and size != have):
            raise RuntimeError(
                f"The expanded size of the tensor ({size}) must match the existing size ({have}) at non-singleton dimension "
                f"{n}. Target sizes: {list(wanted)}. Tensor sizes: {list(shape)}"
            )
        full.append(size)
    return tuple(full)


def _broadcast(self, shape):
    if self.shape == shape:
        return self[...]
    lead = len(shape) - self.ndim
    steps = (0,) * lead + tuple([step if old == new else 0 for old, new, step in zip(self.shape, shape[lead:], self.strides)])
    if self.flags.c_contiguous and self.size:  # unlike np.broadcast_to's, the result can be written to, and is made in no time
        return np.ndarray(shape, self.dtype, self, 0, steps)
    return np.lib.stride_tricks.as_strided(self, shape, steps)


expand_to = operator("ExpandBackward0", _broadcast, view=True, self=lambda g: g)  # the walk sums over what was repeated


def expand(self, *args, size=None, implicit=False):
    """Dims of size 1 repeated without a copy; -1 keeps a size.

    >>> import gradlab
    >>> gradlab.ones(3, 1).expand(-1, 4).shape
    gradlab.Size([3, 4])
    """
    return expand_to(self, _expanded(tuple(self.shape), sizes(args, size)))


def expand_as(self, other):
    """`expand` to the shape of another tensor.

    >>> import gradlab
    >>> gradlab.tensor([[1], [2]]).expand_as(gradlab.ones(2, 2)).tolist()
    [[1, 1], [2, 2]]
    """
    return expand(self, other.shape)


def broadcast_to(self, *args, size=None):
    """`expand` to a shape.

    >>> import gradlab
    >>> gradlab.broadcast_to(gradlab.tensor([1, 2]), (2, 2)).tolist()
    [[1, 2], [1, 2]]
    """
    return expand(self, *args, size=size)


def broadcast_tensors(*tensors):
    """All expanded to their common shape.

    >>> import gradlab
    >>> a, b = gradlab.broadcast_tensors(gradlab.ones(3, 1), gradlab.ones(4))
    >>> a.shape, b.shape
    (gradlab.Size([3, 4]), gradlab.Size([3, 4]))
    """
    check_listed(tensors)
    try:
        shape = np.broadcast_shapes(*[tuple(t.shape) for t in tensors])
    except ValueError as error:
        raise RuntimeError(f"The size of tensor a must match the size of tensor b at non-singleton dimensions: {error}") from None
    return tuple([t if t._array.shape == shape else expand(t, shape) for t in tensors])


def _swap(self, dim0, dim1):
    return np.swapaxes(self, dim0, dim1) if self.ndim else self[...]


swapped = operator("TransposeBackward0", _swap, view=True, self=lambda g, dim0, dim1: swapped(g, dim0, dim1))
turned = operator("TBackward0", lambda self: self.T, view=True, self=lambda g: g.T)
permuted = operator(
    "PermuteBackward0",
    lambda self, dims: np.transpose(self, dims),
    view=True,
    self=lambda g, dims: permuted(g, tuple(sorted(range(len(dims)), key=dims.__getitem__))),
)


def transpose(self, dim0, dim1):
    """Two dims swapped, as a view.

    >>> import gradlab
    >>> gradlab.ones(2, 3, 4).transpose(0, -1).shape
    gradlab.Size([4, 3, 2])
    """
    ndim = self.ndim
    return swapped(self, axis(dim0, ndim), axis(dim1, ndim))


def t(self):
    """A matrix transposed, as a view; a tensor with fewer dims as it is.

    >>> import gradlab
    >>> gradlab.t(gradlab.tensor([[1, 2], [3, 4]])).tolist()
    [[1, 3], [2, 4]]
    """
    if self.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D; use .mT or transpose()")
    return turned(self)


def permute(self, *args, dims=None):
    """All dims in another order, as a view.

    >>> import gradlab
    >>> gradlab.permute(gradlab.ones(2, 3, 4), (2, 0, 1)).shape
    gradlab.Size([4, 2, 3])
    """
    dims, ndim = sizes(args, dims), self.ndim
    if len(dims) != ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input {ndim} does not match the length "
            f"of the desired ordering {len(dims)}"
        )
    found = tuple([axis(d, ndim) for d in dims])
    if len(set(found)) != len(found):
        raise RuntimeError(f"permute(): duplicate dims are not allowed, got {dims}")
    return permuted(self, found)


def movedim(self, source, destination):
    """Some dims moved to other places, the rest in their order.

    >>> import gradlab
    >>> gradlab.movedim(gradlab.ones(2, 3, 4), 0, -1).shape
    gradlab.Size([3, 4, 2])
    """
    ndim = self.ndim
    source, destination = each(source), each(destination)
    if len(source) != len(destination):
        raise RuntimeError("movedim: Invalid source or destination dims: they must have the same number of elements")
    from_, to_ = [axis(d, ndim) for d in source], [axis(d, ndim) for d in destination]
    if len(set(from_)) != len(from_) or len(set(to_)) != len(to_):
        raise RuntimeError("movedim: repeated dim in source or destination")
    rest = iter([n for n in range(ndim) if n not in from_])
    return permute(self, [from_[to_.index(n)] if n in to_ else next(rest) for n in range(ndim)])


def mT(self):
    """The last two dims swapped.

    >>> import gradlab
    >>> gradlab.ones(5, 2, 3).mT.shape
    gradlab.Size([5, 3, 2])
    """
    if self.ndim == 1:
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return transpose(self, -2, -1)


def reversed_dims(self):
    """All dims in reverse order: `Tensor.T`.

    >>> import gradlab
    >>> gradlab.ones(2, 3).T.shape
    gradlab.Size([3, 2])
    """
    return permuted(self, tuple(range(self.ndim - 1, -1, -1)))


def _reshaped_back(name, forward):
    return operator(name, forward, view=True, self=lambda g, self_shape: g.reshape(self_shape))


def _squeezed(self, dims):
    return self.reshape([n for d, n in enumerate(self.shape) if n != 1 or d not in dims])


squeeze_all = _reshaped_back("SqueezeBackward0", lambda self: self.squeeze())
squeeze_dim = _reshaped_back("SqueezeBackward1", lambda self, dim: _squeezed(self, (dim,)))
squeeze_dims = _reshaped_back("SqueezeBackward2", lambda self, dim: _squeezed(self, dim))
unsqueezed = _reshaped_back("UnsqueezeBackward0", lambda self, dim: np.expand_dims(self, dim))


def squeeze(self, dim=None):
    """Dims of size 1 left out: all of them, or the given ones.

    >>> import gradlab
    >>> x = gradlab.ones(1, 3, 1)
    >>> gradlab.squeeze(x).shape, gradlab.squeeze(x, 0).shape
    (gradlab.Size([3]), gradlab.Size([3, 1]))
    """
    if dim is None:
        return squeeze_all(self)
    ndim = self.ndim
    if isinstance(dim, (tuple, list)):
        return squeeze_dims(self, tuple([axis(d, ndim) for d in dim]))
    return squeeze_dim(self, axis(dim, ndim))


def unsqueeze(self, dim):
    """A new dim of size 1 at `dim`.

    >>> import gradlab
    >>> gradlab.unsqueeze(gradlab.ones(3), 1).shape
    gradlab.Size([3, 1])
    """
    return unsqueezed(self, axis(dim, self.ndim + 1))


# -- views: part of the memory -----------------------------------------------------------------------------------------


def _filled(self, shape, key):
    out = np.zeros(shape, self.dtype)
    out[key] = self
    return out


put_key = operator("SliceBackwardBackward0", _filled, self=lambda g, key: take_key(g, key))
take_key = operator(
    "SliceBackward0", lambda self, key: self[key], view=True, self=lambda g, self_shape, key: put_key(g, self_shape, key)
)
selected = operator(
    "SelectBackward0",
    lambda self, dim, index: self[_key(dim, index) if dim else (index, ...)],
    view=True,
    self=lambda g, self_shape, dim, index: put_key(g, self_shape, _key(dim, index)),
)


def _key(dim, item):
    return (slice(None),) * dim + (item, ...)


def cut(self, dim, start, stop):
    """`self[start:stop]` along a dim, on arrays and tensors."""
    return take_key(self, _key(dim, slice(start, stop)))


def select(self, dim, index):
    """`self[index]` along a dim, as a view.

    >>> import gradlab
    >>> gradlab.select(gradlab.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
    shape = self.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim, index = axis(dim, len(shape)), _index(index)
    if not -shape[dim] <= index < shape[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}")
    return selected(self, dim, index % shape[dim])


def _index(value):
    return index(value, "index")


def narrow(self, dim, start, length):
    """`length` elements from `start` along a dim, as a view.

    >>> import gradlab
    >>> gradlab.narrow(gradlab.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
    if self.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    dim = axis(dim, self.ndim)
    if isinstance(start, TensorBase) and (start.ndim or start.is_floating_point()):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    size, start = self.shape[dim], _index(start)
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    start = start + size if start < 0 else start
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return cut(self, dim, start, start + length)


def _diagonal(self, offset, dim1, dim2):
    out = np.diagonal(self, offset, dim1, dim2)
    if self.flags.writeable:
        out.flags.writeable = True
    return out


def _on_diagonal(self, shape, offset, dim1, dim2):
    out = np.zeros(shape, self.dtype)
    _diagonal(out, offset, dim1, dim2)[...] = self
    return out


on_diagonal = operator(
    "DiagonalBackwardBackward0", _on_diagonal, self=lambda g, offset, dim1, dim2: diagonal_of(g, offset, dim1, dim2)
)
diagonal_of = operator(
    "DiagonalBackward0",
    _diagonal,
    view=True,
    self=lambda g, self_shape, offset, dim1, dim2: on_diagonal(g, self_shape, offset, dim1, dim2),
)
diagonal_copied = operator(
    "DiagonalBackward0_copy",  # torch's own name for it
    lambda self, offset, dim1, dim2: _diagonal(self, offset, dim1, dim2).copy(),
    self=lambda g, self_shape, offset, dim1, dim2: on_diagonal(g, self_shape, offset, dim1, dim2),
)
embedded = operator(
    "DiagEmbedBackward0",
    lambda self, offset, dim1, dim2: _on_diagonal(self, _embedded_shape(self.shape, offset, dim1, dim2), offset, dim1, dim2),
    self=lambda g, offset, dim1, dim2: diagonal_of(g, offset, dim1, dim2),
)


def _embedded_shape(shape, offset, dim1, dim2):
    side, rest = shape[-1] + abs(offset), iter(shape[:-1])
    return tuple([side if n in (dim1, dim2) else next(rest) for n in range(len(shape) + 1)])


def diagonal(self, offset=0, dim1=0, dim2=1):
    """The diagonal of two dims, as a view; it becomes the last dim.

    >>> import gradlab
    >>> gradlab.diagonal(gradlab.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    one, two = axis(dim1, self.ndim), axis(dim2, self.ndim)
    if one == two:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return diagonal_of(self, index(offset, "offset"), one, two)


def diag_embed(self, offset=0, dim1=-2, dim2=-1):
    """The last dim laid on the diagonal of a new square.

    >>> import gradlab
    >>> gradlab.diag_embed(gradlab.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    one, two = axis(dim1, self.ndim + 1), axis(dim2, self.ndim + 1)
    if one == two:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return embedded(self, offset, one, two)


def diag(self, diagonal=0):
    """A vector laid on the diagonal of a matrix, or a matrix's diagonal copied out.

    >>> import gradlab
    >>> gradlab.diag(gradlab.tensor([[1, 2], [3, 4]])), gradlab.diag(gradlab.tensor([1, 2])).tolist()
    (tensor([1, 4]), [[1, 0], [0, 2]])
    """
    diagonal = index(diagonal, "diagonal")
    if self.ndim == 1:
        return diag_embed(self, diagonal)
    if self.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {self.ndim}D")
    return diagonal_copied(self, diagonal, 0, 1)


trace_of = operator(
    "TraceBackward0",
    lambda self: reduced(np.add, self.diagonal()),
    self=lambda g, self_shape: on_diagonal(expand_to(g, (min(self_shape),)), self_shape, 0, 0, 1),
)


def trace(self):
    """The sum of a matrix's diagonal.

    >>> import gradlab
    >>> gradlab.trace(gradlab.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(5.)
    """
    if self.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    return trace_of(self)
