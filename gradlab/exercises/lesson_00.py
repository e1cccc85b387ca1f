"""Lesson 00, coming from an old tutorial: what Variable was, and what to write today."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradlab.exercises._framework import Exercise, Prediction, Verdict, Wrong
from gradlab.exercises._tables import TableExercise

PREDICTIONS = [
    Prediction(
        "00A",
        "`v = Variable(torch.ones(3))`. What is `type(v)` today?",
        {
            "Variable": "Since torch 0.4 (April 2018) there is no such type any more: the wrapper was merged into the tensor.",
            "torch.Tensor": "Yes: the wrapper of 2018 was merged into the tensor. The name is still there so that old code runs.",
        },
        shows="torch.Tensor",
    ),
    Prediction(
        "00C",
        "Which part of the old snippet fails first with today's torch on this machine (imports added)?",
        {
            "np.bool": "It was missing from numpy 1.24 to 1.26 and is back since 2.0, as numpy's own type. Not the problem.",
            ".cuda()": "On a machine without CUDA, yes, it is the first to fail. With CUDA the next one is waiting: a bool tensor cannot require a gradient.",
            "Variable(...)": "It fails as well, since a bool tensor cannot require a gradient; but on a machine without CUDA the line before it fails already.",
        },
        shows="raised",
    ),
    Prediction(
        "00B",
        "h was computed, so it has a history. What is `Variable(h).grad_fn`?",
        {
            "h's own grad_fn": "Variable gives a *detached* tensor: same numbers, same memory, no history. A gradient never gets past it.",
            "None": "Yes: a new tensor over the same memory, without history, exactly what `h.detach()` gives.",
            "an error": "It works, and it cuts: the result has no history.",
        },
        shows="None",
    ),
]


class Port(Exercise):
    id = "00-1"
    title = "Port the snippet"
    question = """
        Write `port(array, device)`: from a numpy array of truth values or integers, make a **leaf** on `device` that requires a gradient.
    """
    names = ("port",)
    hints = (
        "Two things were wrong in the old line: the dtype, and (on another machine) the order.",
        "Only floating point tensors can require a gradient. And whatever comes *after* `requires_grad` is an operation, whose result is no leaf.",
        "```python\n    return torch.from_numpy(array).to(device=device, dtype=____).____()\n```",
    )
    stub = """
        def port(array, device):
            "A leaf on device that requires a gradient, with the array's numbers."
            x = torch.from_numpy(array).to(device)
            return torch.autograd.Variable(x, requires_grad=True)
    """
    solution = "def port(array, device):\n    return torch.from_numpy(array).to(device=device, dtype=torch.float32).requires_grad_()"
    also_right = (
        "def port(array, device):\n    return torch.tensor(array, dtype=torch.float64, device=device, requires_grad=True)",
        "def port(array, device):\n    x = torch.from_numpy(array.astype(np.float32)).to(device)\n    return torch.autograd.Variable(x, requires_grad=True)",
    )
    wrong = (
        Wrong(
            "def port(array, device):\n    return torch.from_numpy(array).requires_grad_().to(device)",
            "any-tensor-can-have-a-grad",
        ),
        Wrong(
            "def port(array, device):\n    return torch.from_numpy(array).float().requires_grad_().to(device)",
            "gradient-goes-elsewhere",
        ),
        Wrong(
            "def port(array, device):\n    return torch.autograd.Variable(torch.from_numpy(array).float().to(device))",
            "a-variable-tracks-by-itself",
        ),
        Wrong(
            "def port(array, device):\n    return torch.from_numpy(array).float().requires_grad_()", "device-forgotten"
        ),
    )
    misconceptions = {
        "any-tensor-can-have-a-grad": "A gradient answers *what if this number were a little larger?* Truth values and integers cannot be a little larger: torch refuses. Convert to a floating point dtype first.",
        "gradient-goes-elsewhere": "You asked for the gradient first and moved afterwards. The move is an operation: what you return is its *result*, not a leaf, and the gradient will be stored in the tensor before the move, which nobody holds.",
        "a-variable-tracks-by-itself": "`Variable(t)` does not require a gradient unless you say so, and never did.",
        "device-forgotten": "The result is not on the device that was asked for.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """Truth values and integers."""
        return {"bools": rng.integers(0, 2, size=(1, 4)).astype(bool), "ints": rng.integers(-5, 5, size=3)}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """What comes back for two arrays and two devices ("meta" is a device that every machine has)."""
        found = []
        for name in ("bools", "ints"):
            for device in ("cpu", "meta"):
                try:
                    t = answer["port"](inputs[name].copy(), device)
                except RuntimeError as error:
                    if "floating point" not in str(error):
                        raise
                    return {"refused": True, "results": []}
                if not hasattr(t, "requires_grad"):
                    return {"refused": False, "results": [], "type": type(t).__name__}
                values = t.detach().double().numpy().copy() if t.device.type == "cpu" else None
                found.append(
                    {
                        "of": name,
                        "asked": device,
                        "device": t.device.type,
                        "leaf": bool(t.is_leaf),
                        "requires": bool(t.requires_grad),
                        "values": values,
                    }
                )
        return {"refused": False, "results": found}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """A leaf, on the device, with the numbers."""
        if seen["refused"]:
            return Port.fits(
                "any-tensor-can-have-a-grad",
                "torch said: `only Tensors of floating point and complex dtype can require gradients`.",
            )
        if not seen["results"]:
            return Port.not_right(f"`port` should return a tensor; it returned {seen['type']}.")
        for r in seen["results"]:
            if not r["requires"]:
                return Port.fits("a-variable-tracks-by-itself")
            if r["device"] != r["asked"]:
                return Port.fits("device-forgotten", f'Asked for "{r["asked"]}", got "{r["device"]}".')
            if not r["leaf"]:
                return Port.fits("gradient-goes-elsewhere")
            if r["values"] is not None and not (
                r["values"].shape == inputs[r["of"]].shape and np.allclose(r["values"], inputs[r["of"]])
            ):
                return Port.not_right("The numbers are not those of the array.")
        return Port.right("Right: convert and move first, ask for the gradient last.")


def _old_lines(
    evaluate: str = "    with torch.no_grad():\n        return model(x)",
    read: str = "    return loss.item()",
    move: str = "    return t.to(dtype).requires_grad_()",
    twice: str = "    y.backward(retain_graph=True)\n    y.backward()",
) -> str:
    return f"def evaluate(model, x):\n{evaluate}\n\ndef read(loss):\n{read}\n\ndef move(t, dtype):\n{move}\n\ndef twice(y):\n{twice}\n"


class OldLines(Exercise):
    id = "00-2"
    title = "Four old lines"
    question = """
        Four lines from tutorials of 2017. Rewrite each for today, so that it does what it was meant to do: `evaluate` gives a result **without** history,
        `read` a Python number, `move` a leaf of another dtype that requires a gradient (the `.cuda()` story, on any machine), `twice` two backwards.
    """
    names = ("evaluate", "read", "move", "twice")
    hints = (
        "Run each old line in a cell of its own inside `with reveal():` and read what torch says.",
        "volatile became `torch.no_grad()`, `.data[0]` became `.item()`, retain_variables became `retain_graph`, and the move comes before `requires_grad`.",
        "```python\ndef evaluate(model, x):\n    with ____:\n        return model(x)\n```",
    )
    stub = _old_lines(
        "    return model(torch.autograd.Variable(x, volatile=True))",
        "    return loss.data[0]",
        "    return torch.autograd.Variable(t, requires_grad=True).to(dtype)          # once: .cuda()",
        "    y.backward(retain_variables=True)\n    y.backward()",
    )
    solution = _old_lines()
    also_right = (
        _old_lines(
            "    return model(x).detach()",
            "    return float(loss)",
            "    return torch.autograd.Variable(t.to(dtype), requires_grad=True)",
            "    (y + y).backward()",
        ),
    )
    wrong = (
        Wrong(
            _old_lines(evaluate="    return model(torch.autograd.Variable(x, volatile=True))"), "volatile-does-nothing"
        ),
        Wrong(_old_lines(evaluate="    model.eval()\n    return model(x)"), "volatile-does-nothing"),
        Wrong(_old_lines(read="    return loss.data"), "data-is-a-tensor"),
        Wrong(
            _old_lines(move="    return torch.autograd.Variable(t, requires_grad=True).to(dtype)"),
            "gradient-goes-elsewhere",
        ),
        Wrong(_old_lines(twice="    y.backward()\n    y.backward()"), "second-needs-a-promise"),
        Wrong(_old_lines(twice="    y.backward(retain_variables=True)\n    y.backward()"), "old-word-kept"),
    )
    misconceptions = {
        "volatile-does-nothing": "`evaluate`: the result still has a history. The model's parameters require gradients, so everything computed from them is recorded, whatever you do to x (and `eval()` changes layers like dropout, not the recording).",
        "data-is-a-tensor": "`read`: what comes back is a tensor still (`.data` is one too). A plain Python number was asked for.",
        "gradient-goes-elsewhere": "`move`: `.to(dtype)` comes after requires_grad, so you return its result, which is no leaf. The gradient would be stored in a tensor that nobody holds.",
        "second-needs-a-promise": "`twice`: the first backward has freed what the second needs. The first call has to promise to keep it (lesson 06).",
        "old-word-kept": "There is an old word left that today's torch does not know.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """A few numbers."""
        return {"x": rng.normal(size=(1, 2)), "loss": float(rng.normal())}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """What each of the four does; the name of what it raises."""
        import warnings

        import torch

        def attempt(run: Any) -> Any:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    return run()
            except Exception as error:
                return {"raised": type(error).__name__, "text": str(error)[:120]}

        x = torch.tensor(inputs["x"], requires_grad=True)
        model = torch.nn.Linear(2, 1).double()

        def evaluate() -> Any:
            y = answer["evaluate"](model, x.detach())
            if not isinstance(y, torch.Tensor):
                return {"returned": type(y).__name__}
            return {"requires": bool(y.requires_grad), "near": bool(torch.allclose(y, model(x).detach()))}

        def read() -> Any:
            value = answer["read"](torch.tensor(inputs["loss"], dtype=torch.float64, requires_grad=True))
            if isinstance(value, torch.Tensor):
                return {"number": False}
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                return {"returned": type(value).__name__}
            return {"number": True, "near": bool(abs(float(value) - inputs["loss"]) < 1e-6)}

        def move() -> Any:
            dtypes = (torch.float64, torch.float16)
            moved = [answer["move"](torch.ones(2), dtype) for dtype in dtypes]
            for t in moved:
                if not isinstance(t, torch.Tensor):
                    return {"returned": type(t).__name__}
            return {
                "leaf": all(t.is_leaf for t in moved),
                "requires": all(t.requires_grad for t in moved),
                "dtypes": [t.dtype for t in moved] == list(dtypes),
            }

        def twice() -> Any:
            answer["twice"]((x * x).sum())
            return {"near": x.grad is not None and bool(torch.allclose(x.grad, 4 * x.detach()))}

        return {"evaluate": attempt(evaluate), "read": attempt(read), "move": attempt(move), "twice": attempt(twice)}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Each line by what it does."""
        for name, found in seen.items():
            if "raised" in found:
                if "second time" in found["text"]:
                    return OldLines.fits(
                        "second-needs-a-promise",
                        "Your `twice` raised `Trying to backward through the graph a second time`.",
                    )
                words = f"`{name}` raised `{found['raised']}: {found['text']}`."
                old = found["raised"] in ("TypeError", "IndexError") and (
                    "retain_variables" in found["text"] or "0-dim" in found["text"]
                )
                return OldLines.fits("old-word-kept", words) if old else OldLines.not_right(words)
            if "returned" in found:
                wanted = "a Python number" if name == "read" else "a tensor"
                returned = "None" if found["returned"] == "NoneType" else f"of type {found['returned']}"
                return OldLines.not_right(f"`{name}` should return {wanted}; what it returns is {returned}.")
        if seen["evaluate"]["requires"]:
            return OldLines.fits("volatile-does-nothing")
        if not seen["read"]["number"]:
            return OldLines.fits("data-is-a-tensor")
        if not seen["move"]["leaf"]:
            return OldLines.fits("gradient-goes-elsewhere")
        if not (seen["move"]["requires"] and seen["move"]["dtypes"]):
            return OldLines.not_right(
                "`move` should return a leaf that has the dtype asked for and requires a gradient."
            )
        if not (seen["evaluate"]["near"] and seen["read"]["near"]):
            return OldLines.not_right("`evaluate` or `read` gives another number than the old line meant.")
        if not seen["twice"]["near"]:
            return OldLines.not_right("`twice` should leave two backwards' worth of gradient.")
        return OldLines.right("All four are right.")


_VARIABLE = {
    "isinstance(t, Variable)": "isinstance(t, Variable)",
    "Variable(t) is t": "Variable(t) is t",
    "same memory as t": "Variable(t).data_ptr() == t.data_ptr()",
    "Variable(t).requires_grad": "Variable(t).requires_grad",
    "Variable(h).grad_fn is None": "Variable(h).grad_fn is None",
    "Variable(h).is_leaf": "Variable(h).is_leaf",
}


def _table(*values: object) -> str:
    return "variable = {\n" + "".join(f'    "{k}": {v},\n' for k, v in zip(_VARIABLE, values, strict=True)) + "}"


class WhatVariableIs(TableExercise):
    id = "00-3"
    title = "What is Variable today?"
    question = """
        `t = torch.ones(3)`; `x` is a leaf that requires a gradient and `h = x * 2`. Write `True` or `False` in each place.
    """
    names = ("variable",)
    hints = (
        "Each line can be tried in a cell. Guess first.",
        "Variable(t) makes a new tensor object over the same memory, without history; every tensor counts as an instance of it.",
        '```python\n"Variable(t) is t": ____,          # a new object?\n"same memory as t": True,\n```',
    )
    stub = _table(*["..."] * 6)
    solution = _table(True, False, True, False, True, True)
    wrong = (
        Wrong(_table(False, False, True, False, True, True), "variable-is-a-type"),
        Wrong(_table(True, True, True, False, True, True), "variable-does-nothing"),
        Wrong(_table(True, False, False, False, True, True), "variable-copies"),
        Wrong(_table(True, False, True, True, True, True), "variable-requires-grad"),
        Wrong(_table(True, False, True, False, False, False), "variable-keeps-history"),
    )
    misconceptions = {
        "variable-is-a-type": "there is one type left, torch.Tensor, and `isinstance(..., Variable)` says True for every tensor.",
        "variable-does-nothing": "it is not the identity: you get a new tensor object.",
        "variable-copies": "the object is new, the memory is not: no number is copied.",
        "variable-requires-grad": "it does not require a gradient unless you ask with `requires_grad=True`.",
        "variable-keeps-history": "the new object starts without history: it is a leaf, with grad_fn None, as `h.detach()` would be.",
    }

    @classmethod
    def truth(cls) -> dict[str, Any]:
        """Each expression, evaluated."""
        import torch

        x = torch.ones(3, requires_grad=True)
        names = {"Variable": torch.autograd.Variable, "t": torch.ones(3), "h": x * 2}
        return {key: bool(eval(expression, names)) for key, expression in _VARIABLE.items()}

    @classmethod
    def word(cls, key: str, given: Any, true: Any) -> str | None:
        """Each line has its own misunderstanding."""
        if not isinstance(given, bool):
            return None
        words = (
            "variable-is-a-type",
            "variable-does-nothing",
            "variable-copies",
            "variable-requires-grad",
            "variable-keeps-history",
            "variable-keeps-history",
        )
        return words[list(_VARIABLE).index(key)]
