"""A recorded backward in pictures and words."""

import json
import re

import pytest

import gradlab
from gradlab.drawing import player

torch = pytest.importorskip("torch")
engines = pytest.mark.parametrize("T", [gradlab, torch], ids=["gradlab", "torch"])


def recorded(T, **options):
    w, b = T.tensor(2.0, requires_grad=True), T.tensor(-4.0, requires_grad=True)
    loss = (w * T.tensor(3.0) + b) ** 2
    return gradlab.record(loss, params={"w": w, "b": b}, **options)


@engines
def test_a_backward_in_words(T):
    assert recorded(T).text() == (
        "1. PowBackward0 received 1.0 and passes 4.0 to Add. Its saved self is freed.\n"
        "2. AddBackward0 received 4.0 and passes it on unchanged to Mul and b.\n"
        "3. b.grad was None and is now 4.0.\n"
        "4. MulBackward0 received 4.0 and passes 12.0 to w. Its saved other is freed.\n"
        "5. w.grad was None and is now 12.0."
    )


def test_accumulation_in_words():
    w = torch.tensor(2.0, requires_grad=True)
    loss = w * 3
    gradlab.record(loss, retain_graph=True)
    assert gradlab.record(loss).text().endswith("w.grad was 3.0; 3.0 is added, and it is now 6.0.")


def test_a_failure_in_words():
    x = torch.tensor(1.0, requires_grad=True)
    y = x.exp() + 1
    y.backward()
    with pytest.raises(RuntimeError) as caught:
        gradlab.record(y)
    assert "ExpBackward0 received 1.0 and failed: RuntimeError: Trying to backward" in caught.value.recording.text()


def test_pictures_of_steps():
    recording = recorded(torch)
    before, middle, after = (recording.draw(step) for step in (0, 2, 5))
    assert "PENWIDTH" not in before.source.upper().replace("PENWIDTH=1.2", "")
    assert "× 2·self = 4.0" in middle.source
    assert "#ffe9a8" in middle.source  # the active node
    assert "data 2.0, grad None" in middle.text()
    assert "data 2.0, grad 12.0" in after.text()
    with pytest.raises(IndexError, match="this backward has 5 steps"):
        recording.draw(6)


def test_the_page_is_self_contained(tmp_path):
    page = recorded(torch).to_html(tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == page
    outside = set(re.findall(r"https?://[^\s\"'<\\]+", page)) - {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert outside == set()
    with pytest.raises(OSError, match="nowhere"):
        recorded(torch).to_html(tmp_path / "nowhere" / "a.html")


def test_a_hostile_name_cannot_leave_its_place():
    w = torch.tensor(2.0, requires_grad=True)
    page = gradlab.record(w * 3, params={"</script><script>alert(1)</script>": w}).to_html()
    assert "<script>alert" not in page


def test_the_player_knows_every_part_that_it_moves():
    payload = player.of_recording(recorded(torch))
    parts = set(re.findall(r'data-part="([^"]*)"', payload["svg"]))
    assert {part for step in payload["steps"] for part in step["frees"]} <= parts
    assert {key for step in payload["steps"] for key in step.get("grad", {})} <= parts
    keys = set(re.findall(r'data-key="(\w+)"', payload["svg"]))
    assert {step["at"] for step in payload["steps"]} | {e for step in payload["steps"] for e in step["edges"]} <= keys
    assert set(payload["items"]) <= keys


def test_both_engines_play_alike():
    assert json.dumps(player.of_recording(recorded(gradlab))) == json.dumps(
        player.of_recording(recorded(torch))
    ).replace("torch graph", "gradlab graph")


def test_the_player_is_small():
    assert len(player.script().encode()) < 60_000
    y = torch.tensor(1.0, requires_grad=True)
    z = y
    for _ in range(50):
        z = z.sin() * 1.01
    assert len(json.dumps(player.of_recording(gradlab.record(z), fold=False))) < 250_000
