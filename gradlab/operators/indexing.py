"""Picking and placing elements by index or mask, and Python's `x[...]`."""

from __future__ import annotations

import numpy as np

from gradlab import dtypes
from gradlab.engine import TensorBase, make, notify, operator
from gradlab.operators._arguments import axis, is_number
from gradlab.operators._arguments import index as as_index
from gradlab.operators.pointwise import nonzero_rows, where
from gradlab.operators.shape import _key, selected, take_key, unsqueeze

# -- along one dim -----------------------------------------------------------------------------------------------------


def _lanes(shape, dim, index):
    """The full advanced index for `index` along `dim`: every other dim counts itself."""
    grid = list(np.ogrid[tuple([slice(n) for n in index.shape])])
    grid[dim] = index
    return tuple(grid)


def _within(index, size, dim):
    if index.size and not (0 <= index.min() and index.max() < size):
        wrong = int(index.min()) if index.min() < 0 else int(index.max())
        raise RuntimeError(f"index {wrong} is out of bounds for dimension {dim} with size {size}")


def _gathered(self, dim, index):
    if not index.size:
        return np.empty(index.shape, self.dtype)
    if not self.ndim or not index.ndim:
        return self.reshape(-1)[index.reshape(-1)].reshape(index.shape)
    _within(index, self.shape[dim], dim)
    return self[_lanes(self.shape, dim, index)]


def _placed(self, shape, dim, index):
    out = np.zeros(shape, self.dtype)
    out[_lanes(shape, dim, index)] = self
    return out


def _part(src, shape):
    """What an index of this shape takes of a source."""
    return np.atleast_1d(src)[tuple([slice(n) for n in shape])]


def _added(out, dim, index, src):
    """`out`, with the source added at the indices (several may fall on one place)."""
    if not index.size:
        return out
    if not out.ndim or not index.ndim:
        np.add.at(out.reshape(-1), index.reshape(-1), src.reshape(-1)[: index.size])
    else:
        _within(index, out.shape[dim], dim)
        np.add.at(out, _lanes(out.shape, dim, index), _part(src, index.shape))
    return out


place = operator(  # each place at most once: what sort, topk and max(dim) picked
    "ValueSelectingReductionBackward0", _placed, self=lambda g, dim, index: gathered(g, dim, index)
)
place_sum = operator(
    "GatherBackwardBackward0",
    lambda self, shape, dim, index: _added(np.zeros(shape, self.dtype), dim, index, self),
    self=lambda g, dim, index: gathered(g, dim, index),
)
gathered = operator("GatherBackward0", _gathered, self=lambda g, self_shape, dim, index: place_sum(g, self_shape, dim, index))


def _check_index(name, index, self, other=None):
    if index.dtype.name not in ("int64", "int32") and index.numel():
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index, got {index.dtype}")
    if not index.numel() and name == "gather":
        return
    if max(index.ndim, 1) != max(self.ndim, 1) or (other is not None and max(index.ndim, 1) != max(other.ndim, 1)):
        raise RuntimeError(f"{name}(): Index tensor must have the same number of dimensions as the input and the source")


def _check_fits(name, index, dim, self, src=None):
    for d, n in enumerate(index.shape):
        if (d != dim and n > self.shape[d]) or (src is not None and n > src.shape[d]):
            raise RuntimeError(
                f"{name}(): Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart from "
                f"dimension {dim}" + ("" if src is None else f" and to be no larger than src {list(src.shape)}")
            )


def gather(self, dim, index, *, sparse_grad=False):
    """Picks along `dim`: `out[i][j] = self[index[i][j]][j]` for dim 0.

    >>> import gradlab
    >>> gradlab.tensor([[1, 2], [3, 4]]).gather(1, gradlab.tensor([[0], [1]])).tolist()
    [[1], [4]]
    """
    if sparse_grad:
        raise NotImplementedError("gather(sparse_grad=True): gradlab has no sparse gradients.")
    dim = axis(dim, self.ndim)
    _check_index("gather", index, self)
    if self.ndim and index.ndim and index.numel():
        _check_fits("gather", index, dim, self)
    return gathered(self, dim, index)


def _written(out, dim, index, src):
    src = dtypes.fitted(src, out.dtype) if is_number(src) else src
    if not out.ndim or not index.ndim:
        out.reshape(-1)[index.reshape(-1)] = src if is_number(src) else src.reshape(-1)[: index.size]
    else:
        _within(index, out.shape[dim], dim)
        out[_lanes(out.shape, dim, index)] = src if is_number(src) else _part(src, index.shape)
    return out


scattered = operator(
    "ScatterBackward0",
    lambda self, dim, index, src: _written(self.copy(), dim, index, src),
    self=lambda g, dim, index: scattered_number(g, dim, index, 0),
    src=lambda g, dim, index, src_shape: _picked_for(g, dim, index, src_shape),
)
scattered_number = operator(
    "ScatterBackward1",
    lambda self, dim, index, value: _written(self.copy(), dim, index, value),
    self=lambda g, dim, index: scattered_number(g, dim, index, 0),
)
scattered_sum = operator(
    "ScatterAddBackward0",
    lambda self, dim, index, src: _added(self.copy(), dim, index, src),
    self=lambda g: g,
    src=lambda g, dim, index, src_shape: _picked_for(g, dim, index, src_shape),
)


def _picked_for(g, dim, index, shape):
    """The gradient of a source of which only the part that the index covers was used."""
    from gradlab.operators.shape import put_key

    part = gathered(g, dim, index)
    shape = tuple(shape)
    if not shape or not part.ndim:
        return part.reshape(shape)
    return part if part.shape == shape else put_key(part, shape, tuple([slice(n) for n in part.shape]))


def _scatter_ready(name, self, dim, index, src):
    dim = axis(dim, self.ndim)
    number = is_number(src)
    _check_index(name, index, self, None if number else src)
    if not number and src.dtype is not self.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype, got {self.dtype} and {src.dtype}")
    if self.ndim and index.ndim and index.numel() and (number or src.ndim):
        _check_fits(name, index, dim, self, None if number else src)
    return dim


def scatter(self, dim, index, src=None, *, value=None, reduce=None):
    """A copy of `self` with `src` (a tensor or a number) written at the indices along `dim`.

    >>> import gradlab
    >>> gradlab.zeros(3).scatter(0, gradlab.tensor([1]), 5.0)
    tensor([0., 5., 0.])
    """
    if reduce is not None:
        raise NotImplementedError(
            "scatter(reduce=...) has no derivative in torch either: use scatter_add, or scatter without reduce."
        )
    src = value if src is None else src
    dim = _scatter_ready("scatter", self, dim, index, src)
    return scattered_number(self, dim, index, src) if is_number(src) else scattered(self, dim, index, src)


def scatter_add(self, dim, index, src):
    """A copy of `self` with `src` added at the indices along `dim`.

    >>> import gradlab
    >>> gradlab.scatter_add(gradlab.zeros(3), 0, gradlab.tensor([1, 1]), gradlab.tensor([2.0, 3.0]))
    tensor([0., 5., 0.])
    """
    return scattered_sum(self, _scatter_ready("scatter_add", self, dim, index, src), index, src)


def _rows(dim, index):
    """The key of whole slices along `dim`."""
    return (slice(None),) * dim + (index.reshape(-1),)


def _indexed(self, dim, index):
    if not self.ndim:
        return self.reshape(-1)[index.reshape(-1)].reshape(())
    return np.take(self, index.reshape(-1), dim)


def _rows_added(out, dim, index, source, alpha):
    if not out.ndim:
        return out + alpha * source.reshape(-1).sum(dtype=out.dtype)
    np.add.at(out, _rows(dim, index), alpha * source if source.ndim else alpha * source.reshape(1))
    return out


index_rows = operator(
    "IndexSelectBackward0", _indexed, self=lambda g, self_shape, dim, index: rows_sum(g, self_shape, dim, index)
)
rows_sum = operator(
    "IndexSelectBackwardBackward0",
    lambda self, shape, dim, index: _rows_added(np.zeros(shape, self.dtype), dim, index, self, 1),
    self=lambda g, self_shape, dim, index: index_rows(g, dim, index).reshape(self_shape),
)
index_added = operator(
    "IndexAddBackward0",
    lambda self, dim, index, source, alpha: _rows_added(self.copy(), dim, index, source, alpha),
    self=lambda g: g,
    source=lambda g, dim, index, alpha, source_shape: index_rows(g, dim, index).reshape(source_shape) * alpha,
)
index_copied = operator(
    "IndexCopyBackward0",
    lambda self, dim, index, source: _rows_written(self.copy(), dim, index, source),
    self=lambda g, dim, index: index_filled(g, dim, index, 0),
    source=lambda g, dim, index, source_shape: index_rows(g, dim, index).reshape(source_shape),
)
distinct = operator(None, lambda index: np.unique(index))
index_filled = operator(
    "IndexFillBackward0",
    lambda self, dim, index, value: _rows_written(self.copy(), dim, index, value),
    self=lambda g, dim, index: index_filled(g, dim, index, 0),
)
index_filled_by = operator(
    "IndexFillBackward1",
    lambda self, dim, index, value: _rows_written(self.copy(), dim, index, value),
    self=lambda g, dim, index: index_filled(g, dim, index, 0),
    value=lambda g, dim, index: index_rows(g, dim, distinct(index)).sum(),
)


def _rows_written(out, dim, index, source):
    source = dtypes.fitted(source, out.dtype) if is_number(source) else source
    if not out.ndim:
        out[...] = source if is_number(source) else source.reshape(-1)[-1]
    else:
        out[_rows(dim, index)] = source if is_number(source) or source.ndim else source.reshape(1)
    return out


def _check_rows(name, self, dim, index, source=None):
    dim = axis(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim {index.ndim}")
    if index.dtype.name not in ("int64", "int32"):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index, got {index.dtype}")
    size = self.shape[dim] if self.ndim else 1
    least = -size if name == "index_fill" else 0
    if index.numel() and not (least <= int(index._array.min()) and int(index._array.max()) < size):
        kind = RuntimeError if name == "index_add" and self.ndim == 2 else IndexError  # torch's, of its kernel for matrices
        raise kind(f"{name}(): index out of range in self: dim {dim} has size {size}")
    if source is not None:
        _check_source(name, self, dim, index, source)
    return dim


def _check_source(name, self, dim, index, source):
    if source.dtype is not self.dtype:
        raise RuntimeError(f"{name}(): self and source expected to have the same dtype, but got {self.dtype} and {source.dtype}")
    rows = source.shape[dim] if source.ndim else 1
    if rows != index.numel():
        raise (IndexError if name == "index_copy" else RuntimeError)(
            f"{name}(): Number of indices ({index.numel()}) should be equal to source.size(dim): ({rows})"
        )
    if self.ndim and source.ndim:
        ours, theirs = list(self.shape), list(source.shape)
        if ours[:dim] + ours[dim + 1 :] != theirs[:dim] + theirs[dim + 1 :]:
            raise RuntimeError(f"{name}(): Source/destination tensor must have same slice shapes, got {theirs} for {ours}")


def index_select(self, dim, index):
    """Whole slices along `dim`, in the order of the index.

    >>> import gradlab
    >>> gradlab.index_select(gradlab.tensor([[1, 2], [3, 4]]), 0, gradlab.tensor([1, 1])).tolist()
    [[3, 4], [3, 4]]
    """
    return index_rows(self, _check_rows("index_select", self, dim, index), index)


def index_add(self, dim, index, source, *, alpha=1):
    """A copy of `self` with the slices of `source` (times alpha) added at the indices along `dim`.

    >>> import gradlab
    >>> gradlab.index_add(gradlab.ones(3), 0, gradlab.tensor([0, 0]), gradlab.tensor([1.0, 2.0]))
    tensor([4., 1., 1.])
    """
    alpha = alpha if self.dtype.is_floating_point else int(alpha)
    return index_added(self, _check_rows("index_add", self, dim, index, source), index, source, alpha)


def index_copy(self, dim, index, source):
    """A copy of `self` with the slices of `source` written at the indices along `dim`.

    >>> import gradlab
    >>> gradlab.index_copy(gradlab.zeros(3), 0, gradlab.tensor([2, 0]), gradlab.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """
    return index_copied(self, _check_rows("index_copy", self, dim, index, source), index, source)


def index_fill(self, dim, index, value):
    """A copy of `self` with a number (or a 0-d tensor) at the indices along `dim`.

    >>> import gradlab
    >>> gradlab.index_fill(gradlab.zeros(3), 0, gradlab.tensor([0, 2]), 5.0)
    tensor([5., 0., 5.])
    """
    dim = _check_rows("index_fill", self, dim, index)
    if is_number(value):
        return index_filled(self, dim, index, value)
    if value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    return index_filled_by(self, dim, index, value)


# -- by mask -----------------------------------------------------------------------------------------------------------

masked_filled_number = operator(
    "MaskedFillBackward0",
    lambda self, mask, value: np.where(mask, dtypes.fitted(value, self.dtype), self),
    self=lambda g, mask: where(mask, 0, g),
)
masked_filled = operator(
    "MaskedFillBackward1",
    lambda self, mask, value: np.where(mask, dtypes.fitted(value.item(), self.dtype), self),
    self=lambda g, mask: where(mask, 0, g),
    value=lambda g, mask: where(mask, g, 0).sum(),
)
masked_selected = operator(
    "MaskedSelectBackward0",
    lambda self, mask: np.broadcast_to(self, np.broadcast_shapes(self.shape, mask.shape))[
        np.broadcast_to(mask, np.broadcast_shapes(self.shape, mask.shape))
    ],
    self=lambda g, self_shape, mask: masked_placed(g, np.broadcast_shapes(tuple(self_shape), tuple(mask.shape)), mask),
)


def _masked_placed(self, shape, mask):
    out = np.zeros(shape, self.dtype)
    out[np.broadcast_to(mask, shape)] = self
    return out


masked_placed = operator("MaskedSelectBackwardBackward0", _masked_placed, self=lambda g, mask: masked_selected(g, mask))


def masked_fill(self, mask, value):
    """A copy of `self` with a number (or a 0-d tensor) where the mask is True.

    >>> import gradlab
    >>> x = gradlab.tensor([1.0, -2.0])
    >>> x.masked_fill(x < 0, 0)
    tensor([1., 0.])
    """
    _check_mask("masked_fill", mask)
    if is_number(value):
        return masked_filled_number(self, mask, value)
    if value.ndim:
        raise RuntimeError(
            f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    return masked_filled(self, mask, value)


def masked_select(self, mask):
    """The elements where the mask is True, as a vector.

    >>> import gradlab
    >>> x = gradlab.tensor([1.0, -2.0, 3.0])
    >>> gradlab.masked_select(x, x > 0)
    tensor([1., 3.])
    """
    _check_mask("masked_select", mask)
    return masked_selected(self, mask)


def _check_mask(name, mask):
    if mask.dtype.name != "bool":
        raise RuntimeError(f"{name} expects a boolean mask, but got a tensor with dtype {mask.dtype}")


# -- x[...] ------------------------------------------------------------------------------------------------------------


def _advanced(indices):
    """numpy's key for a list of index arrays and None (a whole dim)."""
    return tuple([slice(None) if i is None else i for i in indices])


def _index_sum(self, shape, indices):
    out, key = np.zeros(shape, self.dtype), _advanced(indices)
    if all(i is None or i.dtype == bool for i in indices):
        out[key] = self
    else:
        np.add.at(out, key, self)
    return out


indexed = operator(
    "IndexBackward0",
    lambda self, indices: self[_advanced(indices)],
    self=lambda g, self_shape, indices: index_sum(g, self_shape, indices),
)
index_sum = operator("IndexBackwardBackward0", _index_sum, self=lambda g, indices: indexed(g, indices))


def _index_put(self, indices, values, accumulate):
    out, key = self.copy(), _advanced(indices)
    if accumulate:
        np.add.at(out, key, values)
    else:
        out[key] = values
    return out


index_written = operator(
    "IndexPutBackward0",
    _index_put,
    self=lambda g, indices, accumulate: g if accumulate else index_written(g, indices, zeros_number(g), False),
    values=lambda g, indices: indexed(g, indices),
)
zeros_number = operator(None, lambda like: np.zeros((), like.dtype))


def index_put(self, indices, values, accumulate=False):
    """A copy of `self` with values written (or added) at an advanced index.

    >>> import gradlab
    >>> gradlab.index_put(gradlab.zeros(3), (gradlab.tensor([0, 2]),), gradlab.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    if values.dtype is not self.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {self.dtype} for the destination and "
            f"{values.dtype} for the source."
        )
    return index_written(self, list(indices), values, accumulate)


def _as_index(item):
    """An advanced index (an integer or bool tensor) out of one part of a key, or None when it is a basic one."""
    if isinstance(item, TensorBase):
        if item._array.dtype.name not in ("int64", "int32", "bool"):
            cure = "convert a mask with .bool(), and places with .long()"
            raise IndexError(f"tensors used as indices must be long, int or bool tensors, got {item.dtype}: {cure}")
        return item
    if isinstance(item, (list, tuple, np.ndarray, range)):
        array = np.asarray(item)
        array = array.astype(np.int64) if array.size == 0 and array.dtype.kind == "f" else array
        if array.dtype.kind not in "iub":
            raise IndexError("only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices")
        return make(array if array.dtype == bool else array.astype(np.int64))
    if isinstance(item, bool):
        return make(np.asarray(item))
    return None


def _dims_taken(item):
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    array = getattr(item, "_array", item)
    return array.ndim if isinstance(array, np.ndarray) and array.dtype == bool else 1


def _stands_for_tuple(key):
    """Whether a list is a key of several parts, as once in numpy: when it is short and holds more than numbers."""
    if not isinstance(key, list) or len(key) >= 32:
        return False
    return any([k is None or k is Ellipsis or isinstance(k, (slice, list, tuple, np.ndarray, TensorBase)) for k in key])


def _parts(key, ndim):
    """The parts of a key with the ellipsis spelled out."""
    key = list(key) if isinstance(key, tuple) or _stands_for_tuple(key) else [key]
    taken = sum([_dims_taken(k) for k in key])
    if taken > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    dots = [n for n, k in enumerate(key) if k is Ellipsis]
    if dots:
        key[dots[0] : dots[0] + 1] = [slice(None)] * (ndim - taken)
        key = [slice(None) if k is Ellipsis else k for k in key]
    return key


def _basic(self, key):
    """`self` after the ints, slices and Nones of a key, one view each, and the advanced indices that are left."""
    indices, dim = [], 0
    for item in _parts(key, self.ndim):
        if item is None:
            self, dim = unsqueeze(self, dim), dim + 1
            indices.append(None)
        elif isinstance(item, slice):
            self, dim = _sliced(self, dim, item), dim + 1
            indices.append(None)
        elif (advanced := _as_index(item)) is not None:
            self, dim = _advance(self, dim, advanced, indices)
        else:
            self = _select_number(self, dim, item)
    while indices and indices[-1] is None:
        indices.pop()
    return self, indices


def _advance(self, dim, item, indices):
    array = item._array
    if array.dtype == bool and array.ndim == 0:
        self = unsqueeze(self, dim)
        indices.append(make(np.zeros(int(array), np.int64)))
        return self, dim + 1
    if array.dtype == bool:
        if tuple(self.shape[dim : dim + array.ndim]) != array.shape:
            raise IndexError(
                f"The shape of the mask {list(array.shape)} at index {dim} does not match the shape of the "
                f"indexed tensor {list(self.shape)}"
            )
        indices.append(item)
        return self, dim + array.ndim
    if array.ndim == 0:
        number = int(array)
        notify("__index__", (item,), number)
        return _select_number(self, dim, number), dim
    indices.append(item)
    return self, dim + 1


def _select_number(self, dim, item):
    if self.ndim == 0:
        raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a Python number")
    try:
        number = as_index(item, "index")
    except TypeError:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
            f"(got {type(item).__name__})"
        ) from None
    size = self.shape[dim]
    if not -size <= number < size:
        raise IndexError(f"index {number} is out of bounds for dimension {dim} with size {size}")
    return selected(self, dim, number % size)


def _sliced(self, dim, item, alone=False):
    if item.start is None and item.stop is None and item.step is None and not alone:
        return self
    start, stop, step = [None if n is None else as_index(n, "slice") for n in (item.start, item.stop, item.step)]
    if step is not None and step <= 0:
        raise ValueError("step must be greater than zero")
    size = self.shape[dim]
    if not alone and not start and (stop is None or stop >= size) and step in (None, 1):
        return self  # torch records no node for a slice that plainly takes everything
    return take_key(self, _key(dim, slice(start, stop, step)))


def getitem(self, key):
    """`self[key]`: ints, slices, None and ... give views; integer and bool tensors (or lists) give copies.

    >>> import gradlab
    >>> x = gradlab.arange(6).view(2, 3)
    >>> x[1, 1:].tolist(), x[:, [0, 2]].tolist()
    ([4, 5], [[0, 2], [3, 5]])
    """
    if type(key) is int and self._array.ndim:
        size = self._array.shape[0]
        if -size <= key < size:
            return selected(self, 0, key % size)
        raise IndexError(f"index {key} is out of bounds for dimension 0 with size {size}")
    if type(key) is slice and self.ndim:  # by itself it is recorded also where it takes everything
        return _sliced(self, 0, key, True)
    found, indices = _basic(self, key)
    if not indices:
        return aliased(self) if found is self else found
    try:
        return indexed(found, indices)
    except RuntimeError as error:
        raise IndexError(str(error)) from None


aliased = operator("AliasBackward0", lambda self: self[...], view=True, self=lambda g: g)


def setitem(self, key, value):
    """`self[key] = value`, written into the memory and into the history."""
    target, indices = _basic(self, key)
    if not isinstance(value, TensorBase):
        if not is_number(value):
            raise TypeError(f"can't assign a {type(value).__name__} to a {self.type()}. Make it a tensor first.")
        value = make(np.asarray(dtypes.fitted(value, self._array.dtype)))
    elif not indices and not value.ndim:
        target.fill_(value)
        return
    if not indices:
        target.copy_(_fitting(value, target.shape))
        return
    arrays = [i if i is None else i._array for i in indices]
    if not value.ndim and all([i is None or i.dtype == bool for i in arrays]):
        value = value.to(self.dtype)  # one element at a mask is masked_fill
    target.index_put_(indices, _fitting(value, target._array[_advanced(arrays)].shape) if value.ndim > 1 else value)


def _fitting(value, shape):
    """A value of another shape loses its leading dims of size 1 and is stretched, as torch does."""
    if value.ndim == 0 or tuple(value.shape) == tuple(shape):
        return value
    lead = next((i for i, n in enumerate(value.shape) if n != 1), value.ndim)
    value = value.view(value.shape[lead:])
    return value if tuple(value.shape) == tuple(shape) else value.expand(shape)


def nonzero(self, *, as_tuple=False):
    """Where the elements are not zero: one row of indices each, or a tuple of index vectors.

    >>> import gradlab
    >>> gradlab.nonzero(gradlab.tensor([0, 5, 6]))
    tensor([[1],
            [2]])
    """
    return where(self != 0) if as_tuple else nonzero_rows(self)
