"""The notebooks are what their sources build; building is stable, and `--check` sees when they are not."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType

import pytest

import gradlab.exercises as course

LESSONS = Path(__file__).resolve().parents[2] / "lessons"
NAMES = sorted(path.stem for path in (LESSONS / "source").glob("[0-9][0-9]_*.md"))


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lessons_build", LESSONS / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_thirteen_lessons() -> None:
    assert [name[:2] for name in NAMES] == [f"{n:02}" for n in range(13)]


def test_every_notebook_is_in_sync(build: ModuleType) -> None:
    assert build.outdated() == []


def test_check_names_the_notebook_that_is_out_of_date(build: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    shutil.copy(LESSONS / "source" / "01_three_attributes.md", tmp_path / "source")
    assert build.outdated(tmp_path) == ["01_three_attributes.ipynb"]
    shutil.copy(LESSONS / "01_three_attributes.ipynb", tmp_path)
    assert build.outdated(tmp_path) == []
    with (tmp_path / "source" / "01_three_attributes.md").open("a") as source:
        source.write("\nOne more sentence.\n")
    assert build.outdated(tmp_path) == ["01_three_attributes.ipynb"]


def test_a_change_leaves_the_other_cells_ids_alone(build: ModuleType, tmp_path: Path) -> None:
    source = tmp_path / "06_x.md"
    text = (LESSONS / "source" / "06_retain_graph.md").read_text()
    source.write_text(text)
    before = [cell["id"] for cell in json.loads(build.build(source))["cells"]]
    source.write_text(text.replace("## Two losses, one trunk", "## A new section\n\nText.\n\n## Two losses, one trunk"))
    after = [cell["id"] for cell in json.loads(build.build(source))["cells"]]
    assert [id for id in after if id != "text-a-new-section"] == before


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_clean_and_complete(name: str) -> None:
    notebook = json.loads((LESSONS / f"{name}.ipynb").read_text(encoding="utf-8"))
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(ids) == len(set(ids))
    assert "widgets" not in notebook["metadata"]
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    placed = [
        cell["metadata"]["gradlab"]["exercise"] for cell in code if "exercise" in cell["metadata"].get("gradlab", {})
    ]
    assert sorted(placed) == sorted(exercise.id for exercise in course.all() if exercise.lesson == name[:2])
    predicted = {
        cell["metadata"]["gradlab"]["predict"] for cell in code if "predict" in cell["metadata"].get("gradlab", {})
    }
    assert predicted == {prediction.id for prediction in course.predictions() if prediction.id[:2] == name[:2]}


@pytest.mark.parametrize("name", NAMES)
def test_every_link_to_a_file_leads_somewhere(name: str) -> None:
    import re

    text = (LESSONS / "source" / f"{name}.md").read_text(encoding="utf-8")
    targets = [t for t in re.findall(r"\]\(([^)#]+)\)", text) if not t.startswith("http")]
    assert [t for t in targets if t != "differences.md" and not (LESSONS / t).is_file()] == []


def test_every_picture_has_a_text_alternative() -> None:
    import re

    for name in NAMES:
        text = (LESSONS / "source" / f"{name}.md").read_text(encoding="utf-8")
        assert all(len(alt) > 20 for alt in re.findall(r"!\[([^\]]*)\]", text)), name


def test_the_right_choice_of_each_prediction_is_said_to_be_right_and_only_it() -> None:
    for prediction in course.predictions():
        right = [choice for choice, words in prediction.choices.items() if words.startswith("Yes")]
        assert len(right) <= 1, prediction.id
        assert len(prediction.choices) >= 2, prediction.id


def test_the_course_is_as_large_as_it_promises() -> None:
    exercises = course.all()
    assert len(exercises) >= 45
    assert sum(len(exercise.wrong) for exercise in exercises) >= 110
    for lesson in {exercise.lesson for exercise in exercises}:
        assert sum(exercise.core for exercise in exercises if exercise.lesson == lesson) >= 3, lesson


@pytest.mark.parametrize("name", NAMES)
def test_exercises_and_predictions_come_in_the_order_of_their_ids(name: str) -> None:
    notebook = json.loads((LESSONS / f"{name}.ipynb").read_text(encoding="utf-8"))
    for key in ("exercise", "predict"):
        found = [cell["metadata"].get("gradlab", {}).get(key) for cell in notebook["cells"]]
        ids = [id for id in found if id]
        assert ids == sorted(ids)


@pytest.mark.parametrize("name", NAMES)
def test_no_other_cell_of_a_lesson_binds_the_name_of_an_answer(name: str) -> None:
    """Else a check that is run again later would judge something that the learner did not write."""
    import ast

    from gradlab.exercises._speaking import _bound

    notebook = json.loads((LESSONS / f"{name}.ipynb").read_text(encoding="utf-8"))
    own = [exercise for exercise in course.all() if exercise.lesson == name[:2]]
    cells = [
        (cell["metadata"].get("gradlab", {}).get("exercise"), cell["source"])
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]
    cells += [(exercise.id, exercise.solution) for exercise in own]
    for exercise in own:
        others = [source for id, source in cells if id != exercise.id]
        assert not [n for source in others for n in set(exercise.names) & _bound(ast.parse(source))], exercise.id
