"""Every lesson runs in a fresh kernel: unsolved (every check says "not yet"), and solved (every check passes)."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlab.exercises import _verifying as look

pytest.importorskip("torch")
pytest.importorskip("nbclient")

LESSONS = Path(__file__).resolve().parents[2] / "lessons"
NAMES = sorted(path.stem for path in (LESSONS / "source").glob("[0-9][0-9]_*.md"))


@pytest.mark.parametrize("name", NAMES)
def test_restart_and_run_all_unsolved(name: str) -> None:
    done, _ = look.run_notebook(look.read_notebook(LESSONS / f"{name}.ipynb"), LESSONS)
    assert [str(fault) for fault in look.faults_of_run(done, name, is_solved=False)] == []


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n[:2] in ("06", "12") else pytest.mark.long) for n in NAMES]
)
def test_restart_and_run_all_solved(name: str) -> None:
    done, _ = look.run_notebook(look.solved(look.read_notebook(LESSONS / f"{name}.ipynb")), LESSONS)
    assert [str(fault) for fault in look.faults_of_run(done, name, is_solved=True)] == []


@pytest.mark.parametrize("name", NAMES)
def test_terms_are_those_of_the_glossary(name: str) -> None:
    terms, avoid = look.glossary((LESSONS / "glossary.md").read_text(encoding="utf-8"))
    notebook = look.read_notebook(LESSONS / f"{name}.ipynb")
    assert [str(fault) for fault in look.faults_of_terms(notebook, name, terms, avoid)] == []
