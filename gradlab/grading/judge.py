"""The judge: a trusted process of its own that knows the exercises, reads notebooks, makes inputs and compares answers.

It is a process so that it can be ended: what it is handed comes from students, and may make reading or comparing take
for ever or take all memory. It executes none of it. `Judge` is the grader's end of it; `main` runs inside.
"""

from __future__ import annotations

import builtins
import contextlib
import hashlib
import inspect
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gradlab.grading import notebooks, plain
from gradlab.grading.sandbox import view
from gradlab.grading.sandbox.client import python_command
from gradlab.grading.sandbox.streams import PipeStream, SocketStream, Stream

_HEADER = struct.Struct("<II")
_START_SECONDS, _PLAN_SECONDS, _JUDGE_SECONDS = 120.0, 60.0, 20.0
_MEMORY = 4 << 30


class JudgeError(RuntimeError):
    """The judge could not do what it was asked to, and why."""


class Judge:
    """The grader's end. A judge that dies or takes too long is ended, and started again at the next question."""

    def __init__(self, course: str = "") -> None:
        self.course = course
        self._process: subprocess.Popen[bytes] | None = None
        self._stream: Stream | None = None
        self._catalog: list[dict[str, Any]] = []
        self._inputs: dict[tuple[str, int], bytes] = {}
        self.fingerprint = ""
        self._start()

    def catalog(self) -> list[dict[str, Any]]:
        """What may be told about each exercise: id, lesson, title, question, points, names, hints, probe and so on."""
        return self._catalog

    def plan(self, notebook: bytes, ids: list[str]) -> dict[str, Any]:
        """Which cells to run for which exercise. JudgeError when the notebook cannot be read in time."""
        return self._ask({"op": "plan", "ids": ids}, notebook, _PLAN_SECONDS)[0]

    def inputs(self, id: str, seed: int) -> bytes:
        """The hidden inputs of an exercise, encoded; the same for everyone in a run, and for no other exercise."""
        if (id, seed) not in self._inputs:
            self._inputs[id, seed] = self._ask({"op": "inputs", "id": id, "seed": seed}, b"", _JUDGE_SECONDS)[1]
        return self._inputs[id, seed]

    def judge(self, id: str, seed: int, kind: str, body: bytes, knowing: bool) -> dict[str, Any]:
        """The verdict on one reply of a child: status, misconception, message.

        A `knowing` child has been shown hidden inputs: no text of its own gets into the message.
        """
        question = {"op": "judge", "id": id, "seed": seed, "kind": kind, "knowing": knowing}
        return self._ask(question, body, _JUDGE_SECONDS)[0]

    def _start(self) -> None:
        code = "from gradlab.grading.judge import main; main()"
        command = python_command(code, view.import_path())
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        if hasattr(socket, "AF_UNIX") and os.name == "posix":
            ours, theirs = socket.socketpair()
            with theirs:
                self._process = subprocess.Popen(
                    command, stdin=theirs.fileno(), stdout=theirs.fileno(), env=environment
                )
            self._stream = SocketStream(ours)
        else:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
            self._stream = PipeStream(self._process)
        welcome, _ = self._ask({"op": "open"}, self.course.encode(), _START_SECONDS)
        self._catalog, self.fingerprint = welcome["catalog"], welcome["fingerprint"]

    def _ask(self, question: dict[str, Any], blob: bytes, seconds: float) -> tuple[dict[str, Any], bytes]:
        if self._stream is None:
            self._start()
        assert self._stream is not None
        head = json.dumps(question).encode()
        deadline = time.monotonic() + seconds
        try:
            self._stream.write(_HEADER.pack(len(head), len(blob)) + head + blob, deadline)
            lengths = _HEADER.unpack(self._stream.read(_HEADER.size, deadline))
            head, answer = (self._stream.read(length, deadline) for length in lengths)
        except TimeoutError:
            self.close()
            raise JudgeError(f"it took longer than {seconds:g} seconds") from None
        except OSError:
            self.close()
            raise JudgeError("the judge's process ended") from None
        reply = json.loads(head)
        if "problem" in reply:
            raise JudgeError(reply["problem"])
        return reply, answer

    def close(self) -> None:
        """End the process."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


_here = threading.local()


def judge_for(course: str) -> Judge:
    """This thread's judge for a course; the one before, for another course, is ended."""
    current = getattr(_here, "judge", None)
    if current is None or current.course != course:
        if current is not None:
            current.close()
        current = _here.judge = Judge(course)
    return current


def dismiss_judge() -> None:
    """End this thread's judge."""
    current = getattr(_here, "judge", None)
    _here.judge = None
    if current is not None:
        current.close()


# -- inside the judge's process ----------------------------------------------------------------------------------------


def main() -> None:
    """Answer questions on standard input until it is closed."""
    source, sink = os.dup(0), os.dup(1)
    os.dup2(2, 1)  # what an exercise's own code prints is no answer
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    _limit_memory()
    with contextlib.suppress(ConnectionError):  # the grader has gone, and nobody is left to tell
        _serve(source, sink)


def _serve(source: int, sink: int) -> None:
    bench = _Bench()
    for question, blob in _questions(source):
        try:
            answer, content = bench.answer(question, blob)
        except notebooks.UnreadableError as error:
            answer, content = {"problem": str(error)}, b""
        except Exception as error:
            answer, content = {"problem": f"{type(error).__name__}: {error}"}, b""
        head = json.dumps(answer).encode()
        whole = memoryview(_HEADER.pack(len(head), len(content)) + head + content)
        while whole:
            whole = whole[os.write(sink, whole) :]


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def _questions(source: int) -> Iterator[tuple[dict[str, Any], bytes]]:
    with open(source, "rb") as stream:
        while len(header := stream.read(_HEADER.size)) == _HEADER.size:
            length, size = _HEADER.unpack(header)
            head = json.loads(stream.read(length))
            yield head, stream.read(size)


class _Bench:
    """The exercises, and the answer to each kind of question."""

    def __init__(self) -> None:
        self.exercises: dict[str, Any] = {}
        self.provided: dict[str, frozenset[str]] = {}

    def answer(self, question: dict[str, Any], blob: bytes) -> tuple[dict[str, Any], bytes]:
        op = question["op"]
        if op == "open":
            return self._open(blob.decode()), b""
        if op == "plan":
            return self._plan(blob, question["ids"]), b""
        exercise = self.exercises[question["id"]]
        if op == "inputs":
            return {}, plain.encode(_inputs(exercise, question["seed"]))
        return self._judge(exercise, question["seed"], question["kind"], blob, question["knowing"]), b""

    def _open(self, course: str) -> dict[str, Any]:
        from gradlab import exercises

        if course:
            folder = tempfile.mkdtemp(prefix="gradlab-course-")
            path = Path(folder, "course.py")
            try:
                path.write_text(course, encoding="utf-8")
                found = exercises.load(path)
                sources = {exercise.id: exercise.probe_source() for exercise in found}
            finally:
                path.unlink()
                os.rmdir(folder)
        else:
            found = exercises.all()
            sources = {exercise.id: exercise.probe_source() for exercise in found}
        self.exercises = {exercise.id: exercise for exercise in found}
        for exercise in found:
            self.provided[exercise.id] = notebooks.Code.of(exercise.prelude).defined | _TEACHING
        catalog = [_entry(exercise, sources[exercise.id]) for exercise in found]
        return {"catalog": catalog, "fingerprint": _fingerprint()}

    def _plan(self, content: bytes, ids: list[str]) -> dict[str, Any]:
        cells = notebooks.read_cells(content)
        answers = {}
        for id in ids:
            exercise = self.exercises[id]
            place = notebooks.find_answer(cells, id, exercise.names, exercise.stub)
            if place is not None:
                answers[id] = place
        plans = {id: self._plan_one(cells, id, answers) for id in answers}
        used = sorted({i for plan in plans.values() for i in [*plan["needs"], *plan["before"]]})
        wild = [i for i in used if not cells[i].code.tame]
        return {"cells": {str(i): cells[i].code.python for i in used}, "wild": wild, "exercises": plans}

    def _plan_one(self, cells: list[notebooks.Cell], id: str, answers: dict[str, int]) -> dict[str, Any]:
        exercise, place = self.exercises[id], answers[id]
        plan: dict[str, Any] = {"answer": place, "needs": [], "before": []}
        if notebooks.is_stub(cells[place], exercise.stub):
            return plan | _outcome("not-yet", "This is still the cell as it was given.")
        if cells[place].code.syntax_error:
            return plan | _outcome("error", f"This is not Python yet: {cells[place].code.syntax_error}.")
        others = frozenset(answers.values()) - {place}
        needs = notebooks.needed_cells(cells, place, self.provided[id], others, exercise.names)
        forbidden = notebooks.forbidden_name(cells, needs, exercise.forbids)
        if forbidden is not None:
            words = f"This exercise is done without `{forbidden}`: that is what you are building."
            return plan | _outcome("forbidden", words)
        before = [i for i in range(place) if not cells[i].code.syntax_error and cells[i].code.python.strip()]
        runnable = [i for i in needs if not cells[i].code.syntax_error]
        movers = [i for i in before if cells[i].code.changed or not cells[i].code.tame]
        used = {name for i in runnable for name in cells[i].code.used}
        touching = [i for i, cell in enumerate(cells) if used & (cell.code.defined | cell.code.changed)]
        return plan | {"needs": runnable, "before": before, "touching": touching, "movers": movers}

    def _judge(self, exercise: Any, seed: int, kind: str, body: bytes, knowing: bool) -> dict[str, Any]:
        if kind == "unreadable":
            return _outcome("failed", _UNREADABLE)
        try:
            content = plain.decode(body)
            if kind == "error":
                return _outcome("error", _error_words(content, knowing))
            if kind == "state":
                return _state(content, exercise, knowing)
        except (plain.NotPlainError, KeyError, TypeError):
            return _outcome("failed", _UNREADABLE)
        try:
            verdict = exercise.judge(_inputs(exercise, seed), content)
            words = {
                "status": verdict.status,
                "misconception": verdict.misconception,
                "message": _told(exercise, verdict),
            }
            return json.loads(json.dumps(words))
        except Exception as error:
            return _outcome(
                "failed", f"Your answer has a form that this check cannot compare ({type(error).__name__})."
            )


_TEACHING = frozenset(("check", "hint", "predict", "reveal", "progress"))
_UNREADABLE = "Your answer gave back something that this check cannot read. Look at what it returns."
_UNUSABLE = "Your answer cannot be called as asked, or what it gives back or leaves cannot be used: "
_EXCEPTIONS = frozenset(name for name, value in vars(builtins).items() if isinstance(value, type))
_KNOWN_TYPES = _EXCEPTIONS | {"None", "function", "method", "module", "generator", "ndarray", "Tensor", "Parameter"}
_UNTOLD_ERROR = "It raised for inputs that the answer had not seen. The check in the lesson shows you such a case."
_UNTOLD = "Not right for inputs that the answer had not seen. The check in the lesson shows you such a case."
_WORDS = {
    "callable": "a function",
    "dict": "a dict",
    "list": "a list",
    "text": "text in quotes",
    "tensor": "a tensor",
    "number": "a number",
}


def _inputs(exercise: Any, seed: int) -> Any:
    digest = hashlib.sha256(f"{seed} {exercise.id}".encode()).digest()
    return exercise.inputs(np.random.default_rng(int.from_bytes(digest[:8], "big")))


def _entry(exercise: Any, probe: str) -> dict[str, Any]:
    names = (
        "id",
        "lesson",
        "title",
        "question",
        "points",
        "core",
        "names",
        "kind",
        "evidence",
        "promised_seconds",
        "hints",
        "misconceptions",
        "prelude",
        "forbids",
    )
    return {**{name: getattr(exercise, name) for name in names}, "probe": probe, "stub": exercise.stub}


def _told(exercise: Any, verdict: Any) -> str:
    """What a student is told of a verdict. In a notebook a check shows an example; here that would be a hidden input."""
    from gradlab.exercises import Exercise
    from gradlab.exercises._tables import TableExercise

    if verdict.misconception and not issubclass(exercise, TableExercise):  # a table's message says which cells, no more
        return str(exercise.misconceptions.get(verdict.misconception, verdict.misconception))
    message = str(verdict.message)
    has_inputs = exercise.inputs is not Exercise.inputs
    if not has_inputs or verdict.passed or not re.search(r"\d", message):
        return message
    return _UNTOLD_ERROR if verdict.status == "error" else _UNTOLD


def _outcome(status: str, message: str) -> dict[str, Any]:
    return {"status": status, "misconception": None, "message": message}


def _error_words(content: dict[str, Any], knowing: bool) -> str:
    """What an error report says, in our words: nothing in it is taken on trust."""
    given = content["type"]
    name = given if given in _EXCEPTIONS else "an exception of your own"
    text = "" if knowing else str(content["text"])[:220]
    line = content["line"]
    has_line = type(line) is int and 0 < line < 100_000
    where = f" at line {line}" if has_line else ""
    words = _UNUSABLE if knowing and not has_line else "Your answer raised "
    return f"{words}`{name}: {text}`{where}." if text else f"{words}`{name}`{where}."


def _state(content: dict[str, Any], exercise: Any, knowing: bool) -> dict[str, Any]:
    kind, names = exercise.kind, exercise.names
    name = content["name"] if content["name"] in names else names[0]
    detail = str(content["detail"])[:200]
    if content["state"] == "kind" and detail not in _KNOWN_TYPES:
        detail = "an object of your own"
    elif knowing and content["state"] == "blank":
        detail = ", ".join(place for place in detail.split(", ") if place in exercise.stub) or "somewhere"
    words = {
        "missing": ("missing", f"The cell ran, but there is no `{name}` afterwards."),
        "ellipsis": ("not-yet", f"`{name}` is still `...`: put your answer there."),
        "blank": ("not-yet", f"Still `...` in `{name}`: {detail}."),
        "kind": ("failed", f"`{name}` should be {_WORDS.get(kind, kind)}; it is {detail}."),
    }
    return _outcome(*words[content["state"]])


def _fingerprint() -> str:
    """A hash of what can change a verdict: the course, this package, and the versions beneath."""
    import importlib.metadata

    import gradlab
    from gradlab import exercises

    digest = hashlib.sha256(f"{gradlab.__version__} {sys.version_info[:3]}".encode())
    for distribution in ("numpy", "torch"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            digest.update(importlib.metadata.version(distribution).encode())
    for file in sorted(Path(inspect.getfile(exercises)).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
