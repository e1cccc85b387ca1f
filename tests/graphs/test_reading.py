"""snapshot(): what is read from a graph, and that looking changes nothing."""

import gc
import subprocess
import sys
import textwrap
import warnings
import weakref

import pytest

import gradlab
from gradlab.graphs import Snapshot, snapshot

torch = pytest.importorskip("torch")
engines = pytest.mark.parametrize("T", [gradlab, torch], ids=["gradlab", "torch"])


def states(graph, op):
    node = next(node for node in graph.nodes if node.op == op)
    return {slot.name: slot.state for slot in node.slots}


@engines
def test_a_product_with_itself_has_two_edges_to_one_leaf(T):
    a = T.tensor(3.0, requires_grad=True)
    graph = snapshot(a * a)
    assert [(edge.source, edge.input, edge.target) for edge in graph.edges] == [(0, 0, 1), (0, 1, 1)]
    assert [tensor.name for tensor in graph.leaves] == ["a"]


@engines
def test_nodes_stand_in_the_order_of_backward(T):
    x = T.tensor([1.0, 2.0], requires_grad=True)
    b = T.tensor([0.0, 0.0], requires_grad=True)
    loss = (x.exp() * 3 + b).sum()
    graph = snapshot(loss)
    ran = []
    for number, node in enumerate(nodes_of(loss, graph)):
        node.register_prehook(lambda g, number=number: ran.append(number))
    loss.backward()
    assert ran == list(range(len(graph.nodes)))


def nodes_of(loss, graph):
    """The live nodes, found by walking next_functions along the snapshot's edges."""
    nodes = {0: loss.grad_fn}
    for edge in graph.edges:
        if edge.target is not None:
            nodes[edge.target] = nodes[edge.source].next_functions[edge.input][0]
    return [nodes[number] for number in range(len(graph.nodes))]


@engines
def test_saved_slots_before_and_after_backward(T):
    x = T.tensor([1.0, 2.0], requires_grad=True)
    y = (x.exp() * x * 2).sum()
    before = snapshot(y)
    assert states(before, "Exp") == {"result": "held"}
    assert [slot.state for slot in before.nodes[1].slots] == ["never saved", "held"]  # x*2 keeps the 2
    y.backward()
    after = snapshot(y)
    assert states(after, "Exp") == {"result": "freed"}
    assert after.named("x").grad.numbers == pytest.approx([2 * 2 * 2.718281828, 2 * 3 * 7.389056], rel=1e-5)


@engines
def test_retain_graph_keeps_the_slots(T):
    x = T.tensor(2.0, requires_grad=True)
    y = x.exp()
    y.backward(retain_graph=True)
    assert states(snapshot(y), "Exp") == {"result": "held"}


@engines
def test_a_slot_changed_after_it_was_saved_is_a_mismatch(T):
    x = T.tensor([1.0], requires_grad=True)
    y = x.exp()
    y.add_(1)
    (slot,) = next(node for node in snapshot(y).nodes if node.op == "Exp").slots
    assert slot.state == "mismatch"
    assert "modified by an inplace operation" in slot.message


@engines
def test_a_packed_slot_is_not_unpacked(T):
    unpacked = []
    x = T.tensor([1.0], requires_grad=True)
    with T.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: unpacked.append(1) or t / 2):
        y = x.exp()
    assert states(snapshot(y), "Exp") == {"result": "packed"}
    assert unpacked == []


def test_a_checkpointed_part_is_not_run_again():
    runs = []

    def part(t):
        runs.append(1)
        return t.exp().sin()

    x = torch.tensor([1.0], requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(part, x, use_reentrant=False)
    assert states(snapshot(y), "Exp") == {"result": "packed"}
    assert runs == [1]


@engines
def test_a_custom_function(T):
    class Cube(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x**2

    y = Cube.apply(T.tensor(2.0, requires_grad=True))
    node = snapshot(y).nodes[0]
    assert (node.op, node.custom, states(snapshot(y), "Cube")) == ("Cube", True, {"saved_tensors[0]": "held"})
    y.backward()
    assert "freed" in states(snapshot(y), "Cube").values()


@engines
def test_names_come_from_a_module_a_dict_and_the_callers_variables(T):
    layer = T.nn.Linear(2, 1)
    given = T.tensor([[1.0, 2.0]], requires_grad=True)
    y = layer(given).sum()
    assert {t.name for t in snapshot(y, params=layer).leaves} == {"weight", "bias", "given"}
    assert {t.name for t in snapshot(y, params={"first": layer}).leaves} == {"first.weight", "first.bias", "given"}
    assert snapshot(y, params={"W": layer.weight}).named("W").shape == (1, 2)


@engines
def test_inner_tensors_are_shown_when_named(T):
    x = T.tensor(2.0, requires_grad=True)
    h = x * x
    h.retain_grad()
    y = h.exp()
    y.backward()
    inner = snapshot(y, tensors={"hidden": h}).named("hidden")
    assert (inner.values.numbers, inner.retains_grad, inner.node) == (4.0, True, 1)
    assert inner.grad.numbers == pytest.approx(54.59815)


@engines
def test_a_named_tensor_that_the_graph_does_not_reach(T):
    x, lost = T.tensor(2.0, requires_grad=True), T.tensor(1.0, requires_grad=True)
    inner = lost * 2
    graph = snapshot(x * inner.detach(), params={"lost": lost}, tensors={"inner": inner})
    assert graph.named("lost").node is None
    assert graph.named("inner").node is None
    assert graph.named("x").node is not None


def test_outputs_may_be_tuples_dicts_and_dataclasses():
    x = torch.tensor(2.0, requires_grad=True)
    graph = snapshot({"a": x * 2, "rest": (x.exp(), [x.sin()])})
    assert [graph.tensors[root].name for root in graph.roots] == ["a", "rest[0]", "rest[1]"]


@engines
def test_several_outputs_of_one_node(T):
    x = T.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    top, bottom = x.unbind(0)
    graph = snapshot(top * bottom)
    assert sorted(edge.output for edge in graph.edges if edge.source == 0) == [0, 1]


@engines
def test_looking_changes_nothing(T):
    x = T.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp() * x
    h = y.sum()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        snapshot(h, tensors={"y": y})
    assert (x.grad, x._version, y._version, y.retains_grad) == (None, 0, 0, False)
    gone = weakref.ref(h)
    del h
    gc.collect()
    assert gone() is None


@engines
def test_a_snapshot_is_plain_data(T):
    x = T.tensor([1.0, float("nan"), float("inf")], requires_grad=True)
    graph = snapshot(x * x)
    assert Snapshot.from_json(graph.to_json()).to_json() == graph.to_json()
    assert graph.named("x").values.nonfinite == 2


def test_a_long_chain_is_read_without_recursion():
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = y + 1
    assert len(snapshot(y).nodes) == 20_001


def test_a_node_that_dies_while_its_slots_are_read_does_not_crash_the_process():
    program = """
        import gc, threading, torch
        from gradlab.graphs import reading

        x = torch.randn(50, requires_grad=True)
        state = {}
        plain = reading._state

        def cruel(node, name, raw, unpack):   # drops every other hold on the graph in the middle of reading
            state.clear()
            gc.collect()
            return plain(node, name, raw, unpack)

        reading._state = cruel
        for _ in range(3):
            state["y"] = (x.exp() * x.sin()).tanh().sum()
            class Box: pass
            graph = reading.read([state["y"]])
            assert all(slot.state in ("held", "never saved") for node in graph.nodes for slot in node.slots)
        print("alive")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.strip()) == (0, "alive"), done.stderr


@pytest.mark.parametrize(
    ("thing", "says"),
    [
        (None, "this is None, not a tensor"),
        (3.0, "this is a float, not a tensor"),
        ([], "there is no tensor here"),
    ],
)
def test_what_is_no_tensor_is_refused(thing, says):
    with pytest.raises(TypeError, match=says):
        snapshot(thing)


def test_a_none_in_a_list_is_named():
    with pytest.raises(TypeError, match=r"item \[1\] is None"):
        snapshot([torch.ones(1, requires_grad=True), None])


def test_mixed_engines_are_refused():
    with pytest.raises(TypeError, match="gradlab and torch tensors are mixed"):
        snapshot(torch.ones(1, requires_grad=True), gradlab.ones(1, requires_grad=True))
    with pytest.raises(TypeError, match="gradlab and torch tensors are mixed"):
        snapshot(torch.ones(1, requires_grad=True), params=gradlab.nn.Linear(1, 1))


def test_a_params_that_names_nothing_is_refused():
    x = torch.ones(1, requires_grad=True)
    with pytest.raises(TypeError, match="it takes a module, or a dict of tensors by name"):
        snapshot(x * 2, params=3)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (300, 300)])
@engines
def test_any_size(T, shape):
    x = T.zeros(shape, requires_grad=True)
    record = snapshot(x + 1).named("x")
    assert record.shape == shape
    assert (record.values.numbers is None) == (shape == (300, 300))


@engines
def test_tensors_without_a_graph(T):
    assert snapshot(T.tensor([1, 2])).nodes == []
    assert snapshot(T.ones(2, requires_grad=True)).nodes == []


def test_tensors_without_numbers_to_read():
    meta = torch.ones(2, device="meta", requires_grad=True)
    assert snapshot(meta * 2).named("meta").values.numbers is None
    half = torch.ones(2, dtype=torch.bfloat16, requires_grad=True)
    assert snapshot(half * 2).named("half").values.numbers == [1.0, 1.0]
    complex_one = torch.ones(1, dtype=torch.complex64, requires_grad=True)
    assert snapshot(complex_one * 2).named("complex_one").values.numbers == ["(1+0j)"]


LONG_DEATHS = [pytest.param(end, marks=pytest.mark.long) for end in ("del y", "z = y * 2; del y; gc.collect(); del z")]


@pytest.mark.parametrize("end", [*LONG_DEATHS, "snapshot(y); del y", "sys.exit()"])
def test_a_very_long_torch_graph_dies_in_peace_after_it_was_read(end):
    program = f"""
        import gc, sys, torch
        from gradlab.graphs import longevity, snapshot

        y = torch.tensor(1.0, requires_grad=True)
        for _ in range(70_000):
            y = y + 0.1
        assert len(snapshot(y).nodes) == 70_001
        {end}
        gc.collect()
        assert not longevity._held
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
