"""A class, its notebooks and a grader for the tests of this room."""

import json
from pathlib import Path

import pytest

COURSE = Path(__file__).with_name("course.py")
SETUP = "import torch\nimport numpy as np\nfrom gradlab import check, draw, hint, predict, reveal"
RIGHT = {
    "91-1": "def tanh_back(g, x, out):\n    return g * (1 - out * out)",
    "91-2": "table = {'before': None, 'after': 6.0}",
    "91-3": "def both(a, b):\n    (a + b).backward()",
    "91-4": "def total(values):\n    return float(np.sum(values))",
}
POINTS = {"91-1": 2.0, "91-2": 3.0, "91-3": 2.0, "91-4": 2.0}


def code(source, exercise=None, **metadata):
    if exercise:
        metadata["gradlab"] = {"exercise": exercise}
    return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": [], "execution_count": None}


def notebook(*cells, **changes):
    book = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": list(cells)}
    return json.dumps({**book, **changes}).encode()


def answered(first=None, before=(), after=(), **others):
    """A notebook with the right answers, some replaced, and cells around them."""
    answers = {**RIGHT, **others}
    if first is not None:
        answers["91-1"] = first
    cells = [code(SETUP), *(code(source) for source in before)]
    cells += [code(source, id) for id, source in answers.items() if source is not None]
    return notebook(*cells, *(code(source) for source in after))


class Grader:
    """Grades bytes against the small course and says what came out."""

    def __init__(self):
        from gradlab.grading import Bundle

        self.bundle = Bundle.of(exercises=COURSE, seed=7, timeout=4.0)

    def __call__(self, *contents, student="ada", **limits):
        from dataclasses import replace

        from gradlab.grading import Notebook, Submission, grade

        books = tuple(
            content if isinstance(content, Notebook) else Notebook(f"{student}{i}.ipynb", content)
            for i, content in enumerate(contents)
        )
        return grade(replace(self.bundle, **limits), Submission(student, books))

    def statuses(self, *contents, **limits):
        return {outcome.id: outcome.status for outcome in self(*contents, **limits).exercises}


@pytest.fixture(scope="session")
def grader():
    return Grader()


@pytest.fixture(scope="session")
def tools():
    """The helpers above, for test modules."""
    from types import SimpleNamespace

    return SimpleNamespace(
        code=code, notebook=notebook, answered=answered, RIGHT=RIGHT, POINTS=POINTS, COURSE=COURSE, SETUP=SETUP
    )
