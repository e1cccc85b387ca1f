"""Reads the graph behind tensors into a Snapshot. Both engines speak torch's protocol, so one walk serves both.

Nothing is changed by looking: no hook is added, nothing is unpacked, no tensor or node is kept. A torch SavedTensor
points into its node and crashes the process when the node has died, so the walk holds every node until it is done and
never keeps a SavedTensor.
"""

from __future__ import annotations

import contextlib
import functools
import heapq
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gradlab.graphs import collector, longevity
from gradlab.graphs.engines import Engine, engine_of, is_tensor, of_number
from gradlab.graphs.inputs import input_names
from gradlab.graphs.naming import caller_names, flatten, named_parameters
from gradlab.graphs.options import readable
from gradlab.graphs.records import FREED, HELD, MISMATCH, NEVER, PACKED, Edge, NodeRecord, Slot, Snapshot, TensorRecord

_NEWEST = sys.maxsize


def snapshot(*outputs: Any, params: Any = None, tensors: Any = None) -> Snapshot:
    """The graph behind one or more tensors, as plain data that outlives it.

    `outputs` may be tensors or tuples, lists and dicts of them. `params` names the leaves: a module, or a dict of
    tensors by name. `tensors={"h": h}` names inner tensors, which are then shown with their values and retained grads.
    Every tensor named so is in the snapshot; its `node` is None where the graph does not reach it. Leaves that nobody
    named get the name of the variable that holds them where snapshot was called.

    Raises TypeError when something handed in is not a tensor of gradlab or torch.

    >>> import gradlab
    >>> w = gradlab.tensor(2.0, requires_grad=True)
    >>> graph = gradlab.snapshot(w * w)
    >>> [node.name for node in graph.nodes]
    ['MulBackward0', 'AccumulateGrad']
    >>> [(edge.input, edge.target) for edge in graph.edges]
    [(0, 1), (1, 1)]
    """
    return read(outputs, params, tensors, caller_names(sys._getframe(1)))


def read(tensors: Any, params: Any = None, inner: Any = None, variables: Mapping[int, str] | None = None) -> Snapshot:
    """`snapshot` with the names of variables given: id(tensor) -> name."""
    return Reader(tensors, params, inner, variables).snapshot


class Reader:
    """One reading. It keeps the live nodes, so that record() can hook them: drop it when done."""

    def __init__(self, tensors: Any, params: Any, inner: Any, variables: Mapping[int, str] | None):
        roots, parameters = flatten(tensors), named_parameters(params)
        named = flatten(inner if inner is not None else {})
        self.engine = engine_of(tensor for _, tensor in roots)
        engine_of(tensor for _, tensor in [*roots, *parameters, *named])  # refuses a mixture
        self.variables = variables or {}
        self.names = {id(tensor): name for name, tensor in reversed(parameters)}
        self.snapshot = Snapshot(engine=self.engine.name, nodes=[], edges=[], tensors=[], roots=[])
        self.place: dict[int, int] = {}  # id(tensor) -> its record
        self._memory: dict[Any, int] = {}
        self.alive: list[Any] = []  # tensors whose id() is in use
        self.nodes = backward_order([self.engine.node(tensor) for _, tensor in roots])
        if self.engine.name == "torch":
            longevity.watch_over(self.nodes)
        self.number = {node: i for i, node in enumerate(self.nodes)}
        for name, tensor in roots:
            self.snapshot.roots.append(self._tensor(tensor, name).id)
        for name, tensor in named:
            self.snapshot.given.append(self._tensor(tensor, name, given=True).id)
        self._leaves()
        for name, tensor in parameters:
            if tensor.requires_grad:
                record = self._tensor(tensor, name)
                if record.name == self.names[id(tensor)] != name:
                    record.also.append(name)
        with collector.paused():
            self._nodes()

    def _tensor(self, tensor: Any, name: str | None = None, given: bool = False) -> TensorRecord:
        key = id(tensor)
        if key in self.place:
            known = self.snapshot.tensors[self.place[key]]
            known.name = name if given else known.name or name
            return known
        engine = self.engine
        chosen = name if given else self.names.get(key) or self.variables.get(key) or name
        record = engine.record(tensor, len(self.snapshot.tensors), chosen)
        node = engine.node(tensor)
        if node is not None:
            record.node, record.output = self.number.get(node), engine.output(tensor)
        self.snapshot.tensors.append(record)
        self.place[key] = record.id
        self._memory.setdefault(engine.memory(tensor), record.id)
        self.alive.append(tensor)
        return record

    def _leaves(self) -> None:
        self.leaf_of: dict[int, int] = {}
        for number, node in enumerate(self.nodes):
            leaf = getattr(node, "variable", None)
            if is_tensor(leaf):
                record = self._tensor(leaf)
                record.node = number
                self.leaf_of[number] = record.id

    def _nodes(self) -> None:
        for number, node in enumerate(self.nodes):
            record = self._node(number, node)
            self.snapshot.nodes.append(record)
            self._edges(record, node)

    def _node(self, number: int, node: Any) -> NodeRecord:
        name = node.name().rpartition("::")[2]
        record = NodeRecord(number, name, operation(name), self.engine.outputs(node), tensor=self.leaf_of.get(number))
        self._saved: dict[str, Any] = {}
        if record.tensor is None:
            record.custom = self.engine.is_custom(node)
            kept: dict[str, Any] = {}
            record.slots = [self._slot(*found) for found in read_slots(node, self.engine, kept)]
            record.slots.sort(key=_by_input(record.op))
            record.options = readable(kept, _rank(record)) if kept else kept
        return record

    def _slot(self, name: str, state: str, tensor: Any, message: str | None) -> Slot:
        if tensor is None:
            return Slot(name, state, message=message)
        if not is_tensor(tensor):
            return Slot(name, state, (), (values := of_number(tensor)).dtype, values)
        self._saved[name] = tensor
        known = self._memory.get(self.engine.memory(tensor))
        shape, dtype = tuple(tensor.shape), self.engine.dtype(tensor)
        return Slot(name, state, shape, dtype, self.engine.values(tensor), known, message)

    def _edges(self, record: NodeRecord, node: Any) -> None:
        names = () if record.tensor is not None else input_names(record.op)
        for place, (target, output) in enumerate(node.next_functions):
            name = names[place] if place < len(names) else None
            edge = Edge(record.id, place, None if target is None else self.number[target], output, name)
            if target is None and name in self._saved:
                edge.tensor = self._constant(record, name)
            self.snapshot.edges.append(edge)
        self._saved = {}

    def _constant(self, record: NodeRecord, name: str) -> int | None:
        """A saved tensor that fills an input without gradient is a constant; a bare number stays in its slot."""
        tensor = self._saved[name]
        slot = next(slot for slot in record.slots if slot.name == name)
        if slot.tensor is None and (tensor.ndim > 0 or id(tensor) in self.variables or id(tensor) in self.names):
            slot.tensor = self._tensor(tensor).id
        return slot.tensor


def _by_input(op: str) -> Callable[[Slot], tuple[int, str]]:
    """Slots in the order of the inputs, then by the alphabet, as torch has all of them."""
    places = {name: place for place, name in enumerate(input_names(op))}
    return lambda slot: (places.get(slot.name, len(places)), slot.name if slot.name not in places else "")


def _rank(record: NodeRecord) -> int | None:
    """How many dims the input has, as far as the node tells: a kept input's, else the output's."""
    shapes = [slot.shape for slot in record.slots if slot.name == "self" and slot.shape is not None]
    shapes += [out[0] for out in record.outputs if out is not None]
    return len(shapes[0]) + (record.op == "Unbind") if shapes else None


@functools.cache
def operation(name: str) -> str:
    """An operation's plain name.

    >>> operation("MulBackward0"), operation("NativeLayerNormBackward0"), operation("SwishBackward")
    ('Mul', 'LayerNorm', 'Swish')
    """
    plain = re.sub(r"Backwards?\d*$", "", name) or name
    return re.sub(r"^(Native|Cudnn|Mkldnn|Miopen)(?=[A-Z])", "", plain)


def backward_order(roots: list[Any]) -> list[Any]:
    """All nodes that the roots reach, in the order in which backward runs them: newest first, each after its consumers.

    No recursion: a chain of any length works.
    """
    waiting: dict[Any, int] = {}
    stack = [root for root in dict.fromkeys(roots) if root is not None]
    waiting.update(dict.fromkeys(stack, 0))
    while stack:
        for target, _ in stack.pop().next_functions:
            if target is None:
                continue
            if target not in waiting:
                waiting[target] = 0
                stack.append(target)
            waiting[target] += 1
    first = {node: place for place, node in enumerate(waiting)}
    ready = [(-_sequence(node), first[node], node) for node, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        node = heapq.heappop(ready)[2]
        order.append(node)
        for target, _ in node.next_functions:
            if target is None:
                continue
            waiting[target] -= 1
            if waiting[target] == 0:
                heapq.heappush(ready, (-_sequence(target), first[target], target))
    return order


def _sequence(node: Any) -> int:
    return _NEWEST if hasattr(node, "variable") else node._sequence_nr()


Found = tuple[str, str, Any, str | None]


def read_slots(node: Any, engine: Engine, options: dict[str, Any]) -> Iterator[Found]:
    """The node's saved slots as (name, state, tensor, message); plain saved values go into `options`."""
    if engine.is_custom(node):
        yield from _custom_slots(node)
        return
    slots, plain = _attributes(node)
    for name in slots:
        yield from _slot(node, name)
    for name in plain:
        with contextlib.suppress(RuntimeError, AttributeError):  # freed along with the slots
            options[name.removeprefix("_saved_").replace("_sym_", "_")] = getattr(node, name)


def _slot(node: Any, name: str) -> Iterator[Found]:
    try:
        raw = getattr(node, "_raw_saved_" + name)
    except RuntimeError:  # a list of tensors, freed
        yield name, FREED, None, None
        return
    if isinstance(raw, (tuple, list)):
        for i, item in enumerate(raw):
            yield _state(node, f"{name}[{i}]", item, lambda i=i: getattr(node, "_saved_" + name)[i])
    else:
        yield _state(node, name, raw, lambda: getattr(node, "_saved_" + name))


def _custom_slots(node: Any) -> Iterator[Found]:
    try:
        raws = node._raw_saved_tensors or ()
    except RuntimeError:
        yield "saved_tensors", FREED, None, None
        return
    for i, raw in enumerate(raws):
        yield _state(node, f"saved_tensors[{i}]", raw, lambda i=i: node.saved_tensors[i])


def _state(node: Any, name: str, raw: Any, unpack: Any) -> Found:
    """Reads one SavedTensor; it does not outlive this call, and the caller holds the node."""
    try:
        data = raw.data
    except RuntimeError as error:
        return name, MISMATCH, None, _first_sentence(error)
    if data is None:
        try:
            return name, (NEVER if unpack() is None else HELD), None, None
        except RuntimeError:
            return name, FREED, None, None
    if getattr(raw, "unpack_hook", None) is not None:
        return name, PACKED, None, None  # unpacking could re-run a checkpointed forward
    if isinstance(data, (bool, int, float)):
        return name, HELD, data, None
    if not is_tensor(data):  # an index that is no tensor
        return name, HELD, None, None
    try:
        unpack()
    except RuntimeError as error:
        return name, MISMATCH, data, _first_sentence(error)
    return name, HELD, data, None


def _first_sentence(error: Exception) -> str:
    return str(error).partition(". ")[0]


_known: dict[Any, tuple[list[str], list[str]]] = {}


def _attributes(node: Any) -> tuple[list[str], list[str]]:
    """The names of saved slots and of plain saved values; in gradlab they depend on which inputs need a gradient."""
    key = (type(node), getattr(node, "saves", None), getattr(getattr(node, "plan", None), "kept", None))
    if key not in _known:
        names = dir(node)
        slots = [name.removeprefix("_raw_saved_") for name in names if name.startswith("_raw_saved_")]
        plain = [n for n in names if n.startswith("_saved_") and n.removeprefix("_saved_") not in slots]
        _known[key] = slots, plain
    return _known[key]
