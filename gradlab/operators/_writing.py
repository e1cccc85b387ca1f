"""inplace(): the in-place form of an operator or composite.

An in-place operation is the ordinary one, copied into the old memory; its node then takes over the tensor's place in the
graph. What a node saved of the old value is a copy of it; what it saved of the result is the written memory.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from gradlab import errors
from gradlab.engine.modes import EXTRAS, modes, notify
from gradlab.engine.node import numbers
from gradlab.engine.tensor import INFERENCE, TensorBase, make
from gradlab.operators._views import View, check_writable, copy, count_write, rebase

IN_PLACE = """`{0}` written into the tensor's own memory; returns the tensor. Takes the arguments of `{0}`.

RuntimeError for a leaf that requires grad, a result of another shape, or one whose dtype does not fit.
"""


def inplace(function: Any, overlap: bool = False) -> Callable:
    """The in-place form of ``function(self, ...)``: its result is written into self's memory, and self is returned.

    RuntimeError for a leaf that requires grad, a view of one, a result of another shape, or one whose dtype does not fit.
    overlap: may be written where several elements share a place, because all get the same value.
    """
    op = getattr(function, "operator", None)
    name = function.__name__.rstrip("_") + "_"

    def in_place(self: Any, *args: Any, **options: Any) -> Any:
        if not isinstance(self, TensorBase):
            raise errors.not_tensor(f"{name}(): argument 'self'", self)
        check_writable(self, (*args, *options.values()))
        if any(_overlaps(self, x) for x in args):
            raise RuntimeError(errors.PARTLY_OVERLAPPING)
        if op is not None and op.view:
            _become(self, function(_stand_in(self), *args, **options))
        else:
            _overwrite(self, function, args, options, name, overlap)
        if modes.word == EXTRAS:
            notify(name, (self, *args), self)
        return self

    in_place.__name__ = in_place.__qualname__ = name
    in_place.__doc__ = IN_PLACE.format(name[:-1])
    return in_place


def _overlaps(self: TensorBase, other: Any) -> bool:
    """Whether the other tensor is part of the same memory and laid out otherwise; both without gaps, else it is not asked."""
    if not isinstance(other, TensorBase) or other is self:
        return False
    a, b = self._array, other._array
    if not np.may_share_memory(a, b) or (a.ctypes.data, a.shape, a.strides) == (b.ctypes.data, b.shape, b.strides):
        return False
    return all(np.ptp(np.lib.array_utils.byte_bounds(x)) == x.nbytes for x in (a, b))


def _stand_in(self: TensorBase) -> Any:
    """A tensor with self's present value and place in the graph: what nodes save of self, they save of this one."""
    before = make(self._array.copy() if modes.saved_hooks else self._array)
    before._edge = self._gradient_edge() if modes.grad else None
    return before


def _overwrite(self: TensorBase, function: Callable, args: tuple, options: dict, name: str, overlap: bool) -> None:
    before, started = _stand_in(self), next(numbers)
    result = function(before, *args, **options)
    if result is before:
        return
    edge = result._edge
    if self._view is not None and edge and (edge[0].number != started + 1 or edge[0].edges[0] != before._edge):
        result = copy(before, result)  # a composite: rebase() needs one node whose first edge is self's
    check_fits(self, result, name)
    kept = weakref.ref(before)
    del before
    still_used = kept()
    if still_used is not None:
        still_used._array = still_used._array.copy()
    write(self, result._array, overlap)
    if result._edge is not None:
        node = result._edge[0]
        _point_results_at(node, result, self)
        if node.outputs is None:
            node.dtype = self._array.dtype
        rebase(self, result._edge)


def check_fits(self: TensorBase, result: TensorBase, name: str) -> None:
    """RuntimeError when ``result`` cannot be written into self."""
    if result._array.shape != self._array.shape:
        raise errors.result_shape(name, self, result)
    ours, theirs = ("b" if t._array.dtype.kind == "b" else t._array.dtype.kind for t in (self, result))
    if "buif".index(theirs) > "buif".index(ours) and (ours, theirs) != ("u", "i"):
        raise errors.result_dtype(name, self, result)


def write(self: TensorBase, array: Any, overlap: bool = False) -> None:
    """Copy ``array`` into the tensor's memory and count the write."""
    if (
        not overlap
        and 0 in self._array.strides
        and self._array.size
        and any(s == 0 and n > 1 for s, n in zip(self._array.strides, self._array.shape))
    ):
        raise RuntimeError(errors.OVERLAPPING)
    np.copyto(self._array, array, casting="unsafe")
    count_write(self)


def _point_results_at(node: Any, result: TensorBase, self: TensorBase) -> None:
    """A saved result is what now lies in self's memory, at its version now."""
    slots = list(getattr(node, "saved", None) or ())
    if self._counter is INFERENCE or not slots:
        return
    for i in range(0, len(slots), 3):
        if type(slots[i + 1]) is list and slots[i + 1] is result._counter:
            slots[i : i + 3] = self._array, self._version_counter(), self._version_counter()[0]
    node.saved = tuple(slots)


def _become(self: TensorBase, result: TensorBase) -> None:
    """t_(), squeeze_() and their like: the tensor itself becomes the view; no value is written."""
    above = self._view
    if above is not None:
        view = self._view = View.__new__(View)
        view.base, view.above, view.step = above.base, above.cut, result._view.step
        view.origin, view.version = above.origin, above.version
    self._array = result._array
    if result._edge is not None:
        rebase_target, self._view = self._view, None
        rebase(self, result._edge)
        self._view = rebase_target
    count_write(self)
