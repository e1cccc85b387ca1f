"""What a student is told of a verdict of the course's own exercises, and how long an answer may take."""

from gradlab import exercises
from gradlab.exercises import Verdict
from gradlab.grading import judge
from gradlab.grading.judge import judge_for


def told(id, verdict):
    return judge._told(exercises.get(id), verdict)


def test_a_table_says_which_cells_are_wrong():
    exercise = exercises.get("12-3")
    truth = exercise.truth()
    verdict = exercise.judge({}, {**truth, "C": [6, "graph kept"]})
    assert told("12-3", verdict).endswith("`C`: this line is as it should be.")


def test_the_example_of_a_misconception_is_not_told():
    exercise = exercises.get("03-2")
    assert (
        told("03-2", exercise.fits("forgot-incoming", "With g = 3.21.")) == exercise.misconceptions["forgot-incoming"]
    )


def test_numbers_in_an_error_are_not_told_and_no_wrong_result_is_claimed():
    message = told("06-4", Verdict("error", None, "Your loop raised `a Tensor with 3 elements`."))
    assert message.startswith("It raised for inputs")


def test_an_answer_has_the_time_that_its_question_promises():
    seconds = {entry["id"]: entry["promised_seconds"] for entry in judge_for("").catalog()}
    assert seconds["12-5"] == exercises.get("12-5").seconds == 60.0
    assert seconds["06-3"] == 0.0
