"""What a learner is shown of an answer that is not right yet: the graph that it records."""

import warnings

import pytest

from gradlab import exercises
from gradlab.exercises._framework import Exercise
from gradlab.exercises._running import graph_of, run_source

pytest.importorskip("torch")
DRAWN = [exercise for exercise in exercises.all() if exercise.graph is not Exercise.graph]


def picture(exercise, source, status="failed"):
    namespace, problem = run_source(exercise, source)
    assert problem is None
    return graph_of(exercise, namespace, status, source)


@pytest.mark.parametrize("exercise", DRAWN, ids=lambda exercise: exercise.id)
def test_each_wrong_answer_is_drawn_without_a_warning(exercise):
    with warnings.catch_warnings(action="error"):
        for wrong in exercise.wrong:
            assert "data:image/svg+xml," in picture(exercise, wrong.source), wrong.source


@pytest.mark.parametrize(
    ("id", "seen"),
    [
        ("07-2", "Round"),
        ("08-2", "h changed"),  # what sigmoid saved was edited
        ("09-3", "(3, 3)"),  # a column minus a row is a square
        ("10-6", "no graph was recorded"),
    ],
)
def test_the_cell_as_it_was_given_shows_what_is_wrong_with_it(id, seen):
    exercise = exercises.get(id)
    assert seen in picture(exercise, exercise.stub, "not-yet")


def test_a_cell_that_is_not_written_yet_draws_nothing():
    exercise = exercises.get("09-1")
    assert picture(exercise, exercise.stub, "not-yet") == ""


def test_an_answer_that_raises_draws_nothing():
    assert picture(exercises.get("08-2"), "def layer(x, w):\n    raise SystemExit") == ""
