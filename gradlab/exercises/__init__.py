"""The course: exercises and predictions, and the words a lesson uses: check, hint, predict, reveal, progress."""

from gradlab.exercises._framework import Exercise, Prediction, Verdict, Wrong

__all__ = ["Exercise", "Prediction", "Verdict", "Wrong"]
