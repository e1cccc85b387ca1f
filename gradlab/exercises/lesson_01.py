"""Lesson 01, three attributes: .grad, .data and .grad_fn before and after backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradlab.exercises._framework import Exercise, Prediction, Verdict, Wrong
from gradlab.exercises._tables import TableExercise

PREDICTIONS = [
    Prediction(
        "01A",
        "Nothing has run backward yet. What is `x.grad` now?",
        {
            "0": "0 would mean: a gradient was computed, and it came out as zero. Nothing has been computed. The word for "
            "that is None.",
            "None": "Yes: nothing has been put there, and None says so.",
            "an error": "Reading it is allowed at any time; before backward there is just nothing in it.",
        },
        shows="None",
    ),
    Prediction(
        "01B",
        "`y = 3·x·x` and x is 2. After `y.backward()`, what is in `x.grad` and in `h.grad`?",
        {
            "x 12, h 3": "12 is right. 3 did flow through h on its way, but torch did not store it there.",
            "x 12, h None": "Yes. dy/dx = 3·2x = 12 is stored in x. The 3 flowed through h and was not stored.",
            "x 3, h 3": "3 is the slope of the last step only. On its way to x it is multiplied by the slope of x·x, which is 4.",
        },
        shows="None",
    ),
    Prediction(
        "01D",
        "`y.grad_fn` is a node called MulBackward0. What is `x.grad_fn`?",
        {
            "None": "Yes: grad_fn names the operation that made a tensor, and no operation made x. You did.",
            "AccumulateGrad": "There is such a node, and it fills x.grad; but it belongs to the graph below x's users, not to x.",
            "MulBackward0": "That node made h out of x. x itself was not made by any operation.",
        },
        shows="None",
    ),
    Prediction(
        "01C",
        "`d = t.data`, then `d[0] = 7`. What is `t[0]` afterwards?",
        {
            "1": "d is a new object, but not new memory: what you write into d, t shows as well.",
            "7": "Yes: two objects, one memory.",
            "an error": "torch does not object. `.data` is the way around its checks, which is why it is dangerous (lesson 07).",
        },
        shows="7",
    ),
]


class NineCells(TableExercise):
    id = "01-1"
    title = "Nine cells"
    question = """
        Fill in the table for the program above it: who has a `grad_fn`, and what is in `.grad` **before** and **after**
        `y.backward()`? Write `None`, a number, or the name of a node in quotes. Do it without running the program.
    """
    names = ("table",)
    hints = (
        "Look at the strip above: which of the three tensors was made by you, and which by an operation?",
        "grad_fn: the operation that made the tensor. .grad: None until something is stored, and backward stores into leaves only.",
        '```python\n"x.grad_fn": None, "h.grad_fn": "MulBackward0", "x.grad before": None, "x.grad after": 2 * h * __,\n```',
    )
    stub = """
        x = torch.tensor(1.0, requires_grad=True)
        h = x * 4
        y = h ** 2
        table = {                     # None, a number, or the name of a node in quotes
            "x.grad_fn": ...,      "h.grad_fn": ...,      "y.grad_fn": ...,
            "x.grad before": ...,  "h.grad before": ...,  "y.grad before": ...,
            "x.grad after": ...,   "h.grad after": ...,   "y.grad after": ...,
        }
    """
    solution = """
        table = {
            "x.grad_fn": None,      "h.grad_fn": "MulBackward0",  "y.grad_fn": "PowBackward0",
            "x.grad before": None,  "h.grad before": None,        "y.grad before": None,
            "x.grad after": 32.0,   "h.grad after": None,         "y.grad after": None,
        }
    """
    also_right = (
        """
        x = torch.tensor(1.0, requires_grad=True); h = x * 4; y = h ** 2
        import warnings; warnings.simplefilter("ignore")
        table = {"x.grad_fn": x.grad_fn, "h.grad_fn": h.grad_fn, "y.grad_fn": y.grad_fn.name(),
                 "x.grad before": "None", "h.grad before": None, "y.grad before": y.grad}
        y.backward()
        table |= {"x.grad after": x.grad, "h.grad after": h.grad, "y.grad after": None}
        """,
    )
    wrong = (
        Wrong(
            'table = {"x.grad_fn": None, "h.grad_fn": "MulBackward0", "y.grad_fn": "PowBackward0", "x.grad before": 0, '
            '"h.grad before": 0, "y.grad before": 0, "x.grad after": 32.0, "h.grad after": None, "y.grad after": None}',
            "grad-starts-at-zero",
        ),
        Wrong(
            'table = {"x.grad_fn": "AccumulateGrad", "h.grad_fn": "MulBackward0", "y.grad_fn": "PowBackward0", '
            '"x.grad before": None, "h.grad before": None, "y.grad before": None, "x.grad after": 32.0, '
            '"h.grad after": None, "y.grad after": None}',
            "leaf-has-grad_fn",
        ),
        Wrong(
            'table = {"x.grad_fn": None, "h.grad_fn": "MulBackward0", "y.grad_fn": "PowBackward0", "x.grad before": None, '
            '"h.grad before": None, "y.grad before": None, "x.grad after": 32.0, "h.grad after": 8.0, "y.grad after": 1.0}',
            "inner-grads-are-kept",
        ),
        Wrong(
            'table = {"x.grad_fn": None, "h.grad_fn": 4.0, "y.grad_fn": 8.0, "x.grad before": None, "h.grad before": None, '
            '"y.grad before": None, "x.grad after": 32.0, "h.grad after": None, "y.grad after": None}',
            "grad_fn-is-the-gradient",
        ),
        Wrong(
            'table = {"x.grad_fn": None, "h.grad_fn": "MulBackward0", "y.grad_fn": "PowBackward0", "x.grad before": None, '
            '"h.grad before": None, "y.grad before": None, "x.grad after": 8.0, "h.grad after": None, "y.grad after": None}',
            "one-step-only",
        ),
    )
    misconceptions = {
        "grad-starts-at-zero": "`.grad` does not start at zero. None says *nothing was ever stored here*; 0 says *something was, "
        "and it came out as zero*. Try `x.grad + 1` before backward.",
        "leaf-has-grad_fn": "x was made by you and not by an operation, so its grad_fn is None. AccumulateGrad is the node that "
        "*fills* x.grad; you find it in `h.grad_fn.next_functions`, not in `x.grad_fn`.",
        "inner-grads-are-kept": "that number does flow through, but it is not stored: only leaves keep `.grad`. "
        "`h.retain_grad()` before backward would keep it.",
        "grad_fn-is-the-gradient": "`grad_fn` holds no number. It is the node of the operation that made the tensor, and it knows "
        "*how* to compute gradients.",
        "one-step-only": "that is the slope of one step. From y back to x there are two steps, and their slopes are multiplied: "
        "2·h for `h ** 2`, and 4 for `x * 4`.",
    }

    @classmethod
    def truth(cls) -> dict[str, Any]:
        """What torch shows."""
        import warnings

        import torch

        x = torch.tensor(1.0, requires_grad=True)
        h = x * 4
        y = h**2
        tensors = {"x": x, "h": h, "y": y}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = {f"{name}.grad_fn": t.grad_fn and t.grad_fn.name() for name, t in tensors.items()}
            found |= {f"{name}.grad before": t.grad and t.grad.item() for name, t in tensors.items()}
            y.backward()
            return found | {
                f"{name}.grad after": None if t.grad is None else t.grad.item() for name, t in tensors.items()
            }

    @classmethod
    def word(cls, key: str, given: Any, true: Any) -> str | None:
        """Which misunderstanding a wrong cell shows."""
        number = isinstance(given, (int, float)) and not isinstance(given, bool)
        if "grad_fn" in key:
            if number:
                return "grad_fn-is-the-gradient"
            return "leaf-has-grad_fn" if key == "x.grad_fn" else None
        if "before" in key:
            return "grad-starts-at-zero" if number else None
        if key == "x.grad after":
            return "one-step-only" if number and given in (2, 4, 8) else None
        return "inner-grads-are-kept" if number else None


class SameMemory(Exercise):
    id = "01-2"
    title = "One memory or two?"
    question = """
        Write `same_memory(a, b)`: True if what is written into `a` can be seen in `b`, else False. It must not change
        either of them.
    """
    names = ("same_memory",)
    hints = (
        "`a is b` asks about the Python objects. The numbers live somewhere else: where?",
        "A tensor looks into a *storage*, possibly from a later starting point. Two tensors share when they look into the same one.",
        "```python\ndef same_memory(a, b):\n    return a.untyped_storage().data_ptr() == ____\n```",
    )
    stub = """
        def same_memory(a, b):
            "True if writing into a can be seen in b."
            ...
    """
    solution = """
        def same_memory(a, b):
            return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    """
    also_right = (
        "def same_memory(a, b):\n    return np.shares_memory(a.detach().numpy(), b.detach().numpy())",
        "def same_memory(a, b):\n    return np.may_share_memory(a.data.numpy(), b.data.numpy())",
        """
        def same_memory(a, b):
            before = b.detach().clone()
            kept = a.detach().clone()
            a.data.add_(1)
            seen = not torch.equal(before, b.detach())
            a.data.copy_(kept)
            return seen
        """,
    )
    wrong = (
        Wrong("def same_memory(a, b):\n    return a is b", "object-is-memory"),
        Wrong(
            "def same_memory(a, b):\n    return a.shape == b.shape and torch.equal(a.detach(), b.detach())",
            "equal-is-not-shared",
        ),
        Wrong("def same_memory(a, b):\n    return a.data_ptr() == b.data_ptr()", "first-address-only"),
        Wrong(
            "def same_memory(a, b):\n    old = b.detach().clone()\n    a.data.add_(1)\n"
            "    return not torch.equal(old, b.detach())",
            "changes-its-input",
        ),
    )
    misconceptions = {
        "object-is-memory": "`x` and `x.data` are two Python objects over one memory; your answer says that they share nothing. "
        "Write into one and look at the other.",
        "equal-is-not-shared": "Two tensors of ones are equal and share nothing. *Equal now* is not *changes together*.",
        "first-address-only": "`x` and `x[2:]` look into the same storage from different starting points. Compare where the "
        "storage begins, not where each of them begins to read.",
        "changes-its-input": "After your function ran, the tensor handed to it had other numbers in it. A question must not change "
        "what it asks about.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """Six numbers to build the tensors from."""
        return {"numbers": rng.normal(size=6)}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """What the function says of each pair, and whether it changed a tensor."""
        import torch

        x = torch.tensor(inputs["numbers"], requires_grad=True)
        pairs = {
            "x, x": (x, x),
            "x, x.data": (x, x.data),
            "x, x.detach()": (x.detach(), x),
            "x, x.view(2, 3)": (x, x.view(2, 3)),
            "x, x[2:]": (x, x[2:]),
            "x[2:], x": (x[2:], x),
            "x, x.clone()": (x, x.clone()),
            "x, x + 0": (x, x + 0),
            "ones, other ones": (torch.ones(6), torch.ones(6)),
        }
        said, changed = {}, False
        for name, (a, b) in pairs.items():
            before = a.detach().clone(), b.detach().clone()
            value = answer["same_memory"](a, b)
            said[name] = None if value is None else bool(value)
            changed = changed or not (torch.equal(before[0], a.detach()) and torch.equal(before[1], b.detach()))
        return {"said": said, "changed": changed}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against what the storages say."""
        import torch

        x = torch.tensor(inputs["numbers"])
        others = {
            "x, x": x,
            "x, x.data": x.data,
            "x, x.detach()": x.detach(),
            "x, x.view(2, 3)": x.view(2, 3),
            "x, x[2:]": x[2:],
            "x[2:], x": x[2:],
            "x, x.clone()": x.clone(),
            "x, x + 0": x + 0,
            "ones, other ones": torch.ones(6),
        }
        truth = {name: t.untyped_storage().data_ptr() == x.untyped_storage().data_ptr() for name, t in others.items()}
        said = seen["said"]
        if None in said.values():
            return SameMemory.not_right("`same_memory` returned None. It should `return` True or False.")
        if seen["changed"]:
            return SameMemory.fits("changes-its-input")
        wrong = [name for name in truth if said[name] != truth[name]]
        if not wrong:
            return SameMemory.right("Right, for all nine pairs.")
        example = f"For `{wrong[0]}` your answer is {said[wrong[0]]}."
        if set(wrong) <= {"x, x[2:]", "x[2:], x"}:
            return SameMemory.fits("first-address-only", example)
        if set(wrong) & {"x, x.clone()", "x, x + 0", "ones, other ones"}:
            return SameMemory.fits(
                "equal-is-not-shared", f"For `{next(w for w in wrong if truth[w] is False)}` your answer is True."
            )
        if "x, x.data" in wrong:
            return SameMemory.fits("object-is-memory", example)
        return SameMemory.not_right(example)


class NameTheNode(TableExercise):
    id = "01-3"
    title = "Name the node"
    question = """
        `w` and `b` require a gradient, `c` does not. For each of the four tensors write a list: the name of its own `grad_fn`
        first (or `None`), then the names of the nodes that its `next_functions` lead to, in order (`None` where an edge leads
        nowhere).
    """
    names = ("nodes",)
    hints = (
        "Run `v.grad_fn` and `v.grad_fn.next_functions` for a similar tensor of your own, and compare.",
        "next_functions point **back**, towards the inputs, one entry for each input of the operation. A leaf's entry is the "
        "AccumulateGrad that fills it; an input that needs no gradient has None.",
        '```python\n"v": ["AddBackward0", "MulBackward0", ____]      # v = u + b\n```',
    )
    stub = """
        w = torch.tensor(2.0, requires_grad=True)
        b = torch.tensor(1.0, requires_grad=True)
        c = torch.tensor(3.0)
        u = w * c
        v = u + b
        y = v.exp()
        nodes = {
            "w": [..., ],            # own grad_fn, then the next nodes
            "u": [..., ],
            "v": [..., ],
            "y": [..., ],
        }
    """
    solution = """
        nodes = {
            "w": [None],
            "u": ["MulBackward0", "AccumulateGrad", None],
            "v": ["AddBackward0", "MulBackward0", "AccumulateGrad"],
            "y": ["ExpBackward0", "AddBackward0"],
        }
    """
    also_right = (
        """
        w = torch.tensor(2.0, requires_grad=True); b = torch.tensor(1.0, requires_grad=True); c = torch.tensor(3.0)
        u = w * c; v = u + b; y = v.exp()
        nodes = {"w": [None]}
        for name, t in {"u": u, "v": v, "y": y}.items():
            nodes[name] = [t.grad_fn.name()] + [n for n, _ in t.grad_fn.next_functions]
        """,
    )
    wrong = (
        Wrong(
            'nodes = {"w": ["MulBackward0"], "u": ["MulBackward0", "AddBackward0"], "v": ["AddBackward0", "ExpBackward0"], '
            '"y": ["ExpBackward0", None]}',
            "next-is-forward",
        ),
        Wrong(
            'nodes = {"w": [None], "u": ["MulBackward0", "AccumulateGrad", "AccumulateGrad"], '
            '"v": ["AddBackward0", "MulBackward0", "AccumulateGrad"], "y": ["ExpBackward0", "AddBackward0"]}',
            "constant-has-a-node",
        ),
        Wrong(
            'nodes = {"w": ["AccumulateGrad"], "u": ["MulBackward0", "AccumulateGrad", None], '
            '"v": ["AddBackward0", "MulBackward0", "AccumulateGrad"], "y": ["ExpBackward0", "AddBackward0"]}',
            "leaf-has-grad_fn",
        ),
        Wrong(
            'nodes = {"w": [None], "u": ["MulBackward0", None, None], "v": ["AddBackward0", "MulBackward0", None], '
            '"y": ["ExpBackward0", "AddBackward0"]}',
            "edges-stop-before-leaves",
        ),
    )
    misconceptions = {
        "next-is-forward": "`next_functions` lead the way backward runs: from a result towards its inputs. The operation that "
        "*uses* a tensor later is nowhere in it.",
        "constant-has-a-node": "c does not require a gradient, so nothing has to be filled there: its entry is None. It keeps its "
        "place, so that the n-th entry belongs to the n-th input.",
        "leaf-has-grad_fn": "no operation made w, so `w.grad_fn` is None. AccumulateGrad is what *others* point to when they mean w.",
        "edges-stop-before-leaves": "an edge to a leaf that requires a gradient does not lead to None: at its end is the AccumulateGrad "
        "node that fills that leaf.",
    }

    @classmethod
    def truth(cls) -> dict[str, Any]:
        """What torch shows."""
        import torch

        w, b = torch.tensor(2.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
        u = w * torch.tensor(3.0)
        v = u + b
        found: dict[str, Any] = {"w": [w.grad_fn]}
        for name, t in {"u": u, "v": v, "y": v.exp()}.items():
            assert t.grad_fn is not None
            found[name] = [t.grad_fn.name(), *(n and n.name().split("::")[-1] for n, _ in t.grad_fn.next_functions)]
        return found

    @classmethod
    def word(cls, key: str, given: Any, true: Any) -> str | None:
        """Which misunderstanding a wrong list shows."""
        if not isinstance(given, list):
            return None
        names = [str(entry) for entry in given]
        later = {"w": "MulBackward0", "u": "AddBackward0", "v": "ExpBackward0"}
        if later.get(key) in names:
            return "next-is-forward"
        if key == "w":
            return "leaf-has-grad_fn" if len(given) == 1 and given[0] is not None else None
        if key == "u" and len(given) == 3 and given[2] is not None:
            return "constant-has-a-node"
        if any("Accumulate" in str(entry) for entry in true) and not any("Accumulate" in name for name in names):
            return "edges-stop-before-leaves"
        return "next-is-forward" if key == "y" and len(given) == 2 and given[1] is None else None
