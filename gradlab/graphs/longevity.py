"""Lets a very long torch graph that Python has looked at die without a crash.

In torch 2.13 a node that Python has once seen keeps its Python object, and such nodes are freed one inside the other:
a chain of some 50,000 overflows the C stack, whoever walked it. So the nodes of a long graph are held here until
nothing else owns the graph, and are then let go one by one, from the output to the leaves.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import sys
from dataclasses import dataclass
from typing import Any

LONG = 10_000  # nodes


@dataclass(slots=True, eq=False)
class _Graph:
    nodes: list[Any]
    outer: list[int]  # places of the nodes that no other node of the graph leads to
    ids: set[int]


_held: list[_Graph] = []


def watch_over(nodes: list[Any]) -> None:
    """Hold a long torch graph's nodes, in backward order, for as long as somebody else does."""
    if len(nodes) < LONG:
        return
    reached = {target for node in nodes for target, _ in node.next_functions}
    outer = [place for place, node in enumerate(nodes) if node not in reached]
    _held.append(_Graph(list(nodes), outer, set(map(id, nodes))))
    if _sweep not in gc.callbacks:
        gc.callbacks.append(_sweep)


def _sweep(phase: str, _: dict[str, int]) -> None:
    if phase != "stop":
        return
    for graph in [graph for graph in _held if not _owned(graph)]:
        _held.remove(graph)
        for place in range(len(graph.nodes)):
            graph.nodes[place] = None
    if not _held:
        gc.callbacks.remove(_sweep)


def _owned(graph: _Graph) -> bool:
    """Whether anything but these lists holds an outermost node: torch itself counts as one holder."""
    for place in graph.outer:
        lists = sum(id(graph.nodes[place]) in other.ids for other in _held)
        if sys.getrefcount(graph.nodes[place]) > lists + 1:
            return True
    return False


@atexit.register
def _keep_for_good() -> None:
    """At exit the graph may still be in a variable: then its nodes must outlive everything."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_held))
