"""Lesson 08, in-place edits and version counters."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradlab.exercises._framework import Exercise, Prediction, Verdict, Wrong
from gradlab.exercises._tables import TableExercise

PREDICTIONS = [
    Prediction(
        "08A",
        "`h = w.exp()`, then `h += 1`, then backward. What happens?",
        {
            "works": "exp saved its *result*, and `h += 1` wrote into exactly that memory. Backward would compute with the wrong numbers, so it refuses.",
            "raises at h += 1": "The edit itself is allowed: nobody knows yet whether somebody will need the old numbers. It comes out at backward.",
            "raises at backward": "Yes: exp needs its result, finds another version of it, and refuses, at backward, far from the line that did it.",
        },
        shows="modified by an inplace operation",
    ),
    Prediction(
        "08B",
        "The same with `h = w * 2`: `h += 1`, then backward. What happens?",
        {
            "works": "Yes: the slope of `w * 2` is 2. Nothing of h was saved, so nothing saved was touched.",
            "raises at backward": "It depends on whether the edited memory was *saved*. The slope of `w * 2` is 2: h was not needed.",
        },
        shows="2.",
    ),
    Prediction(
        "08C",
        "`x = torch.zeros(4)`, `v = x[2:]`, `v += 1`. What is `x._version`?",
        {
            "0": "v is a window onto x's memory: writing through v is writing into x, and both share one counter.",
            "1": "Yes: one memory, one counter, whoever writes.",
        },
        shows="1",
    ),
]

_EDITS = {
    "h = w.exp();  h += 1;  h.sum().backward()": True,
    "h = w * 2;  h += 1;  h.sum().backward()": False,
    "h = w * 1;  y = h * h;  h += 1;  y.sum().backward()": True,
    "h = w * 1;  y = h + h;  h += 1;  y.sum().backward()": False,
    "h = w * 1;  y = h.sin();  h[0] = 7;  y.sum().backward()": True,
    "h = w * 1;  y = h.exp();  h += 1;  y.sum().backward()": False,
    "h = w * 1;  y = h.sin();  h = h + 1;  y.sum().backward()": False,
    "w += 1": True,
}


def _table(*values: object) -> str:
    return "raises = {\n" + "".join(f'    "{k}": {v},\n' for k, v in zip(_EDITS, values, strict=True)) + "}"


class EightEdits(TableExercise):
    id = "08-1"
    title = "Eight edits"
    question = (
        "`w` is a leaf that requires a gradient. Which of the eight raise an error, sooner or later? `True` or `False`."
    )
    names = ("raises",)
    hints = (
        "For each edit: was the *old* content of that memory saved by somebody? (Table in lesson 06: input, result, both, nothing.)",
        "exp saves its result, sin and * their inputs, + saves nothing. `h = h + 1` writes nowhere: it makes a new tensor. And a leaf that requires a gradient must not be edited while recording.",
        '```python\n"h = w * 1;  y = h.exp();  h += 1; ...": ____,   # exp saved y, and h was edited\n```',
    )
    stub = _table(*["..."] * 8)
    solution = _table(True, False, True, False, True, False, False, True)
    wrong = (
        Wrong(_table(True, True, True, True, True, True, False, True), "every-edit-is-forbidden"),
        Wrong(_table(False, False, False, False, False, False, False, True), "edits-are-harmless"),
        Wrong(_table(True, False, True, False, True, False, False, False), "leaves-may-be-edited"),
        Wrong(_table(True, False, True, False, True, False, True, True), "a-new-tensor-is-an-edit"),
    )
    misconceptions = {
        "every-edit-is-forbidden": "what was edited here had not been saved by anybody who runs in backward: additions save nothing, `w * 2` needs only the 2, and exp keeps its *result*, not its input.",
        "edits-are-harmless": "the edited memory had been saved: backward would compute with wrong numbers, so it refuses.",
        "leaves-may-be-edited": "a leaf that requires a gradient cannot be edited in place while recording: its old value would be part of the graph and gone.",
        "a-new-tensor-is-an-edit": "`h = h + 1` makes a new tensor and moves the *name*. The old memory is untouched.",
    }

    @classmethod
    def truth(cls) -> dict[str, Any]:
        """Each program, run."""
        import torch

        found = {}
        for program in _EDITS:
            try:
                exec(program, {"w": torch.ones(2, requires_grad=True)})
                found[program] = False
            except RuntimeError:
                found[program] = True
        return found

    @classmethod
    def word(cls, key: str, given: Any, true: Any) -> str | None:
        """Which misunderstanding a wrong cell shows."""
        if not isinstance(given, bool):
            return None
        if key == "w += 1":
            return "leaves-may-be-edited"
        if "h = h + 1" in key:
            return "a-new-tensor-is-an-edit"
        return "edits-are-harmless" if true else "every-edit-is-forbidden"


_LAYER = """
def layer(x, w):
    h = torch.sigmoid(x @ w)
    {line}
    return h
"""


class SmallestRepair(Exercise):
    id = "08-2"
    title = "The smallest repair"
    question = """
        `layer` squashes its sums and then adds x to the result ("residual connection"). Its backward raises. Change **one line** so that it works, with the same values. (It must not change x
        either: the caller still needs it.)
    """
    names = ("layer",)
    hints = (
        "What did sigmoid save, and who writes into it?",
        "`h += x` writes into h's memory. `h = h + x` makes new memory and leaves the old to sigmoid.",
        "```python\n    h = h ____ x\n```",
    )
    stub = _LAYER.format(line="h += x")
    solution = _LAYER.format(line="h = h + x")
    also_right = (_LAYER.format(line="h = torch.add(h, x)"), _LAYER.format(line="h = h.clone().add_(x)"))
    wrong = (
        Wrong(_LAYER.format(line="h.data += x"), "hides-the-edit"),
        Wrong(_LAYER.format(line="h = h.detach() + x"), "cuts-instead"),
        Wrong(_LAYER.format(line="with torch.no_grad():\n        h += x"), "no-grad-is-no-edit"),
        Wrong(_LAYER.format(line="h = x.add_(h)"), "edits-the-other-one"),
        Wrong(_LAYER.format(line="h.add_(x)"), "same-edit-other-name"),
    )
    misconceptions = {
        "hides-the-edit": "No error, and a wrong gradient: `.data` only hid the edit. sigmoid still computes its slope from the memory that you wrote into.",
        "cuts-instead": "No error, but w gets no gradient any more: you cut the graph instead of leaving the saved memory alone.",
        "no-grad-is-no-edit": "`no_grad` stops recording, but the memory is edited all the same, and the counter says so at backward.",
        "edits-the-other-one": "Now it is x that is overwritten: it belongs to the caller, and `x @ w` had saved it.",
        "same-edit-other-name": "`h.add_(x)` is what `h += x` does.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """A row and a square weight."""
        return {"x": rng.normal(size=(2, 3)), "w": rng.normal(size=(3, 3))}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """Value and gradient, and whether x was changed."""
        import numpy as np
        import torch

        x, w = torch.tensor(inputs["x"]), torch.tensor(inputs["w"], requires_grad=True)
        out = answer["layer"](x, w)
        if not isinstance(out, torch.Tensor):
            return None
        found = {
            "value": out.detach().numpy().copy(),
            "changed": bool(not np.array_equal(x.detach().numpy(), inputs["x"])),
            "grad": None,
            "raised": False,
            "node": out.grad_fn.name() if out.grad_fn else "",
        }
        if out.requires_grad:
            try:
                out.sum().backward()
            except RuntimeError:
                found["raised"] = True
            found["grad"] = None if w.grad is None else w.grad.numpy().copy()
        return found

    @staticmethod
    def graph(answer: dict[str, Any]) -> dict[str, Any]:
        """What the answer records on small numbers."""
        import torch

        x, w = torch.ones(1, 2), torch.ones(2, 2, requires_grad=True)
        return {"h": answer["layer"](x, w), "x": x, "w": w}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Value and gradient of the untouched computation."""
        if seen is None:
            return SmallestRepair.not_right("`layer` should return h.")
        x, w = inputs["x"], inputs["w"]
        s = 1 / (1 + np.exp(-x @ w))
        if seen["changed"]:
            return SmallestRepair.fits("edits-the-other-one")
        if seen["value"].shape != s.shape or not np.allclose(seen["value"], s + x):
            return SmallestRepair.not_right("The values have changed: they should be sigmoid(x @ w) + x.")
        if seen["raised"]:
            return SmallestRepair.fits(
                "no-grad-is-no-edit" if seen["node"].startswith("Sigmoid") else "same-edit-other-name",
                "Backward raised `... modified by an inplace operation`.",
            )
        if seen["grad"] is None:
            return SmallestRepair.fits("cuts-instead")
        true = x.T @ (s * (1 - s))
        return (
            SmallestRepair.right()
            if np.allclose(seen["grad"], true)
            else SmallestRepair.fits(
                "hides-the-edit",
                f"The first entry of w.grad should be {true[0, 0]:.4f}; it is {seen['grad'][0, 0]:.4f}.",
            )
        )


class UpdateStep(Exercise):
    id = "08-3"
    title = "An update without an error"
    seconds = 60.0  # the first optimizer of a session takes torch some seconds
    question = """
        Write `update(w, lr)`: move the leaf w by `-lr * w.grad`. It has to be **the same tensor object** afterwards, still a leaf that requires a gradient, with its memory in the same place (others
        hold views of it), and edits must stay visible to torch's counter.
    """
    names = ("update",)
    hints = (
        "`w -= lr * w.grad` is refused because it would be recorded. What switches the recording off?",
        "In place, inside `torch.no_grad()`. Neither a new tensor nor `.data`.",
        "```python\n    with torch.____():\n        w -= lr * w.grad\n```",
    )
    stub = """
        def update(w, lr):
            w -= lr * w.grad
    """
    solution = "def update(w, lr):\n    with torch.no_grad():\n        w -= lr * w.grad"
    also_right = (
        "@torch.no_grad()\ndef update(w, lr):\n    w.sub_(w.grad, alpha=lr)",
        "def update(w, lr):\n    w.detach().sub_(lr * w.grad)",
        "def update(w, lr):\n    torch.optim.SGD([w], lr=lr).step()",
    )
    wrong = (
        Wrong("def update(w, lr):\n    w = w - lr * w.grad\n    return w", "only-the-name-moved"),
        Wrong("def update(w, lr):\n    w.data = w.data - lr * w.grad", "other-memory"),
        Wrong("def update(w, lr):\n    w.data -= lr * w.grad", "unseen-edit"),
        Wrong("def update(w, lr):\n    w.requires_grad_(False)\n    w -= lr * w.grad", "never-asks-again"),
        Wrong("def update(w, lr):\n    with torch.no_grad():\n        w += lr * w.grad", "uphill"),
    )
    misconceptions = {
        "only-the-name-moved": "Inside your function the *name* w means a new tensor. The caller's w has not moved.",
        "other-memory": "w's numbers are right but they lie in *other memory*: who held a view of w now holds the old numbers (and torch's counter has not moved).",
        "unseen-edit": "The numbers are right, and torch does not know: `w._version` has not moved. If something had saved w, its gradient would be wrong in silence.",
        "never-asks-again": "w moved, but it does not require a gradient any more: this was its last step.",
        "uphill": "w moved in the direction of the gradient: the loss grows. Down is minus.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """A weight and the length of a step."""
        return {"w": rng.normal(size=3) + 2, "lr": float(rng.uniform(0.05, 0.15))}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The weight's state afterwards."""
        import torch

        w = torch.tensor(inputs["w"], requires_grad=True)
        window = w.detach()[1:]
        (w * w).sum().backward()
        version = w._version
        answer["update"](w, inputs["lr"])
        return {
            "w": w.detach().numpy().copy(),
            "window": window.numpy().copy(),
            "requires": bool(w.requires_grad),
            "leaf": bool(w.is_leaf),
            "seen": bool(w._version > version),
        }

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Moved, in place, and seen."""
        w, lr, moved = inputs["w"], inputs["lr"], seen["w"]
        true = (1 - 2 * lr) * w
        if np.allclose(moved, w):
            return UpdateStep.fits("only-the-name-moved")
        if np.allclose(moved, (1 + 2 * lr) * w):
            return UpdateStep.fits("uphill")
        if not np.allclose(moved, true):
            return UpdateStep.not_right(
                f"w was {w[0]:.3f}, its gradient {2 * w[0]:.3f}, lr {lr:.3f}: it should be {true[0]:.3f} and is {moved[0]:.3f}."
            )
        if not (seen["requires"] and seen["leaf"]):
            return UpdateStep.fits("never-asks-again")
        if not np.allclose(seen["window"], moved[1:]):
            return UpdateStep.fits("other-memory")
        return (
            UpdateStep.right("Right: same object, same memory, and the edit is on the record.")
            if seen["seen"]
            else UpdateStep.fits("unseen-edit")
        )


_SAVED = """
class Memory:
    "Numbers with a counter of edits."
    def __init__(self, numbers):
        self.numbers, self.version = list(numbers), 0
    def write(self, place, number):
        self.numbers[place] = number
        self.version += 1

class Saved:
    "What a node keeps of a Memory until backward."
    def __init__(self, memory):
        {init}
    def get(self):
        {get}
"""


class VersionCheck(Exercise):
    id = "08-4"
    title = "A version check of your own"
    core = False
    points = 2
    question = """
        Give a small engine the check that torch has. `Saved(memory)` is made when a node saves; `saved.get()` is called in backward: it returns the memory's numbers, or raises a `RuntimeError` if
        they were edited **since they were saved**. It must not copy the numbers (that would double the memory of every network).
    """
    names = ("Saved", "Memory")
    prelude = "import math\nimport numpy as np"
    hints = (
        "What has to be remembered at the moment of saving, besides the memory itself?",
        "The counter's value at that moment. At `get`, compare it with the counter now.",
        '```python\n    def get(self):\n        if self.memory.version != ____:\n            raise RuntimeError("modified by an inplace operation")\n        return self.memory.numbers\n```',
    )
    stub = _SAVED.format(init="self.memory = memory", get="return self.memory.numbers")
    solution = _SAVED.format(
        init="self.memory, self.version = memory, memory.version",
        get='if self.memory.version != self.version:\n            raise RuntimeError("modified by an inplace operation since it was saved")\n        return self.memory.numbers',
    )
    wrong = (
        Wrong(
            _SAVED.format(
                init="self.memory = memory",
                get='if self.memory.version != 0:\n            raise RuntimeError("edited")\n        return self.memory.numbers',
            ),
            "edited-ever",
        ),
        Wrong(_SAVED.format(init="self.numbers = list(memory.numbers)", get="return self.numbers"), "saves-a-copy"),
        Wrong(
            _SAVED.format(
                init="self.memory, self.old = memory, memory.numbers",
                get='if self.old != self.memory.numbers:\n            raise RuntimeError("edited")\n        return self.memory.numbers',
            ),
            "compares-with-itself",
        ),
        Wrong(
            _SAVED.format(
                init="self.memory, self.version = memory, memory.version",
                get="assert self.memory.version == self.version\n        return self.memory.numbers",
            ),
            "assert-is-no-error-message",
        ),
        Wrong(
            _SAVED.format(
                init="self.memory, self.old = memory, list(memory.numbers)",
                get='if self.old != self.memory.numbers:\n            raise RuntimeError("edited")\n        return self.memory.numbers',
            ),
            "compares-numbers",
        ),
    )
    misconceptions = {
        "edited-ever": "Edits *before* the saving are harmless: what counts is whether anything happened since.",
        "saves-a-copy": "That is safe, and it doubles the memory of every network. Remember a number instead: the counter.",
        "compares-with-itself": "The edit went unnoticed. If what you remembered is the memory's own list, it changed together with the memory, and the two are always equal.",
        "assert-is-no-error-message": "An `assert` vanishes under `python -O` and tells the user nothing. Raise a RuntimeError that says what happened.",
        "compares-numbers": "Writing the number that is there already is an edit too, and it went unnoticed. Comparing numbers needs a copy of all of them; comparing two counters needs none.",
    }

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """get() without an edit, after an earlier edit, after a later one, and after one that changes no number."""

        def attempt(before: bool, after: bool, number: float = 9.0) -> Any:
            memory = answer["Memory"]([1.0, 2.0])
            if before:
                memory.write(0, 5.0)
            saved = answer["Saved"](memory)
            if after:
                memory.write(1, number)
            try:
                got = saved.get()
            except RuntimeError:
                return "RuntimeError"
            except AssertionError:
                return "AssertionError"
            if got is memory.numbers:
                return "same"
            return "copy" if isinstance(got, (list, tuple)) else "other"

        return {
            "untouched": attempt(False, False),
            "before": attempt(True, False),
            "after": attempt(False, True),
            "rewritten": attempt(False, True, 2.0),
        }

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Only a later edit raises."""
        if "AssertionError" in seen.values():
            return VersionCheck.fits("assert-is-no-error-message")
        if "other" in seen.values():
            return VersionCheck.not_right(
                "`get` should return the memory's numbers, or raise; it returned something else."
            )
        if "copy" in (seen["untouched"], seen["after"]):
            return VersionCheck.fits("saves-a-copy")
        if seen["untouched"] != "same":
            return VersionCheck.not_right("It raises although nothing was edited.")
        if seen["after"] != "RuntimeError":
            return VersionCheck.fits("compares-with-itself")
        if seen["rewritten"] != "RuntimeError":
            return VersionCheck.fits("compares-numbers")
        return VersionCheck.right() if seen["before"] == "same" else VersionCheck.fits("edited-ever")
