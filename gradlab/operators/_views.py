"""Views share memory and a version counter with their base, and start their history again when that memory was written.

A view remembers its base and, as a chain of steps, how to cut the same view out of any array shaped like the base.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from gradlab import errors
from gradlab.engine.modes import modes
from gradlab.engine.node import Node, numbers
from gradlab.engine.record import Operator, operator
from gradlab.engine.tensor import INFERENCE, TensorBase, make
from gradlab.operators.pointwise import zeros_like_grad


class Cut:
    """How to cut a view out of an array shaped like its base: the cut of the view it was made of, and one more step."""

    __slots__ = ("above", "step")

    def __init__(self, above: Cut | None, step: Callable) -> None:
        self.above, self.step = above, step

    def __call__(self, array: Any) -> Any:
        """The same view of another array of the base's shape. Shares that array's memory."""
        steps, cut = [self.step], self.above
        while cut is not None:
            steps.append(cut.step)
            cut = cut.above
        for step in reversed(steps):
            array = step(array)
        return array


class View:
    """What a tensor is a view of. ``origin`` says how it came about: "" or a key of errors.ORIGINS.

    The graph holds the cut alone: a node that held the view would hold its base, which holds the node.
    """

    __slots__ = ("above", "base", "origin", "step", "version")

    def __init__(self, of: TensorBase, step: Callable, origin: str) -> None:
        view = of._view
        if view is None:
            self.base, self.above, self.origin = of, None, origin
        else:
            self.base, self.above, self.origin = view.base, view.cut, origin or view.origin
        self.step, self.version = step, (self.base._counter or self.base._version_counter())[0]

    @property
    def cut(self) -> Cut:
        """How to cut it out of its base: made when asked, since few views are written to."""
        return Cut(self.above, self.step)

    def gradient_edge(self, array: np.ndarray) -> Any:
        """The edge of a view that has no history: none, unless its base requires grad (it was made under no_grad)."""
        base = self.base
        return nowhere(array) if (base._edge or base._meta) and base.requires_grad else None

    def refresh(self, tensor: TensorBase) -> None:
        """After a write through the base or another view, the view's history starts again from the base's."""
        counter = self.base._counter
        if counter is INFERENCE or counter[0] == self.version or not (tensor._edge or self.base.requires_grad):
            return
        if self.origin:
            raise errors.base_written(self.origin)
        self.version = counter[0]
        retained = tensor._edge if tensor.retains_grad else None
        base = make(self.base._array)
        base._counter, base._edge = counter, self.base._gradient_edge() or nowhere(base._array)
        before = modes.set(grad=True)
        tensor._edge = as_strided(base, self.cut)._edge
        modes.set(**before)
        _move_retained(tensor, retained)


class Nowhere(Node):
    """Where the gradient of a view goes whose base takes none, though a node records the view: nowhere, as in torch."""

    __slots__ = ()
    hidden = True

    def __init__(self, array: np.ndarray) -> None:
        self.edges, self.number, self.extras, self.shape, self.dtype = (), -1, None, array.shape, array.dtype

    def apply(self, g: Any) -> Any:
        return ()

    apply_recorded = apply


def nowhere(array: np.ndarray) -> tuple:
    return Nowhere(array), 0


def mark(forward: Callable, source: TensorBase, options: Any, tensor: TensorBase, number: int | None = None) -> None:
    """Tell a fresh result of a view operator (its `number`, where it has several) that it is a view of the first argument."""
    array = tensor._array
    if source._counter is INFERENCE:
        tensor._counter = source._counter
    elif array is source._array or array.base is not None or not array.size:
        if number is None:
            view = View(source, lambda array: forward(array, *options), "" if modes.grad else "no_grad")
        else:
            view = View(source, lambda array: forward(array, *options)[number], "several")
        tensor._view, tensor._counter = view, view.base._counter


Operator.mark_view = staticmethod(mark)


def alias(tensor: TensorBase) -> Any:
    """A view of all of a tensor: what a Function returns for an input that its forward returned as it is."""
    view = View(tensor, lambda array: array[...], "function")
    result = make(tensor._array)
    result._view, result._counter = view, tensor._version_counter()
    return result


def mark_outputs(node: Node, outputs: list) -> None:
    """Views among a Function's outputs start at its node, and a write into one may not put another in its place."""
    own = [o for o in outputs if isinstance(o, TensorBase) and o._edge is not None and o._edge[0] is node]
    for view in [o._view for o in own if o._view is not None]:
        view.origin = "several" if len(own) > 1 else "function"
        view.version = view.base._version_counter()[0]


# -- cutting a piece out of a tensor and putting it back, as operators -------------------------------------------------


def _put(self: np.ndarray, cut: Callable, shape: tuple) -> np.ndarray:
    """Zeros of ``shape`` with self added at the piece: elements that the piece holds several times are summed."""
    size = int(np.prod(shape))
    places = cut(np.arange(size).reshape(shape)).ravel()
    return np.bincount(places, self.ravel(), size).reshape(shape).astype(self.dtype)


def _replace(self: np.ndarray, src: Any, cut: Callable) -> np.ndarray:
    array = np.array(self)
    cut(array)[...] = src
    return array


put = operator("AsStridedScatterBackward0", _put, self=lambda g, cut: as_strided(g, cut))
as_strided = operator(
    "AsStridedBackward0", lambda self, cut: np.array(cut(self)), self=lambda g, self_shape, cut: put(g, cut, self_shape)
)
replace = operator(
    "AsStridedScatterBackward0", _replace, self=lambda g, cut: replace(g, 0.0, cut), src=lambda g, cut: as_strided(g, cut)
)
copy = operator(
    "CopyBackwards",
    lambda self, src: np.broadcast_to(src, self.shape).astype(self.dtype),
    self=lambda g: zeros_like_grad(g),
    src=lambda g: g,
)


class CopySlices(Node):
    """A write into a view, seen from its base: the write's own node for the region, the old history for the rest."""

    __slots__ = ("cut", "inner")

    def __init__(self, base: TensorBase, view: View, inner: Any) -> None:
        self.edges, self.inner, self.cut = (base._gradient_edge(), *inner.edges[1:]), inner, view.cut
        self.number, self.extras, self.shape, self.dtype = next(numbers), None, base._array.shape, base._array.dtype

    def _inner(self) -> Any:
        if self.inner is None:
            raise errors.freed(self)
        return self.inner

    def apply(self, g: Any) -> tuple:
        grads = self._inner().apply(np.array(self.cut(g)))
        result = np.array(g)
        self.cut(result)[...] = 0.0 if grads[0] is None else grads[0]
        return (result, *grads[1:])

    def apply_recorded(self, g: Any) -> tuple:
        grads = self._inner().apply_recorded(as_strided(g, self.cut))
        return (replace(g, 0.0 if grads[0] is None else grads[0], self.cut), *grads[1:])

    def free(self) -> None:
        self.inner = None


# -- what an in-place write does to history ----------------------------------------------------------------------------


def check_writable(self: TensorBase, others: tuple = ()) -> None:
    """RuntimeError where torch forbids writing into this tensor, with `others` taking part in the operation."""
    if self._counter is INFERENCE and not modes.inference:
        raise RuntimeError(errors.INFERENCE_WRITE)
    view, tracked = self._view, self.requires_grad
    if not modes.grad or not (tracked or any(isinstance(x, TensorBase) and x.requires_grad for x in others)):
        return
    if view is not None and view.origin:
        raise errors.view_written(view.origin)
    if view is not None and tracked and view.base.is_leaf:
        raise RuntimeError(errors.VIEW_OF_LEAF_WRITTEN)
    if tracked and self._edge is None:  # of a view: as it was before its base was written, as in torch
        raise RuntimeError(errors.LEAF_WRITTEN)


def count_write(self: TensorBase) -> None:
    """Raise the version of every tensor on the same memory."""
    if self._counter is None:
        self._counter = [1]
    elif self._counter is not INFERENCE:
        self._counter[0] += 1
    elif not modes.inference:
        raise RuntimeError(errors.INFERENCE_WRITE)


def rebase(self: TensorBase, edge: Any) -> None:
    """Self's history is now `edge`; if self is a view, its base's history is a CopySlices around that edge's node."""
    view, retained = self._view, self._edge if self.retains_grad else None
    if view is None:
        self._edge = edge
    else:
        base_retained = view.base._edge if view.base.retains_grad else None
        view.base._edge = (CopySlices(view.base, view, edge[0]), 0)
        _move_retained(view.base, base_retained)
        view.version = -1
        view.refresh(self)
    _move_retained(self, retained)


def _move_retained(self: TensorBase, old: Any) -> None:
    """retain_grad() follows the tensor to its new node; hooks stay with the old one."""
    if old is not None:
        old[0].extras.retain.pop(old[1], None)
        self._edge[0].more().retain[self._edge[1]] = weakref.ref(self)
