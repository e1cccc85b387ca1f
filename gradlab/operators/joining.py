"""Tensors joined, split, repeated, and their elements moved.

A linear operator and its transpose are each other's derivative.
"""

from __future__ import annotations

import numpy as np

from gradlab import dtypes
from gradlab.engine import TensorBase, make, operator
from gradlab.operators._arguments import axes, axis, check_listed, each, index, is_number, sizes
from gradlab.operators.shape import _key, copied, cut, expand, flatten, reshape, selected, unsqueeze

# -- joins and splits --------------------------------------------------------------------------------------------------

zeros_of = operator(None, lambda like, shape: np.zeros(shape, like.dtype))


def _skipped(shape):
    """torch's old rule: an empty 1-d tensor joins anything."""
    return shape == (0,)


def _cat(tensors, dim):
    parts = [t for t in tensors if not _skipped(t.shape)] or tensors[:1]
    return np.ascontiguousarray(np.concatenate(parts, dim, dtype=dtypes.result_dtype(tensors)))


def _cat_grad(g, tensors_shape, dim):
    grads, start = [], 0
    for shape in tensors_shape:
        if _skipped(shape) and len(g.shape) != 1:
            grads.append(zeros_of(g, shape))
            continue
        grads.append(cut(g, dim, start, start + shape[dim]))
        start += shape[dim]
    return grads


concatenated = operator("CatBackward0", _cat, tensors=_cat_grad)
stacked = operator(
    "StackBackward0",
    lambda tensors, dim: np.ascontiguousarray(np.stack(tensors, dim, dtype=dtypes.result_dtype(tensors))),
    tensors=lambda g, tensors_shape, dim: [selected(g, dim, n) for n in range(len(tensors_shape))],
)


def _listed(tensors, name):
    if isinstance(tensors, TensorBase) or not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{name}(): argument 'tensors' must be tuple of Tensors, not {type(tensors).__name__}")
    if not tensors:
        raise (ValueError if name == "cat" else RuntimeError)(f"{name} expects a non-empty TensorList: a list of Tensors")
    check_listed(tensors)
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


def _split_grad(grads, self_shape, split_sizes, dim):
    like = next(g for g in grads if g is not None)
    blank = [(*self_shape[:dim], n, *self_shape[dim + 1 :]) for n in split_sizes]
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
    self=_split_grad,
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
        if sum(split_size) != size or min(split_size, default=0) < 0:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension {dim}), "
                f"but got split_sizes={list(split_size)}"
            )
        return tuple(split_sizes(self, tuple(split_size), dim))
    split_size = index(split_size, "split_size")
    if split_size < 0 or (split_size == 0 and size):
        raise RuntimeError(f"split expects split_size be positive, but got split_size={split_size}")
    return tuple(split_even(self, split_size or 1, dim))


def chunk(self, chunks, dim=0):
    """At most `chunks` views along a dim, of equal length but for the last.

    >>> import gradlab
    >>> [part.tolist() for part in gradlab.chunk(gradlab.arange(5), 2)]
    [[0, 1, 2], [3, 4]]
    """
    if self.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    chunks = index(chunks, "chunks")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = axis(dim, self.ndim)
    size = self.shape[dim]
    return split(self, -(-size // chunks), dim) if size else split(self, [0] * chunks, dim)


def _unbind_grad(grads, self_shape, dim):
    like = next(g for g in grads if g is not None)
    blank = (*self_shape[:dim], *self_shape[dim + 1 :])
    return stacked([zeros_of(like, blank) if g is None else g for g in grads], dim)


unbound = operator(
    "UnbindBackward0",
    lambda self, dim: tuple([self[_key(dim, n)] for n in range(self.shape[dim])]),
    view=True,
    outputs="tensors",
    self=_unbind_grad,
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
windows_sum = operator("UnfoldBackwardBackward0", _windows_sum, self=lambda g, dim, size, step: windows_of(g, dim, size, step))


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


def _repeat_grad(g, self_shape, repeats):
    full = (1,) * (len(repeats) - len(self_shape)) + tuple(self_shape)
    pairs = [n for both in zip(repeats, full) for n in both]
    return g.reshape(tuple(pairs)).sum(axis=tuple(range(0, len(pairs), 2))).reshape(tuple(self_shape)) if pairs else g


repeated = operator(
    "RepeatBackward0",
    lambda self, repeats: np.tile(self, repeats) if repeats else self.copy(),
    self=_repeat_grad,
)


def repeat(self, *args, repeats=None):
    """A copy with the tensor repeated so many times along each dim.

    >>> import gradlab
    >>> gradlab.tensor([1, 2]).repeat(2, 2).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    repeats = sizes(args, repeats)
    if len(repeats) < self.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if any(n < 0 for n in repeats):
        raise RuntimeError(f"Trying to create tensor with negative dimension: repeats={list(repeats)}")
    return repeated(self, repeats)


def tile(self, *args, dims=None):
    """`repeat`, where missing leading repeats are 1.

    >>> import gradlab
    >>> gradlab.tile(gradlab.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    dims = sizes(args, dims)
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
    dims = sizes(args, dims)
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
    shifts, dims = tuple([index(n, "shifts") for n in each(shifts)]), each(dims)
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
    return lower(_matrix(self, "tril"), index(diagonal, "diagonal"))


def triu(self, diagonal=0):
    """The upper triangle of the last two dims, zeros below.

    >>> import gradlab
    >>> gradlab.triu(gradlab.tensor([[1, 2], [3, 4]])).tolist()
    [[1, 2], [0, 4]]
    """
    return upper(_matrix(self, "triu"), index(diagonal, "diagonal"))


def _matrix(self, name):
    if self.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    return self
