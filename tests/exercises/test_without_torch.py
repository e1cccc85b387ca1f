"""Without torch: exercises that need none still work, the others say what they need; nothing raises."""

from __future__ import annotations

import sys

import pytest

from gradlab import exercises


@pytest.fixture(autouse=True)
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)


def test_building_the_engine_needs_no_torch() -> None:
    for id in ("05-1", "05-2", "05-3", "05-4", "05-5", "03-1", "03-3", "03-4", "03-5", "08-4", "12-1"):
        exercise = exercises.get(id)
        source = exercise.solution
        assert exercises.try_answer(id, source).passed or "torch" in exercise.prelude, id


@pytest.mark.parametrize("id", ["01-1", "01-2", "06-3", "09-1"])
def test_the_others_say_what_is_missing(id: str) -> None:
    verdict = exercises.try_answer(id, exercises.get(id).solution)
    assert verdict.status == "error"
    assert "needs torch, which is not installed" in verdict.message
