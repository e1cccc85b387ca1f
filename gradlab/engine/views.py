"""Views and in-place writes: shared memory, one version counter, and history that is rewritten when memory changes.

A view remembers its base and, as a chain of steps, how to cut the same view out of any array shaped like the base. An in-place
operation is the ordinary one, copied into the old memory, whose node then takes over the tensor's place in the graph.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from gradlab.engine.modes import EXTRAS, modes
from gradlab.engine.node import Node, numbers
from gradlab.engine.record import Operator, operator
from gradlab.engine.saved import counter_of
from gradlab.engine.tensor import INFERENCE, TensorBase, make, notify


class View:
    """What a tensor is a view of. ``origin`` says how it came about: "", "no_grad", "several" or "function"."""

    __slots__ = ("base", "origin", "parent", "step", "version")

    def __init__(self, of: TensorBase, step: Callable, origin: str) -> None:
        above = of._view
        self.base = of if above is None else above.base
        self.parent, self.step = above, step
        self.origin = origin or (above.origin if above else "")
        self.version = counter_of(self.base)[0]

    def cut(self, array: Any) -> Any:
        """The same view of another array of the base's shape. Shares that array's memory."""
        steps, view = [], self
        while view is not None:
            steps.append(view.step)
            view = view.parent  # type: ignore[assignment]
        for step in reversed(steps):
            array = step(array)
        return array

    def refresh(self, tensor: TensorBase) -> None:
        """After an in-place write through the base or another view, the view's history starts again from the base's."""
        now = self.base._counter
        if now is INFERENCE or now[0] == self.version or tensor._counter is not now:
            return
        self.version = now[0]
        if self.base.requires_grad and not self.base.is_leaf:
            before = modes.word
            modes.word = 1
            try:
                tensor._edge = as_strided(self.base, self.cut)._edge
            finally:
                modes.word = before


def mark_views(op: Operator, values: list, arrays: list, tensors: list, several: bool) -> None:
    """Tell fresh results of a view operator that they are views."""
    source = next(v for v in values if isinstance(v, TensorBase))
    if source._counter is INFERENCE:
        return
    origin = "several" if several else "" if modes.grad else "no_grad"
    rest = arrays[1:]
    for number, tensor in enumerate(tensors):
        if several:
            step = lambda array, number=number: op.forward(array, *rest)[number]  # noqa: E731
        else:
            step = lambda array: op.forward(array, *rest)  # noqa: E731
        if np.shares_memory(tensor._array, source._array) or not tensor._array.size:
            tensor._view = View(source, step, origin)
            tensor._counter = counter_of(source)


# -- pieces of a base, as operators --------------------------------------------------------------------


def _put(self: np.ndarray, cut: Callable, shape: tuple) -> np.ndarray:
    where = cut(np.arange(int(np.prod(shape))).reshape(shape))
    flat = np.bincount(where.ravel(), self.ravel(), int(np.prod(shape))) if self.size else np.zeros(int(np.prod(shape)))
    return flat.reshape(shape).astype(self.dtype)


def _replace(self: np.ndarray, src: Any, cut: Callable) -> np.ndarray:
    array = np.array(self)
    cut(array)[...] = src
    return array


put = operator("AsStridedScatterBackward0", _put, self=lambda g, cut: as_strided(g, cut))
as_strided = operator(
    "AsStridedBackward0", lambda self, cut: np.array(cut(self)), self=lambda g, self_shape, cut: put(g, cut, self_shape)
)
replace = operator(
    "AsStridedScatterBackward0",
    _replace,
    self=lambda g, cut: replace(g, 0.0, cut),
    src=lambda g, cut: as_strided(g, cut),
)
copy = operator(
    "CopyBackwards",
    lambda self, src: np.broadcast_to(src, self.shape).astype(self.dtype),
    self=lambda g: g * 0.0,
    src=lambda g: g,
)


class CopySlices(Node):
    """A write into a view, seen from its base: the write's own node for the region, the old history for the rest."""

    __slots__ = ("cut", "inner")

    def __init__(self, base: TensorBase, view: View, inner: Any) -> None:
        self.edges = (base._gradient_edge(), *inner.edges[1:])
        self.inner, self.cut = inner, view.cut
        self.number, self.extras = next(numbers), None
        self.shape, self.dtype = base._array.shape, base._array.dtype

    def apply(self, g: Any) -> tuple:
        grads = self.inner.apply(np.array(self.cut(g)))
        result = np.array(g)
        self.cut(result)[...] = 0.0 if grads[0] is None else grads[0]
        return (result, *grads[1:])

    def apply_recorded(self, g: Any) -> tuple:
        grads = self.inner.apply_recorded(as_strided(g, self.cut))
        return (replace(g, 0.0 if grads[0] is None else grads[0], self.cut), *grads[1:])

    def free(self) -> None:
        self.inner.free()


# -- writing in place ----------------------------------------------------------------------------------


def inplace(function: Callable) -> Callable:
    """The in-place form of an operator or composite: ``function(self, ...)`` written into self's memory.

    RuntimeError for a leaf that requires grad, a view of one, a result of another shape, or one whose dtype does not fit.
    """
    op: Operator | None = getattr(function, "operator", None)
    if op is not None and op.view:
        return _inplace_view(function)

    def in_place(self: Any, *args: Any, **options: Any) -> Any:
        if not isinstance(self, TensorBase):
            raise TypeError(f"{in_place.__name__}(): argument 'self' must be Tensor, not {type(self).__name__}")
        check_inplace(self, (*args, *options.values()))
        before = _stand_in(self)
        result = function(before, *args, **options)
        if op is None and self._view is not None:
            result = copy(before, result)
        if result is not before:
            check_fits(self, result, in_place.__name__)
            kept = weakref.ref(before)
            del before
            _keep_old_value(kept())
            write(self, result._array)
            _take_history(self, result)
        if modes.word == EXTRAS:
            notify(in_place.__name__, (self, *args), self)
        return self

    in_place.__name__ = in_place.__qualname__ = function.__name__.rstrip("_") + "_"
    return in_place


def _stand_in(self: TensorBase) -> Any:
    """A tensor with self's present value and place in the graph; what a node saves of self is saved of this one."""
    before = make(self._array.copy() if modes.saved_hooks else self._array)
    before._edge = self._gradient_edge() if modes.grad else None
    return before


def _keep_old_value(before: TensorBase | None) -> None:
    """Where a node saved the stand-in, so that it is still alive, give it a copy before the memory is written."""
    if before is not None:
        before._array = before._array.copy()


def _take_history(self: TensorBase, result: TensorBase) -> None:
    if result._edge is None:
        return
    node = result._edge[0]
    _point_results_at(node, result, self)
    if node.outputs is None:
        node.dtype = self._array.dtype
    rebase(self, result._edge)


def write(self: TensorBase, array: Any) -> None:
    """Copy ``array`` into the tensor's memory and count the write."""
    np.copyto(self._array, array, casting="unsafe")
    bump(self)


def bump(self: TensorBase) -> None:
    """Count an in-place write, for every tensor on the same memory."""
    counter = self._counter
    if counter is not INFERENCE:
        counter_of(self)[0] += 1
    elif not modes.inference:
        raise RuntimeError("Inplace update to inference tensor outside InferenceMode is not allowed. Write to a clone() of it.")


def check_fits(self: TensorBase, result: TensorBase, name: str) -> None:
    if result._array.shape != self._array.shape:
        raise RuntimeError(
            f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(result.shape)} ({name}): an in-place "
            "operation cannot change the shape. Use the out-of-place form."
        )
    order = "buif"
    ours, theirs = (order.index(t._array.dtype.kind) for t in (self, result))
    if theirs > ours and not (ours == 1 and theirs == 2):
        raise RuntimeError(
            f"result type {result.dtype} can't be cast to the desired output type {self.dtype} ({name}). "
            "Convert the tensor first, or use the out-of-place form."
        )


def check_inplace(self: TensorBase, others: tuple = ()) -> None:
    """RuntimeError where torch forbids writing into this tensor."""
    if self._counter is INFERENCE and not modes.inference:
        bump(self)
    tracked = self.requires_grad or any(isinstance(x, TensorBase) and x.requires_grad for x in others)
    if not modes.grad or not tracked:
        return
    view = self._view
    if view is not None and view.origin:
        raise RuntimeError(
            f"Output of a view function is being modified inplace: this view {_ORIGINS[view.origin]}. "
            "Replace the inplace operation by an out-of-place one, or write into a clone() of the view."
        )
    if view is not None and self.requires_grad and view.base.is_leaf:
        raise RuntimeError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation. Write under torch.no_grad(), "
            "or make the view of a clone()."
        )
    if self.requires_grad and self.is_leaf:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation. Its value is what the gradient is for: "
            "update it under torch.no_grad(), or use the out-of-place form."
        )


_ORIGINS = {
    "no_grad": "was created in no_grad mode and is being modified inplace with grad mode enabled",
    "several": "is the output of a function that returns multiple views, whose outputs cannot be modified inplace",
    "function": "was created inside a custom Function (or an input was returned as it is), and rewriting its history would "
    "override that Function's backward",
}


def rebase(self: TensorBase, edge: Any) -> None:
    """Self's history is now `edge`; if self is a view, its base's history is a CopySlices around that edge's node."""
    view, retained = self._view, self._edge if self.retains_grad else None
    if view is None:
        self._edge = edge
    else:
        base = view.base
        base_retained = base._edge if base.retains_grad else None
        base._edge = (CopySlices(base, view, edge[0]), 0)
        _move_retain(base, base_retained)
        view.version = -1
        view.refresh(self)
    _move_retain(self, retained)


def _move_retain(self: TensorBase, old: Any) -> None:
    if old is not None:
        old[0].extras.retain.pop(old[1], None)
        self.retain_grad()


def _point_results_at(node: Any, result: TensorBase, self: TensorBase) -> None:
    """A saved result is what now lies in self's memory, at its version now."""
    counter = counter_of(self)
    if counter is INFERENCE or not getattr(node, "saved", None):
        return
    slots = list(node.saved)
    for i in range(0, len(slots), 3):
        if type(slots[i + 1]) is list and slots[i + 1] is result._counter:
            slots[i : i + 3] = self._array, counter, counter[0]
    node.saved = tuple(slots)


def _inplace_view(function: Callable) -> Callable:
    """t_(), squeeze_() and their like: the tensor itself becomes the view; no value is written."""

    def in_place(self: Any, *args: Any, **options: Any) -> Any:
        check_inplace(self)
        result = function(_stand_in(self), *args, **options)
        above = self._view
        if above is not None:
            step = result._view.step
            self._view = View.__new__(View)
            self._view.base, self._view.parent, self._view.step = above.base, above, step
            self._view.origin, self._view.version = above.origin, above.version
        self._array = result._array
        if result._edge is not None:
            retained = self._edge if self.retains_grad else None
            self._edge = result._edge
            _move_retain(self, retained)
        bump(self)
        return self

    in_place.__name__ = in_place.__qualname__ = function.__name__.rstrip("_") + "_"
    return in_place
