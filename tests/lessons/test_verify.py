"""`gradlab verify` catches each fault that it promises to catch."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from gradlab import exercises
from gradlab.cli import main
from gradlab.exercises import Wrong
from gradlab.exercises import _verifying as look

pytest.importorskip("torch")
pytest.importorskip("nbclient")

LESSONS = Path(__file__).resolve().parents[2] / "lessons"
NAME = "01_three_attributes"


@pytest.fixture
def notebook() -> dict[str, Any]:
    return look.read_notebook(LESSONS / f"{NAME}.ipynb")


def texts(faults: Any) -> list[str]:
    return [f"{fault.where}: {fault.text}" for fault in faults]


def ran(notebook: dict[str, Any], status: str = "not-yet") -> dict[str, Any]:
    """The notebook as a run without faults leaves it."""
    done = copy.deepcopy(notebook)
    shows = {prediction.id: prediction.shows for prediction in exercises.predictions()}
    for count, cell in enumerate(done["cells"]):
        if cell["cell_type"] == "code":
            cell["execution_count"] = count
            about = cell["metadata"].get("gradlab", {})
            facts = {"check": about["check"], "status": status} if "check" in about else None
            if "reveal" in about:
                facts = {"reveal": about["reveal"], "result": shows[about["reveal"]]}
            if facts:
                cell["outputs"] = [{"output_type": "display_data", "data": {}, "metadata": {"gradlab": facts}}]
    return done


def first(notebook: dict[str, Any], key: str) -> dict[str, Any]:
    return next(cell for cell in notebook["cells"] if key in cell["metadata"].get("gradlab", {}))


def test_a_good_lesson_has_no_fault(notebook: dict[str, Any]) -> None:
    assert texts(look.faults_of_file(notebook, NAME)) == []
    assert texts(look.faults_of_run(ran(notebook), NAME, is_solved=False)) == []
    assert texts(look.faults_of_run(ran(notebook, "passed"), NAME, is_solved=True)) == []


def test_a_notebook_that_its_source_does_not_build(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "build.py").write_text((LESSONS / "build.py").read_text())
    source = (LESSONS / "source" / f"{NAME}.md").read_text()
    (tmp_path / "source" / f"{NAME}.md").write_text(source)
    (tmp_path / f"{NAME}.ipynb").write_text((LESSONS / f"{NAME}.ipynb").read_text())
    assert look.faults_of_build(tmp_path, NAME) == []
    (tmp_path / "source" / f"{NAME}.md").write_text(source + "\nMore.\n")
    assert "not what its source builds" in texts(look.faults_of_build(tmp_path, NAME))[0]


def test_stored_outputs_counts_and_widget_states(notebook: dict[str, Any]) -> None:
    first(notebook, "check")["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x"}]
    first(notebook, "predict")["execution_count"] = 3
    notebook["metadata"]["widgets"] = {}
    found = texts(look.faults_of_file(notebook, NAME))
    assert len([text for text in found if "stores an output or an execution count" in text]) == 2
    assert len([text for text in found if "metadata.widgets" in text]) == 1


def test_a_code_line_that_a_laptop_screen_cuts_off(notebook: dict[str, Any]) -> None:
    first(notebook, "predict")["source"] = f"x = 1\ny = {'1 + ' * 25}1"
    assert texts(look.faults_of_file(notebook, NAME)) == [
        "cell predict-01A: has a line of 105 characters; 100 fit on a screen"
    ]


def test_a_missing_and_a_doubled_exercise(notebook: dict[str, Any]) -> None:
    cell = first(notebook, "exercise")
    notebook["cells"].append(copy.deepcopy(cell) | {"id": "other"})
    assert "exercise 01-1: is in the notebook 2 times, not once" in texts(look.faults_of_file(notebook, NAME))
    notebook["cells"] = [c for c in notebook["cells"] if c["metadata"].get("gradlab", {}).get("exercise") != "01-1"]
    assert "exercise 01-1: is in the notebook 0 times, not once" in texts(look.faults_of_file(notebook, NAME))


def test_a_cell_id_that_comes_twice(notebook: dict[str, Any]) -> None:
    notebook["cells"][1]["id"] = notebook["cells"][0]["id"]
    assert any("the same id twice" in text for text in texts(look.faults_of_file(notebook, NAME)))


def test_a_cell_that_did_not_run(notebook: dict[str, Any]) -> None:
    done = ran(notebook)
    first(done, "predict")["execution_count"] = None
    assert texts(look.faults_of_run(done, NAME, False)) == ["cell predict-01A (unsolved): did not run"]


def test_an_error_that_was_not_announced(notebook: dict[str, Any]) -> None:
    done = ran(notebook)
    error = {"output_type": "error", "ename": "NameError", "evalue": "name 'q' is not defined", "traceback": []}
    first(done, "predict")["outputs"] = [error]
    assert "raised NameError: name 'q' is not defined" in texts(look.faults_of_run(done, NAME, False))[0]


def test_a_warning_on_stderr(notebook: dict[str, Any]) -> None:
    done = ran(notebook)
    first(done, "predict")["outputs"] = [{"output_type": "stream", "name": "stderr", "text": "UserWarning: look\n"}]
    assert "wrote to stderr: UserWarning: look" in texts(look.faults_of_run(done, NAME, False))[0]


@pytest.mark.parametrize(
    ("is_solved", "status"), [(False, "failed"), (False, "passed"), (True, "not-yet"), (True, "error")]
)
def test_a_check_that_says_something_else(notebook: dict[str, Any], is_solved: bool, status: str) -> None:
    done = ran(notebook, status)
    expected = "passed" if is_solved else "not-yet"
    assert f"said {status}, not {expected}" in texts(look.faults_of_run(done, NAME, is_solved))[0]


def test_a_check_that_says_nothing(notebook: dict[str, Any]) -> None:
    done = ran(notebook)
    first(done, "check")["outputs"] = []
    assert texts(look.faults_of_run(done, NAME, False)) == ["check 01-1 (unsolved): said None, not not-yet"]


def test_a_reveal_that_shows_something_else(notebook: dict[str, Any]) -> None:
    done = ran(notebook)
    first(done, "reveal")["outputs"][0]["metadata"]["gradlab"]["result"] = "tensor(0.)"
    assert "shows 'tensor(0.)', without 'None'" in texts(look.faults_of_run(done, NAME, False))[0]


def test_a_wrong_answer_that_is_taken_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    exercise = exercises.get("06-3")
    swapped = Wrong("def both(a, b):\n    a.backward()", "counted-twice")
    accepted = Wrong("def both(a, b):\n    (a + b).backward()", "counted-twice")
    monkeypatch.setattr(exercise, "wrong", (swapped, accepted))
    assert texts(look.faults_of_answers(exercise)) == [
        "exercise 06-3: wrong answer 'counted-twice' is taken for 'one-loss-lost'",
        "exercise 06-3: wrong answer 'counted-twice' is taken for 'passed'",
    ]


def test_a_solution_that_fails_and_a_stub_that_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    exercise = exercises.get("06-3")
    monkeypatch.setattr(exercise, "wrong", ())
    monkeypatch.setattr(exercise, "also_right", ())
    monkeypatch.setattr(exercise, "solution", "def both(a, b):\n    a.backward()")
    assert "right answer 0 fails" in texts(look.faults_of_answers(exercise))[0]


def test_terms_that_the_glossary_lacks_or_spells_otherwise() -> None:
    terms, avoid = look.glossary("**leaf**: what you made. <!-- not: leaf node -->\n**saved tensor**: kept.\n")

    def faults(text: str) -> list[str]:
        cell = {"cell_type": "markdown", "id": "a", "metadata": {}, "source": text}
        return texts(look.faults_of_terms({"cells": [cell]}, NAME, terms, avoid))

    assert faults("We call that a **leaf**. We call these **saved tensors**. **Bold** is not a term.") == []
    assert faults("We call that a **twig**.") == ["cell a: introduces 'twig', which the glossary does not have"]
    assert faults("It is a leaf node.") == ["cell a: writes 'leaf node'; the glossary's term is 'leaf'"]
    assert faults("Code is free: `leaf node`.") == []


def test_a_real_run_unsolved_and_solved(notebook: dict[str, Any]) -> None:
    done, seconds = look.run_notebook(notebook, LESSONS)
    assert texts(look.faults_of_run(done, NAME, is_solved=False)) == []
    assert seconds < 120
    done, _ = look.run_notebook(look.solved(notebook), LESSONS)
    assert texts(look.faults_of_run(done, NAME, is_solved=True)) == []


def test_a_kernel_that_dies_is_a_fault_and_not_a_crash(notebook: dict[str, Any]) -> None:
    cells = [c for c in notebook["cells"] if c["cell_type"] == "code"][:2]
    cells[0]["source"] = "import os; os._exit(1)"
    done, _ = look.run_notebook(notebook | {"cells": cells}, LESSONS)
    assert any("did not run" in text for text in texts(look.faults_of_run(done, NAME, False)))


def test_the_command_reports_and_sets_its_exit_status(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert main(["verify", "--quick", "1"]) == 0
    assert "ok 01_three_attributes: 3 exercises" in capsys.readouterr().out
    broken = json.loads((LESSONS / f"{NAME}.ipynb").read_text(encoding="utf-8"))
    broken["cells"][1]["execution_count"] = 7
    (tmp_path / f"{NAME}.ipynb").write_text(json.dumps(broken))
    monkeypatch.setattr("gradlab.cli.verify.lessons_folder", lambda: tmp_path)
    assert main(["verify", "--quick"]) == 1
    out = capsys.readouterr().out
    assert "!! 01  cell" in out
    assert main(["verify", "99"]) == 1
    assert "There is no lesson '99'" in capsys.readouterr().err
