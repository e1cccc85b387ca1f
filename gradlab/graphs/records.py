"""The three plain-data records: Snapshot (a graph), Recording (one backward) and Log (what watch saw).

They hold numbers, strings, lists and each other, never a tensor or a node, so they stay true after the graph is freed
and go to a browser or a file as JSON.

>>> values = Values(shape=(), dtype="float32", numbers=2.0)
>>> leaf = TensorRecord(id=0, name="w", shape=(), dtype="float32", values=values, requires_grad=True, is_leaf=True)
>>> graph = Snapshot(engine="torch", nodes=[], edges=[], tensors=[leaf], roots=[0])
>>> Snapshot.from_json(graph.to_json()) == graph
True
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
import json
import math
import types
import typing
from dataclasses import dataclass, field
from typing import Any, Self

HELD, FREED, PACKED, NEVER, MISMATCH = "held", "freed", "packed", "never saved", "mismatch"
SLOT_STATES = (HELD, FREED, PACKED, NEVER, MISMATCH)


class _Plain:
    """To and from dicts and JSON; NaN and infinities travel as strings, since JSON has none."""

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)  # type: ignore[call-overload]

    def to_json(self) -> str:
        return json.dumps(_finite(self.to_dict()), ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        return _build(cls, data)

    @classmethod
    def from_json(cls, text: str) -> Self:
        return _build(cls, json.loads(text))


@dataclass(slots=True)
class Values(_Plain):
    """What a tensor holds. `numbers` is a number or a nested list (like `tolist()`), None when there are too many."""

    shape: tuple[int, ...]
    dtype: str
    numbers: Any = None
    low: float | None = None  # smallest and largest finite element, where they were asked for
    high: float | None = None
    nonfinite: int = 0  # how many NaN and infinities; counted only where numbers or low and high are there


@dataclass(slots=True)
class TensorRecord(_Plain):
    """A tensor that the graph knows as an object: a root, a leaf, or an inner tensor named by the caller."""

    id: int  # its place in Snapshot.tensors
    name: str | None
    shape: tuple[int, ...]
    dtype: str
    values: Values | None = None
    grad: Values | None = None  # None: .grad is None
    requires_grad: bool = False
    is_leaf: bool = True
    is_parameter: bool = False
    retains_grad: bool = False
    version: int = 0
    node: int | None = None  # its grad_fn, or the AccumulateGrad that fills its .grad
    output: int = 0  # which output of that node it is
    also: list[str] = field(default_factory=list)  # its other names: a weight that two modules share


@dataclass(slots=True)
class Slot(_Plain):
    """A place where a node keeps a tensor for its backward."""

    name: str  # torch's, without `_saved_`: "self", "other", "result", "tensors[1]"
    state: str  # one of SLOT_STATES
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    values: Values | None = None
    tensor: int | None = None  # the TensorRecord it is, where that is known
    message: str | None = None  # what the engine says about a mismatch


@dataclass(slots=True)
class NodeRecord(_Plain):
    """One recorded operation."""

    id: int  # its place in Snapshot.nodes
    name: str  # "MulBackward0"
    op: str  # "Mul"
    outputs: list[tuple[tuple[int, ...], str] | None] = field(default_factory=list)  # per forward output
    slots: list[Slot] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)  # plain saved values: dim, exponent, alpha, ...
    tensor: int | None = None  # AccumulateGrad: the leaf
    custom: bool = False  # a user's autograd.Function


@dataclass(slots=True)
class Edge(_Plain):
    """One entry of a node's next_functions: the gradient of input number `input` goes to `target`."""

    source: int
    input: int
    target: int | None  # None: this input takes no gradient
    output: int = 0  # which output of the target that input was
    name: str | None = None  # the input's name in torch's table ("self", "other"), where it is known
    tensor: int | None = None  # the constant that came in here, where a saved slot tells


@dataclass(slots=True)
class Snapshot(_Plain):
    """A graph as it was at one moment. `nodes` stand in the order in which backward would run them."""

    engine: str  # "gradlab" or "torch"
    nodes: list[NodeRecord]
    edges: list[Edge]
    tensors: list[TensorRecord]
    roots: list[int]  # ids of the tensors that were handed in
    given: list[int] = field(default_factory=list)  # ids of those named with tensors=; node None where not reached
    notes: list[str] = field(default_factory=list)  # what could not be read, and why

    @property
    def leaves(self) -> list[TensorRecord]:
        return [tensor for tensor in self.tensors if tensor.is_leaf]

    def edges_from(self, node: int) -> list[Edge]:
        """The node's next_functions; edges stand in the order of their nodes."""
        first = bisect.bisect_left(self.edges, node, key=_source)
        return self.edges[first : bisect.bisect_right(self.edges, node, first, key=_source)]

    def named(self, name: str) -> TensorRecord:
        """The tensor of that name. Raises KeyError naming those there are."""
        for tensor in self.tensors:
            if tensor.name == name or name in tensor.also:
                return tensor
        known = ", ".join(sorted(t.name for t in self.tensors if t.name)) or "none"
        raise KeyError(f"no tensor named {name!r} in this snapshot; named are: {known}")


@dataclass(slots=True)
class Step(_Plain):
    """One node's turn in a backward."""

    number: int
    node: int
    incoming: list[Values | None]  # the gradient for each output of the node; None: nothing arrived
    outgoing: list[Values | None]  # the gradient for each input; None: not needed
    tensor: int | None = None  # AccumulateGrad: the leaf
    grad_before: Values | None = None
    grad_after: Values | None = None
    freed: list[str] = field(default_factory=list)  # names of the node's slots that were freed after its turn
    retained: list[int] = field(default_factory=list)  # tensors whose retained .grad was filled in this turn


@dataclass(slots=True)
class Recording(_Plain):
    """One backward, node by node."""

    before: Snapshot
    after: Snapshot
    steps: list[Step]
    retain_graph: bool = False
    create_graph: bool = False
    error: str | None = None  # how it ended, when not well


@dataclass(slots=True)
class Event(_Plain):
    """One call that watch saw. Tensors are numbered by first sight."""

    number: int
    call: str  # "torch.Tensor.detach", "no_grad", ...
    file: str | None = None
    line: int | None = None
    code: str | None = None
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Log(_Plain):
    """What happened between `with watch()` and its end."""

    engine: str
    events: list[Event] = field(default_factory=list)


def _source(edge: Edge) -> int:
    return edge.source


def _finite(data: Any) -> Any:
    if isinstance(data, float) and not math.isfinite(data):
        return str(data)
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    return data


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _build(kind: Any, data: Any) -> Any:
    """Rebuild a dataclass from plain data, guided by its annotations."""
    if dataclasses.is_dataclass(kind):
        make: Any = kind
        hints = _hints(make)
        return make(**{name: _build(hints[name], value) for name, value in data.items()})
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        kinds = [argument for argument in arguments if argument is not type(None)]
        return None if data is None else _build(kinds[0], data)
    if origin is list:
        return [_build(arguments[0], item) for item in data]
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(_build(arguments[0], item) for item in data)
        return tuple(_build(a, item) for a, item in zip(arguments, data, strict=True))
    if origin is dict:
        return {key: _build(arguments[1], value) for key, value in data.items()}
    return data if kind is str else _number(data)


def _number(data: Any) -> Any:
    if isinstance(data, list):
        return [_number(item) for item in data]
    return float(data) if data in ("nan", "inf", "-inf") else data
