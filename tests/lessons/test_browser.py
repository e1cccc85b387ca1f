"""A learner in JupyterLab and Notebook 7: predicts, answers wrongly, takes hints, answers rightly, drives the widget."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from gradlab import exercises

expect = pytest.importorskip("playwright.sync_api").expect
pytest.importorskip("torch")
pytestmark = pytest.mark.browser
LESSONS = Path(__file__).resolve().parents[2] / "lessons"


def cell_with(page: Any, text: str) -> int:
    return next(number for number, source in enumerate(page.sources) if text in source)


def set_up(page: Any) -> None:
    page.run(cell_with(page, "import gradlab"))


def solve_wrongly_with_hints_then_rightly(page: Any, id: str) -> None:
    exercise = exercises.get(id)
    written, checked = page.find("exercise", id), page.find("check", id)
    page.run(written)
    page.run(checked)
    expect(page.output(checked)).to_contain_text("not yet")
    wrong = exercise.wrong[0]
    page.write(written, wrong.source.strip())
    page.run(written)
    page.run(checked)
    said = exercise.misconceptions[wrong.misconception].replace("`", "").replace("*", "")[:40]
    expect(page.output(checked)).to_contain_text(said)
    for level in (1, 2, 3):
        fold = page.output(checked).locator("summary", has_text=f"hint {level}")
        expect(fold).to_be_visible()
        fold.click()
    blank = textwrap.dedent(exercise.hints[2]).strip().splitlines()[1].strip()
    expect(page.output(checked)).to_contain_text(blank)
    page.write(written, exercise.solution.strip())
    page.run(written)
    page.run(checked)
    expect(page.output(checked).locator(".gl-word")).to_have_text("right")


def test_lesson_01_predict_reveal_and_nine_cells(open_notebook: Any) -> None:
    page = open_notebook(LESSONS / "01_three_attributes.ipynb")
    set_up(page)
    page.run(cell_with(page, "h = x * x"))
    asked, shown = page.find("predict", "01A"), page.find("reveal", "01A")
    page.run(asked)
    expect(page.output(asked)).to_contain_text("What is x.grad now?")
    page.write(asked, 'predict("01A", 1)')
    page.run(asked)
    page.run(shown)
    expect(page.output(shown)).to_contain_text("you said")
    expect(page.output(shown)).to_contain_text("0 would mean: a gradient was computed")
    solve_wrongly_with_hints_then_rightly(page, "01-1")
    assert page.errors() == []


def test_lesson_04_in_notebook_7(open_notebook: Any) -> None:
    page = open_notebook(LESSONS / "04_the_life_of_grad.ipynb", app="notebook")
    set_up(page)
    solve_wrongly_with_hints_then_rightly(page, "04-1")
    solve_wrongly_with_hints_then_rightly(page, "04-2")
    assert page.errors() == []


def test_lesson_06_in_the_dark_with_the_widget(open_notebook: Any) -> None:
    page = open_notebook(LESSONS / "06_retain_graph.ipynb", theme="dark")
    set_up(page)
    widget = cell_with(page, "gradlab.explore(")
    page.run(widget)
    count = page.output(widget).locator(".gl-count")
    expect(count).to_have_text("step 0 of 4")
    page.output(widget).get_by_role("button", name="one step on").click()
    expect(count).to_have_text("step 1 of 4")
    page.output(widget).get_by_role("checkbox", name="retain_graph").check()
    solve_wrongly_with_hints_then_rightly(page, "06-4")
    assert page.errors() == []
