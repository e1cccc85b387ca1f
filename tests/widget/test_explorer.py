"""explore() without a browser: what goes to it, and what it may ask."""

import pytest

import gradlab
from gradlab.drawing import draw
from tests.drawing.models import Transformer

torch = pytest.importorskip("torch")
pytest.importorskip("anywidget")
traitlets = pytest.importorskip("traitlets")
engines = pytest.mark.parametrize("T", [gradlab, torch], ids=["gradlab", "torch"])


@engines
def test_a_recording_has_values(T):
    w = T.tensor(3.0, requires_grad=True)
    explorer = gradlab.explore(gradlab.record(w * w))
    assert explorer.payload["recorded"]
    assert explorer.payload["steps"][0]["sent"] == ["3.0 → w", "3.0 → w"]
    assert w.grad.item() == 6.0


@engines
def test_a_tensor_runs_no_backward(T):
    w = T.tensor(3.0, requires_grad=True)
    explorer = gradlab.explore(w * w)
    assert w.grad is None
    assert not explorer.payload["recorded"]
    assert [step["at"] for step in explorer.payload["steps"]] == ["n0", "t1"]


def test_step_is_checked():
    w = torch.tensor(3.0, requires_grad=True)
    explorer = gradlab.explore(gradlab.record(w * w))
    explorer.step = 2
    with pytest.raises(traitlets.TraitError, match="there are 2 steps"):
        explorer.step = 3


def test_a_recording_that_retained_starts_with_the_toggle_on():
    w = torch.tensor(3.0, requires_grad=True)
    y = w * w
    assert gradlab.explore(gradlab.record(y, retain_graph=True)).retain
    assert not gradlab.explore(gradlab.record(y)).retain


def test_a_folded_module_opens_when_asked():
    model = Transformer(layers=6)
    loss = model(torch.randint(0, 50, (2, 8))).square().mean()
    explorer = gradlab.explore(loss, params=model)
    folded = explorer.payload["items"]
    assert any(item.get("path") == "layers.0.self_attn" for item in folded.values())
    explorer._asked(None, {"open": "layers.0.self_attn"}, [])
    opened = explorer.payload["items"]
    assert len(opened) > len(folded)
    assert any(item.get("path") == "layers.0.self_attn.out_proj" for item in opened.values())
    explorer._asked(None, {"open": "nothing.of.that.name"}, [])
    explorer._asked(None, {"unknown": 1}, [])


def test_every_step_has_its_place_in_a_folded_picture():
    model = Transformer(layers=6)
    loss = model(torch.randint(0, 50, (2, 8))).square().mean()
    payload = gradlab.explore(gradlab.record(loss, params=model)).payload
    assert {step["at"] for step in payload["steps"]} <= set(payload["items"])


def test_what_cannot_be_explored_is_refused():
    with pytest.raises(TypeError, match="this is an int, not a tensor"):
        gradlab.explore(3)


def test_a_tensor_without_a_graph_has_nothing_to_step_through():
    assert gradlab.explore(torch.ones(2, requires_grad=True)).payload["steps"] == []


def test_the_still_picture_is_the_drawing():
    w = torch.tensor(3.0, requires_grad=True)
    y = w * w
    assert gradlab.explore(y).drawing().source == draw(y).source
