"""What a table says of a wrong cell points at the thought: the right word or number is for the learner to find."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gradlab import exercises
from gradlab.exercises._tables import TableExercise

torch = pytest.importorskip("torch")

TABLES = [exercise for exercise in exercises.all() if issubclass(exercise, TableExercise)]


def says(text: str, true: Any) -> bool:
    """True where a word of the text is the answer. True, False and None are in half of all sentences about torch."""
    if isinstance(true, str):
        words = {true, "raise"} if true == "raises" else {true}
        return any(re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE) for word in words)
    if isinstance(true, float):
        return any(float(number) == true for number in re.findall(r"\d+(?:\.\d+)?", text))
    return False


@pytest.mark.parametrize("exercise", TABLES, ids=lambda exercise: exercise.id)
def test_the_word_for_a_wrong_cell_does_not_say_the_right_one(exercise: type[TableExercise]) -> None:
    truth = exercise.truth()
    said = []
    for wrong in exercise.wrong:
        namespace: dict[str, Any] = {"torch": torch}
        exec(wrong.source, namespace)
        for key, word in exercise._wrong_cells(namespace[exercise.names[0]]).items():
            if word is not None and says(exercise.misconceptions[word], truth[key]):
                said.append((key, truth[key], exercise.misconceptions[word]))
    assert said == []
