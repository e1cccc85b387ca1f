"""What is handed out: student notebooks, solved ones, nbgrader's and Gradescope's."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from gradlab import exercises
from gradlab.cli import main
from gradlab.grading import release

ROOT = Path(__file__).resolve().parents[2]


def book(path):
    nbformat.validate(nbformat.read(path, as_version=4))
    return json.loads(path.read_text())


def answers(notebook):
    return {
        c["metadata"]["gradlab"]["exercise"]: c
        for c in notebook["cells"]
        if "exercise" in c["metadata"].get("gradlab", {})
    }


def test_plain_notebooks_have_stubs_and_no_outputs(tmp_path):
    assert main(["release", "01", "06", "--to", str(tmp_path)]) == 0
    for path in sorted(tmp_path.glob("*.ipynb")):
        notebook = book(path)
        assert all(cell["outputs"] == [] for cell in notebook["cells"] if cell["cell_type"] == "code")
        assert "### BEGIN" not in path.read_text()
    assert set(answers(book(tmp_path / "06_retain_graph.ipynb"))) >= {"06-1", "06-3"}


def test_an_unknown_lesson_is_named(tmp_path, capsys):
    assert main(["release", "77", "--to", str(tmp_path)]) == 1
    assert "no lesson '77'" in capsys.readouterr().err
    assert main(["release", "--to", str(tmp_path)]) == 1


@pytest.mark.sandbox
def test_all_solved_lessons_of_one_student_grade_to_full_marks(tmp_path):
    lessons = sorted({exercise.lesson for exercise in exercises.all()})
    assert main(["release", *lessons, "--to", str(tmp_path / "solved"), "--solved"]) == 0
    assert main(["grade", str(tmp_path / "solved"), "--out", str(tmp_path / "out"), "--workers", "1"]) == 0
    (result,) = json.loads((tmp_path / "out" / "results.json").read_text())
    assert result["score"] == result["max_score"] > 0
    assert {exercise["status"] for exercise in result["exercises"]} == {"passed"}


def test_nbgrader_source_has_schema_3_and_its_marks(tmp_path, tools):
    (path,) = release([], tmp_path, "nbgrader", course=tools.COURSE)
    notebook = book(path)
    metadata = [cell["metadata"]["nbgrader"] for cell in notebook["cells"] if "nbgrader" in cell["metadata"]]
    assert {m["schema_version"] for m in metadata} == {3}
    assert len({m["grade_id"] for m in metadata}) == len(metadata) == 8
    assert sum(m["points"] for m in metadata if m["grade"]) == 9
    for cell in notebook["cells"]:
        kind = cell["metadata"].get("nbgrader")
        if kind and kind["solution"]:
            assert "### BEGIN SOLUTION" in cell["source"] and not kind["locked"] and not kind["grade"]
        if kind and kind["grade"]:
            assert "### BEGIN HIDDEN TESTS" in cell["source"] and kind["locked"]


@pytest.mark.nbgrader
def test_nbgrader_itself_grades_it(tmp_path, tools):
    python = os.environ["GRADLAB_NBGRADER"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{Path(python).parent}:{os.environ['PATH']}"}

    def nbgrader(*arguments):
        command = [python, "-m", "nbgrader", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]

    release([], tmp_path / "source" / "ps1", "nbgrader", course=tools.COURSE)
    nbgrader("generate_assignment", "ps1", "--create")
    handed_out = (tmp_path / "release" / "ps1" / "course.ipynb").read_text()
    assert "HIDDEN" not in handed_out and "1 - out * out" not in handed_out
    for student, wrong in (("ada", None), ("bob", "91-1")):
        notebook = json.loads(handed_out)
        for id, cell in answers(notebook).items():
            cell["source"] = "1 / 0" if id == wrong else tools.RIGHT[id]
        place = tmp_path / "submitted" / student / "ps1"
        place.mkdir(parents=True)
        (place / "course.ipynb").write_text(json.dumps(notebook))
    nbgrader("autograde", "ps1", "--create")
    nbgrader("export")
    rows = (tmp_path / "grades.csv").read_text().splitlines()
    column = rows[0].split(",").index("score")
    assert [row.split(",")[column] for row in rows[1:]] == ["9.0", "7.0"]


@pytest.mark.sandbox
def test_the_gradescope_zip_grades_a_submission(tmp_path, tools):
    paths = release([], tmp_path, "gradescope", course=tools.COURSE)
    home = tmp_path / "autograder"
    with zipfile.ZipFile(paths[-1]) as archive:
        assert {"setup.sh", "run_autograder", "course.py", "gradlab/__init__.py"} <= set(archive.namelist())
        archive.extractall(home / "source")
    (home / "submission").mkdir()
    (home / "submission" / "my homework.ipynb").write_bytes(
        tools.answered("def tanh_back(g, x, out): return 1 - out ** 2")
    )
    shutil.copy(home / "source" / "run_autograder", home / "run_autograder")
    environment = {**os.environ, "AUTOGRADER": str(home), "GRADLAB_PYTHON": sys.executable}
    subprocess.run(["bash", str(home / "run_autograder")], env=environment, check=True, timeout=300)
    results = json.loads((home / "results" / "results.json").read_text())
    assert results["score"] == 7.0
    assert [test["score"] for test in results["tests"]] == [0.0, 3.0, 2.0, 2.0]
    assert "local slope" in results["tests"][0]["output"]


@pytest.mark.sandbox
def test_the_worked_example_of_the_documentation_runs(tmp_path, monkeypatch):
    text = (ROOT / "lessons" / "grading.md").read_text()
    course, test = re.findall(r"```python\n(.*?)```", text, re.S)
    (tmp_path / "my_course.py").write_text(course)
    monkeypatch.chdir(tmp_path)
    exec(compile(test, "my_course_test.py", "exec"), {})
    assert main(["release", "--exercises", "my_course.py", "--to", "mine", "--solved"]) == 0
    command = ["grade", "mine", "--out", "grades", "--exercises", "my_course.py", "--workers", "1"]
    assert main(command) == 0
    (result,) = json.loads((tmp_path / "grades" / "results.json").read_text())
    assert result["score"] == result["max_score"] == 2.0
