"""Same elements, other shape or place: views, copies, joins and splits.

An operator with `view=True` shares memory with its input. A linear operator and its transpose are each other's derivative.
"""

from __future__ import annotations

import math

import numpy as np

from gradlab import dtypes
from gradlab.devices import device as checked_device
from gradlab.engine import TensorBase, make, operator
from gradlab.operators._arguments import axes, axis, index, is_number, sizes

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


def reshape(self, *shape):
    """The elements in another shape: a view where possible, else a copy.

    >>> import gradlab
    >>> gradlab.arange(6).reshape(3, 2).tolist()
    [[0, 1], [2, 3], [4, 5]]
    """
    array = self if isinstance(self, np.ndarray) else self._array
    shape = _resolved(array.shape, sizes(shape), array.size)
    if array.flags.c_contiguous or not array.size or np.may_share_memory(array.reshape(shape), array):
        return viewed(self, shape)
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


def expand(self, *size, implicit=False):
    """Dims of size 1 repeated without a copy; -1 keeps a size.

    >>> import gradlab
    >>> gradlab.ones(3, 1).expand(-1, 4).shape
    gradlab.Size([3, 4])
    """
    return expand_to(self, _expanded(tuple(self.shape), sizes(size)))


def expand_as(self, other):
    """`expand` to the shape of another tensor.

    >>> import gradlab
    >>> gradlab.tensor([[1], [2]]).expand_as(gradlab.ones(2, 2)).tolist()
    [[1, 1], [2, 2]]
    """
    return expand(self, *other.shape)


def broadcast_to(self, size):
    """`expand` to a shape.

    >>> import gradlab
    >>> gradlab.broadcast_to(gradlab.tensor([1, 2]), (2, 2)).tolist()
    [[1, 2], [1, 2]]
    """
    return expand(self, *size)


def broadcast_tensors(*tensors):
    """All expanded to their common shape.

    >>> import gradlab
    >>> a, b = gradlab.broadcast_tensors(gradlab.ones(3, 1), gradlab.ones(4))
    >>> a.shape, b.shape
    (gradlab.Size([3, 4]), gradlab.Size([3, 4]))
    """
    try:
        shape = np.broadcast_shapes(*[tuple(t.shape) for t in tensors])
    except ValueError as error:
        raise RuntimeError(f"The size of tensor a must match the size of tensor b at non-singleton dimensions: {error}") from None
    return tuple([expand(t, shape) for t in tensors])


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
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D; use .mT or "
            "transpose(dim0, dim1)"
        )
    return turned(self)


def permute(self, *dims):
    """All dims in another order, as a view.

    >>> import gradlab
    >>> gradlab.permute(gradlab.ones(2, 3, 4), (2, 0, 1)).shape
    gradlab.Size([4, 2, 3])
    """
    dims, ndim = sizes(dims), self.ndim
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
    source = (source,) if isinstance(source, int) else tuple(source)
    destination = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(source) != len(destination):
        raise RuntimeError("movedim: Invalid source or destination dims: they must have the same number of elements")
    from_, to_ = [axis(d, ndim) for d in source], [axis(d, ndim) for d in destination]
    if len(set(from_)) != len(from_) or len(set(to_)) != len(to_):
        raise RuntimeError("movedim: repeated dim in source or destination")
    rest = iter([n for n in range(ndim) if n not in from_])
    return permute(self, *[from_[to_.index(n)] if n in to_ else next(rest) for n in range(ndim)])


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
    return squeeze_dim(self, axis(dim, ndim)) if isinstance(dim, int) else squeeze_dims(self, tuple([axis(d, ndim) for d in dim]))


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
    side, rest = shape[-1] + builtins_abs(offset), iter(shape[:-1])
    return tuple([side if n in (dim1, dim2) else next(rest) for n in range(len(shape) + 1)])


builtins_abs = abs


def diagonal(self, offset=0, dim1=0, dim2=1):
    """The diagonal of two dims, as a view; it becomes the last dim.

    >>> import gradlab
    >>> gradlab.diagonal(gradlab.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    one, two = axis(dim1, self.ndim), axis(dim2, self.ndim)
    if one == two:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return diagonal_of(self, offset, one, two)


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
    if self.ndim == 1:
        return diag_embed(self, diagonal)
    if self.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {self.ndim}D")
    return diagonal_copied(self, diagonal, 0, 1)


trace_of = operator(
    "TraceBackward0",
    lambda self: np.trace(self, dtype=np.int64 if self.dtype.kind in "bui" else None),
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


# -- joins and splits --------------------------------------------------------------------------------------------------

zeros_of = operator(None, lambda like, shape: np.zeros(shape, like.dtype))


def _skipped(shape):
    """torch's old rule: an empty 1-d tensor joins anything."""
    return shape == (0,)


def _cat(tensors, dim):
    parts = [t for t in tensors if not _skipped(t.shape)] or tensors[:1]
    return np.ascontiguousarray(np.concatenate(parts, dim, dtype=dtypes.result_dtype(tensors)))


def _cat_grad(g, shapes, dim):
    grads, start = [], 0
    for shape in shapes:
        if _skipped(shape) and len(g.shape) != 1:
            grads.append(zeros_of(g, shape))
            continue
        grads.append(cut(g, dim, start, start + shape[dim]))
        start += shape[dim]
    return grads


concatenated = operator("CatBackward0", _cat, tensors=lambda g, tensors_shape, dim: _cat_grad(g, tensors_shape, dim))
stacked = operator(
    "StackBackward0",
    lambda tensors, dim: np.ascontiguousarray(np.stack(tensors, dim, dtype=dtypes.result_dtype(tensors))),
    tensors=lambda g, tensors_shape, dim: [selected(g, dim, n) for n in range(len(tensors_shape))],
)


def _listed(tensors, name):
    if isinstance(tensors, TensorBase) or not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{name}(): argument 'tensors' must be tuple of Tensors, not {type(tensors).__name__}")
    if not tensors:
        raise (ValueError if name == "cat" else RuntimeError)(
            f"{name} expects a non-empty TensorList: a non-empty list of "
            "Tensors"
        )
    for n, item in enumerate(tensors):
        if not isinstance(item, (TensorBase, np.ndarray)):
            raise TypeError(f"{name}(): expected Tensor as element {n} in argument 0, but got {type(item).__name__}")
    return tensors


def cat(tensors, dim=0):
    """The tensors one after the other along a dim.

    >>> import gradlab
    >>> gradlab.cat([gradlab.ones(2), gradlab.zeros(1)])
    tensor([1., 1., 0.])
    """
    tensors = _listed(tensors, "cat")
    shapes = [t.shape for t in tensors if not _skipped(tuple(t.shape))] or [tensors[0].shape]
    if any(not s for s in shapes):
        raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated; use stack")
    dim = axis(dim, len(shapes[0]))
    for n, shape in enumerate(shapes):
        if len(shape) != len(shapes[0]) or any(a != b for d, (a, b) in enumerate(zip(shape, shapes[0])) if d != dim):
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. Expected {list(shapes[0])} but got {list(shape)} "
                f"for tensor number {n} in the list."
            )
    return concatenated(tensors, dim)


def stack(tensors, dim=0):
    """The tensors along a new dim; all of one shape.

    >>> import gradlab
    >>> gradlab.stack([gradlab.tensor([1, 2]), gradlab.tensor([3, 4])], dim=1).tolist()
    [[1, 3], [2, 4]]
    """
    tensors = _listed(tensors, "stack")
    for n, item in enumerate(tensors):
        if item.shape != tensors[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 and "
                f"{list(item.shape)} at entry {n}"
            )
    return stacked(tensors, axis(dim, tensors[0].ndim + 1))


def hstack(tensors):
    """Side by side: along the second dim (the only one of vectors).

    >>> import gradlab
    >>> gradlab.hstack([gradlab.tensor([1, 2]), gradlab.tensor([3])])
    tensor([1, 2, 3])
    """
    tensors = [reshape(x, (1,)) if x.ndim == 0 else x for x in _listed(tensors, "hstack")]
    return cat(tensors, 0 if tensors[0].ndim == 1 else 1)


def vstack(tensors):
    """One below the other: vectors become rows.

    >>> import gradlab
    >>> gradlab.vstack([gradlab.tensor([1, 2]), gradlab.tensor([3, 4])]).tolist()
    [[1, 2], [3, 4]]
    """
    return cat([unsqueeze(reshape(x, (1,)) if x.ndim == 0 else x, 0) if x.ndim < 2 else x for x in _listed(tensors, "vstack")], 0)


def _pieces(self, lengths, dim):
    ends = np.cumsum([0, *lengths])
    return tuple([self[_key(dim, slice(a, b))] for a, b in zip(ends, ends[1:])])


def _even(size, split_size):
    return [min(split_size, size - start) for start in range(0, size, split_size)] if size else [0]


def _split_grad(grads, shape, lengths, dim):
    like = next(g for g in grads if g is not None)
    blank = [(*shape[:dim], n, *shape[dim + 1 :]) for n in lengths]
    return concatenated([zeros_of(like, s) if g is None else g for g, s in zip(grads, blank)], dim)


split_even = operator(
    "SplitBackward0",
    lambda self, split_size, dim: _pieces(self, _even(self.shape[dim], split_size), dim),
    view=True,
    outputs="tensors",
    self=lambda grads, self_shape, split_size, dim: _split_grad(grads, self_shape, _even(self_shape[dim], split_size), dim),
)
split_sizes = operator(
    "SplitWithSizesBackward0",
    lambda self, split_sizes, dim: _pieces(self, split_sizes, dim),
    view=True,
    outputs="tensors",
    self=lambda grads, self_shape, split_sizes, dim: _split_grad(grads, self_shape, split_sizes, dim),
)


def split(self, split_size, dim=0):
    """Views of so many elements each along a dim (the last may be shorter), or of the given lengths.

    >>> import gradlab
    >>> [part.tolist() for part in gradlab.arange(5).split(2)]
    [[0, 1], [2, 3], [4]]
    """
    if self.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = axis(dim, self.ndim)
    size = self.shape[dim]
    if isinstance(split_size, (list, tuple)):
        if builtins_sum(split_size) != size or min(split_size, default=0) < 0:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension {dim}), "
                f"but got split_sizes={list(split_size)}"
            )
        return tuple(split_sizes(self, tuple(split_size), dim))
    if split_size < 0 or (split_size == 0 and size):
        raise RuntimeError(f"split expects split_size be positive, but got split_size={split_size}")
    return tuple(split_even(self, split_size or 1, dim))


builtins_sum = sum


def chunk(self, chunks, dim=0):
    """At most `chunks` views along a dim, of equal length but for the last.

    >>> import gradlab
    >>> [part.tolist() for part in gradlab.chunk(gradlab.arange(5), 2)]
    [[0, 1, 2], [3, 4]]
    """
    if self.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = axis(dim, self.ndim)
    size = self.shape[dim]
    return split(self, -(-size // chunks), dim) if size else split(self, [0] * chunks, dim)


def _unbind_grad(grads, shape, dim):
    like = next(g for g in grads if g is not None)
    blank = (*shape[:dim], *shape[dim + 1 :])
    return stacked([zeros_of(like, blank) if g is None else g for g in grads], dim)


unbound = operator(
    "UnbindBackward0",
    lambda self, dim: tuple([self[_key(dim, n)] for n in range(self.shape[dim])]),
    view=True,
    outputs="tensors",
    self=lambda grads, self_shape, dim: _unbind_grad(grads, self_shape, dim),
)


def unbind(self, dim=0):
    """All slices along a dim, as views.

    >>> import gradlab
    >>> gradlab.unbind(gradlab.tensor([[1, 2], [3, 4]]), dim=1)
    (tensor([1, 3]), tensor([2, 4]))
    """
    if self.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return tuple(unbound(self, axis(dim, self.ndim)))


def _windows(self, dim, size, step):
    if not self.ndim:
        return self.reshape(1)[:size]
    windows = np.lib.stride_tricks.sliding_window_view(self, size, dim, writeable=self.flags.writeable)
    return windows[_key(dim, slice(None, None, step))]


def _windows_sum(self, shape, dim, size, step):
    out = np.zeros(shape, self.dtype)
    if not shape:
        return self.sum(dtype=self.dtype).reshape(())
    for n in range(size):
        out[_key(dim, slice(n, n + step * (self.shape[dim] - 1) + 1, step))] += self[..., n]
    return out


windows_of = operator(
    "UnfoldBackward0",
    _windows,
    view=True,
    self=lambda g, self_shape, dim, size, step: windows_sum(g, tuple(self_shape), dim, size, step),
)
windows_sum = operator(
    "UnfoldBackwardBackward0", _windows_sum, self=lambda g, dim, size, step: windows_of(g, dim, size, step)
)


def unfold(self, dimension, size, step):
    """All windows of a size along a dim, `step` apart, as a view: the window becomes the last dim.

    >>> import gradlab
    >>> gradlab.arange(4).unfold(0, 2, 1).tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    dim = axis(dimension, self.ndim)
    length = self.shape[dim] if self.ndim else 1
    if size < 0 or size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return windows_of(self, dim, size, step)


# -- repeats and moves -------------------------------------------------------------------------------------------------


def _repeat_grad(g, shape, repeats):
    full = (1,) * (len(repeats) - len(shape)) + tuple(shape)
    pairs = [n for both in zip(repeats, full) for n in both]
    return g.reshape(tuple(pairs)).sum(axis=tuple(range(0, len(pairs), 2))).reshape(tuple(shape)) if pairs else g


repeated = operator(
    "RepeatBackward0",
    lambda self, repeats: np.tile(self, repeats) if repeats else self.copy(),
    self=lambda g, self_shape, repeats: _repeat_grad(g, self_shape, repeats),
)


def repeat(self, *repeats):
    """A copy with the tensor repeated so many times along each dim.

    >>> import gradlab
    >>> gradlab.tensor([1, 2]).repeat(2, 2).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    repeats = sizes(repeats)
    if len(repeats) < self.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if any(n < 0 for n in repeats):
        raise RuntimeError(f"Trying to create tensor with negative dimension: repeats={list(repeats)}")
    return repeated(self, repeats)


def tile(self, *dims):
    """`repeat`, where missing leading repeats are 1.

    >>> import gradlab
    >>> gradlab.tile(gradlab.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    dims = sizes(dims)
    return repeat(self, (1,) * (self.ndim - len(dims)) + dims)


def repeat_interleave(self, repeats, dim=None, *, output_size=None):
    """Each element repeated in place along a dim (of the flattened tensor when no dim is given).

    >>> import gradlab
    >>> gradlab.repeat_interleave(gradlab.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    from gradlab.operators.indexing import index_select

    if dim is None:
        self, dim = reshape(self, (-1,)), 0
    dim = axis(dim, self.ndim)
    self = reshape(self, (1,)) if self.ndim == 0 else self
    if is_number(repeats):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        shape = tuple(self.shape)
        wide = expand(unsqueeze(self, dim + 1), (*shape[: dim + 1], repeats, *shape[dim + 1 :]))
        return flatten(copied(wide, "contiguous_format"), dim, dim + 1)
    if repeats.dtype.is_floating_point:
        raise RuntimeError("repeats has to be Long or Int tensor")
    counts = np.broadcast_to(repeats._array, (self.shape[dim],)) if repeats._array.size == 1 else repeats._array
    if counts.shape != (self.shape[dim],):
        raise RuntimeError(f"repeats must have the same size as input along dim, but got {counts.shape[0]} and {self.shape[dim]}")
    return index_select(self, dim, make(np.repeat(np.arange(self.shape[dim]), counts)))


flipped = operator("FlipBackward0", lambda self, dims: np.flip(self, dims).copy(), self=lambda g, dims: flipped(g, dims))


def flip(self, *args, dims=None):
    """A copy with the order reversed along the dims.

    >>> import gradlab
    >>> gradlab.flip(gradlab.tensor([[1, 2], [3, 4]]), (1,)).tolist()
    [[2, 1], [4, 3]]
    """
    dims = sizes(args if dims is None else (dims,))
    return flipped(self, axes(dims, self.ndim) if dims else ())


rolled = operator(
    "RollBackward0",
    lambda self, shifts, dims: np.roll(self, shifts, dims or None),
    self=lambda g, shifts, dims: rolled(g, tuple([-n for n in shifts]), dims),
)


def roll(self, shifts, dims=()):
    """Elements moved along dims, those pushed out at one end come in at the other; without dims, of the flat tensor.

    >>> import gradlab
    >>> gradlab.roll(gradlab.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    shifts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    if not shifts:
        raise RuntimeError("`shifts` required")
    if len(shifts) != len(dims) and (dims or len(shifts) != 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if self.ndim == 0:
        if dims:
            raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
        return rolled(self, (0,), ())
    return rolled(self, shifts, tuple([axis(d, self.ndim) for d in dims]))


lower = operator("TrilBackward0", lambda self, diagonal: np.tril(self, diagonal), self=lambda g, diagonal: lower(g, diagonal))
upper = operator("TriuBackward0", lambda self, diagonal: np.triu(self, diagonal), self=lambda g, diagonal: upper(g, diagonal))


def tril(self, diagonal=0):
    """The lower triangle of the last two dims, zeros above.

    >>> import gradlab
    >>> gradlab.tril(gradlab.tensor([[1, 2], [3, 4]])).tolist()
    [[1, 0], [3, 4]]
    """
    return lower(_matrix(self, "tril"), diagonal)


def triu(self, diagonal=0):
    """The upper triangle of the last two dims, zeros below.

    >>> import gradlab
    >>> gradlab.triu(gradlab.tensor([[1, 2], [3, 4]])).tolist()
    [[1, 2], [0, 4]]
    """
    return upper(_matrix(self, "triu"), diagonal)


def _matrix(self, name):
    if self.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    return self
