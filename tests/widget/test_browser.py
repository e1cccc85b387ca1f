"""The widget in a real JupyterLab and Notebook 7, in a real Chromium."""

import base64
import json
import re

import pytest

import gradlab

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("anywidget")
expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.browser

SETUP = """
import torch, gradlab
w = torch.nn.Parameter(torch.tensor(2.0)); x = torch.tensor(3.0); b = torch.tensor(-4.0, requires_grad=True)
loss = (w * x + b) ** 2
recording = gradlab.record(loss)
"""
SHOW = "explorer = gradlab.explore(recording); explorer"
GRADLAB = """
w2 = gradlab.tensor([1.0, 2.0], requires_grad=True)
gradlab.explore((w2 * w2).sum())
"""
CORNER = """async (source) => {  // the colour of an image's pixel near its left top corner
    const image = new Image(), canvas = new OffscreenCanvas(9, 9), pen = canvas.getContext("2d");
    image.src = source;
    await image.decode();
    pen.drawImage(image, 0, 0);
    return [...pen.getImageData(4, 4, 1, 1).data].slice(0, 3);
}"""
CHAIN = """
y = torch.tensor(1.0, requires_grad=True); z = y
for _ in range({n}): z = z.sin() * 1.01
gradlab.explore(gradlab.record(z), fold=False)
"""
BLOCKS = """
layers = [torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True) for _ in range(6)]
model = torch.nn.ModuleDict({"layers": torch.nn.Sequential(*layers)})
gradlab.explore(model["layers"](torch.rand(1, 3, 8)).sum(), params=model)
"""
CUT = """
a = torch.tensor(2.0, requires_grad=True)
c = a.detach() * b
gradlab.why(a, c)
"""


def notebook(*sources):
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}  # without one the lab asks for it
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def widget(page, number):
    return page.output(number).locator(".gl")


def press(page, key, times=1):
    for _ in range(times):
        page.page.keyboard.press(key)


def counted(box):
    return box.locator(".gl-count")


@pytest.mark.parametrize(("app", "theme"), [("lab", "light"), ("lab", "dark"), ("notebook", "light")])
def test_a_backward_is_stepped_through(open_notebook, app, theme):
    page = open_notebook(notebook(SETUP, SHOW, GRADLAB, "explorer.step, explorer.selected"), app=app, theme=theme)
    hosts = set()
    page.page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    page.run_all()
    assert page.errors() == []
    first, second = widget(page, 1), widget(page, 2)
    expect(first).to_have_class(re.compile(f"gl-{theme}"))
    expect(counted(first)).to_have_text("step 0 of 5")
    expect(first.locator("svg g.node")).to_have_count(7)
    said = first.get_by_role("status")

    # the buttons
    first.get_by_role("button", name="one step on").click()
    expect(said).to_have_text("PowBackward0 received 1.0 and passes 4.0 to Add. Its saved self is freed.")
    expect(first.locator(".gl-memory")).to_contain_text("1 of 2 held")
    first.get_by_role("checkbox", name="retain_graph").check()
    expect(said).to_contain_text("Its saved self stays held (retain_graph).")
    expect(first.locator(".gl-memory")).to_contain_text("2 of 2 held")
    first.get_by_role("checkbox", name="retain_graph").uncheck()

    # the keyboard, from the graph
    first.locator("g.node").first.click()
    press(page, "ArrowRight")
    expect(said).to_have_text("AddBackward0 received 4.0 and passes it on unchanged to Mul and b.")
    press(page, "ArrowDown")
    expect(first.locator(".gl-title")).to_contain_text("Pow · 2")
    expect(first.locator("aside")).to_contain_text("freed")
    press(page, "End")
    expect(said).to_have_text("w.grad was None and is now 12.0.")
    press(page, "ArrowLeft", 3)
    expect(counted(first)).to_have_text("step 2 of 5")

    # the slider, play, search
    first.get_by_role("slider", name="step").fill("3")
    expect(said).to_have_text("b.grad was None and is now 4.0.")
    first.get_by_role("button", name="play").click()
    expect(counted(first)).to_have_text("step 5 of 5", timeout=15_000)
    expect(first.get_by_role("button", name="play")).to_be_visible()
    first.get_by_role("searchbox").fill("mul")
    expect(first.locator("g.node.hit")).to_have_count(1)
    press(page, "Enter")
    expect(first.locator(".gl-title")).to_contain_text("MulBackward0")
    press(page, "Escape")

    # the other widget did not move; Python knows where the first stands; nothing came from elsewhere
    expect(counted(second)).to_have_text("step 0 of 3")
    page.run(3)
    assert page.outputs(3)[0]["data"]["text/plain"] == "(5, 'n3')"
    assert hosts <= {page.page.url.split("/")[2]}


def test_stepping_does_not_wait_for_the_kernel_and_pictures_stay(open_notebook, jupyter):
    page = open_notebook(notebook(SETUP, SHOW, CHAIN.format(n=48), CHAIN.format(n=250), "import time; time.sleep(8)"))
    for number in range(4):
        page.run(number)
    box = widget(page, 1)
    expect(counted(box)).to_have_text("step 0 of 5")

    # the still picture went out first, is small, and is hidden while the widget lives
    (still, view) = page.outputs(2)
    assert {"image/svg+xml", "image/png", "text/plain"} <= still["data"].keys()
    assert len(json.dumps(page.outputs(2))) <= 250_000
    assert "application/vnd.jupyter.widget-view+json" in view["data"]
    expect(page.output(1).locator("img").first).to_be_hidden()

    # 500 nodes: a step repaints at once
    spent = page.page.evaluate(
        """() => {
            const big = [...document.querySelectorAll(".gl")].find(box => box.querySelectorAll("g.node").length > 500);
            const next = big.querySelector(".gl-main-button");
            const times = [];
            for (let i = 0; i < 30; i++) {
                const start = performance.now();
                next.click();
                big.querySelector("svg").getBoundingClientRect();
                times.push(performance.now() - start);
            }
            return times.sort((a, b) => a - b)[15];
        }"""
    )
    print(f"a step with 500 nodes: {spent:.1f} ms")

    # the kernel is busy, and the widget steps
    page.page.evaluate("window.gradlabPanel.content.activeCellIndex = 4")
    page.page.evaluate("void window.jupyterapp.commands.execute('notebook:run-cell')")
    box.get_by_role("button", name="one step on").click()
    expect(counted(box)).to_have_text("step 1 of 5", timeout=3000)

    # no widget state is stored; a reopened notebook still shows the picture
    page.page.evaluate("window.gradlabPanel.sessionContext.session.kernel.interrupt()")
    page.save()
    saved = nbformat.read(jupyter.root / page.page.evaluate("window.gradlabPanel.context.path"), 4)
    assert "widgets" not in saved.metadata
    page.page.evaluate("window.gradlabPanel.sessionContext.session.kernel.restart()")
    expect(page.output(1).locator("img, .gl svg").locator("visible=true").first).to_be_visible()
    again = open_notebook(saved)
    expect(again.output(1).locator("img").first).to_be_visible()


def scale(box):
    return box.evaluate("box => new DOMMatrix(getComputedStyle(box.querySelector('.gl-view svg')).transform).a")


def test_zoom(open_notebook):
    page = open_notebook(notebook(SETUP, SHOW))
    page.run_all()
    box = widget(page, 1)
    expect(counted(box)).to_have_text("step 0 of 5")
    whole = scale(box)
    box.get_by_role("button", name="zoom in").click()
    assert scale(box) == pytest.approx(1.25 * whole, rel=1e-4)
    box.get_by_role("button", name="zoom out").click()
    box.get_by_role("button", name="zoom out").click()
    assert scale(box) == pytest.approx(whole / 1.25, rel=1e-4)
    box.get_by_role("button", name="show the whole graph").click()
    assert scale(box) == pytest.approx(whole, rel=1e-4)

    # the wheel zooms with Ctrl alone, around the pointer; without it the notebook scrolls
    node = box.locator("g.node").last
    before = node.bounding_box()
    middle = before["x"] + before["width"] / 2, before["y"] + before["height"] / 2
    page.page.mouse.move(*middle)
    page.page.keyboard.down("Control")
    page.page.mouse.wheel(0, -300)
    page.page.keyboard.up("Control")
    page.page.wait_for_function(
        "whole => new DOMMatrix(getComputedStyle(document.querySelector('.gl-view svg')).transform).a > 1.5 * whole",
        arg=whole,
    )
    near = scale(box)
    after = node.bounding_box()
    assert after["x"] + after["width"] / 2 == pytest.approx(middle[0], abs=3)
    page.page.mouse.wheel(0, 40)
    assert scale(box) == near

    # the keyboard, and a drag moves the picture
    node.click()
    press(page, "0")
    assert scale(box) == pytest.approx(whole, rel=1e-4)
    press(page, "+", 2)
    assert scale(box) == pytest.approx(1.25**2 * whole, rel=1e-4)
    view = box.locator(".gl-view").bounding_box()
    start = node.bounding_box()
    page.page.mouse.move(view["x"] + 5, view["y"] + 5)
    page.page.mouse.down()
    page.page.mouse.move(view["x"] + 45, view["y"] + 25, steps=4)
    page.page.mouse.up()
    assert node.bounding_box()["x"] == pytest.approx(start["x"] + 40, abs=2)


def test_a_folded_module_opens_with_a_click(open_notebook):
    page = open_notebook(notebook(SETUP, BLOCKS))
    page.run_all()
    assert page.errors() == []
    box = widget(page, 1)
    boxes = box.locator("g.node")
    expect(boxes).to_have_count(17)
    box.get_by_role("button", name="layers.0.self_attn, folded").click()
    expect(box.locator(".gl-title")).to_contain_text("layers.0.self_attn")
    box.get_by_role("button", name="open this module").click()
    expect(boxes).to_have_count(63)
    expect(box.get_by_role("button", name="layers.0.self_attn.out_proj, folded")).to_be_visible()
    expect(box.get_by_role("button", name="layers.0.norm1, folded")).to_be_visible()
    box.get_by_role("button", name=re.compile("layers.1 – 5 +×5, folded")).dblclick()
    expect(boxes).not_to_have_count(63)
    expect(box.get_by_role("button", name="layers.1.self_attn, folded")).to_be_attached()


@pytest.mark.parametrize(("theme", "system", "paper"), [("dark", "light", [20, 24, 29]), ("light", "dark", [255] * 3)])
def test_pictures_follow_the_notebooks_theme_not_the_systems(open_notebook, theme, system, paper):
    page = open_notebook(notebook(SETUP, "gradlab.draw(loss)", CUT, SHOW), theme=theme)
    page.page.emulate_media(color_scheme=system)
    page.run_all()
    assert page.errors() == []
    expect(widget(page, 3)).to_have_class(re.compile(f"gl-{theme}"))
    for number in (1, 2):
        picture = page.output(number).locator("img").first
        expect(picture).to_be_visible()
        shot = base64.b64encode(picture.screenshot()).decode()
        assert page.page.evaluate(CORNER, f"data:image/png;base64,{shot}") == paper


def test_a_wide_picture_fits_its_place_or_scrolls_in_it(open_notebook):
    page = open_notebook(notebook(SETUP, "z = (b * b).sin().cos().exp()\ngradlab.record(z)"), width=1400)
    page.run_all()
    picture = page.output(1).locator("img")
    expect(picture).to_be_visible()
    place = page.output(1).locator(".jp-OutputArea-output").first
    assert 700 < picture.bounding_box()["width"] <= place.bounding_box()["width"]
    page.page.set_viewport_size({"width": 900, "height": 900})
    assert picture.bounding_box()["width"] > place.bounding_box()["width"]
    assert place.evaluate("place => getComputedStyle(place).overflowX") == "auto"


def test_the_widget_is_accessible(browser):
    """axe-core over the player's page, light and dark, at rest and in the middle of a backward."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    w = gradlab.tensor(2.0, requires_grad=True)
    html = gradlab.record((w * 3.0).exp()).to_html()
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        page.set_content(html)
        page.get_by_role("button", name="one step on").click()
        page.locator("g.node").first.click()
        found = axe.run(page).response["violations"]
        assert [(v["id"], [node["html"][:120] for node in v["nodes"]]) for v in found] == []
        page.close()
