"""A learner works through lesson 06 in JupyterLab: runs it, sees the graph, answers wrongly, then rightly."""

import textwrap

import pytest

from gradlab import exercises
from gradlab.cli._lessons import lesson_name, lessons_folder

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.browser
EXERCISE = "06-3"


def dedented(source: str) -> str:
    return textwrap.dedent(source).strip()


def cell_with(notebook, text: str) -> int:
    return next(number for number, source in enumerate(notebook.sources) if text in source)


def test_run_see_answer(open_notebook, pictures):
    folder = lessons_folder()
    notebook = open_notebook(folder / lesson_name(folder, "06"), width=980, height=1150, scale=1.5)
    notebook.page.evaluate("() => window.jupyterapp.commands.execute('application:toggle-left-area')")

    notebook.run_all()
    assert notebook.errors() == []

    drawing = cell_with(notebook, "draw(a, b)")
    [bundle] = [output["data"] for output in notebook.outputs(drawing) if "image/svg+xml" in output.get("data", {})]
    assert "image/png" in bundle and "text/plain" in bundle
    shown = notebook.output(drawing).locator("svg, img").first
    expect(shown).to_be_visible()
    box = shown.bounding_box()
    assert box["width"] > 200 and box["height"] > 100

    exercise = exercises.get(EXERCISE)
    written, checked = notebook.find("exercise", EXERCISE), notebook.find("check", EXERCISE)
    expect(notebook.output(checked)).to_contain_text("not yet")
    for number, wrong in enumerate(exercise.wrong):
        notebook.write(written, dedented(wrong.source))
        notebook.run(written)
        notebook.run(checked)
        said = exercise.misconceptions[wrong.misconception]
        expect(notebook.output(checked)).to_contain_text(said.replace("`", "").replace("*", "")[:40])
        if number == 0:
            notebook.scroll_to(drawing)
            notebook.page.screenshot(path=pictures / "lesson-06.png")

    notebook.write(written, dedented(exercise.solution))
    notebook.run(written)
    notebook.run(checked)
    expect(notebook.output(checked)).to_contain_text(f"right{EXERCISE}")
    expect(notebook.output(checked)).not_to_contain_text("not right")
