"""The same program leaves the same graph behind in gradlab and in torch."""

import dataclasses
import math

import pytest

import gradlab
from gradlab.graphs import snapshot
from tests.graphs.programs import EXPRESSIONS, PROGRAMS, data, gradient_of_a_gradient

torch = pytest.importorskip("torch")


# gradlab saves less here (lessons/differences.md); names and edges are still torch's.
SAVES_LESS = {
    "ProdBackward0": "not the result",
    "ProdBackward1": "not the result",
    "IndexBackward0": "the index as it was written, not tensor by tensor",
    "GatherBackward0": "not the input, of which only the shape is needed",
    "MaskedSelectBackward0": "not the input, of which only the shape is needed",
    "NllLossBackward0": "not the input, and no weight when there is none",
    "BinaryCrossEntropyWithLogitsBackward0": "no weights when there are none",
    "NativeLayerNormBackward0": "not the bias",
}


def graph_of(T, expression):
    names = data(T)
    leaves = {name: names[name] for name in "xyvmnscikbt"}
    result = eval(expression, names)
    return snapshot(result, params=leaves) if result.requires_grad else None


def comparable(graph):
    """A snapshot as plain data, without the engine's name and what lessons/differences.md excepts."""
    plain = dataclasses.replace(graph, engine="").to_dict()
    for node in plain["nodes"]:
        node["options"] = {}
        node["outputs"] = node["outputs"][:1]  # gradlab lists outputs without gradient (indices) too
        if node["name"] in SAVES_LESS:
            node["slots"] = []
    return plain


def close(one, other):
    """Equal, floats to float32's precision."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=2e-5, abs_tol=1e-6)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(close, one, other))
    return one == other


def assert_same(here, there):
    assert [node.name for node in here.nodes] == [node.name for node in there.nodes]
    assert here.edges == there.edges
    for mine, theirs in zip(comparable(here)["nodes"], comparable(there)["nodes"], strict=True):
        assert close(mine, theirs), f"{mine}\n{theirs}"
    assert close(comparable(here), comparable(there))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_operators(expression):
    here, there = graph_of(gradlab, expression), graph_of(torch, expression)
    assert (here is None) == (there is None)
    if here is not None:
        assert_same(here, there)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs_of_the_lessons(program):
    found = []
    for T in (gradlab, torch):
        result, names = program(T)
        found.append(snapshot(result, params=names))
    assert_same(*found)


def test_the_graph_of_a_gradient_has_the_same_operations():
    """Not their order: a formula's two products may be computed in either."""
    here, there = (snapshot(gradient_of_a_gradient(T)[0]) for T in (gradlab, torch))
    assert sorted(node.name for node in here.nodes) == sorted(node.name for node in there.nodes)
