"""What a picture consists of, before any colour or layout: cards, operations, groups and arrows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gradlab.graphs.inputs import ORDERED
from gradlab.graphs.records import Edge, NodeRecord, Snapshot, TensorRecord

CROWDED = 60  # beyond so many nodes, constants without a name get no card


NO_GRAPH = (
    "Nothing here requires grad, so no graph was recorded: make the leaves with requires_grad=True, and compute outside "
    "no_grad()."
)


@dataclass(frozen=True, slots=True)
class Mark:
    """A remark on a tensor or a node; with `toward` (a node) or `toward_tensor` it is on a broken arrow from there."""

    text: str
    tensor: int | None = None
    node: int | None = None
    toward: int | None = None
    toward_tensor: int | None = None

    @property
    def key(self) -> str:
        return f"n{self.node}" if self.node is not None else f"t{self.tensor}"

    @property
    def tail(self) -> str | None:
        if self.toward is not None:
            return f"n{self.toward}"
        return None if self.toward_tensor is None else f"t{self.toward_tensor}"


@dataclass(slots=True)
class Card:
    """A tensor."""

    key: str
    tensor: TensorRecord
    kind: str  # "parameter", "leaf", "constant", "output", "inner"
    note: str | None = None


@dataclass(slots=True)
class Op:
    """An operation."""

    key: str
    node: NodeRecord
    note: str | None = None


@dataclass(slots=True)
class Group:
    """Several operations drawn as one."""

    key: str
    title: str
    lines: list[str]
    path: str | None = None
    nodes: list[int] = field(default_factory=list)
    note: str | None = None


@dataclass(slots=True)
class Cluster:
    """An opened module: a frame around what is in it."""

    path: str
    parent: str | None
    keys: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Arrow:
    tail: str
    head: str
    edge: Edge | None = None
    input: str | None = None  # which input of the tail it leads to, where that matters
    constant: bool = False  # no gradient runs here
    many: int = 1
    note: str | None = None  # set on a break


@dataclass(slots=True)
class Flow:
    """How far a backward has come: what ran along which edge, and whose turn it is."""

    edges: dict[tuple[int, int], str] = field(default_factory=dict)  # (source, input) -> the gradient, in words
    roots: dict[int, str] = field(default_factory=dict)  # root tensor -> the gradient it started with
    active: int | None = None
    fresh: set[tuple[int, int]] = field(default_factory=set)  # edges of this very step

    def along(self, arrow: Arrow) -> str | None:
        """What ran along an arrow; None where nothing did."""
        if arrow.edge is not None:
            return self.edges.get((arrow.edge.source, arrow.edge.input))
        return self.roots.get(int(arrow.tail[1:])) if arrow.tail.startswith("t") else None


@dataclass(slots=True)
class Scene:
    snapshot: Snapshot
    cards: list[Card] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    clusters: list[Cluster] = field(default_factory=list)
    flow: Flow | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        return len(self.cards) + len(self.ops) + len(self.groups)


def build(snapshot: Snapshot, marks: Iterable[Mark] = (), flow: Flow | None = None) -> Scene:
    """The scene of a whole graph, nothing folded."""
    marks = list(marks)
    notes = {mark.key: mark.text for mark in marks if mark.tail is None}
    scene = Scene(snapshot, flow=flow, notes=list(snapshot.notes))
    left_out = _left_out(snapshot, marks)
    for tensor in snapshot.tensors:
        key = f"t{tensor.id}"
        if key not in left_out:
            scene.cards.append(Card(key, tensor, kind_of(tensor, snapshot), notes.get(key)))
    for node in snapshot.nodes:
        if node.tensor is None:
            scene.ops.append(Op(f"n{node.id}", node, notes.get(f"n{node.id}")))
    for tensor in snapshot.tensors:
        if tensor.node is not None and not tensor.is_leaf:
            scene.arrows.append(Arrow(f"t{tensor.id}", f"n{tensor.node}"))
    between = {(t.node, t.output): t for t in reversed(snapshot.tensors) if t.node is not None and not t.is_leaf}
    counts = Counter(edge.source for edge in snapshot.edges if edge.target is not None or edge.tensor is not None)
    for edge in snapshot.edges:
        arrow = _arrow(snapshot, edge, between)
        if arrow is not None and arrow.head not in left_out:
            arrow.input = arrow.input if counts[edge.source] > 1 else None
            scene.arrows.append(arrow)
    if not any(snapshot.tensors[root].requires_grad for root in snapshot.roots):
        scene.notes.append(NO_GRAPH)
    scene.arrows += [Arrow(mark.tail, mark.key, note=mark.text) for mark in marks if mark.tail is not None]
    return scene


def _left_out(snapshot: Snapshot, marks: list[Mark]) -> set[str]:
    """Constants without a name in a crowded graph, and parameters that the graph does not reach."""
    crowded = len(snapshot.nodes) > CROWDED
    shown = {*snapshot.roots, *(edge.tensor for edge in snapshot.edges), *(mark.tensor for mark in marks)}
    shown |= {mark.toward_tensor for mark in marks} | set(snapshot.given)
    out = set()
    for tensor in snapshot.tensors:
        reached = tensor.node is not None or tensor.id in shown
        nameless = crowded and not (tensor.name or tensor.requires_grad or tensor.id in snapshot.roots)
        if nameless or not reached:
            out.add(f"t{tensor.id}")
    return out


def _arrow(snapshot: Snapshot, edge: Edge, between: Mapping[Any, TensorRecord]) -> Arrow | None:
    node = snapshot.nodes[edge.source]
    label = edge.name if node.op in ORDERED else None
    if edge.target is None:
        if edge.tensor is None:
            return None
        return Arrow(f"n{edge.source}", f"t{edge.tensor}", edge, label, constant=True)
    target = snapshot.nodes[edge.target]
    if target.tensor is not None:
        head = f"t{target.tensor}"
    elif (edge.target, edge.output) in between:
        head = f"t{between[edge.target, edge.output].id}"
    else:
        head = f"n{edge.target}"
    return Arrow(f"n{edge.source}", head, edge, label)


def kind_of(tensor: TensorRecord, snapshot: Snapshot) -> str:
    if tensor.is_leaf:
        if not tensor.requires_grad:
            return "constant"
        return "parameter" if tensor.is_parameter else "leaf"
    return "output" if tensor.id in snapshot.roots else "inner"
