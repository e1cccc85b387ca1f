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
_NO_FLOW = frozenset(("__deepcopy__", "backward", "grad=", "requires_grad=", "data="))
_DISTINCT = 1e-6


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


def made_at(events: Sequence[Event], number: int) -> Event | None:
    """The event that made a tensor (edits of it not counted)."""
    made = [e for e in events if number in e.outputs and not e.details.get("inplace")]
    return next((e for e in made if e.call not in ("first seen", "shared memory")), made[0] if made else None)


def _flows_to(event: Event) -> set[int]:
    """The tensors into which an event lets values flow; an update of a parameter is no step of a computation."""
    return set(event.outputs).difference(event.details.get("updated", ()))


def until(events: Sequence[Event], targets: Iterable[int]) -> list[Event]:
    """The events up to the last one that made or changed one of the targets."""
    wanted, last = set(targets), -1
    for i, event in enumerate(events):
        if not wanted.isdisjoint(event.outputs):
            last = i
    return list(events[: last + 1])


def find_break(events: Sequence[Event], source: int | None, targets: list[int]) -> Break | None:
    """Where the way from `source` to one of `targets` was cut; None when no value flows there.

    With `source` None: from anything that had a history, by the way the targets were made.
    """
    seen = until(events, targets)
    states, came = _spread(seen, source)
    cut = [states[t] for t in targets if states.get(t) is not None and states[t] is not _UNKNOWN]
    if cut:
        event = min(cut, key=_weight)
        target = next(t for t in targets if states.get(t) is event)
        return Break(event, _path(came, target))
    if source is not None and any(t in states for t in targets):
        return None  # connected all the way, as far as the log can tell
    return _left(seen, states, came, targets, source)


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


def _left(
    events: list[Event], states: dict[int, Any], came: dict[int, Event], targets: list[int], source: int | None
) -> Break | None:
    """A value that left as a plain number or array and came back into one of the targets."""
    exits = [
        e
        for e in events
        if e.call in EXITS and (e.inputs[0] in states or (source is None and e.details.get("tracked")))
    ]
    if not exits:
        return None
    for entry in ancestors(events, targets):
        for out in exits:
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


def uses(events: Sequence[Event], number: int) -> list[Event]:
    """The events that took a tensor into a computation."""
    return [
        e for e in events if number in e.inputs and e.outputs and e.call not in _NO_FLOW and number not in e.outputs
    ]
