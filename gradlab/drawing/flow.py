"""How far a backward has come after some steps, for the picture."""

from __future__ import annotations

from gradlab.drawing import numbers, words
from gradlab.drawing.scene import Flow
from gradlab.graphs.records import Recording


def flow_after(recording: Recording, count: int) -> Flow:
    """What ran along which edge in the first `count` steps."""
    snapshot, flow = recording.before, Flow()
    for number, step in enumerate(recording.steps[:count]):
        last = number == count - 1
        for edge in snapshot.edges_from(step.node):
            label = words.edge_label(snapshot, step, edge)
            if label is not None and edge.target is not None:
                flow.edges[edge.source, edge.input] = label
                if last:
                    flow.fresh.add((edge.source, edge.input))
        if last:
            flow.active = step.node
    if count and recording.steps[0].incoming:
        start = recording.steps[0].incoming[0]
        flow.roots = {root: numbers.brief(start) for root in snapshot.roots if start is not None}
    return flow
