"""record(): one backward, step by step, and nothing left behind."""

import pytest

import gradlab
from gradlab.graphs import Recording, record, snapshot
from gradlab.graphs.recording import state_after

torch = pytest.importorskip("torch")
engines = pytest.mark.parametrize("T", [gradlab, torch], ids=["gradlab", "torch"])


def example(T):
    """loss = (w·x + b)² at w=2, x=3, b=-4: loss' = 2·2 = 4, so b.grad = 4 and w.grad = 4·3 = 12."""
    w, b = T.tensor(2.0, requires_grad=True), T.tensor(-4.0, requires_grad=True)
    return w, b, (w * T.tensor(3.0) + b) ** 2


def told(recording):
    names = [recording.before.nodes[step.node].op for step in recording.steps]
    numbers = [[g.numbers if g else None for g in step.outgoing] for step in recording.steps]
    return list(zip(names, numbers, strict=True))


@engines
def test_what_flows(T):
    _w, _b, loss = example(T)
    recording = record(loss)
    assert told(recording) == [
        ("Pow", [4.0]),
        ("Add", [4.0, 4.0]),
        ("AccumulateGrad", []),
        ("Mul", [12.0, None]),
        ("AccumulateGrad", []),
    ]
    assert [step.freed for step in recording.steps] == [["self"], [], [], ["other"], []]


@engines
def test_grad_is_filled_and_slots_are_freed_as_in_backward(T):
    w, b, loss = example(T)
    recording = record(loss)
    assert (w.grad.item(), b.grad.item()) == (12.0, 4.0)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
    assert recording.after.nodes[0].slots[0].state == "freed"


@engines
def test_accumulation_shows_before_and_after(T):
    w, _b, loss = example(T)
    record(loss, retain_graph=True)
    again = record(loss, retain_graph=True)
    step = again.steps[-1]
    assert (step.grad_before.numbers, step.incoming[0].numbers, step.grad_after.numbers) == (12.0, 12.0, 24.0)
    assert w.grad.item() == 24.0
    assert all(step.freed == [] for step in again.steps)


@engines
def test_hooks_are_gone_afterwards(T):
    x = T.tensor(1.0, requires_grad=True)
    y = x.exp()
    recording = record(y, retain_graph=True)
    steps = len(recording.steps)
    y.backward()
    assert len(recording.steps) == steps


@engines
def test_a_failing_backward_tells_how_far_it_came(T):
    x, b = T.tensor(1.0, requires_grad=True), T.tensor(0.0, requires_grad=True)
    y = x.exp() + b
    y.backward()
    with pytest.raises(RuntimeError, match="second time") as caught:
        record(y)
    recording = caught.value.recording
    assert [recording.before.nodes[step.node].op for step in recording.steps] == ["Add", "AccumulateGrad", "Exp"]
    assert b.grad.item() == 2.0  # the marks a failed backward leaves
    assert "second time" in recording.error


@engines
def test_an_interrupt_leaves_no_hooks(T):
    x = T.tensor(1.0, requires_grad=True)
    y = x.exp()
    inner = y * 2

    def interrupt(grad):
        raise KeyboardInterrupt

    handle = y.register_hook(interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        record(inner, retain_graph=True)
    handle.remove()
    seen = len(caught.value.recording.steps)
    inner.backward()
    assert len(caught.value.recording.steps) == seen
    assert x.grad is not None


@engines
def test_no_graph_is_said(T):
    with T.no_grad():
        y = T.tensor(1.0, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match=r"no backward to record\. Was it computed under no_grad"):
        record(y)
    with pytest.raises(TypeError, match="takes the tensor to call backward on, not a list"):
        record([y])


@engines
def test_a_gradient_may_be_given(T):
    x = T.tensor([1.0, 2.0], requires_grad=True)
    recording = record(x * x, T.tensor([1.0, 10.0]))
    assert recording.steps[0].incoming[0].numbers == [1.0, 10.0]
    assert x.grad.tolist() == [2.0, 40.0]
    with pytest.raises(RuntimeError, match="scalar outputs"):
        record(x * x)


@engines
def test_retained_grads(T):
    x = T.tensor(3.0, requires_grad=True)
    h = x * x
    h.retain_grad()
    recording = record(h * 2, tensors={"h": h})
    (step,) = [step for step in recording.steps if step.retained]
    assert recording.before.tensors[step.retained[0]].name == "h"
    assert recording.after.named("h").grad.numbers == 2.0


@engines
def test_nan_and_inf_are_recorded(T):
    x = T.tensor(0.0, requires_grad=True)
    recording = record(x.sqrt())
    assert recording.steps[0].outgoing[0].numbers == float("inf")
    assert Recording.from_json(recording.to_json()) == recording


@engines
def test_the_graph_in_the_middle(T):
    w, b, loss = example(T)
    recording = record(loss, params={"w": w, "b": b})
    middle = state_after(recording, 3)
    assert middle.named("b").grad.numbers == 4.0
    assert middle.named("w").grad is None
    assert [slot.state for node in middle.nodes for slot in node.slots if slot.state != "never saved"] == [
        "freed",
        "held",
    ]
    assert state_after(recording, 0) == recording.before


def test_large_gradients_are_summarised():
    x = torch.full((100,), 2.0, requires_grad=True)
    (first, *_) = record((x * torch.arange(100.0)).sum()).steps[1].outgoing
    assert (first.numbers, first.low, first.high, first.nonfinite) == (None, 0.0, 99.0, 0)


@engines
def test_create_graph_keeps_everything(T):
    x = T.tensor(2.0, requires_grad=True)
    y = x.exp()
    recording = record(y, create_graph=True)
    assert recording.create_graph
    assert all(step.freed == [] for step in recording.steps)
    assert "Mul" in [node.op for node in snapshot(x.grad).nodes]
    x.grad = None
