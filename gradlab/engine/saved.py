"""What a node keeps for its backward: flat slots of (thing, guard, version), read through `value` and `SavedTensor`.

    an input     (the tensor itself, None, its version then)     so `x.data = new` is seen, as in torch
    a result     (its array, its version counter, version then)  not the tensor: that would be a cycle
    packed       (what the pack hook returned, a Packed, None)
    a number     (the number or None, PLAIN, None)
    several      (a list of such slots, SEVERAL, None)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradlab.engine.modes import modes

if TYPE_CHECKING:
    from gradlab.engine.node import Node
    from gradlab.engine.tensor import TensorBase

PLAIN, SEVERAL = "plain", "several"
Slot = tuple[Any, Any, Any]


class Inference:
    """The version counter of a tensor made in inference mode: there is none, and asking says so."""

    def __getitem__(self, _: int) -> int:
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. This tensor was made under inference_mode(), which keeps no "
            "version counter: use no_grad() there, or clone() the tensor outside to get an ordinary one."
        )


class Packed:
    """How to get back what a pack hook was given: the unpack hook and the tensor's place in the graph."""

    __slots__ = ("edge", "unpack")

    def __init__(self, unpack: Callable, edge: Any) -> None:
        self.unpack, self.edge = unpack, edge


def counter_of(tensor: TensorBase) -> Any:
    """The version counter that the tensor shares with everything on the same memory: a list of one number."""
    if tensor._counter is None:
        tensor._counter = [0]
    return tensor._counter


def save_input(x: Any) -> Slot:
    """A slot for an input: a tensor, a list of tensors, or anything else, kept as it is."""
    if isinstance(x, list | tuple) and any(hasattr(item, "_array") for item in x):
        return [save_input(item) for item in x], SEVERAL, None
    if not hasattr(x, "_array"):
        return x, PLAIN, None
    if modes.saved_hooks:
        return pack(x, modes.saved_hooks[-1], x._gradient_edge())
    return x, None, 0 if x._counter is None else x._counter[0]


def save_result(tensor: TensorBase, node: Node, number: int) -> Slot:
    """A slot for an output of the node itself."""
    if modes.saved_hooks:
        return pack(tensor, modes.saved_hooks[-1], number)
    counter = counter_of(tensor)
    return tensor._array, counter, counter[0]


def pack(tensor: TensorBase, hooks: tuple[Callable, Callable], edge: Any) -> Slot:
    """Hand a detached tensor to the pack hook, with recording and hooks off."""
    before, modes.saved_hooks = modes.saved_hooks, []
    grad = modes.grad
    modes.set(grad=False)
    try:
        version = tensor._counter and tensor._counter[0]
        packed = hooks[0](tensor.detach())
        if (tensor._counter and tensor._counter[0]) != version and version is not None:
            raise RuntimeError("A saved tensor pack hook is modifying its input in place. Return a new value instead.")
    finally:
        modes.saved_hooks = before
        modes.set(grad=grad)
    return packed, Packed(hooks[1], edge), None


def _unpack(node: Node, packed: Any, how: Packed) -> TensorBase:
    tensor = how.unpack(packed)
    if not hasattr(tensor, "_array"):
        raise TypeError(
            f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(tensor).__name__} "
            f"({node.name()})."
        )
    return tensor


def _check_version(node: Node, counter: Any, version: int, array: Any) -> None:
    if counter is not None and counter[0] != version:
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"{node.name()} saved a tensor of shape {list(array.shape)} at version {version}, and it is at version "
            f"{counter[0]} now. Make the edit out of place (x = x + 1 instead of x += 1), make it before the tensor is used, or "
            "edit a clone(); detect_anomaly() shows the forward line."
        )


def raw(node: Node, thing: Any, guard: Any, version: Any) -> Any:
    """The saved value as a numpy array (or number), checked against later in-place edits."""
    if guard is None:
        _check_version(node, thing._counter, version, thing._array)
        return thing._array
    if type(guard) is list:
        _check_version(node, guard, version, thing)
        return thing
    if guard is PLAIN:
        return thing
    if guard is SEVERAL:
        return [raw(node, *slot) for slot in thing]
    return _unpack(node, thing, guard)._array


def recorded(node: Node, thing: Any, guard: Any, version: Any, number: int = 0) -> Any:
    """The saved value as a tensor with its place in the graph, for a backward that is itself recorded."""
    if guard is PLAIN:
        return thing
    if guard is SEVERAL:
        return [recorded(node, *slot) for slot in thing]
    if isinstance(guard, Packed):
        tensor = _unpack(node, thing, guard)
        return _placed(tensor._array, tensor._counter, (node, guard.edge) if isinstance(guard.edge, int) else guard.edge)
    raw(node, thing, guard, version)
    return thing if guard is None else _placed(thing, guard, (node, number))


def _placed(array: Any, counter: Any, edge: Any) -> TensorBase:
    from gradlab.engine.tensor import make

    tensor = make(array)
    tensor._counter, tensor._edge = counter, edge
    return tensor


class SavedTensor:
    """One saved slot of a node, as ``grad_fn._raw_saved_<name>`` shows it."""

    __slots__ = ("_name", "_node")

    def __init__(self, node: Node, name: str) -> None:
        self._node, self._name = node, name

    @property
    def data(self) -> Any:
        """The held tensor, what a pack hook made of it, or None when the slot was freed or never filled."""
        try:
            slot = self._node._slot(self._name)
        except RuntimeError:
            return None
        return slot[0] if slot and isinstance(slot[1], Packed) else getattr(self._node, f"_saved_{self._name}")

    @property
    def unpack_hook(self) -> Callable | None:
        """The hook that will unpack this slot; None when no hook packed it."""
        try:
            slot = self._node._slot(self._name)
        except RuntimeError:
            return None
        return slot[1].unpack if slot and isinstance(slot[1], Packed) else None

    def register_hooks(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        """Pack this slot now with ``pack_hook``; a backward gets it back through ``unpack_hook``."""
        slot = self._node._slot(self._name)
        if slot is None:
            raise RuntimeError(f"{self._node.name()} never saved '{self._name}': there is nothing to register hooks on.")
        if isinstance(slot[1], Packed):
            raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been set is not allowed.")
        tensor = getattr(self._node, f"_saved_{self._name}")
        number = self._node.plan.output_number(self._name)
        edge = number if type(slot[1]) is list else tensor._gradient_edge()
        self._node._fill_slot(self._name, pack(tensor, (pack_hook, unpack_hook), edge))
