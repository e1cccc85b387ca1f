"""Three exercises without torch, for tests that start the grader many times: its import is most of a start."""

import numpy as np

from gradlab.exercises import Exercise, Verdict, Wrong


class _Sum:
    title = "A sum"
    question = "The sum of the values."
    hints = ("numpy", "It has a sum.", "np.su...")
    prelude = "import numpy as np"
    forbids = ("torch",)
    misconceptions = {"mean-is-sum": "That is the mean."}

    @staticmethod
    def inputs(rng):
        return {"values": rng.normal(size=5)}

    @staticmethod
    def judge(inputs, seen):
        if isinstance(seen, float) and np.isclose(seen, inputs["values"].sum()):
            return Verdict("passed", None, "Right.")
        return Verdict("failed", None, "Not the sum.")


class First(_Sum, Exercise):
    id = "92-1"
    names = ("first",)
    stub = "def first(values):\n    ..."
    solution = "def first(values):\n    return float(np.sum(values))"
    wrong = (Wrong("def first(values):\n    return float(np.mean(values))", "mean-is-sum"),)

    @staticmethod
    def probe(answer, inputs):
        return answer["first"](inputs["values"])


class Second(_Sum, Exercise):
    id = "92-2"
    names = ("second",)
    stub = "def second(values):\n    ..."
    solution = "def second(values):\n    return sum(float(value) for value in values)"
    wrong = (Wrong("def second(values):\n    return float(np.mean(values))", "mean-is-sum"),)

    @staticmethod
    def probe(answer, inputs):
        return answer["second"](inputs["values"])
