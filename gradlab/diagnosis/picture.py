"""The graph with the break marked."""

from __future__ import annotations

from gradlab.diagnosis.judging import ZERO_NODES, Graph
from gradlab.diagnosis.places import shown
from gradlab.diagnosis.report import Diagnosis
from gradlab.drawing.layout import LayoutError
from gradlab.drawing.picture import Drawing
from gradlab.drawing.scene import Mark

LARGEST = 120  # nodes; a larger graph is shown on request only

_CUTS = {
    "not-reached": "not reached",
    "detached": "cut by detach()",
    "data-attribute": "cut by .data",
    "left-torch": "left as a number",
    "rebuilt": "rebuilt from values",
    "no-grad-mode": "not recorded",
    "inference-mode": "not recorded",
    "non-differentiable-op": "no derivative",
    "not-required": "not recorded",
}
_SAID = {
    "non-leaf": "passes through, not kept",
    "rebound": "not the leaf",
    "no-backward-yet": "waits for backward()",
    "cleared": "was filled, then cleared",
    "frozen-after-forward": "frozen after the forward",
    "nan": "NaN arrived",
    "inf": "an infinity arrived",
    "all-zero": "only zeros arrived",
    "not-required": "requires_grad=False",
}


def drawing(diagnosis: Diagnosis, theme: str = "auto") -> Drawing | None:
    """A Drawing of the diagnosis's graph with its break marked, None when there is no graph."""
    if diagnosis.snapshot is None or not diagnosis.snapshot.nodes:
        return None
    return Drawing(diagnosis.snapshot, marks=marks(diagnosis), theme=theme)


def marks(diagnosis: Diagnosis) -> list[Mark]:
    """What to write into the picture, and where."""
    assert diagnosis.snapshot is not None and diagnosis.tensor is not None
    graph = Graph(diagnosis.snapshot, diagnosis.tensor)
    path = graph.path()
    place = f" ({shown(diagnosis.where)})" if diagnosis.where else ""
    if diagnosis.cause == "function-returned-none" and path:
        names = [step for step in diagnosis.evidence if step.endswith("Backward")]
        node = next((n for n in path if diagnosis.snapshot.nodes[n].name in names), path[-1])
        return [Mark("returned None" + place, node=node)]
    if path and diagnosis.cause in ("all-zero", "non-differentiable-op"):
        flat = [n for n in path if diagnosis.snapshot.nodes[n].name in ZERO_NODES]
        if flat:
            return [Mark("slope 0" + place, node=flat[0])]
    never_required = diagnosis.cause == "not-required" and diagnosis.where is None
    if path is None and diagnosis.cause in _CUTS and not never_required:
        text = _CUTS[diagnosis.cause] + place
        taker = _taker(diagnosis, graph)
        if taker is None:
            return [Mark(text, tensor=diagnosis.tensor, toward_tensor=diagnosis.snapshot.roots[0])]
        return [Mark(text, tensor=diagnosis.tensor, toward=taker)]
    said = _SAID.get(diagnosis.cause)
    return [Mark(said, tensor=diagnosis.tensor)] if said else []


def _taker(diagnosis: Diagnosis, graph: Graph) -> int | None:
    """The node that took the value after it was cut off; None where several of its kind are in the graph, or none."""
    assert diagnosis.snapshot is not None
    nodes = diagnosis.snapshot.nodes
    takers = [n for n in graph.reachable() if nodes[n].name.split("Backward")[0].lower() == diagnosis.taker]
    return takers[0] if len(takers) == 1 else None


def embedded(diagnosis: Diagnosis) -> str:
    """The drawing as HTML to go below the box; empty where there is none, or one too large to come unasked."""
    if diagnosis.snapshot is None or len(diagnosis.snapshot.nodes) > LARGEST:
        return ""
    picture = drawing(diagnosis)
    if picture is None:
        return ""
    try:
        return picture.html()
    except LayoutError:
        return ""
