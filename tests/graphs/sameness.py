"""How two engines' snapshots of one program differ, and which differences lessons/differences.md allows."""

import dataclasses
import functools
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gradlab.graphs import NodeRecord, Slot, Snapshot

PAGE = Path(__file__).parents[2] / "lessons" / "differences.md"
KINDS = ("saves less", "saves otherwise", "outputs", "numbers", "graph")


@functools.cache
def allowed() -> frozenset[tuple[str, str]]:
    """(node or program, kind of difference) for each row of the page's table."""
    rows = re.findall(rf"^\| (`[^|]*) \| ({'|'.join(KINDS)}) \|", PAGE.read_text(encoding="utf-8"), re.M)
    return frozenset((name, kind) for names, kind in rows for name in re.findall(r"`([^`]*)`", names))


def unexpected(found: Iterable[tuple[str, str, str, str]]) -> list[str]:
    """Those differences that the page does not allow, to be read by a person."""
    excepted = allowed()
    return [
        f"{program} {node}, {kind}:\n{sides}"
        for program, node, kind, sides in found
        if not {(program, kind), (node, kind)} & excepted
    ]


def differences(here: Snapshot, there: Snapshot, program: str = "") -> Iterator[tuple[str, str, str, str]]:
    """(program, node, kind of difference, the two sides) for everything but the engine's name."""
    names, edges = ([[n.name for n in graph.nodes] for graph in (here, there)], [here.edges, there.edges])
    if names[0] != names[1] or edges[0] != edges[1]:
        yield program, "", "graph", "\n".join(map(str, names if names[0] != names[1] else edges))
        return
    for mine, theirs in zip(here.nodes, there.nodes, strict=True):
        for kind in _node(mine, theirs):
            yield program, mine.name, kind, f"{mine}\n{theirs}"
    rest = [dataclasses.replace(graph, engine="", nodes=[], edges=[]).to_dict() for graph in (here, there)]
    if not close(*rest):
        yield program, "", "tensors", f"{rest[0]}\n{rest[1]}"


def _node(mine: NodeRecord, theirs: NodeRecord) -> Iterator[str]:
    if (mine.id, mine.op, mine.tensor, mine.custom) != (theirs.id, theirs.op, theirs.tensor, theirs.custom):
        yield "record"
    ours, torchs = ({slot.name: _told(slot) for slot in node.slots} for node in (mine, theirs))
    if not close(ours, torchs) or list(ours) != list(torchs):
        fewer = all(name in torchs and close(slot, torchs[name]) for name, slot in ours.items())
        yield "saves less" if fewer and len(ours) < len(torchs) else "saves otherwise"
    if mine.outputs != theirs.outputs:
        yield "outputs"
    if any(not close(value, theirs.options.get(name, value)) for name, value in mine.options.items()):
        yield "numbers"


def _told(slot: Slot) -> dict[str, Any]:
    """A slot as data; a mismatch is told in each engine's own words."""
    return dataclasses.asdict(slot) | {"message": slot.message is not None}


def close(one: Any, other: Any) -> bool:
    """Equal, floats to float32's precision."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=2e-5, abs_tol=1e-6) or (math.isnan(one) and math.isnan(other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(close, one, other))
    return one == other
