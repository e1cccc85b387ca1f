"""Lesson 02, leaves and the recorded graph: who remembers what, who is a leaf."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from gradlab.exercises._framework import Exercise, Prediction, Verdict, Wrong
from gradlab.exercises._tables import TableExercise

PREDICTIONS = [
    Prediction(
        "02A",
        "`c = torch.ones(3)`: no `requires_grad`. Is c a leaf?",
        {
            "yes": "Yes: no operation with a history made it. A leaf is where a history *begins*; this one just never asks for a gradient.",
            "no": "A leaf is a tensor at which a history begins. c has none, so it is one: a leaf that does not ask for a gradient.",
        },
        shows="True",
    ),
    Prediction(
        "02C",
        "`w = w - 0.1 * w.grad`, for a leaf w. Is the new w a leaf?",
        {
            "yes, it is the same w": "The *name* is the same. The tensor is a new one, made by a subtraction. The next backward will fill the old one.",
            "no": "Yes, you are right: no. It is the result of a subtraction; the leaf is the old tensor, which the name no longer reaches.",
        },
        shows="False",
    ),
    Prediction(
        "02B",
        "A loop runs `y = y * 2` while y < 100, starting at 3. What is in the graph?",
        {
            "a loop": "The graph knows nothing of your code. It has one node for each multiplication that was really done.",
            "six multiplications": "Yes: 3 doubles six times to 192. What ran is recorded, one node each; the `while` is not.",
            "one multiplication": "Every multiplication that runs makes a node of its own.",
        },
        shows="6",
    ),
]

_TENSORS = {
    "torch.ones(3)": "torch.ones(3)",
    "w": "w",
    "w * 2": "w * 2",
    "torch.ones(3) * 2": "torch.ones(3) * 2",
    "w.detach()": "w.detach()",
    "w.view(3, 1)": "w.view(3, 1)",
    "w.clone()": "w.clone()",
    "w * 2, under no_grad": "n",
    "torch.arange(3)": "torch.arange(3)",
    "w.to(torch.float32)": "w.to(torch.float32)",
}


def _table(*values: object) -> str:
    return "leaf = {\n" + "".join(f'    "{k}": {v},\n' for k, v in zip(_TENSORS, values, strict=True)) + "}"


class Classify(TableExercise):
    id = "02-1"
    title = "Ten tensors: leaf or not?"
    question = """
        `w` is a leaf of three float32 numbers that requires a gradient. Which of the ten are leaves? `True` or `False`.
    """
    names = ("leaf",)
    hints = (
        "Which of them would have a grad_fn?",
        "Not a leaf is only what an operation made **and** what has a history: at least one input required a gradient and recording was on.",
        '```python\n"w * 2": False,                  # made by an operation, with history\n"torch.ones(3) * 2": ____,       # made by an operation, but is there a history?\n```',
    )
    stub = _table(*["..."] * 10)
    solution = _table(True, True, False, True, True, False, False, True, True, True)
    wrong = (
        Wrong(_table(False, True, False, False, False, False, False, False, False, True), "leaf-means-requires-grad"),
        Wrong(_table(True, True, False, False, True, False, False, False, True, True), "every-result-has-a-history"),
        Wrong(_table(True, True, False, True, True, True, True, True, True, True), "a-view-is-the-same-tensor"),
        Wrong(_table(True, True, False, True, True, False, False, True, True, False), "to-always-makes-a-new-tensor"),
    )
    misconceptions = {
        "leaf-means-requires-grad": "being a leaf and requiring a gradient are two different things. Everything without a history is a leaf, also what never asks for a gradient.",
        "every-result-has-a-history": "an operation leaves a history only where a gradient could be asked for: no input required one here, or recording was off. Without a history it is a leaf.",
        "a-view-is-the-same-tensor": "a view shares w's memory and a clone its numbers, but both are *results*: they remember that they came from w, by a grad_fn.",
        "to-always-makes-a-new-tensor": "w is float32 already, so `.to(torch.float32)` has nothing to do and hands you w itself. (With another dtype you would get a result.)",
    }

    @classmethod
    def truth(cls) -> dict[str, Any]:
        """is_leaf of each."""
        import torch

        w = torch.ones(3, requires_grad=True)
        with torch.no_grad():
            n = w * 2
        return {
            key: bool(eval(expression, {"torch": torch, "w": w, "n": n}).is_leaf)
            for key, expression in _TENSORS.items()
        }

    @classmethod
    def word(cls, key: str, given: Any, true: Any) -> str | None:
        """Which misunderstanding a wrong cell shows."""
        if not isinstance(given, bool):
            return None
        if key in ("torch.ones(3)", "w.detach()", "torch.arange(3)"):
            return "leaf-means-requires-grad"
        if key in ("torch.ones(3) * 2", "w * 2, under no_grad"):
            return "every-result-has-a-history"
        if key in ("w.view(3, 1)", "w.clone()", "w * 2"):
            return "a-view-is-the-same-tensor"
        return "to-always-makes-a-new-tensor"


_WALK = """
def leaves(y):
    if y.grad_fn is None:
        return [y] if y.requires_grad else []
    found, seen, todo = [], set(), [y.grad_fn]
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.append(node.variable)
        todo += [below for below, _ in node.next_functions]
    return found
"""


class Leaves(Exercise):
    id = "02-2"
    title = "Find the leaves"
    question = """
        Write `leaves(y)`: the leaf tensors whose `.grad` a backward from y would fill, each once, in any order. A node that fills a leaf has the
        attribute `variable`; the others do not.
    """
    points = 3
    names = ("leaves",)
    seconds = 20.0
    hints = (
        "Start at `y.grad_fn` and follow `next_functions`. Which nodes have a `variable`?",
        "Keep a list of nodes still to visit and a set of those already seen: two ways may lead to the same node. And think of a y without a grad_fn.",
        "```python\n    found, seen, todo = [], set(), [y.grad_fn]\n    while todo:\n        node = todo.pop()\n        if node is None or ____:\n            continue\n```",
    )
    stub = """
        def leaves(y):
            "The leaf tensors whose .grad a backward from y would fill. Each once."
            ...
    """
    solution = _WALK
    also_right = (
        """
        def leaves(y):
            seen = {}
            def go(node):
                if node is None or node in seen: return
                seen[node] = getattr(node, "variable", None)
                for below, _ in node.next_functions: go(below)
            go(y.grad_fn)
            if y.grad_fn is None and y.requires_grad: return {y}
            return {v for v in seen.values() if v is not None}
        """,
    )
    wrong = (
        Wrong(_WALK.replace("found.append(node.variable)", "found.append(node)"), "node-instead-of-tensor"),
        Wrong(
            "def leaves(y):\n    if y.grad_fn is None:\n        return [y] if y.requires_grad else []\n    return list({n.variable for n, _ in y.grad_fn.next_functions if hasattr(n, 'variable')})",
            "only-one-level",
        ),
        Wrong(
            "def leaves(y):\n    if y.grad_fn is None:\n        return [y] if y.requires_grad else []\n    def go(n):\n        if n is None:\n            return []\n        if hasattr(n, 'variable'):\n            return [n.variable]\n        return [v for m, _ in n.next_functions for v in go(m)]\n    return go(y.grad_fn)",
            "shared-visited-twice",
        ),
        Wrong(
            _WALK.replace("    if y.grad_fn is None:\n        return [y] if y.requires_grad else []\n", ""),
            "forgot-y-may-be-a-leaf",
        ),
    )
    misconceptions = {
        "node-instead-of-tensor": "You returned AccumulateGrad *nodes*. The tensor that such a node fills is its `.variable`.",
        "only-one-level": "Right for `a * b`, but for `(a * b).exp()` the leaves lie further down: follow next_functions until there are none.",
        "shared-visited-twice": "A leaf that is reached along two ways came out twice (with 22 doublings there are 4 million ways). Remember which nodes you have seen.",
        "forgot-y-may-be-a-leaf": "y itself may be a leaf: then there is no grad_fn to start from, and the answer is y.",
    }

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """Which of the named tensors come back, program by program."""
        import torch

        a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        c = torch.ones(2)
        d = a * b
        for _ in range(3):
            d = d + d
        programs = {
            "a * b": a * b,
            "(a * b).exp() * c": (a * b).exp() * c,
            "a * a": a * a,
            "a * b, doubled three times": d,
            "a itself": a,
            "a constant": c,
        }
        names = {id(a): "a", id(b): "b", id(c): "c"}
        found = {}
        for name, y in programs.items():
            got = answer["leaves"](y)
            if got is None:
                return {"nothing": name}
            found[name] = sorted(names.get(id(t), f"a {type(t).__name__}") for t in got)
        return found

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against who was put in."""
        truth = {
            "a * b": ["a", "b"],
            "(a * b).exp() * c": ["a", "b"],
            "a * a": ["a"],
            "a * b, doubled three times": ["a", "b"],
            "a itself": ["a"],
            "a constant": [],
        }
        if "nothing" in seen:
            return Leaves.not_right(
                f"For y = {seen['nothing']} your function returned None. It should return a list of tensors."
            )
        wrong = [name for name in truth if seen[name] != truth[name]]
        if not wrong:
            return Leaves.right("Right, also where ways meet again and where y is a leaf.")
        example = f"For y = {wrong[0]}: expected {truth[wrong[0]]}, got {seen[wrong[0]][:6]}."
        if any("Accumulate" in t for t in seen["a * b"]):
            return Leaves.fits("node-instead-of-tensor", example)
        if wrong == ["a itself"] or wrong == ["a itself", "a constant"]:
            return Leaves.fits("forgot-y-may-be-a-leaf", example)
        if seen["(a * b).exp() * c"] == [] and seen["a * b"] == ["a", "b"]:
            return Leaves.fits("only-one-level", example)
        return (
            Leaves.fits("shared-visited-twice", example)
            if set(seen["a * a"]) == {"a"} and len(seen["a * a"]) > 1
            else Leaves.not_right(example)
        )


class LostView(Exercise):
    id = "02-3"
    title = "The view that lost the gradient"
    question = """
        Somebody wants a 2×3 matrix of parameters and calls `.view` on the leaf. Training does nothing: `w.grad` stays None. Repair `make()`: it returns a
        2×3 tensor of the numbers 0 to 5 whose `.grad` is filled by a backward.
    """
    names = ("make",)
    hints = (
        "Which tensor does the name w reach: the one you made, or the result of an operation?",
        "Shape first, then ask for the gradient: the last thing that happens must be `requires_grad`.",
        "```python\ndef make():\n    return torch.arange(6.0).view(2, 3).____()\n```",
    )
    stub = """
        def make():
            w = torch.arange(6.0, requires_grad=True).view(2, 3)
            return w
    """
    solution = "def make():\n    return torch.arange(6.0).view(2, 3).requires_grad_()"
    also_right = (
        "def make():\n    w = torch.arange(6.0, requires_grad=True).view(2, 3)\n    return w.detach().requires_grad_()",
        "def make():\n    w = torch.arange(6.0, requires_grad=True).view(2, 3)\n    w.retain_grad()\n    return w",
        "def make():\n    return torch.nn.Parameter(torch.arange(6.0).view(2, 3))",
    )
    wrong = (
        Wrong(
            "def make():\n    w = torch.arange(6.0, requires_grad=True).view(2, 3)\n    return w.requires_grad_()",
            "asking-twice-makes-a-leaf",
        ),
        Wrong(
            "def make():\n    w = torch.arange(6.0, requires_grad=True).reshape(2, 3).clone()\n    return w",
            "a-copy-is-a-leaf",
        ),
        Wrong("def make():\n    return torch.arange(6.0, requires_grad=True).view(2, 3).detach()", "cut-and-forgotten"),
        Wrong("def make():\n    return torch.arange(6.0, requires_grad=True)", "shape-lost"),
    )
    misconceptions = {
        "asking-twice-makes-a-leaf": "w already requires a gradient; asking again changes nothing. It is still the result of `.view`, and results do not keep a `.grad`.",
        "a-copy-is-a-leaf": "a reshaped or cloned tensor is still a result with a history: its gradient goes on to the leaf below, which nobody holds.",
        "cut-and-forgotten": "Cut off from the old leaf, good; but now nothing asks for a gradient any more.",
        "shape-lost": "The gradient arrives, but the shape is not 2×3.",
    }

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The tensor's state, and its grad after a backward."""
        import warnings

        import torch

        w = answer["make"]()
        if not isinstance(w, torch.Tensor):
            return None
        found = {
            "shape": list(w.shape),
            "leaf": bool(w.is_leaf),
            "requires": bool(w.requires_grad),
            "values": w.detach().double().numpy().copy(),
            "grad": False,
            "by": w.grad_fn.name() if w.grad_fn else "",
        }
        if w.requires_grad:
            (w * 2).sum().backward()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found["grad"] = w.grad is not None
        return found

    @staticmethod
    def graph(answer: dict[str, Any]) -> dict[str, Any]:
        """What the answer records on small numbers."""
        return {"w": answer["make"]()}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Its grad is filled, shape and numbers are right."""
        if seen is None:
            return LostView.not_right("`make` should return a tensor.")
        if not seen["requires"]:
            return LostView.fits("cut-and-forgotten")
        if not seen["grad"]:
            return LostView.fits(
                "asking-twice-makes-a-leaf" if "View" in seen["by"] else "a-copy-is-a-leaf",
                f"Your w was made by {seen['by']}.",
            )
        if seen["shape"] != [2, 3]:
            return LostView.fits("shape-lost", f"It is {seen['shape']}.")
        return (
            LostView.right()
            if np.array_equal(seen["values"].ravel(), np.arange(6))
            else LostView.not_right("The numbers should be 0 to 5.")
        )


class WalkTheGraph(Exercise):
    id = "02-4"
    title = "Walk the graph"
    core = False
    points = 2
    question = """
        Write `walk(y)`: the names of all nodes behind y (`node.name()`), each node once, in an order in which **no node comes before one that leads to it**.
        It must manage a chain of 5000 operations.
    """
    names = ("walk",)
    hints = (
        "Every node has to wait until all nodes that lead to it are listed. How do you know that?",
        "Count, for each node, how many edges lead to it. List a node when its count has come down to zero. No recursion: Python stops at 1000.",
        "```python\n    # after counting edges into each node:\n    ready = [y.grad_fn]\n    while ready:\n        node = ready.pop()\n        ...\n        waiting[below] -= 1\n        if ____: ready.append(below)\n```",
    )
    stub = """
        def walk(y):
            "Names of the nodes behind y: each node once, none before a node that leads to it."
            ...
    """
    solution = """
        def walk(y):
            waiting, seen, todo = {}, set(), [y.grad_fn]
            while todo:
                node = todo.pop()
                if node in seen:
                    continue
                seen.add(node)
                for below, _ in node.next_functions:
                    if below is not None:
                        waiting[below] = waiting.get(below, 0) + 1
                        todo.append(below)
            names, ready = [], [y.grad_fn]
            while ready:
                node = ready.pop()
                names.append(node.name())
                for below, _ in node.next_functions:
                    if below is not None:
                        waiting[below] -= 1
                        if waiting[below] == 0:
                            ready.append(below)
            return names
    """
    also_right = (
        """
        def walk(y):
            order, state, todo = [], {}, [(y.grad_fn, False)]
            while todo:
                node, done = todo.pop()
                if node is None: continue
                if done: order.append(node); continue
                if node in state: continue
                state[node] = True
                todo.append((node, True))
                todo += [(n, False) for n, _ in node.next_functions]
            return [n.name() for n in reversed(order)]
        """,
    )
    wrong = (
        Wrong(
            "def walk(y):\n    names, seen, todo = [], set(), [y.grad_fn]\n    while todo:\n        node = todo.pop()\n        if node is None or node in seen:\n            continue\n        seen.add(node)\n        names.append(node.name())\n        todo += [n for n, _ in node.next_functions]\n    return names",
            "first-seen-first-listed",
        ),
        Wrong(
            "def walk(y):\n    names, seen = [], set()\n    def go(node):\n        if node is None or node in seen:\n            return\n        seen.add(node)\n        for n, _ in node.next_functions:\n            go(n)\n        names.append(node.name())\n    go(y.grad_fn)\n    return names[::-1]",
            "recursion-is-deep-enough",
        ),
        Wrong(
            "def walk(y):\n    order, state, todo = [], {}, [(y.grad_fn, False)]\n    while todo:\n        node, done = todo.pop()\n        if node is None: continue\n        if done: order.append(node); continue\n        if node in state: continue\n        state[node] = True\n        todo.append((node, True))\n        todo += [(n, False) for n, _ in node.next_functions]\n    return [n.name() for n in order]",
            "wrong-way-round",
        ),
    )
    misconceptions = {
        "first-seen-first-listed": "A node was listed as soon as it was first met, while another node that leads to it was still to come. Backward would hand on a gradient that is not complete.",
        "recursion-is-deep-enough": "A RecursionError at 5000 operations: Python allows about 1000 calls inside each other. Real networks are deeper. Keep your own list of what is still to visit.",
        "wrong-way-round": "The order is turned round: your list begins at the leaves. Backward begins at y.",
    }

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The lists for a diamond with a shortcut, tried both ways round, and for a long chain."""
        import torch

        x = torch.tensor(2.0, requires_grad=True)
        s = x.sin()
        u, v = s.exp() * s, s * s.exp()
        found: dict[str, Any] = {}
        for name, y in {"one": u, "other": v}.items():
            got = answer["walk"](y)
            found[name] = None if got is None else [str(n) for n in got]
        z = x
        for _ in range(5000):
            z = z + 1
        try:
            found["chain"] = len(answer["walk"](z))
        except RecursionError:
            found["chain"] = -1
        todo = z.grad_fn
        del z
        while todo is not None:
            todo = todo.next_functions[0][0] if todo.next_functions else None
        return found

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Sin comes after Exp and Mul, the leaf last, and 5000 is not too deep."""
        if seen["one"] is None:
            return WalkTheGraph.not_right("`walk` returned None; it should return a list of names.")
        for names in (seen["one"], seen["other"]):
            short = [n.split("::")[-1].replace("Backward0", "") for n in names]
            if sorted(short) != ["AccumulateGrad", "Exp", "Mul", "Sin"]:
                return WalkTheGraph.not_right(
                    f"For s = x.sin(), y = s.exp() * s there are four nodes, each listed once; you have {short}."
                )
            if short[0] == "AccumulateGrad":
                return WalkTheGraph.fits("wrong-way-round", f"For y = s.exp() * s: {short}.")
            if short != ["Mul", "Exp", "Sin", "AccumulateGrad"]:
                return WalkTheGraph.fits(
                    "first-seen-first-listed",
                    f"For s = x.sin() and a product of s and s.exp(): {short}. Exp leads to Sin.",
                )
        if seen["chain"] == -1:
            return WalkTheGraph.fits("recursion-is-deep-enough")
        return (
            WalkTheGraph.right("Right: this is the order in which backward runs.")
            if seen["chain"] == 5001
            else WalkTheGraph.not_right(f"A chain of 5000 additions has 5001 nodes; you listed {seen['chain']}.")
        )


class FromNames(Exercise):
    id = "02-5"
    title = "From the names to the expression"
    core = False
    points = 1
    kind = "tensor"
    question = """
        Somebody shows you these nodes, from the result down: `Sum → Mul → (Exp → AccumulateGrad(a), Add → (AccumulateGrad(a), AccumulateGrad(b)))`. Build a tensor `built`
        with this graph from the two leaves.
    """
    names = ("built",)
    hints = (
        "Read from the inside: what is made from a alone, what from a and b?",
        "next_functions are in the order of the inputs: the first input of the multiplication is the exp.",
        "```python\nbuilt = (a.exp() * (____)).sum()\n```",
    )
    stub = """
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        b = torch.tensor([3.0, 4.0], requires_grad=True)
        built = ...
    """
    solution = "a = torch.tensor([1.0, 2.0], requires_grad=True)\nb = torch.tensor([3.0, 4.0], requires_grad=True)\nbuilt = (a.exp() * (a + b)).sum()"
    wrong = (
        Wrong(
            "a = torch.tensor([1.0, 2.0], requires_grad=True)\nb = torch.tensor([3.0, 4.0], requires_grad=True)\nbuilt = ((a + b) * a.exp()).sum()",
            "order-of-inputs",
        ),
        Wrong(
            "a = torch.tensor([1.0, 2.0], requires_grad=True)\nb = torch.tensor([3.0, 4.0], requires_grad=True)\nbuilt = a.exp().sum() * (a + b).sum()",
            "read-from-the-wrong-end",
        ),
        Wrong(
            "a = torch.tensor([1.0, 2.0], requires_grad=True)\nb = torch.tensor([3.0, 4.0])\nbuilt = (a.exp() * (a + b)).sum()",
            "leaf-does-not-ask",
        ),
        Wrong(
            "a = torch.tensor([1.0, 2.0], requires_grad=True)\nb = torch.tensor([3.0, 4.0], requires_grad=True)\nbuilt = (b.exp() * (a + b)).sum()",
            "another-leaf",
        ),
    )
    misconceptions = {
        "order-of-inputs": "The same operations, but the inputs of one of them are the other way round: next_functions keep their order.",
        "read-from-the-wrong-end": "The names run from the result back: the first one is the operation that ran *last*.",
        "leaf-does-not-ask": "One of the edges leads nowhere: a leaf that does not require a gradient has no node.",
        "another-leaf": "The operations are right, but one of them works on another leaf: the name in the brackets after AccumulateGrad says which `.grad` it fills.",
    }

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The graph as nested lists of names; a leaf is known by its numbers."""
        leaves = {"[1.0, 2.0]": "a", "[3.0, 4.0]": "b"}

        def names(node: Any, depth: int = 0) -> Any:
            if node is None or depth > 8:
                return None
            if hasattr(node, "variable"):
                return [f"AccumulateGrad({leaves.get(str(node.variable.tolist()), 'another')})"]
            return [
                str(node.name()).split("::")[-1].rstrip("0123456789").replace("Backward", ""),
                *(names(n, depth + 1) for n, _ in node.next_functions),
            ]

        return names(getattr(answer["built"], "grad_fn", None))

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against the graph that was shown."""
        a, b = ["AccumulateGrad(a)"], ["AccumulateGrad(b)"]
        truth = ["Sum", ["Mul", ["Exp", a], ["Add", a, b]]]
        if seen == truth:
            return FromNames.right()
        if seen is None:
            return FromNames.not_right("`built` has no grad_fn.")
        swapped = ["Add", b, a]
        if seen in (
            ["Sum", ["Mul", ["Add", a, b], ["Exp", a]]],
            ["Sum", ["Mul", ["Exp", a], swapped]],
            ["Sum", ["Mul", swapped, ["Exp", a]]],
        ):
            return FromNames.fits("order-of-inputs")
        if seen[0] != "Sum" and "Sum" in str(seen):
            return FromNames.fits("read-from-the-wrong-end", f"Yours begins with {seen[0]}.")
        if "None" in str(seen):
            return FromNames.fits("leaf-does-not-ask")
        if re.sub(r"\(\w+\)", "", str(seen)) == re.sub(r"\(\w+\)", "", str(truth)):
            return FromNames.fits("another-leaf")
        return FromNames.not_right(f"Your graph is {seen}.")
