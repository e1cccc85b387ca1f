"""The words of a lesson, outside a notebook: check, hint, predict, reveal and progress print text and never raise."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from gradlab import exercises
from gradlab.exercises import check, hint, predict, progress, reveal

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gradlab.exercises._progress._memory", {})


def test_check_of_an_undefined_name_is_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    check("06-3")
    assert "There is no `both` yet" in capsys.readouterr().out


def test_check_judges_the_answer_in_the_callers_globals(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "both", lambda a, b: a.backward())
    check("06-3")
    assert "one of the losses only" in capsys.readouterr().out
    monkeypatch.setitem(globals(), "both", lambda a, b: (a + b).backward())
    check("06-3")
    assert "06-3 right" in capsys.readouterr().out


def test_check_says_which_kind_of_answer_is_wanted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "both", 3)
    check("06-3")
    assert "`both` should be a function; it is of type int" in capsys.readouterr().out


@pytest.mark.parametrize("word", [check, hint])
def test_a_wrong_exercise_id_is_a_message(word: object, capsys: pytest.CaptureFixture[str]) -> None:
    word("99-9")  # type: ignore[operator]
    assert "there is no exercise '99-9'" in capsys.readouterr().out


def test_hints_come_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    for level in (1, 2, 3):
        hint("06-3", level)
        assert exercises.get("06-3").hints[level - 1] in capsys.readouterr().out
    hint("06-3", 4)
    assert "There are hints 1, 2 and 3, not 4" in capsys.readouterr().out


def test_a_question_mark_shows_the_question_and_its_choices(capsys: pytest.CaptureFixture[str]) -> None:
    predict("06A", "?")
    out = capsys.readouterr().out
    assert "1. raises" in out
    assert "3. works, x.grad is 2" in out


def test_the_first_guess_counts(capsys: pytest.CaptureFixture[str]) -> None:
    predict("06A", "raises")
    predict("06A", 3)
    assert "Your first guess stays: `raises`" in capsys.readouterr().out
    reveal("06A", 2)
    out = capsys.readouterr().out
    assert "you said: raises" in out
    assert "it is:    2" in out


def test_a_guess_that_is_no_choice_is_not_kept(capsys: pytest.CaptureFixture[str]) -> None:
    predict("06A", "maybe")
    assert "`maybe` is none of the choices" in capsys.readouterr().out
    reveal("06A", 2)
    assert "you said: nothing" in capsys.readouterr().out


def test_reveal_shows_an_error_and_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    with reveal():
        print("before")
        raise RuntimeError("Trying to backward through the graph a second time")
    out = capsys.readouterr().out
    assert "before" in out
    assert "raised  RuntimeError: Trying to backward" in out


def test_reveal_shows_a_warning_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        with reveal():
            warnings.warn("look", UserWarning, stacklevel=1)
        assert "warned  UserWarning: look" in capsys.readouterr().out


def test_reveal_lets_the_stop_button_through() -> None:
    with pytest.raises(KeyboardInterrupt), reveal():
        raise KeyboardInterrupt


def test_reveal_says_what_to_do_about_a_missing_name(capsys: pytest.CaptureFixture[str]) -> None:
    with reveal():
        not_there  # noqa: B018, F821
    assert "run the cells above" in capsys.readouterr().out


def test_progress_is_one_small_file_next_to_the_notebooks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    predict("06A", "raises")
    monkeypatch.setitem(globals(), "both", lambda a, b: (a + b).backward())
    check("06-3")
    kept = json.loads((tmp_path / "gradlab-progress.json").read_text())
    assert kept == {"predictions": {"06A": "raises"}, "solved": {"06-3": True}}
    progress()
    assert "1 of 4 exercises" in capsys.readouterr().out


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"predictions": 3}'])
def test_a_damaged_progress_file_is_started_anew(
    damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gradlab-progress.json").write_text(damage)
    progress()
    predict("06A", 1)
    assert json.loads((tmp_path / "gradlab-progress.json").read_text())["predictions"] == {"06A": "raises"}


def test_a_folder_that_cannot_be_written_is_no_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "write_text", refuse)
    predict("06A", 1)
    reveal("06A", 2)
    assert "you said: raises" in capsys.readouterr().out
