"""Handing out: a lesson's notebook as students get it, with solutions for the teacher, for nbgrader, for Gradescope."""

from __future__ import annotations

import copy
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradlab
from gradlab import exercises

FORMATS = ("plain", "nbgrader", "gradescope")
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_TEMPLATES = Path(__file__).parent / "templates"


class NotRightError(AssertionError):
    """An answer that nbgrader's autograder found not right; the message is the check's."""


def release(
    notebooks: Sequence[Path],
    to: str | Path,
    format: str = "plain",
    solved: bool = False,
    course: str | Path | None = None,
) -> list[Path]:
    """Write student notebooks (or, `solved`, the teacher's copies) into the folder `to`; the files written.

    `course` is an exercise file outside the package; the notebook is then made from its exercises. ValueError when
    there is nothing to release or the format is not known.
    """
    if format not in FORMATS:
        raise ValueError(f"format is one of {', '.join(FORMATS)}, not {format!r}")
    known = {exercise.id: exercise for exercise in (exercises.load(course) if course else exercises.all())}
    books = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in notebooks}
    if course:
        books[f"{Path(course).stem}.ipynb"] = notebook_of(list(known.values()))
    if not books:
        raise ValueError("name a lesson, or an exercise file with --exercises")
    to = Path(to)
    to.mkdir(parents=True, exist_ok=True)
    source = Path(course).read_text(encoding="utf-8") if course else ""
    written = []
    for name, book in books.items():
        clean = without_outputs(book)
        if format == "nbgrader" and not solved:
            clean = for_nbgrader(clean, known, source)
        elif solved:
            clean = with_solutions(clean, known)
        written.append(to / name)
        written[-1].write_text(json.dumps(clean, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if format == "gradescope":
        lessons = sorted({id.split("-")[0] for book in books.values() for id in exercise_ids(book)})
        written.append(gradescope_zip(to / "autograder.zip", [] if course else lessons, source))
    return written


def exercise_ids(book: dict[str, Any]) -> list[str]:
    """The exercises in a notebook, in its order."""
    return [ours["exercise"] for cell in book["cells"] if "exercise" in (ours := cell["metadata"].get("gradlab", {}))]


def without_outputs(book: dict[str, Any]) -> dict[str, Any]:
    """A copy with no outputs in it."""
    book = copy.deepcopy(book)
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return book


def with_solutions(book: dict[str, Any], known: dict[str, type[exercises.Exercise]]) -> dict[str, Any]:
    """A copy with every answer filled in."""
    book = copy.deepcopy(book)
    for cell in book["cells"]:
        id = cell["metadata"].get("gradlab", {}).get("exercise")
        if id is not None:
            cell["source"] = known[id].solution.rstrip("\n")
    return book


def notebook_of(found: Sequence[type[exercises.Exercise]]) -> dict[str, Any]:
    """A notebook for exercises that have no lesson: question, stub and check, one after the other."""
    cells = [_cell("code", "setup", "import numpy as np\nimport torch\n\nfrom gradlab import check, hint")]
    for exercise in found:
        title = f"### {exercise.id} · {exercise.title}\n\n{exercise.question}".rstrip()
        cells.append(_cell("markdown", f"{exercise.id}-question", title))
        cells.append(_cell("code", exercise.id, exercise.stub.rstrip("\n"), {"gradlab": {"exercise": exercise.id}}))
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": _METADATA, "cells": cells}


def _cell(kind: str, id: str, source: str, metadata: dict[str, Any] | None = None) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "id": id, "metadata": metadata or {}, "source": source}
    return cell | ({"outputs": [], "execution_count": None} if kind == "code" else {})


def for_nbgrader(book: dict[str, Any], known: dict[str, type[exercises.Exercise]], course: str = "") -> dict[str, Any]:
    """nbgrader's source version: metadata schema 3, the solution between its marks, a hidden test for each exercise."""
    book = copy.deepcopy(book)
    cells = []
    for cell in book["cells"]:
        id = cell["metadata"].get("gradlab", {}).get("exercise")
        cells.append(cell)
        if id is None:
            continue
        exercise = known[id]
        stub, solution = exercise.stub.rstrip("\n"), exercise.solution.rstrip("\n")
        cell["source"] = f"{stub}\n### BEGIN SOLUTION\n{solution}\n### END SOLUTION"
        cell["metadata"]["nbgrader"] = _nbgrader(f"answer-{id}", solution=True)
        call = f'assert_right("{id}", globals(), course)' if course else f'assert_right("{id}", globals())'
        test = f"from gradlab.grading.formats import assert_right\n\n{call}"
        if course:
            test = f"course = {course!r}\n{test}"
        hidden = f"### BEGIN HIDDEN TESTS\n{test}\n### END HIDDEN TESTS"
        metadata = {"nbgrader": _nbgrader(f"test-{id}", points=exercise.points)}
        cells.append(_cell("code", f"{id}-test", f"# {exercise.points} points\n{hidden}", metadata))
    book["cells"] = cells
    return book


def _nbgrader(grade_id: str, solution: bool = False, points: int | None = None) -> dict[str, Any]:
    grade = points is not None
    cell = {
        "grade": grade,
        "grade_id": grade_id,
        "locked": not solution,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
    return {**cell, "cell_type": "code", **({"points": points} if grade else {})}


def assert_right(id: str, namespace: dict[str, Any], course: str = "") -> None:
    """What a hidden test of an nbgrader notebook calls: raises NotRightError unless the answer in `namespace` passes."""
    import tempfile

    from gradlab.exercises._running import judge_answer

    if course:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "course.py")
            path.write_text(course, encoding="utf-8")
            exercises.load(path)
    verdict, _ = judge_answer(exercises.get(id), namespace)
    if not verdict.passed:
        raise NotRightError(verdict.message)


def gradescope_zip(path: Path, lessons: Sequence[str], course: str = "") -> Path:
    """The autograder zip for Gradescope: its two scripts, this package, and the exercise file where there is one."""
    import jinja2

    templates = jinja2.Environment(loader=jinja2.FileSystemLoader(_TEMPLATES), keep_trailing_newline=True)
    what = "--exercises course.py" if course else f"--lesson {' '.join(lessons)}"
    package = Path(gradlab.__file__).parent
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("setup.sh", "run_autograder"):
            info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            info.external_attr = 0o100755 << 16
            archive.writestr(info, templates.get_template(f"{name}.j2").render(what=what))
        if course:
            archive.writestr(zipfile.ZipInfo("course.py", (2020, 1, 1, 0, 0, 0)), course)
        for file in sorted(package.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts and "_lessons" not in file.parts:
                info = zipfile.ZipInfo(f"gradlab/{file.relative_to(package).as_posix()}", (2020, 1, 1, 0, 0, 0))
                archive.writestr(info, file.read_bytes(), zipfile.ZIP_DEFLATED)
    return path
