"""Follows a value through a Log, from a tensor towards the loss, and finds where its gradient's way was cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gradlab.diagnosis.flow import leads
from gradlab.diagnosis.ledger import EXITS
from gradlab.diagnosis.places import Place, label
from gradlab.graphs.records import Event

_UNKNOWN = object()
_LIKE = "zeros_like ones_like empty_like full_like rand_like randn_like randint_like new_zeros new_ones new_empty new_full"
_NO_FLOW = frozenset(("__deepcopy__", "backward", "grad=", "requires_grad=", "data=", *_LIKE.split()))  # _LIKE: only the shape
_MARKS = frozenset(("grad=", "requires_grad=", "zero_", "_foreach_zero_"))


@dataclass(slots=True)
class Break:
    """Where the way was cut: the event, and the events from the tensor to it and on to the loss."""

    event: Event
    path: list[Event]
    entry: Event | None = None  # where a value that had left the tensors came back


def place(event: Event) -> Place | None:
    """File and line of an event."""
    return None if event.file is None else (event.file, event.line or 0)


def told(event: Event) -> str:
    """An event in a few words: `mul (train.py line 3)`."""
    name = {"data": ".data", "first seen": "a new tensor", "shared memory": "the same memory"}.get(
        event.call, event.call
    )
    return name if event.file is None else f"{name} ({label(event.file)}:{event.line})"


class Story:
    """A Log's events with what several questions about them share."""

    def __init__(self, events: Iterable[Event]):
        self.events = list(events)
        self.backwards = [event for event in self.events if event.call == "backward"]
        self._makers: dict[int, list[Event]] = {}
        self._marks: dict[int, list[Event]] = {}
        self._ancestors: dict[tuple[int, ...], tuple[list[Event], list[Event]]] = {}
        for event in self.events:
            if not event.details.get("inplace"):
                for number in event.outputs:
                    self._makers.setdefault(number, []).append(event)
            if event.call in _MARKS:
                for number in (*event.inputs, *event.details.get("grad_of", ())):
                    self._marks.setdefault(number, []).append(event)

    def made(self, number: int) -> Event | None:
        """The event that made a tensor (edits of it not counted)."""
        makers = self._makers.get(number, [])
        return next((e for e in makers if e.call not in ("first seen", "shared memory")), makers[0] if makers else None)

    def last_mark(self, number: int | None, *calls: str) -> Event | None:
        """The last of such things that happened to a tensor, or to its gradient."""
        found = self._marks.get(number, []) if number is not None else []
        return next((event for event in reversed(found) if event.call in calls), None)

    def before(self, targets: list[int]) -> tuple[list[Event], list[Event]]:
        """The events up to the last one that made or changed a target, and those of them that the targets came through."""
        key = tuple(targets)
        if key not in self._ancestors:
            wanted = set(targets)
            last = max((i for i, event in enumerate(self.events) if not wanted.isdisjoint(event.outputs)), default=-1)
            seen = self.events[: last + 1]
            self._ancestors[key] = seen, ancestors(seen, targets)
        return self._ancestors[key]

    def uses(self, number: int) -> list[Event]:
        """The events that took a tensor into a computation."""
        return [
            e for e in self.events
            if number in e.inputs and e.outputs and e.call not in _NO_FLOW and number not in e.outputs
        ]  # fmt: skip


def _flows_to(event: Event) -> set[int]:
    """The tensors into which an event lets values flow; an update of a parameter is no step of a computation."""
    return set(event.outputs).difference(event.details.get("updated", ()))


def find_break(story: Story, source: int | None, targets: list[int]) -> Break | None:
    """Where the way from `source` to one of `targets` was cut; None when no value flows there.

    With `source` None: from anything that had a history, by the way the targets were made.
    """
    seen, relevant = story.before(targets)
    states, came = _spread(relevant, source)
    cut = [states[t] for t in targets if states.get(t) is not None]
    if cut:
        event = min(cut, key=_weight)
        target = next(t for t in targets if states.get(t) is event)
        return Break(event, _path(came, target))
    if source is not None and any(t in states for t in targets):
        return None  # connected all the way, as far as the log can tell
    return _left(seen, relevant, source)


def _weight(event: Event) -> tuple[bool, int]:
    """Which of several cuts to name: the way of the values before that of an index or a mask; then the first."""
    return ("dtype" in event.details, event.number)


def _spread(events: Sequence[Event], source: int | None) -> tuple[dict[int, Any], dict[int, Event]]:
    """State of each tensor that the source's value flows into: None is connected, an Event is where it was cut."""
    states: dict[int, Any] = {} if source is None else {source: None}
    came: dict[int, Event] = {}
    for event in events:
        if event.call in _NO_FLOW or not event.outputs:
            continue
        if source is None and event.details.get("inplace") and event.call != "detach_":
            continue
        taken = [states[i] for i in event.inputs if i in states]
        connected = None in taken or (source is None and bool(event.details.get("tracked")))
        if not taken and not connected:
            continue
        for output in _flows_to(event):
            _settle(event, output, connected, taken, states, came)
    return states, came


def _settle(event: Event, output: int, connected: bool, taken: list[Any], states: dict, came: dict[int, Event]) -> None:
    old = states.get(output, _UNKNOWN)
    if old is None and event.call != "detach_":
        return
    unrecorded = event.details.get("inplace") and "off" in event.details
    if connected and output in event.details.get("live", ()) and not unrecorded:
        new = None
    elif connected:
        new = event
    else:
        new = min((cut for cut in taken if cut is not None), key=_weight)
    if new is None or old is _UNKNOWN or (old is None) or _weight(new) < _weight(old):
        states[output] = new
        came.setdefault(output, event)
        if new is None:
            came[output] = event


def _path(came: dict[int, Event], target: int) -> list[Event]:
    path: list[Event] = []
    queue, met = [target], {target}
    while queue:
        event = came.get(queue.pop(0))
        if event is None or event in path:
            continue
        path.insert(0, event)
        step = next((i for i in event.inputs if i in came and i not in met), None)
        if step is not None:
            met.add(step)
            queue.append(step)
    return path


def _left(seen: list[Event], relevant: list[Event], source: int | None) -> Break | None:
    """A value that left as a plain number or array and came back into one of the targets."""
    exits = [event for event in seen if event.call in EXITS]
    if not exits:
        return None
    states, came = _spread(seen, source)
    known = [e for e in exits if e.inputs[0] in states or (source is None and e.details.get("tracked"))]
    for entry in relevant if known else ():
        for out in known:
            if out.number < entry.number and _comes_back(out, entry):
                cut = states.get(out.inputs[0])
                path = [*_path(came, out.inputs[0]), out, entry]
                if cut is not None and "dtype" in cut.details:  # an index or a mask had no slope before it left
                    return Break(cut, path)
                return Break(out, path, entry)
    return None


def _comes_back(out: Event, entry: Event) -> bool:
    stack = entry.details.get("stack") or [p for p in [place(entry)] if p]
    if leads(tuple(out.details["stack"]), tuple(stack)):
        return True
    value = out.details.get("value")
    return value is not None and value != round(value, 3) and value in entry.details.get("numbers", ())


def ancestors(events: Sequence[Event], targets: Iterable[int]) -> list[Event]:
    """The events that the targets' values came through, in order."""
    wanted, found = set(targets), []
    for event in reversed(events):
        if event.call not in _NO_FLOW and not wanted.isdisjoint(_flows_to(event)):
            found.append(event)
            wanted.update(event.inputs)
    return found[::-1]
