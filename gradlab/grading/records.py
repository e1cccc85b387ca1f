"""The plain data that the grader's parts hand to each other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

STATUSES = ("passed", "failed", "not-yet", "error", "missing", "forbidden", "timeout", "killed")


@dataclass(frozen=True)
class Bundle:
    """What is graded, and how: the exercises, the seed of their hidden inputs, and the limits.

    `exercises` are ids. `course` is the source of an exercise file outside the package, empty for gradlab's own course.
    `timeout` is in seconds for one cell or one probe, `memory_mb` for one submission. `secrets` are paths that no
    submission may see. `level` is the isolation level to insist on, or "best".

    >>> bundle = Bundle.of(lessons=["01"], seed=3)
    >>> "01-1" in bundle.exercises
    True
    """

    exercises: tuple[str, ...]
    seed: int
    course: str = ""
    timeout: float = 10.0
    memory_mb: int = 1024
    level: str = "best"
    secrets: tuple[str, ...] = ()
    fingerprint: str = ""

    @staticmethod
    def of(
        lessons: Sequence[str] = (), exercises: str | Path | None = None, seed: int | None = None, **limits: Any
    ) -> Bundle:
        """The bundle of some lessons ("06"; none named: all), or of an exercise file. ValueError when there is no such."""
        from gradlab.grading.judge import judge_for

        course = "" if exercises is None else Path(exercises).read_text(encoding="utf-8")
        catalog = judge_for(course).catalog()
        wanted = {str(lesson).zfill(2) for lesson in lessons}
        known = {entry["lesson"] for entry in catalog}
        if wanted - known:
            raise ValueError(
                f"no exercises for lesson {', '.join(sorted(wanted - known))}; there are {', '.join(sorted(known))}"
            )
        ids = tuple(entry["id"] for entry in catalog if not wanted or entry["lesson"] in wanted)
        import secrets as randomness

        seed = randomness.randbelow(2**31) if seed is None else seed
        hidden = () if exercises is None else (str(Path(exercises).resolve()),)
        limits["secrets"] = (*hidden, *limits.get("secrets", ()))
        return Bundle(ids, seed, course, fingerprint=judge_for(course).fingerprint, **limits)

    def key(self) -> str:
        """A hash of everything here that can change a result."""
        parts = (self.exercises, self.seed, self.course, self.timeout, self.memory_mb, self.level, self.fingerprint)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@dataclass(frozen=True)
class Notebook:
    """One handed-in file: its path among the submissions, its bytes, and when it was last changed."""

    name: str
    content: bytes
    time: float = 0.0
    problem: str = ""


@dataclass(frozen=True)
class Submission:
    """What one student handed in. `student` is the id or name that the files' names give; the newest notebook first."""

    student: str
    notebooks: tuple[Notebook, ...]
    notes: tuple[str, ...] = ()

    def key(self) -> str:
        """A hash of the content."""
        digest = hashlib.sha256(json.dumps([self.student, self.notes]).encode())
        for notebook in self.notebooks:
            digest.update(json.dumps([notebook.name, notebook.problem, len(notebook.content)]).encode())
            digest.update(notebook.content)
        return digest.hexdigest()


@dataclass(frozen=True)
class Outcome:
    """The result of one exercise."""

    id: str
    status: str
    score: float
    max_score: float
    message: str = ""
    misconception: str | None = None
    evidence: str = "value"

    @property
    def rank(self) -> int:
        """How far from passed: of two runs of one answer, the lower one says more."""
        return STATUSES.index(self.status)


@dataclass(frozen=True)
class Result:
    """The result of one submission, as it stands in results.json."""

    submission: str
    student: str
    score: float
    max_score: float
    isolation: str
    seconds: float
    exercises: tuple[Outcome, ...]
    notes: tuple[str, ...] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return json.loads(json.dumps(asdict(self)))

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Result:
        """The other way; KeyError or TypeError when something is missing."""
        rest = {key: value for key, value in data.items() if key in Result.__dataclass_fields__}
        outcomes = tuple(Outcome(**outcome) for outcome in data["exercises"])
        return Result(**{**rest, "exercises": outcomes, "notes": tuple(data["notes"])})

    def without_time(self) -> Result:
        """The same with no time in it: equal for equal bundles, submissions and levels."""
        return replace(self, seconds=0.0)
