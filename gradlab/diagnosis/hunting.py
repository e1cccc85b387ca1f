"""watch(nan=True): where a NaN or an infinity was born, and which edit will break a later backward."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from types import FrameType
from typing import Any

from gradlab.diagnosis.ledger import Finding, Ledger
from gradlab.diagnosis.places import Place, place_of, shown, user_frame
from gradlab.diagnosis.probes import Probe
from gradlab.graphs.engines import engines
from gradlab.graphs.reading import read_slots
from gradlab.graphs.records import HELD

UNFILLED = frozenset(("empty", "empty_like", "new_empty", "empty_strided", "resize_"))  # whatever was in memory


class _Life:
    """Lies in a node's metadata and dies with it: nodes of some engines cannot be referred to weakly from outside."""

    __slots__ = ("__weakref__",)


@dataclass(slots=True)
class _Saved:
    """A tensor that a live node has saved, and at which version."""

    life: weakref.ref
    sequence: int
    node: str
    where: Place | None
    version: int


class Hunter(Ledger):
    """A ledger that also reads values. Costs a pass over every result."""

    def __init__(self, probe: Probe):
        super().__init__(probe)
        self._bad: set[int] = set()  # numbers of tensors known to hold NaN or inf
        self._saved: dict[int, list[_Saved]] = {}  # by memory key
        self._born: set[tuple[str, Place | None]] = set()
        self._checked = -1

    def call(
        self, name: str, inputs: list[Any], outputs: list[Any], frame: FrameType | None, numbers: list[float]
    ) -> None:
        inherited = self._inherited(inputs, outputs)
        super().call(name, inputs, outputs, frame, numbers)
        for output in outputs:
            self._check_value(name, output, inherited, frame)
            self._note_saved(output, frame)

    def _inherited(self, inputs: list[Any], outputs: list[Any]) -> set[str]:
        """The problems that the inputs already had. An input that was overwritten is judged by what was known of it."""
        found: set[str] = set()
        for tensor in inputs:
            known = self.known(tensor)
            if any(tensor is output for output in outputs):
                if known is not None and known.number in self._bad:
                    found |= {"nan", "inf"}
            elif problem := self.probe.problem(tensor):
                found |= {problem} | ({"inf"} if problem == "nan" else set())
        return found

    def _check_value(self, name: str, output: Any, inherited: set[str], frame: FrameType | None) -> None:
        known, problem = self.known(output), self.probe.problem(output)
        if known is None:
            return
        if problem is None:
            self._bad.discard(known.number)
            return
        self._bad.add(known.number)
        if problem not in inherited and name not in UNFILLED:
            place = place_of(user_frame(frame)[0])
            word = "NaN" if problem == "nan" else "an infinity"
            origin = " (its inputs hold infinities)" if problem == "nan" and "inf" in inherited else ""
            self._find(problem, place, f"`{name}` gave {word}: every input was free of it{origin}")

    def _find(self, kind: str, place: Place | None, text: str) -> None:
        if (kind, place) not in self._born:
            self._born.add((kind, place))
            self.findings.append(Finding(kind, place, text))

    # -- backward --------------------------------------------------------------------------------

    def backward_check(self, name: str, sequence: int) -> Any:
        """A hook for one node that notices a NaN or infinity which did not come in."""

        def check(grad_inputs: tuple, grad_outputs: tuple) -> None:
            came = {self.probe.problem(g) for g in grad_outputs if g is not None}
            went = {self.probe.problem(g) for g in grad_inputs if g is not None}
            for problem, word in (("nan", "NaN"), ("inf", "an infinity")):
                if problem in went and problem not in came and not (problem == "inf" and "nan" in came):
                    place = self.place_of_node(sequence)
                    said = f"{name}, recorded at {shown(place)}," if place else name
                    self._find(
                        "backward-" + problem,
                        place,
                        f"backward of {said} gave {word}: what arrived there was free of it",
                    )

        return check

    def place_of_node(self, sequence: int) -> Place | None:
        """Where the forward recorded a node."""
        for event in reversed(self.events):
            first, last = event.details.get("nodes", (1, 0))
            if first <= sequence <= last:
                return None if event.file is None else (event.file, event.line or 0)
        return None

    # -- edits of what backward needs ------------------------------------------------------------

    def _note_saved(self, output: Any, frame: FrameType | None) -> None:
        """Remember what the nodes that this call recorded have saved, and at which version."""
        node = output.grad_fn
        if node is None or self.probe.sequence(node) <= self._checked:
            return
        engine = next(engine for engine in engines() if engine.name == self.probe.name)
        newest, stack = self.probe.sequence(node), [node]
        while stack:
            node = stack.pop()
            if getattr(node, "variable", None) is not None or self.probe.sequence(node) <= self._checked:
                continue
            stack += [target for target, _ in node.next_functions if target is not None]
            self._note_node_saved(node, engine, place_of(user_frame(frame)[0]))
        self._checked = max(self._checked, newest)

    def _note_node_saved(self, node: Any, engine: Any, place: Place | None) -> None:
        life = node.metadata.setdefault("gradlab.watch", _Life())
        for _, state, tensor, _ in read_slots(node, engine, {}):
            memory = self.probe.memory(tensor) if state == HELD and tensor is not None else None
            if memory is None:
                continue
            entry = _Saved(weakref.ref(life), self.probe.sequence(node), node.name(), place, tensor._version)
            entries = self._saved.setdefault(memory[0], [])
            entries[:] = [each for each in entries if each.life() is not None]
            entries.append(entry)

    def freed(self, sequences: list[int]) -> None:
        """A backward has freed these nodes: edits no longer harm them."""
        gone = set(sequences)
        for key, entries in list(self._saved.items()):
            entries[:] = [each for each in entries if each.sequence not in gone and each.life() is not None]
            if not entries:
                del self._saved[key]

    def _written(self, name: str, outputs: list[Any], place: Place | None) -> None:
        if not (name.endswith("_") or name == "__setitem__"):
            return
        for output in outputs:
            memory = self.probe.memory(output)
            known = self.known(output)
            for each in self._saved.get(memory[0], ()) if memory else ():
                if each.life() is None:
                    continue
                saved = f"what {each.node} ({shown(each.where)}) has saved for backward"
                if known is not None and known.free_counter:
                    self._find(
                        "silent-edit",
                        place,
                        f"`{name}` through .data changed {saved}: that backward will be silently wrong",
                    )
                elif output._version != each.version:
                    self._find("edit", place, f"`{name}` changed {saved}: that backward will raise")
