"""Each exercise: right answers pass, the stub is "not yet", each known-wrong answer shows its own misconception."""

from __future__ import annotations

import ast
import inspect

import numpy as np
import pytest

from gradlab import exercises
from gradlab.exercises import Exercise
from gradlab.exercises._running import is_plain, run_source

pytest.importorskip("torch")

COURSE = exercises.all()
RIGHT = [(e, i) for e in COURSE for i in range(1 + len(e.also_right))]
WRONG = [(e, i) for e in COURSE for i in range(len(e.wrong))]


def named(case: object) -> str:
    return case.id if isinstance(case, type) else str(case)


@pytest.mark.parametrize(("exercise", "index"), RIGHT, ids=named)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_right_form_is_accepted(exercise: type[Exercise], index: int, seed: int) -> None:
    verdict = exercises.try_answer(exercise.id, (exercise.solution, *exercise.also_right)[index], seed=seed)
    assert verdict.passed, verdict.message


@pytest.mark.parametrize(("exercise", "index"), WRONG, ids=named)
@pytest.mark.parametrize("seed", [3, 4])
def test_a_known_wrong_answer_shows_its_own_misconception(exercise: type[Exercise], index: int, seed: int) -> None:
    wrong = exercise.wrong[index]
    verdict = exercises.try_answer(exercise.id, wrong.source, seed=seed)
    assert (verdict.status, verdict.misconception) == ("failed", wrong.misconception), verdict.message
    assert len(verdict.message) > 20


@pytest.mark.parametrize("exercise", COURSE, ids=named)
def test_the_stub_is_not_yet(exercise: type[Exercise]) -> None:
    assert exercises.try_answer(exercise.id, exercise.stub).status == "not-yet"
    assert exercises.try_answer(exercise.id, exercise.stub + "\n# a comment").status == "not-yet"


JUNK = {
    "nothing": "",
    "None": "{n} = None",
    "a number": "{n} = 3",
    "text": "{n} = 'x'",
    "an empty dict": "{n} = {{}}",
    "an empty list": "{n} = []",
    "a list": "{n} = [1, 2, 3]",
    "an array": "{n} = np.zeros(3, dtype=np.int32)",
    "a class": "class {n}:\n    pass",
    "returns None": "def {n}(*a, **k):\n    return None",
    "raises": "def {n}(*a, **k):\n    return 1 / 0",
    "exits": "def {n}(*a, **k):\n    raise SystemExit",
    "returns its first argument": "def {n}(*a, **k):\n    return a[0]",
    "returns an object": "def {n}(*a, **k):\n    return object()",
    "returns text": "def {n}(*a, **k):\n    return 'abc'",
    "returns an integer array": "def {n}(*a, **k):\n    return np.zeros((7, 3), dtype=np.int64)",
    "not Python": "{n} = = 3",
    "raises at once": "1 / 0",
}


@pytest.mark.parametrize("exercise", COURSE, ids=named)
@pytest.mark.parametrize("junk", JUNK, ids=str)
def test_any_other_wrong_answer_gets_a_message_and_no_crash(exercise: type[Exercise], junk: str) -> None:
    source = "\n".join(JUNK[junk].format(n=name) for name in exercise.names)
    verdict = exercises.try_answer(exercise.id, source)
    assert not verdict.passed
    assert verdict.message


@pytest.mark.parametrize("exercise", COURSE, ids=named)
def test_a_probe_stands_alone_and_returns_plain_data(exercise: type[Exercise]) -> None:
    bare: dict[str, object] = {}
    exec(exercise.probe_source(), bare)
    namespace, verdict = run_source(exercise, exercise.solution)
    assert verdict is None
    inputs = exercise.inputs(np.random.default_rng(5))
    assert is_plain(inputs)
    seen = bare["probe"]({name: namespace[name] for name in exercise.names}, inputs)  # type: ignore[operator]
    assert is_plain(seen)
    assert exercise.judge(exercise.inputs(np.random.default_rng(5)), seen).passed


@pytest.mark.parametrize("exercise", COURSE, ids=named)
def test_a_probe_imports_nothing_of_the_course(exercise: type[Exercise]) -> None:
    tree = ast.parse(exercise.probe_source())
    modules = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    modules += [alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names]
    assert not [m for m in modules if m.startswith("gradlab.exercises") or m.startswith("gradlab.grading")]


@pytest.mark.parametrize("exercise", COURSE, ids=named)
def test_feedback_never_holds_the_solution(exercise: type[Exercise]) -> None:
    body = exercise.solution.strip().splitlines()[-1].strip()
    if len(body) < 15:
        return
    words = [*exercise.misconceptions.values(), inspect.getsource(exercise.judge)]
    assert not [word for word in words if body in word]


@pytest.mark.parametrize("exercise", COURSE, ids=named)
def test_an_exercise_has_its_hints_and_wrong_answers(exercise: type[Exercise]) -> None:
    assert all(len(hint) > 15 for hint in exercise.hints)
    assert len({wrong.misconception for wrong in exercise.wrong}) >= 2
    assert {wrong.misconception for wrong in exercise.wrong} == set(exercise.misconceptions)


def test_ids_are_unique_and_belong_to_their_lesson() -> None:
    ids = [exercise.id for exercise in COURSE] + [prediction.id for prediction in exercises.predictions()]
    assert len(ids) == len(set(ids))
    assert all(exercise.__module__.endswith(f"lesson_{exercise.lesson}") for exercise in COURSE)


def test_an_endless_loop_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exercises.get("06-3"), "seconds", 0.3)
    source = (
        "def both(a, b):\n    while True:\n        try:\n            pass\n        except Exception:\n            pass"
    )
    verdict = exercises.try_answer("06-3", source)
    assert verdict.status == "error"
    assert "still running" in verdict.message
    assert exercises.try_answer("06-3", "while True: pass").status == "error"


def test_an_unknown_id_says_what_there_is() -> None:
    with pytest.raises(KeyError, match=r"lesson 06 has 06-1, 06-2, 06-3"):
        exercises.get("06-9")


def test_a_course_file_may_hold_an_abstract_exercise_for_others_to_build_on(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from gradlab.exercises import Exercise\n"
        "class Shared(Exercise, abstract=True):\n    kind = 'number'\n    hints = ('a', 'b', 'c')\n"
        "class First(Shared):\n    id = '95-1'\n    title = question = 'One'\n    names = ('x',)\n"
        "    stub = 'x = ...'\n    solution = 'x = 1'\n    also_right = wrong = ()\n    misconceptions = {}\n"
    )
    assert [exercise.id for exercise in exercises.load(file)] == ["95-1"]
