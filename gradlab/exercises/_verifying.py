"""Verifying lessons: built in sync, nothing stored, every cell runs, every check says what it should, terms are right.

The functions look at one thing each and return faults; `gradlab verify` puts them together.
"""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradlab.exercises._framework import Exercise, Prediction
from gradlab.exercises._registry import all_exercises, all_predictions
from gradlab.exercises._running import try_answer

CELL_SECONDS = 120
WIDEST = 100  # characters of code that a notebook shows in a window of 1280 pixels


@dataclass(frozen=True)
class Fault:
    """Something wrong with a lesson: the lesson, where in it, and what."""

    lesson: str
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.lesson}  {self.where}: {self.text}"


def read_notebook(path: Path) -> dict[str, Any]:
    """The notebook of a file."""
    return json.loads(path.read_text(encoding="utf-8"))


def faults_of_build(folder: Path, lesson: str) -> list[Fault]:
    """Whether the notebook is what its source builds (where the sources are: in a clone, not in an installed wheel)."""
    source, script = folder / "source" / f"{lesson}.md", folder / "build.py"
    if not source.is_file() or not script.is_file():
        return []
    spec = importlib.util.spec_from_file_location("gradlab_lessons_build", script)
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    if (folder / f"{lesson}.ipynb").read_text(encoding="utf-8") == build.build(source):
        return []
    return [Fault(lesson[:2], "file", "is not what its source builds; run: python lessons/build.py")]


def faults_of_file(notebook: dict[str, Any], lesson: str) -> Iterator[Fault]:
    """Stored outputs, counts and widget states, repeated cell ids, lines too wide, exercises missing or there twice."""
    if "widgets" in notebook["metadata"]:
        yield Fault(lesson[:2], "file", "stores widget states (metadata.widgets)")
    ids = [cell.get("id") for cell in notebook["cells"]]
    for id in sorted({str(id) for id in ids if ids.count(id) > 1}):
        yield Fault(lesson[:2], f"cell {id}", "the same id twice")
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code" and (cell["outputs"] or cell["execution_count"] is not None):
            yield Fault(lesson[:2], f"cell {cell['id']}", "stores an output or an execution count")
        widest = max(map(len, cell["source"].splitlines()), default=0)
        if cell["cell_type"] == "code" and widest > WIDEST:
            yield Fault(
                lesson[:2], f"cell {cell['id']}", f"has a line of {widest} characters; {WIDEST} fit on a screen"
            )
    placed = [_about(cell, "exercise") for cell in notebook["cells"]]
    for exercise in _exercises(lesson):
        times = placed.count(exercise.id)
        if times != 1:
            yield Fault(lesson[:2], f"exercise {exercise.id}", f"is in the notebook {times} times, not once")


def run_notebook(notebook: dict[str, Any], folder: Path) -> tuple[dict[str, Any], float]:
    """Run a copy of the notebook in a fresh kernel and a fresh folder; the copy with its outputs, and the seconds."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    ran = nbformat.from_dict(copy.deepcopy(notebook))
    work = Path(tempfile.mkdtemp(prefix="gradlab-verify-"))
    started = time.monotonic()
    try:
        if (folder / "images").is_dir():
            shutil.copytree(folder / "images", work / "images")
        client = NotebookClient(
            ran,
            extra_arguments=["--log-level=ERROR"],
            timeout=CELL_SECONDS,
            kernel_name="python3",
            allow_errors=True,
            resources={"metadata": {"path": str(work)}},
        )
        env = os.environ | {"IPYTHONDIR": str(work / ".ipython"), "OMP_NUM_THREADS": "1", "JPY_SESSION_NAME": ""}
        with contextlib.suppress(CellTimeoutError, DeadKernelError):  # the cells that did not run tell
            client.execute(env=env)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return ran, time.monotonic() - started


def solved(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with every exercise solved and every prediction made."""
    answers = {exercise.id: exercise.solution for exercise in all_exercises()}
    guesses = {prediction.id: next(iter(prediction.choices)) for prediction in all_predictions()}
    done = copy.deepcopy(notebook)
    for cell in done["cells"]:
        if _about(cell, "exercise") in answers:
            cell["source"] = answers[_about(cell, "exercise")]
        if _about(cell, "predict") in guesses:
            cell["source"] = cell["source"].replace('"?"', repr(guesses[_about(cell, "predict")]))
    return done


def faults_of_run(ran: dict[str, Any], lesson: str, is_solved: bool) -> Iterator[Fault]:
    """Cells that did not run, raised or wrote to stderr; checks and reveals that do not say what they should."""
    how = "solved" if is_solved else "unsolved"
    said: dict[str, Any] = {}
    revealed: dict[str, str] = {}
    for cell in ran["cells"]:
        if cell["cell_type"] != "code" or not cell["source"].strip():
            continue
        where = f"cell {cell['id']} ({how})"
        if cell["execution_count"] is None:
            yield Fault(lesson[:2], where, "did not run")
        for output in cell["outputs"]:
            if output["output_type"] == "error":
                yield Fault(lesson[:2], where, f"raised {output['ename']}: {output['evalue'].splitlines()[0][:120]}")
            elif output["output_type"] == "stream" and output["name"] == "stderr":
                yield Fault(lesson[:2], where, f"wrote to stderr: {output['text'].strip().splitlines()[0][:120]}")
            facts = output.get("metadata", {}).get("gradlab", {})
            if "check" in facts:
                said[facts["check"]] = facts["status"]
            if facts.get("reveal"):
                revealed[facts["reveal"]] = facts["result"]
    expected = "passed" if is_solved else "not-yet"
    for exercise in _exercises(lesson):
        if said.get(exercise.id) != expected:
            yield Fault(lesson[:2], f"check {exercise.id} ({how})", f"said {said.get(exercise.id)}, not {expected}")
    for prediction in _predictions(lesson):
        if prediction.shows not in revealed.get(prediction.id, ""):
            found = revealed.get(prediction.id, "nothing")
            yield Fault(lesson[:2], f"reveal {prediction.id} ({how})", f"shows {found!r}, without {prediction.shows!r}")


def faults_of_answers(exercise: type[Exercise]) -> Iterator[Fault]:
    """Right answers that fail, a stub that is not "not yet", known-wrong answers without their own misconception."""
    for number, source in enumerate((exercise.solution, *exercise.also_right)):
        verdict = try_answer(exercise.id, source)
        if not verdict.passed:
            yield Fault(exercise.lesson, f"exercise {exercise.id}", f"right answer {number} fails: {verdict.message}")
    if try_answer(exercise.id, exercise.stub).status != "not-yet":
        yield Fault(exercise.lesson, f"exercise {exercise.id}", "the stub is not 'not yet'")
    for wrong in exercise.wrong:
        verdict = try_answer(exercise.id, wrong.source)
        if (verdict.status, verdict.misconception) != ("failed", wrong.misconception):
            found = verdict.misconception or verdict.status
            yield Fault(
                exercise.lesson,
                f"exercise {exercise.id}",
                f"wrong answer {wrong.misconception!r} is taken for {found!r}",
            )


def glossary(text: str) -> tuple[set[str], dict[str, str]]:
    """The terms of a glossary, and for each spelling to avoid the term to write.

    >>> glossary("**leaf**: a tensor you made. <!-- not: leaf node, leave -->")
    ({'leaf'}, {'leaf node': 'leaf', 'leave': 'leaf'})
    """
    terms, avoid = set(), {}
    for line in text.splitlines():
        found = re.match(r"\*\*([^*]+)\*\*", line)
        if found:
            terms.add(found[1].lower())
            for spelling in re.findall(r"<!-- not: (.+?) -->", line):
                avoid.update({word.strip(): found[1] for word in spelling.split(",")})
    return terms, avoid


def faults_of_terms(notebook: dict[str, Any], lesson: str, terms: set[str], avoid: dict[str, str]) -> Iterator[Fault]:
    """Terms that a lesson introduces ("We call ... a **leaf**") and the glossary lacks; spellings to avoid."""
    for cell in notebook["cells"]:
        if cell["cell_type"] != "markdown":
            continue
        prose = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", " ", cell["source"], flags=re.S)
        for sentence in re.findall(r"\b[Ww]e call\b.*?[.:;](?=\s|$)", prose, flags=re.S):
            for term in re.findall(r"\*\*([^*]+)\*\*", sentence):
                if term.lower() != "you" and not {term.lower(), term.lower().rstrip("s")} & terms:
                    yield Fault(
                        lesson[:2], f"cell {cell['id']}", f"introduces {term!r}, which the glossary does not have"
                    )
        for spelling, term in avoid.items():
            if re.search(rf"\b{re.escape(spelling)}\b", prose, flags=re.I):
                yield Fault(lesson[:2], f"cell {cell['id']}", f"writes {spelling!r}; the glossary's term is {term!r}")


def _about(cell: dict[str, Any], key: str) -> str:
    return cell["metadata"].get("gradlab", {}).get(key, "")


def _exercises(lesson: str) -> list[type[Exercise]]:
    return [exercise for exercise in all_exercises() if exercise.lesson == lesson[:2]]


def _predictions(lesson: str) -> list[Prediction]:
    return [prediction for prediction in all_predictions() if prediction.id.startswith(lesson[:2])]
