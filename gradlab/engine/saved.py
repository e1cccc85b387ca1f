"""What a node keeps for its backward: flat slots of (thing, guard, version), read through `raw` and `recorded`.

    an input     (the tensor itself, None, its version then)     so `x.data = new` is seen, as in torch
    a result     (its array, its version counter, version then)  not the tensor: that would be a cycle
    packed       (what the pack hook returned, a Packed, None)
    a number     (the number or None, PLAIN, None)
    several      (a list of such slots, SEVERAL, None)
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from gradlab import errors
from gradlab.engine.modes import modes
from gradlab.engine.node import Node
from gradlab.engine.tensor import TensorBase, make

PLAIN, SEVERAL = "plain", "several"
FREED = None


class Packed(NamedTuple):
    """How to get back what a pack hook was given: the unpack hook, and the tensor's edge (or its number as a result)."""

    unpack: Callable
    edge: Any


def save_input(x: Any) -> tuple:
    """A slot for an input: a tensor, a list of tensors, or anything else, kept as it is."""
    if isinstance(x, TensorBase):
        if modes.saved_hooks:
            return pack(x, modes.saved_hooks[-1], x._gradient_edge())
        return x, None, 0 if x._counter is None else x._counter[0]
    if isinstance(x, (list, tuple)) and any(isinstance(item, TensorBase) for item in x):
        return [save_input(item) for item in x], SEVERAL, None
    return x, PLAIN, None


def save_result(tensor: Any, number: int) -> tuple:
    """A slot for an output of the node itself."""
    if modes.saved_hooks:
        return pack(tensor, modes.saved_hooks[-1], number)
    counter = tensor._version_counter()
    return tensor._array, counter, counter[0]


def pack(tensor: Any, hooks: tuple[Callable, Callable], edge: Any) -> tuple:
    """Hand a tensor to the pack hook, with recording and hooks off."""
    counter = tensor._version_counter()
    version = counter[0]
    before = modes.set(grad=False, saved_hooks=())
    try:
        packed = hooks[0](tensor)
    finally:
        modes.set(**before)
    if counter[0] != version:
        raise RuntimeError(errors.PACK_WROTE)
    return packed, Packed(hooks[1], edge), None


def raw(node: Any, thing: Any, guard: Any, version: Any, number: int = 0) -> Any:
    """The saved value as a numpy array (or number), checked against later in-place edits."""
    if guard is PLAIN:
        return thing
    if guard is SEVERAL:
        return [raw(node, *slot) for slot in thing]
    if guard.__class__ is Packed:
        return errors.check_unpacked(node, guard.unpack(thing))._array
    array, counter = (thing._array, thing._counter) if guard is None else (thing, guard)
    if counter is not None and counter[0] != version:
        raise errors.modified(node, array, version, counter[0])
    return array


def recorded(node: Any, thing: Any, guard: Any, version: Any, number: int = 0) -> Any:
    """The saved value as a tensor with its place in the graph, for a backward that is itself recorded."""
    if guard is PLAIN:
        return thing
    if guard is SEVERAL:
        return [recorded(node, *slot) for slot in thing]
    if isinstance(guard, Packed):
        thing = errors.check_unpacked(node, guard.unpack(thing))
        return _tensor(thing._array, thing._counter, (node, guard.edge) if isinstance(guard.edge, int) else guard.edge)
    raw(node, thing, guard, version)
    return thing if guard is None else _tensor(thing, guard, (node, number))


def _tensor(array: Any, counter: Any, edge: Any) -> Any:
    tensor = make(array)
    tensor._counter, tensor._edge = counter, edge
    return tensor


class SavingNode(Node):
    """A node that saves tensors: ``saved`` holds their slots, FREED after a backward, and ``saves`` their names.

    ``output_number(name)`` is the number of the node's own output that a slot holds.
    """

    __slots__ = ("saved",)
    saves: tuple[str, ...]

    def free(self) -> None:
        if self.saved:
            self.saved = FREED

    def slot(self, name: str) -> Any:
        """The slot of that name; None when this node never filled it."""
        if name not in self.saves:
            return None
        if self.saved is FREED:
            raise errors.freed(self)
        at = 3 * self.saves.index(name)
        return self.saved[at : at + 3]

    def fill_slot(self, name: str, slot: tuple) -> None:
        at = 3 * self.saves.index(name)
        self.saved = (*self.saved[:at], *slot, *self.saved[at + 3 :])

    def read(self, name: str) -> Any:
        """The saved value as a tensor in its place in the graph; None when this node never saved it."""
        slot = self.slot(name)
        return slot and recorded(self, *slot, self.output_number(name))


class SavedTensor:
    """One saved slot of a node, as ``grad_fn._raw_saved_<name>`` shows it.

    >>> import gradlab
    >>> x = gradlab.tensor([1.0, 2.0], requires_grad=True)
    >>> saved = (x * x).grad_fn._raw_saved_self
    >>> type(saved).__name__
    'SavedTensor'
    """

    __slots__ = ("_name", "_node")

    def __init__(self, node: Any = None, name: str = "") -> None:
        if node is None:
            raise RuntimeError(errors.SAVED_BY_NODES)
        self._node, self._name = node, name

    def _slot(self) -> Any:
        return None if self._node.saved is FREED else self._node.slot(self._name)

    @property
    def data(self) -> Any:
        """The held tensor, unchecked, what a pack hook made of it, or None when the slot was freed or never filled."""
        slot = self._slot()
        if slot and slot[1] is SEVERAL:
            return self._node.read(self._name)
        return make(slot[0]) if slot and type(slot[1]) is list else slot and slot[0]

    @property
    def unpack_hook(self) -> Callable | None:
        """The hook that will unpack this slot; None when no hook packed it."""
        slot = self._slot()
        return slot[1].unpack if slot and isinstance(slot[1], Packed) else None

    def register_hooks(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        """Pack this slot now with ``pack_hook``; a backward gets it back through ``unpack_hook``."""
        node, slot = self._node, self._node.slot(self._name)
        errors.check_saved_hooks(pack_hook, unpack_hook, slot and isinstance(slot[1], Packed))
        tensor = node.read(self._name)
        if not isinstance(tensor, TensorBase):
            raise errors.never_saved(node, self._name)
        edge = tensor._edge[1] if type(slot[1]) is list else tensor._gradient_edge()
        node.fill_slot(self._name, pack(tensor.detach(), (pack_hook, unpack_hook), edge))
