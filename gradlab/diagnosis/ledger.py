"""What a watch remembers: events as plain data, tensors as numbers behind weak references."""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from dataclasses import dataclass
from types import FrameType
from typing import Any

from gradlab.diagnosis.names import name_in
from gradlab.diagnosis.places import (
    LOOKER,
    OPTIMIZER,
    Place,
    code_at,
    in_custom_forward,
    place_of,
    stack_of,
    user_frame,
)
from gradlab.diagnosis.probes import Probe
from gradlab.graphs.records import Event, Log

LIMIT = 50_000  # events kept; older ones are forgotten
EXITS = frozenset(("item", "tolist", "numpy", "__array__", "__float__", "__int__", "__complex__", "__index__"))
MAKERS = frozenset(
    ("tensor", "as_tensor", "asarray", "from_numpy", "new_tensor", "full", "full_like", "new_full", "scalar_tensor")
)
ZEROING = frozenset(("zero_", "_foreach_zero_"))


@dataclass(slots=True)
class Known:
    """What the ledger knows of one tensor object."""

    number: int
    ref: weakref.ref
    node: int | None = None  # sequence number of its grad_fn when last seen
    name: str | None = None
    shape: tuple[int, ...] = ()
    grad_read: int = -1  # the event count when its .grad was last read; -1: not since a backward reached it
    version: int | None = None  # of a leaf, when a backward last reached it
    free_counter: bool = False  # made by .data: shares memory, not the version counter


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that watch(nan=True) noticed while the program ran."""

    kind: str  # "nan", "inf", "backward-nan", "backward-inf", "edit", "silent-edit"
    where: Place | None
    text: str


class Ledger:
    """Numbers tensors by first sight and writes down what happened to them. Holds no tensor and no node."""

    def __init__(self, probe: Probe):
        self.probe = probe
        self.events: deque[Event] = deque(maxlen=LIMIT)
        self.count = 0
        self.findings: list[Finding] = []
        self.forgot = False
        self.switch: Place | None = None  # where recording was last switched off
        self._numbers = itertools.count()
        self._by_id: dict[int, Known] = {}
        self._by_number: dict[int, Known] = {}
        self._by_node: dict[int, int] = {}
        self._memories: dict[int, tuple[Any, list[int]]] = {}
        self._grad_of: dict[int, tuple[weakref.ref, int]] = {}  # a gradient's id -> itself, its leaf's number
        self._sequence = probe.next_sequence()

    def log(self) -> Log:
        """Everything as plain data, with the source lines."""
        for event in self.events:
            if event.code is None and event.file is not None:
                event.code = code_at((event.file, event.line or 0))
        return Log(self.probe.name, list(self.events))

    # -- tensors ---------------------------------------------------------------------------------

    def known(self, tensor: Any) -> Known | None:
        """What is known of a tensor, None when no watched call has touched it."""
        known = self._by_id.get(id(tensor))
        return known if known is not None and known.ref() is tensor else None

    def numbered(self, number: int) -> Known | None:
        return self._by_number.get(number)

    def leaves(self) -> list[Any]:
        """Tensors still alive that are leaves and require grad."""
        alive = [known.ref() for known in self._by_number.values()]
        return [tensor for tensor in alive if tensor is not None and tensor.is_leaf and tensor.requires_grad]

    def _new(self, tensor: Any) -> Known:
        known = Known(next(self._numbers), weakref.ref(tensor), shape=_shape(tensor))
        self._by_id[id(tensor)] = known
        self._by_number[known.number] = known
        memory = self.probe.memory(tensor)
        if memory is not None:
            key, handle = memory
            held = self._memories.get(key)
            if held is None or self.probe.expired(held[0]):
                self._memories[key] = handle, [known.number]
            else:
                if len(held[1]) >= 32:  # a parameter meets a new view of itself at each step
                    held[1][:] = [n for n in held[1] if n in self._by_number and self._by_number[n].ref() is not None]
                held[1].append(known.number)
        return known

    def sharing(self, tensor: Any) -> list[int]:
        """Numbers of the tensors seen on the same memory, oldest first."""
        memory = self.probe.memory(tensor)
        held = self._memories.get(memory[0]) if memory is not None else None
        return [] if held is None or self.probe.expired(held[0]) else [n for n in held[1] if n in self._by_number]

    def _note_node(self, known: Known, tensor: Any) -> bool:
        """Remember the tensor's grad_fn; True when it changed."""
        node = tensor.grad_fn
        sequence = None if node is None else self.probe.sequence(node)
        changed = sequence != known.node
        known.node = sequence
        if sequence is not None:
            self._by_node[sequence] = known.number
        return changed

    # -- events ----------------------------------------------------------------------------------

    def write(self, call: str, place: Place | None, inputs: list[int], outputs: list[int], **details: Any) -> Event:
        file, line = place or (None, None)
        event = Event(self.count, call, file, line, None, inputs, outputs, details)
        self.count += 1
        self.forgot = self.forgot or len(self.events) == LIMIT
        self.events.append(event)
        if self.count % (LIMIT // 5) == 0:
            self._forget()
        return event

    def call(
        self, name: str, inputs: list[Any], outputs: list[Any], frame: FrameType | None, numbers: list[float]
    ) -> None:
        """One call that took and returned tensors."""
        user, between = user_frame(frame)
        if between == LOOKER:
            return
        if between == OPTIMIZER and name not in ZEROING:
            self._written(name, outputs, place_of(user))
            return
        place = place_of(user)
        changed = [any(output is tensor for output in outputs) for tensor in inputs]
        taken = [self.seen(t, user, trust=not same) for t, same in zip(inputs, changed, strict=True)]
        tracked = [known.number for known, tensor in zip(taken, inputs, strict=True) if self._tracked(known, tensor)]
        given, live = [], []
        for output in outputs:
            known = self.known(output)
            made = known is None
            known = known or self._new(output)
            self._note_node(known, output)
            given.append(known.number)
            if output.requires_grad and known.node is not None:
                live.append(known.number)
            if made:
                known.free_counter = name == "data" or self._is_free(taken, known, output)
        details: dict[str, Any] = {"tracked": tracked, "live": live}
        off = self.probe.recording()
        if off:
            details["off"], details["switch"] = off, self.switch
            if in_custom_forward(user):
                details["custom"] = True
        if outputs and not self.probe.is_differentiable(outputs[0]):
            details["dtype"] = str(outputs[0].dtype).rpartition(".")[2]
        if any(changed):
            details["inplace"] = True
            if any(known.free_counter for known, same in zip(taken, changed, strict=True) if same):
                details["through data"] = True
            for output in outputs:
                given += [n for n in self.sharing(output) if n not in given and self._by_number[n].ref() is not None]
            details["updated"] = [n for n in given if self._is_trained(n)]
        if numbers:
            details["numbers"] = numbers
        if name in MAKERS:
            details["stack"] = stack_of(user)
        if live:
            details["nodes"] = self._span(live)
        if name in ZEROING:
            details["grad_of"] = [n for n in map(self._owner, taken) if n is not None]
        self.write(name, place, [k.number for k in taken], given, **details)
        self._written(name, outputs, place)

    def _written(self, name: str, outputs: list[Any], place: Place | None) -> None:
        """For a subclass that checks in-place edits."""

    @staticmethod
    def _tracked(known: Known, tensor: Any) -> bool:
        """Whether an input had a history before the call (known.node is from before it)."""
        return known.node is not None or (tensor.requires_grad and tensor.is_leaf)

    def _owner(self, known: Known) -> int | None:
        """The number of the leaf whose .grad a tensor is."""
        tensor = known.ref()
        grad, leaf_number = self._grad_of.get(id(tensor), (None, 0))
        if grad is not None and grad() is tensor:
            return leaf_number
        return next((self._by_id[id(leaf)].number for leaf in self.leaves() if leaf.grad is tensor), None)

    def _is_trained(self, number: int) -> bool:
        """Whether a tensor is a parameter: writing into it is an update, not a step of a computation."""
        tensor = self._by_number[number].ref()
        return tensor is not None and tensor.is_leaf and (tensor.requires_grad or type(tensor).__name__ == "Parameter")

    def _is_free(self, taken: list[Known], known: Known, output: Any) -> bool:
        """Whether a new tensor is a view of one that .data made, so that edits of it escape the version counter."""
        free = [each.number for each in taken if each.free_counter]
        return bool(free) and not set(free).isdisjoint(self.sharing(output))

    def _span(self, live: list[int]) -> tuple[int, int]:
        """First and last sequence number of the nodes that a call recorded."""
        last = max(known.node for known in map(self._by_number.get, live) if known and known.node is not None)
        first, self._sequence = min(self._sequence, last), last + 1
        return first, last

    def seen(self, tensor: Any, user: FrameType | None, trust: bool = True) -> Known:
        """A tensor that a call took. What watch did not see being made is worked out from its graph or its memory.

        `trust` is False for a tensor that the call itself has just changed: its grad_fn is then not from before.
        """
        known = self.known(tensor)
        if known is None:
            known = self._new(tensor)
            self._first_sight(known, tensor, user)
        elif trust and tensor.grad_fn is not None and self._note_node(known, tensor):
            self._from_graph(known, tensor, user)
        return known

    def _first_sight(self, known: Known, tensor: Any, user: FrameType | None) -> None:
        self._note_node(known, tensor)
        if known.node is not None:
            self._from_graph(known, tensor, user)
            return
        if tensor.requires_grad or self.probe.is_differentiable(tensor):
            known.name = name_in(tensor, user)
        others = [number for number in self.sharing(tensor) if number != known.number]
        call = "shared memory" if others else "first seen"
        self.write(call, place_of(user), others, [known.number], stack=stack_of(user), tracked=[], live=[])

    def _from_graph(self, known: Known, tensor: Any, user: FrameType | None) -> None:
        """Connect a tensor to the known ones below it in its own graph: custom Functions, unseen threads, views."""
        found: list[int] = []
        stack, met = [tensor.grad_fn], set[Any]()
        name = tensor.grad_fn.name()
        while stack and len(met) < 1000:
            node = stack.pop()
            for target, _ in node.next_functions:
                if target is None or target in met:
                    continue
                met.add(target)
                leaf = getattr(target, "variable", None)
                if leaf is not None:
                    found.append((self.known(leaf) or self._new(leaf)).number)
                    continue
                number = self._by_node.get(self.probe.sequence(target))
                if number is not None and number != known.number:
                    found.append(number)
                else:
                    stack.append(target)
        details = {"tracked": found, "live": [known.number], "graph": True, "nodes": (known.node, known.node)}
        self.write(name, place_of(user), found, [known.number], **details)

    def exit(self, name: str, tensor: Any, value: Any, frame: FrameType | None) -> None:
        """A value left the tensors: item(), numpy(), float()."""
        user, between = user_frame(frame)
        if between in (LOOKER, OPTIMIZER):
            return
        known = self.seen(tensor, user)
        details: dict[str, Any] = {"stack": stack_of(user), "tracked": [known.number] * bool(tensor.requires_grad)}
        if isinstance(value, (int, float)):
            details["value"] = float(value)
        self.write(name, place_of(user), [known.number], [], **details)

    def mark(self, call: str, tensor: Any, frame: FrameType | None, **details: Any) -> None:
        """Something that happened to one tensor: its .grad or requires_grad was set, its .data was replaced."""
        user, between = user_frame(frame)
        if between == LOOKER:
            return
        known = self.seen(tensor, user)
        self.write(call, place_of(user), [known.number], [], used=self._was_used(known, tensor), **details)

    def _was_used(self, known: Known, tensor: Any) -> bool:
        """Whether a leaf's gradient was read, or the leaf updated, since a backward last reached it."""
        return known.version is not None and (known.grad_read >= 0 or tensor._version != known.version)

    def grad_read(self, tensor: Any, grad: Any, by_user: bool) -> None:
        """Somebody read a tensor's .grad: the user's code, or a library."""
        known = self.known(tensor)
        if known is None:
            return
        if by_user:
            known.grad_read = self.count
        if grad is not None:
            self._grad_of[id(grad)] = weakref.ref(grad), known.number

    def _forget(self) -> None:
        """Drop what is known of dead tensors that no kept event speaks of."""
        oldest = self.events[0]
        bound = min(oldest.inputs + oldest.outputs, default=0)
        for number, known in list(self._by_number.items()):
            tensor = known.ref()
            if tensor is None and number < bound:
                del self._by_number[number]
        self._by_id = {id(t): k for k in self._by_number.values() if (t := k.ref()) is not None}
        self._by_node = dict(itertools.islice(self._by_node.items(), max(0, len(self._by_node) - LIMIT), None))
        self._memories = {k: held for k, held in self._memories.items() if not self.probe.expired(held[0])}
        self._grad_of = {key: held for key, held in self._grad_of.items() if held[0]() is not None}


def _shape(tensor: Any) -> tuple[int, ...]:
    try:
        return tuple(tensor.shape)
    except RuntimeError:  # a nested tensor has none
        return ()
