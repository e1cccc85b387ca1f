"""grade(): one submission, from its bytes to its result.

The clerk decides what runs where, and believes nothing that a child says except how long it took to say it. An exercise
loses no points through another one: first all are run together, in one child; whatever did not pass is run once more in
a child in which nothing ran but what its own answer needs; and where that may not be enough (a notebook whose cells
change things behind their names), with every cell above it.
"""

from __future__ import annotations

import atexit
import struct
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gradlab.grading import plain
from gradlab.grading.judge import Judge, JudgeError, dismiss_judge, judge_for
from gradlab.grading.records import Bundle, Notebook, Outcome, Result, Submission
from gradlab.grading.sandbox import Child, Reply, Sandbox, SandboxError
from gradlab.grading.sandbox.child import CELL, PROBE

_ATTEMPTS = 3
_SAYINGS = {
    "timeout": "It was still running after {seconds:g} seconds, so it was stopped. Does a loop never end?",
    "killed": "The process that ran it ended: it left through os._exit or a signal, or it needed more memory than there is.",
    "flooded": "It sent more than may be sent, so it was stopped.",
}


def grade(bundle: Bundle, submission: Submission) -> Result:
    """The result of one submission. It depends on its two arguments only, whatever was graded before and wherever it runs.

    Raises SandboxError when there is no sandbox at the level that the bundle insists on.
    """
    for attempt in range(_ATTEMPTS):
        team = _team(bundle)
        started = time.monotonic()
        try:
            outcomes, notes = _Grading(bundle, submission, team).outcomes()
            break
        except SandboxError:
            _dismiss()
            if attempt == _ATTEMPTS - 1:
                raise
    return Result(
        submission=", ".join(notebook.name for notebook in submission.notebooks),
        student=submission.student,
        score=sum(outcome.score for outcome in outcomes),
        max_score=sum(outcome.max_score for outcome in outcomes),
        isolation=team.isolation,
        seconds=round(time.monotonic() - started, 3),
        exercises=tuple(outcomes),
        notes=(*submission.notes, *notes),
    )


class _Team:
    """One worker's judge and sandboxes."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self._sandboxes: dict[tuple[str, ...], Sandbox] = {}
        catalog = {entry["id"]: entry for entry in self.judge.catalog()}
        first = catalog[bundle.exercises[0]]["forbids"] if bundle.exercises else ()
        self.isolation = self.sandbox(first).isolation

    @property
    def judge(self) -> Judge:
        return judge_for(self.bundle.course)

    def sandbox(self, blocked: Sequence[str]) -> Sandbox:
        """The sandbox in which the `blocked` modules do not exist."""
        key = tuple(blocked)
        if key not in self._sandboxes:
            hidden = [Path(secret) for secret in self.bundle.secrets]
            self._sandboxes[key] = Sandbox(self.bundle.memory_mb, hidden, key, self.bundle.level)
        return self._sandboxes[key]

    def close(self) -> None:
        for sandbox in self._sandboxes.values():
            sandbox.close()


_here = threading.local()
atexit.register(lambda: dismiss())


def _team(bundle: Bundle) -> _Team:
    """This thread's team; one made for other limits is sent home."""
    team = getattr(_here, "team", None)
    wanted = (bundle.memory_mb, bundle.level, bundle.secrets, bundle.course)
    if team is None or (team.bundle.memory_mb, team.bundle.level, team.bundle.secrets, team.bundle.course) != wanted:
        _dismiss()
        team = _here.team = _Team(bundle)
    return team


def dismiss() -> None:
    """End this thread's sandboxes and judge; the next grade() starts new ones."""
    _dismiss()
    dismiss_judge()


def _dismiss() -> None:
    team = getattr(_here, "team", None)
    _here.team = None
    if team is not None:
        team.close()


class _Grading:
    """The grading of one submission."""

    def __init__(self, bundle: Bundle, submission: Submission, team: _Team) -> None:
        self.bundle, self.submission, self.team, self.judge = bundle, submission, team, team.judge
        self.catalog = {entry["id"]: entry for entry in self.judge.catalog()}
        self.found: dict[str, Outcome] = {}
        self.notes: list[str] = []

    def outcomes(self) -> tuple[list[Outcome], list[str]]:
        unread = ""
        for notebook in self.submission.notebooks:
            problem = self._grade_notebook(notebook)
            if problem:
                self.notes.append(f"{notebook.name} could not be read: {problem}.")
                unread = unread or problem
        if not self.found and not unread:
            names = ", ".join(notebook.name for notebook in self.submission.notebooks)
            self.notes.append(f"None of these exercises is in {names}: is it another notebook, or another lesson's?")
        status = "error" if unread and not self.found else "missing"
        words = (
            f"The notebook could not be read: {unread}."
            if status == "error"
            else "There is no answer to this exercise."
        )
        return [self.found.get(id) or self._outcome(id, status, words) for id in self.bundle.exercises], self.notes

    def _grade_notebook(self, notebook: Notebook) -> str:
        """Grade what no newer notebook of the student answers (a cell as it was given is no answer).

        Returns what is wrong with the file, "" for nothing.
        """
        if notebook.problem:
            return notebook.problem
        try:
            plan = self.judge.plan(notebook.content, list(self.bundle.exercises))
        except JudgeError as error:
            return str(error)
        answered = {id for id, outcome in self.found.items() if outcome.status != "not-yet"}
        repeated = sorted(answered & set(plan["exercises"]))
        if repeated:
            self.notes.append(f"{', '.join(repeated)} in {notebook.name}: not graded, a newer file has an answer.")
        exercises = {id: planned for id, planned in plan["exercises"].items() if id not in answered}
        run = _Run(self, {int(i): source for i, source in plan["cells"].items()}, exercises, set(plan["wild"]))
        self.found |= run.outcomes()
        return ""

    def _outcome(self, id: str, status: str, message: str, misconception: str | None = None) -> Outcome:
        entry = self.catalog[id]
        score = float(entry["points"]) if status == "passed" else 0.0
        return Outcome(id, status, score, float(entry["points"]), message, misconception, entry["evidence"])


class _Run:
    """The running of one notebook's answers."""

    def __init__(
        self, grading: _Grading, cells: dict[int, str], plans: dict[str, dict[str, Any]], wild: set[int]
    ) -> None:
        self.grading, self.cells, self.plans, self.wild = grading, cells, plans, wild
        self.bundle, self.judge = grading.bundle, grading.judge
        self.dead: set[int] = set()

    def outcomes(self) -> dict[str, Outcome]:
        found = {}
        groups: dict[tuple[str, ...], list[str]] = {}
        for id, plan in sorted(self.plans.items(), key=lambda item: item[1]["answer"]):
            if "status" in plan:
                found[id] = self.grading._outcome(id, plan["status"], plan["message"])
            else:
                groups.setdefault(tuple(self.grading.catalog[id]["forbids"]), []).append(id)
        for blocked, ids in groups.items():
            found |= self._group(ids, self.grading.team.sandbox(blocked))
        return found

    def _group(self, ids: Sequence[str], sandbox: Sandbox) -> dict[str, Outcome]:
        found: dict[str, Outcome] = {}
        shared = _Room(self, sandbox)
        for id in ids:
            plan = self.plans[id]
            was_alone = shared.is_unspoilt_for(plan)
            outcome = shared.run(id, plan["needs"], skip=frozenset(self.dead - {plan["answer"]}))
            if outcome.status not in ("passed", "not-yet") and not was_alone:
                outcome = min(outcome, self._alone(id, sandbox, plan["needs"]), key=_rank)
            if self._may_lack_something(id, outcome, plan):
                above = [i for i in plan["before"] if i not in self.dead]
                outcome = min(outcome, self._alone(id, sandbox, [*above, plan["answer"]]), key=_rank)
            found[id] = outcome
        shared.leave()
        return found

    def _alone(self, id: str, sandbox: Sandbox, cells: Sequence[int]) -> Outcome:
        room = _Room(self, sandbox)
        try:
            return room.run(id, cells, skip=frozenset())
        finally:
            room.leave()

    def _may_lack_something(self, id: str, outcome: Outcome, plan: dict[str, Any]) -> bool:
        """True where cells that nothing names could have changed what the answer uses."""
        more_cells = set(plan["movers"]) - set(plan["needs"]) - self.dead
        by_value = self.grading.catalog[id]["kind"] != "callable" and outcome.status == "failed"
        return bool(more_cells) and (outcome.status in ("error", "missing") or by_value)


class _Room:
    """A child, made when it is needed, and what has run in it."""

    def __init__(self, run: _Run, sandbox: Sandbox) -> None:
        self.of, self.sandbox = run, sandbox
        self.child: Child | None = None
        self.ran: set[int] = set()
        self.preludes: set[str] = set()
        self.probed = False
        self.seconds = run.bundle.timeout

    def is_unspoilt_for(self, plan: dict[str, Any]) -> bool:
        """True when nothing has run here that could have changed what the plan's cells use."""
        foreign = self.ran - set(plan["needs"])
        return not foreign & (self.of.wild | set(plan["touching"])) and not (self.probed and self.ran & self.of.wild)

    def run(self, id: str, cells: Sequence[int], skip: frozenset[int]) -> Outcome:
        """Run the cells that have not run here yet, the last of which is the answer, and probe it."""
        if self.child is None:
            self.child = self.sandbox.fork()
        entry = self.of.grading.catalog[id]
        self.seconds = max(self.of.bundle.timeout, entry["promised_seconds"])
        if entry["prelude"] not in self.preludes:
            self.preludes.add(entry["prelude"])
            self._cell(entry["prelude"], "<prelude>")
        trouble: Reply | None = None
        knowing = self.probed
        for i in cells:
            if i in self.ran or i in skip:
                continue
            reply = self._cell(self.of.cells[i], f"<cell {i + 1}>")
            self.ran.add(i)
            if not reply.alive:
                self.of.dead.add(i)
                return self._judged(id, reply)
            trouble = reply if reply.kind == "error" and i == cells[-1] else None
        if self.child is None:
            return self._judged(id, Reply("killed"))
        reply = self._probe(id, entry)
        if reply.kind == "state" and trouble is not None:
            return self._judged(id, trouble, knowing)
        return self._judged(id, reply)

    def _cell(self, source: str, file: str) -> Reply:
        return self._ask(CELL, plain.encode({"source": source, "file": file}))

    def _probe(self, id: str, entry: dict[str, Any]) -> Reply:
        self.probed = True
        task = plain.encode({"source": entry["probe"], "names": entry["names"], "kind": entry["kind"]})
        inputs = self.of.judge.inputs(id, self.of.bundle.seed)
        return self._ask(PROBE, struct.pack("<I", len(task)) + task + inputs)

    def _ask(self, kind: bytes, body: bytes) -> Reply:
        if self.child is None:
            return Reply("killed")
        reply = self.child.ask(kind, body, self.seconds)
        if not reply.alive:
            self.leave()
        return reply

    def _judged(self, id: str, reply: Reply, knowing: bool = True) -> Outcome:
        """The outcome of a reply; `knowing` when the child had been shown hidden inputs before it."""
        grading = self.of.grading
        if not reply.alive:
            status = "timeout" if reply.kind == "timeout" else "killed"
            return grading._outcome(id, status, _SAYINGS[reply.kind].format(seconds=self.seconds))
        try:
            verdict = self.of.judge.judge(id, self.of.bundle.seed, reply.kind, reply.body, knowing)
        except JudgeError:
            words = "Your answer has a form that this check cannot compare in time."
            return grading._outcome(id, "failed", words)
        return grading._outcome(id, verdict["status"], verdict["message"], verdict["misconception"])

    def leave(self) -> None:
        """End the child, with all that was in it."""
        if self.child is not None:
            self.child.end()
            self.child = None
        self.ran, self.preludes, self.probed = set(), set(), False


def _rank(outcome: Outcome) -> int:
    return outcome.rank
