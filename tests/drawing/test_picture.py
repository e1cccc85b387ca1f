"""draw(): what is in the picture, in every form, for every input."""

import re
import shutil
import sys
import xml.dom.minidom
from types import SimpleNamespace

import pytest

import gradlab
from gradlab.drawing import Drawing, LayoutError, Mark, draw, layout
from gradlab.graphs import snapshot

torch = pytest.importorskip("torch")
engines = pytest.mark.parametrize("T", [gradlab, torch], ids=["gradlab", "torch"])
PURE = layout._pure()
needs_pure = pytest.mark.skipif(PURE is None, reason="graphviz-pure is not installed")


def example(T):
    w, b = T.tensor(2.0, requires_grad=True), T.tensor(-4.0, requires_grad=True)
    x = T.tensor(3.0)
    loss = (w * x + b) ** 2
    return draw(loss, params={"w": w, "b": b, "x": x}, tensors={"loss": loss}), loss, w


@engines
def test_the_outline_says_everything(T):
    drawing, loss, w = example(T)
    assert drawing.text() == (
        f"{T.__name__} graph: 3 operations, 2 leaves with gradient\n"
        "loss: output, shape () float32, data 4.0, grad not kept -> Pow · 2 #0\n"
        "  Pow · 2 #0 (PowBackward0): saves self held = 2.0 -> Add #1\n"
        "  Add #1 (AddBackward0): saves nothing -> Mul #3, b\n"
        "  Mul #3 (MulBackward0): saves self never saved, other held = 3.0 -> w, x (no gradient)\n"
        "b: leaf, shape () float32, data -4.0, grad None\n"
        "w: leaf, shape () float32, data 2.0, grad None\n"
        "x: leaf · constant, shape () float32, data 3.0"
    )
    loss.backward()
    after = draw(loss, params={"w": w}).text()
    assert "Pow · 2 #0 (PowBackward0): saves self freed" in after
    assert "w: leaf, shape () float32, data 2.0, grad 12.0" in after


def test_the_outline_names_packed_slots():
    x = torch.tensor(1.0, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x.exp()
    assert "saves result packed" in draw(y).text()


@engines
def test_two_edges_for_a_product_with_itself(T):
    a = T.tensor(3.0, requires_grad=True)
    assert len(re.findall(r"n0 -> t1", draw(a * a).source)) == 2


@engines
def test_both_engines_are_drawn_alike(T):
    drawing, _, _ = example(T)
    assert drawing.source == example(gradlab)[0].source


def test_inputs_are_named_where_it_matters():
    x, y = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    assert ">self<" in draw(x - y).source
    assert ">other<" in draw(x - y).source
    assert ">self<" not in draw(x + y).source


def test_a_mismatch_is_marked():
    x = torch.tensor([1.0], requires_grad=True)
    y = x.exp()
    y.add_(1)
    assert "! y changed" in draw(y).source


def test_marks_and_breaks():
    w, v = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    h = (w * 2).detach()
    graph = snapshot(h * v, params={"w": w}, tensors={"h": h})
    marks = [Mark("cut by detach", tensor=graph.named("w").id, toward_tensor=graph.named("h").id), Mark("look", node=0)]
    drawing = Drawing(graph, marks=marks)
    assert "w (broken: cut by detach)" in drawing.text()
    assert "! look" in drawing.text()
    assert "× cut by detach" in drawing.source


@pytest.mark.parametrize(
    "name",
    ["<script>alert(1)</script>", "a \"b\" \\n & 'c'", "名前", "😀", "a\nb\x07\x00", "<<B>>", "", "\\N", "x\\G\\T\\\\E", "\\"],
)
def test_any_name_stays_text(name):
    w = torch.tensor(2.0, requires_grad=True)
    drawing = draw(w * w, params={name: w})
    document = xml.dom.minidom.parseString(drawing.svg())
    assert not document.getElementsByTagName("script")
    shown = "".join(node.firstChild.data for node in document.getElementsByTagName("text") if node.firstChild)
    assert name.replace("\n", "�").replace("\x07", "�").replace("\x00", "�") in shown
    assert drawing.png().startswith(b"\x89PNG")


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (1, 1, 1, 1), (500, 500)])
@engines
def test_any_size(T, shape):
    x = T.zeros(shape, requires_grad=True)
    assert draw((x + 1).sum()).svg().startswith("<svg")


@engines
def test_numbers_in_the_picture_are_not_rounded_with_its_coordinates(T):
    x = T.tensor([0.03125, float("nan"), float("-inf")], requires_grad=True)
    svg = draw(x * x).svg()
    assert "[0.03125, nan, -inf]" in svg


@engines
def test_tensors_without_a_graph_are_drawn_alone(T):
    assert "leaf" in draw(T.ones(2, requires_grad=True)).text()
    drawing = draw(T.tensor([1, 2]))
    assert drawing.svg().startswith("<svg")
    assert "no graph was recorded" in drawing.text()


def test_what_cannot_be_drawn_is_refused_in_one_line():
    with pytest.raises(TypeError, match="this is an int, not a tensor"):
        draw(3)
    x = torch.ones(1, requires_grad=True)
    for option in ({"theme": "blue"}, {"fold": "everything?"}, {"fold": -1}, {"fold": 0}, {"values": "some"}):
        with pytest.raises(ValueError, match=next(iter(option))):
            draw(x * 2, **option)


def test_every_form_can_be_saved(tmp_path):
    drawing, _, _ = example(gradlab)
    starts = {"svg": b"<svg", "png": b"\x89PNG", "dot": b"digraph", "html": b"<!doctype html>", "txt": b"gradlab graph"}
    for form, start in starts.items():
        assert drawing.save(tmp_path / f"a.{form}").read_bytes().startswith(start)
    with pytest.raises(ValueError, match=r"must end in \.svg, \.png"):
        drawing.save(tmp_path / "a.bmp")
    with pytest.raises(OSError, match="nowhere"):
        drawing.save(tmp_path / "nowhere" / "a.svg")


@pytest.mark.skipif(shutil.which("dot") is None, reason="only Graphviz's own dot writes pdf")
def test_pdf_with_dot(tmp_path):
    assert example(gradlab)[0].save(tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")


@needs_pure
def test_pdf_without_dot_is_refused_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("GRADLAB_DOT", PURE)
    with pytest.raises(LayoutError, match="cannot write pdf; install Graphviz's own `dot`"):
        example(gradlab)[0].save(tmp_path / "a.pdf")


def test_the_mime_bundle_has_svg_png_and_text():
    data, metadata = example(gradlab)[0]._repr_mimebundle_()
    assert data.keys() == {"image/svg+xml", "image/png", "text/plain"}
    assert metadata["image/png"]["width"] > 300


def test_no_layout_engine_leaves_the_outline_and_says_what_to_do(monkeypatch):
    monkeypatch.delenv("GRADLAB_DOT", raising=False)
    monkeypatch.setattr(layout.shutil, "which", lambda name: None)
    monkeypatch.setattr(layout, "_pure", lambda: None)
    drawing, _, _ = example(gradlab)
    with pytest.raises(LayoutError, match="pip install graphviz-pure"):
        drawing.svg()
    data, _ = drawing._repr_mimebundle_()
    assert data.keys() == {"text/plain"}
    assert data["text/plain"].startswith("no layout engine was found")
    assert "Pow · 2" in data["text/plain"]


def test_the_order_of_layout_engines(monkeypatch, tmp_path):
    mine = tmp_path / "mine"
    mine.write_text(f"#!{sys.executable}\n")
    mine.chmod(0o755)
    monkeypatch.setenv("GRADLAB_DOT", str(mine))
    assert layout.find_engine().found == "$GRADLAB_DOT"
    with pytest.raises(LayoutError, match="failed: it said nothing"):
        layout.render("digraph {}", "svg")
    mine.write_text(f"#!{sys.executable}\nprint('hello')\n")
    with pytest.raises(LayoutError, match="gave no SVG"):
        layout.render("digraph {}", "svg")
    monkeypatch.setenv("GRADLAB_DOT", str(tmp_path / "not there"))
    with pytest.raises(LayoutError, match="not a program that can be run"):
        layout.find_engine()
    monkeypatch.delenv("GRADLAB_DOT")
    monkeypatch.setenv("PATH", str(tmp_path))
    if PURE is not None:
        assert layout.find_engine().found == "graphviz-pure"
    dot = tmp_path / "dot"
    mine.rename(dot)
    assert layout.find_engine() == layout.LayoutEngine(str(dot), "PATH")


@needs_pure
def test_png_of_characters_that_the_embedded_engine_lacks(monkeypatch):
    monkeypatch.setenv("GRADLAB_DOT", PURE)
    w = torch.tensor(2.0, requires_grad=True)
    drawing = draw(w * w, params={"名前": w})
    assert drawing.png().startswith(b"\x89PNG")
    assert "名前" in drawing.svg()
    monkeypatch.setattr("gradlab.drawing.png.shutil", SimpleNamespace(which=lambda name: None))
    monkeypatch.setattr("gradlab.drawing.png._from_svg", lambda svg, dpi: None)
    with pytest.raises(LayoutError, match=r"no glyphs for 名前 in a PNG: save an .svg, or `pip install resvg-py`"):
        drawing.png()
    data, _ = drawing.bundle(1e6)
    assert data.keys() == {"image/svg+xml", "text/plain"}
    assert draw(w * w, params={"name": w}).png().startswith(b"\x89PNG")


@needs_pure
@pytest.mark.skipif(shutil.which("dot") is None, reason="there is no other engine to compare with")
@pytest.mark.parametrize("name", ["weight", "名前の重み"])
def test_each_engine_draws_the_same_boxes_and_words(name, monkeypatch):
    drawn = []
    for engine in (shutil.which("dot"), PURE):
        monkeypatch.setenv("GRADLAB_DOT", engine)
        w = torch.tensor(2.0, requires_grad=True)
        svg = draw((w * 3).exp(), params={name: w}).svg()
        words = sorted(re.findall(r"<text[^>]*>([^<]*)</text>", svg))
        drawn.append((words, set(re.findall(r'id="(\w+)" class="(\w+)"', svg)), svg.count("<rect")))
    assert drawn[0] == drawn[1]
    assert name in drawn[0][0]
