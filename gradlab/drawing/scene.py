"""What a picture consists of, before any colour or layout: cards, operations, groups and arrows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from gradlab.graphs.inputs import ORDERED
from gradlab.graphs.records import Edge, NodeRecord, Snapshot, TensorRecord

CROWDED = 60  # beyond so many nodes, constants without a name get no card


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


def build(snapshot: Snapshot, marks: Mapping[str, str] | None = None, flow: Flow | None = None) -> Scene:
    """The scene of a whole graph, nothing folded. `marks` puts a remark on "t3" (a tensor) or "n5" (a node)."""
    marks = marks or {}
    scene = Scene(snapshot, flow=flow, notes=list(snapshot.notes))
    crowded = len(snapshot.nodes) > CROWDED
    left_out = {
        f"t{t.id}" for t in snapshot.tensors if crowded and not (t.name or t.requires_grad or t.id in snapshot.roots)
    }
    for tensor in snapshot.tensors:
        if f"t{tensor.id}" in left_out:
            continue
        scene.cards.append(Card(f"t{tensor.id}", tensor, kind_of(tensor, snapshot), marks.get(f"t{tensor.id}")))
    for node in snapshot.nodes:
        if node.tensor is None:
            scene.ops.append(Op(f"n{node.id}", node, marks.get(f"n{node.id}")))
    between = {(t.node, t.output): t for t in reversed(snapshot.tensors) if t.node is not None and not t.is_leaf}
    for tensor in snapshot.tensors:
        if tensor.node is not None and not tensor.is_leaf:
            scene.arrows.append(Arrow(f"t{tensor.id}", f"n{tensor.node}"))
    counts = Counter(edge.source for edge in snapshot.edges if edge.target is not None or edge.tensor is not None)
    for edge in snapshot.edges:
        arrow = _arrow(snapshot, edge, between)
        if arrow is not None and counts[edge.source] < 2:
            arrow.input = None
        if arrow is not None and arrow.head not in left_out:
            scene.arrows.append(arrow)
    return scene


def _arrow(snapshot: Snapshot, edge: Edge, between: Mapping[tuple[int | None, int], TensorRecord]) -> Arrow | None:
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
