"""The course: exercises and predictions, and the words a lesson uses: check, hint, predict, reveal, progress."""

from gradlab.exercises._framework import Exercise, Prediction, Verdict, Wrong
from gradlab.exercises._progress import progress
from gradlab.exercises._registry import all_exercises as all
from gradlab.exercises._registry import all_predictions as predictions
from gradlab.exercises._registry import get, load
from gradlab.exercises._running import try_answer
from gradlab.exercises._speaking import check, hint, predict, reveal

__all__ = [
    "Exercise",
    "Prediction",
    "Verdict",
    "Wrong",
    "all",
    "check",
    "get",
    "hint",
    "load",
    "predict",
    "predictions",
    "progress",
    "reveal",
    "try_answer",
]
