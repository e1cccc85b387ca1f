"""Lesson 03, backward with numbers: how one number travels back through a node."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradlab.exercises._framework import Exercise, Prediction, Verdict, Wrong

PREDICTIONS = [
    Prediction(
        "03A",
        "x = 2, `h = x * x`, `y = h * 3`. From y a 1 starts back. What does the node of `h * 3` hand on to h?",
        {
            "1": "It multiplies what arrives (1) by its own slope (3).",
            "3": "Yes: what arrives (1) times its own slope (3).",
            "12": "12 arrives at x, after both nodes. This node knows only itself: it hands on 1·3.",
        },
        shows="3",
    ),
    Prediction(
        "03B",
        "`y = x * x` with x = 2: the node has two edges to x. What is handed on along **each** edge?",
        {
            "4": "4 is the sum of the two. Each edge carries the other factor, 2; they are added up in x.",
            "2": "Yes: along each edge the *other* factor, 2. They are added up when they meet: 4.",
            "1": "Each edge carries what arrives (1) times the other factor (2).",
        },
        shows="[2.0, 2.0]",
    ),
    Prediction(
        "03C",
        "h is used twice: `a = h * 2`, `b = h * 5`, `y = a + b`. What arrives at h?",
        {
            "5": "Both ways count. h moves y through a *and* through b.",
            "7": "Yes: along two ways, 2 and 5, and they are added.",
            "10": "Ways that meet are added. Slopes along *one* way are multiplied.",
        },
        shows="7",
    ),
]


class Slope(Exercise):
    id = "03-1"
    title = "A slope by trying"
    question = """
        Before any calculus: write `slope(f, x)`, which finds the slope of f at x by trying two nearby places. (f takes and returns a Python number.) It should be
        right to six digits.
    """
    names = ("slope",)
    hints = (
        "How much does f change between two places, and how far apart are they?",
        "Rise over run. Looking the same distance to both sides is far more accurate than looking to one. And not too near: numbers are rounded.",
        "```python\n    e = 1e-5\n    return (f(x + e) - ____) / (2 * e)\n```",
    )
    prelude = "import math\nimport numpy as np"
    stub = """
        def slope(f, x):
            "The slope of f at x, to six digits, without knowing f's formula."
            ...
    """
    solution = "def slope(f, x):\n    e = 1e-5\n    return (f(x + e) - f(x - e)) / (2 * e)"
    also_right = (
        "def slope(f, x):\n    e = 1e-3\n    return (8 * (f(x + e) - f(x - e)) - (f(x + 2 * e) - f(x - 2 * e))) / (12 * e)",
    )
    wrong = (
        Wrong("def slope(f, x):\n    e = 0.01\n    return (f(x + e) - f(x)) / e", "too-far-apart"),
        Wrong("def slope(f, x):\n    e = 1e-5\n    return f(x + e) - f(x - e)", "rise-without-run"),
        Wrong("def slope(f, x):\n    e = 1e-15\n    return (f(x + e) - f(x - e)) / (2 * e)", "too-near"),
        Wrong("def slope(f, x):\n    e = 1e-5\n    return (f(x + e) - f(x - e)) / e", "two-steps-one-divisor"),
    )
    misconceptions = {
        "too-far-apart": "Near, but not to six digits: over that distance the curve bends. Come closer, and look the same distance to both sides.",
        "rise-without-run": "That is the rise. A slope is rise *divided by run*.",
        "too-near": "The two places are so near that f can hardly tell them apart: a Python number has 16 digits, and the difference of two nearly equal numbers keeps only the last few.",
        "two-steps-one-divisor": "Exactly twice too large: from x - e to x + e it is two steps.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """A place and a curve's numbers."""
        return {"x": float(rng.uniform(1.1, 2)), "a": float(rng.uniform(1, 3))}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The slope of a·x³ at x, and of sin at 2x."""
        import math

        a, x = inputs["a"], inputs["x"]
        places = []

        def cubic(t: float) -> float:
            places.append(float(t))
            return a * t**3

        values = [answer["slope"](cubic, x), answer["slope"](math.sin, 2 * x)]
        span = max(places) - min(places) if places else 0.0
        return {"values": [float(v) if hasattr(v, "__float__") else None for v in values], "span": span}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against the formulas."""
        x = inputs["x"]
        true = [3 * inputs["a"] * x**2, float(np.cos(2 * x))]
        values = seen["values"]
        if None in values:
            return Slope.not_right("`slope` should return a number.")
        errors = [abs(s - t) for s, t in zip(values, true, strict=True)]
        if max(errors) < 1e-6 * max(1, abs(true[0])):
            return Slope.right("Right, to six digits.")
        example = (
            f"For f(t) = {inputs['a']:.2f}·t³ at {x:.2f} the slope is {true[0]:.6f}; you returned {values[0]:.6g}."
        )
        if 0 < seen["span"] < 1e-11:
            return Slope.fits("too-near", example)
        ratio = values[0] / true[0]
        if abs(ratio - 2) < 1e-3:
            return Slope.fits("two-steps-one-divisor", example)
        if abs(ratio - seen["span"]) < 0.1 * seen["span"]:
            return Slope.fits("rise-without-run", example)
        return Slope.fits("too-far-apart", example) if abs(ratio - 1) < 0.2 else Slope.not_right(example)


class TanhBack(Exercise):
    id = "03-2"
    title = "Back through tanh"
    question = """
        The node of `out = tanh(x)`. Write `tanh_back(g, x, out)`: the gradient `g` arrives from above; what leaves towards x? (tanh' = 1 - tanh².)
    """
    names = ("tanh_back",)
    hints = (
        "A node multiplies two things: what arrives, and its own slope.",
        "tanh'(x) = 1 - tanh(x)². Which of the two, x or out, *is* tanh(x) already?",
        "```python\ndef tanh_back(g, x, out):\n    return g * (1 - ____)\n```",
    )
    stub = """
        def tanh_back(g, x, out):
            "g arrives at the node; x went in, out = tanh(x) came out. What leaves towards x?"
            ...
    """
    solution = "def tanh_back(g, x, out):\n    return g * (1 - out * out)"
    also_right = (
        "def tanh_back(g, x, out):\n    return g / torch.cosh(x) ** 2",
        "def tanh_back(g, x, out):\n    return g - g * torch.tanh(x) ** 2",
    )
    wrong = (
        Wrong("def tanh_back(g, x, out):\n    return 1 - out ** 2", "forgot-incoming"),
        Wrong("def tanh_back(g, x, out):\n    return g * (1 - x ** 2)", "input-for-result"),
        Wrong("def tanh_back(g, x, out):\n    return g * (1 - torch.tanh(out) ** 2)", "tanh-of-result"),
        Wrong("def tanh_back(g, x, out):\n    return g + (1 - out ** 2)", "adds-along-a-way"),
    )
    misconceptions = {
        "forgot-incoming": "Right only when a 1 arrives. A node multiplies *what arrives* by its slope.",
        "input-for-result": "You took 1 - x², with x the input. It is 1 - tanh(x)²: the *result*. (That is why torch saves the result of tanh, and not its input.)",
        "tanh-of-result": "tanh was applied to `out`, which already is tanh(x).",
        "adds-along-a-way": "Along a way slopes are *multiplied*; only where ways meet are gradients added.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """What arrives, and what went in."""
        return {"g": rng.normal(size=3) + 3, "x": rng.uniform(0.3, 1.5, size=3)}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The gradient that leaves."""
        import torch

        x = torch.tensor(inputs["x"])
        got = answer["tanh_back"](torch.tensor(inputs["g"]), x, torch.tanh(x))
        got = None if got is None else torch.as_tensor(got).detach()
        return None if got is None or got.is_complex() else got.double().numpy().copy()

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against torch's own backward."""
        import torch

        if seen is None:
            return TanhBack.not_right(
                "`tanh_back` should return the gradient towards x: one real number for each of x."
            )
        x = torch.tensor(inputs["x"], requires_grad=True)
        (true,) = torch.autograd.grad(torch.tanh(x), x, torch.tensor(inputs["g"]))
        g, xs, out = inputs["g"], inputs["x"], np.tanh(inputs["x"])
        if seen.shape == xs.shape and np.allclose(seen, true.numpy()):
            return TanhBack.right()
        example = f"With g = {g[0]:.2f} and x = {xs[0]:.2f} you return {float(seen.ravel()[0]):.4f}."
        for word, form in {
            "forgot-incoming": 1 - out**2,
            "input-for-result": g * (1 - xs**2),
            "tanh-of-result": g * (1 - np.tanh(out) ** 2),
            "adds-along-a-way": g + 1 - out**2,
        }.items():
            if np.allclose(seen, form):
                return TanhBack.fits(word, example)
        return TanhBack.not_right(example)


def _rules(mul: str = "g * b, g * a", sub: str = "g, -g", div: str = "g / b, -g * a / b ** 2") -> str:
    return f"def mul_back(g, a, b):\n    return {mul}\n\ndef sub_back(g, a, b):\n    return {sub}\n\ndef div_back(g, a, b):\n    return {div}\n"


class ThreeRules(Exercise):
    id = "03-3"
    title = "Three more local rules"
    question = """
        Nodes with two inputs. For `a * b`, `a - b` and `a / b`: `g` arrives, what leaves towards a and what towards b? Each function returns both, in this order.
    """
    names = ("mul_back", "sub_back", "div_back")
    hints = (
        "Hold one input still and move the other: how fast does the result move?",
        "a·b moves b times as fast as a does. a - b moves *against* b. a/b = a·(1/b), and (1/b)' = -1/b².",
        "```python\ndef mul_back(g, a, b):\n    return g * b, ____\n```",
    )
    prelude = "import math\nimport numpy as np"
    stub = """
        def mul_back(g, a, b):
            return ..., ...

        def sub_back(g, a, b):
            return ..., ...

        def div_back(g, a, b):
            return ..., ...
    """
    solution = _rules()
    also_right = (
        _rules(div="g / b, -g * (a / b) / b"),
        _rules(mul="np.array(g * b), np.float64(g * a)"),
    )
    wrong = (
        Wrong(_rules(mul="g * a, g * b"), "own-factor"),
        Wrong(_rules(mul="b, a"), "forgot-incoming"),
        Wrong(_rules(sub="g, g"), "sign-lost"),
        Wrong(_rules(div="g / b, g / a"), "quotient-like-product"),
        Wrong(_rules(div="g / b, g * a / b ** 2"), "sign-lost"),
    )
    misconceptions = {
        "own-factor": "`mul_back`: each input gets the *other* factor. If b is 10, a step in a makes the product jump by 10.",
        "forgot-incoming": "What arrives (g) is missing: right only when a 1 arrives.",
        "sign-lost": "A sign: when b grows, a - b and a / b get *smaller*.",
        "quotient-like-product": "`div_back`: a / b is a times 1/b. How does 1/b move when b grows, and how fast?",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """What arrives, and two inputs."""
        return {"g": float(rng.uniform(2, 3)), "a": float(rng.uniform(1, 2)), "b": float(rng.uniform(3, 4))}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """Both gradients of each rule."""

        def number(value: Any) -> Any:
            if hasattr(value, "tolist"):  # of a tensor or of numpy
                value = value.tolist()
            return float(value) if isinstance(value, (int, float)) else None

        found = {}
        for name in ("mul_back", "sub_back", "div_back"):
            got = answer[name](inputs["g"], inputs["a"], inputs["b"])
            pair = list(got) if isinstance(got, (tuple, list)) else [got]
            found[name] = [number(v) for v in pair]
        return found

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against small steps in each input."""
        g, a, b, e = inputs["g"], inputs["a"], inputs["b"], 1e-6
        ops = {"mul_back": lambda a, b: a * b, "sub_back": lambda a, b: a - b, "div_back": lambda a, b: a / b}
        for name, op in ops.items():
            got = seen[name]
            if len(got) != 2 or None in got:
                return ThreeRules.not_right(f"`{name}` should return two numbers: towards a, and towards b.")
            slopes = [(op(a + e, b) - op(a - e, b)) / (2 * e), (op(a, b + e) - op(a, b - e)) / (2 * e)]
            true = [g * s for s in slopes]
            if np.allclose(got, true, rtol=1e-5):
                continue
            example = f"`{name}` with g = {g:.2f}, a = {a:.2f}, b = {b:.2f}: expected ({true[0]:.3f}, {true[1]:.3f}), got ({got[0]:.3f}, {got[1]:.3f})."
            if np.allclose(got, slopes, rtol=1e-5):
                return ThreeRules.fits("forgot-incoming", example)
            if np.allclose(np.abs(got), np.abs(true), rtol=1e-5):
                return ThreeRules.fits("sign-lost", example)
            if name == "mul_back" and np.allclose(got, true[::-1], rtol=1e-5):
                return ThreeRules.fits("own-factor", example)
            return (
                ThreeRules.fits("quotient-like-product", example)
                if name == "div_back" and np.isclose(got[0], true[0])
                else ThreeRules.not_right(example)
            )
        return ThreeRules.right("All three are right.")


class DiamondOrder(Exercise):
    id = "03-4"
    title = "Who goes first?"
    kind = "list"
    question = """
        `h = x * 2`, then `a = h.exp()`, `b = a * h`, `y = b + h`. Four nodes run in backward: `"h"`, `"a"`, `"b"`, `"y"` (each named after what it made). Put them into
        an order that gives the right gradient.
    """
    names = ("order",)
    hints = (
        "Who uses h? All of them have to have run before h's node may.",
        "A node may run when everything that arrives at it has arrived: from *all* who used its result.",
        '```python\norder = ["y", ____, "a", "h"]\n```',
    )
    stub = 'order = [...]            # "h", "a", "b", "y" in an order'
    solution = 'order = ["y", "b", "a", "h"]'
    also_right = ('order = ("y", "b", "a", "h")',)
    wrong = (
        Wrong('order = ["h", "a", "b", "y"]', "forward-order"),
        Wrong('order = ["y", "h", "b", "a"]', "runs-before-all-has-arrived"),
        Wrong('order = ["y", "b", "h", "a"]', "runs-before-all-has-arrived"),
        Wrong('order = ["y", "b", "h", "a", "h"]', "runs-twice"),
    )
    misconceptions = {
        "forward-order": "That is the order of the forward pass. Gradients start at y.",
        "runs-before-all-has-arrived": "A node ran before all that used its result had handed on their part. It multiplied an incomplete gradient.",
        "runs-twice": "A node runs once, when everything has arrived. (Running h twice would be right only if it handed on each part once; with a long tail below it that costs twice as much for every such meeting.)",
    }

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The list as text."""
        return [str(name) for name in answer["order"]]

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Every user before the used."""
        users = {"h": ["a", "b", "y"], "a": ["b"], "b": ["y"], "y": []}
        if sorted(set(seen)) != sorted(users):
            return DiamondOrder.not_right(f'`order` should hold "h", "a", "b" and "y"; it holds {seen}.')
        if len(seen) > 4:
            return DiamondOrder.fits("runs-twice")
        if seen[0] == "h":
            return DiamondOrder.fits("forward-order")
        early = [(n, u) for n in seen for u in users[n] if seen.index(u) > seen.index(n)]
        if not early:
            return DiamondOrder.right(
                "Right. And it is the only one: each of these four has to wait for the one before."
            )
        return DiamondOrder.fits(
            "runs-before-all-has-arrived",
            f'In your order "{early[0][0]}" runs while "{early[0][1]}", which used it, has not run yet.',
        )


_BACKPROP = """
def backprop(nodes, start):
    grads = {{start: 1.0}}
    for name, edges in nodes:                 # from the result down to the leaves
        for below, slope in edges:
            {line}
    return grads
"""


class Overwritten(Exercise):
    id = "03-5"
    title = "The overwritten gradient"
    core = False
    points = 1
    question = """
        `nodes` lists each node with its edges: `[("y", [("h", 3.0)]), ("h", [("x", 2.0), ("x", 2.0)])]` says that y hands on 3 times what arrives to h, and h twice 2 times to
        x. Find the bug: for this list x should get 12, and the code says 6.
    """
    names = ("backprop",)
    prelude = "import math\nimport numpy as np"
    hints = (
        "Go through the two edges from h to x by hand. What happens to the first one's 6?",
        "Where ways meet, gradients are added. What is in the dict before the first one has arrived?",
        "```python\n            grads[below] = grads.get(below, ____) + grads[name] * slope\n```",
    )
    stub = _BACKPROP.format(line="grads[below] = grads[name] * slope")
    solution = _BACKPROP.format(line="grads[below] = grads.get(below, 0.0) + grads[name] * slope")
    also_right = (
        "def backprop(nodes, start):\n    from collections import defaultdict\n    grads = defaultdict(float)\n    grads[start] = 1.0\n    for name, edges in nodes:\n        for below, slope in edges:\n            grads[below] += grads[name] * slope\n    return dict(grads)",
    )
    wrong = (
        Wrong(
            _BACKPROP.format(line="grads[below] = grads.get(below, 1.0) * grads[name] * slope"),
            "multiplied-where-ways-meet",
        ),
        Wrong(_BACKPROP.format(line="grads[below] = grads.get(below, 0.0) + slope"), "forgot-incoming"),
        Wrong(
            _BACKPROP.format(line="grads[below] = max(grads.get(below, 0.0), grads[name] * slope)"), "still-overwritten"
        ),
    )
    misconceptions = {
        "multiplied-where-ways-meet": "Along a way slopes are multiplied, but where ways *meet* the gradients are added.",
        "forgot-incoming": "What arrives at the node is missing: the local slope alone is right only for the first node.",
        "still-overwritten": "One of the ways is still lost: with two ways to x only one of them is in the result.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """Five slopes."""
        return {"s": [float(s) for s in rng.uniform(1.5, 3, size=5)]}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The gradient at x of a diamond."""
        s = inputs["s"]
        nodes = [("loss", [("a", s[0]), ("b", s[1])]), ("a", [("h", s[2])]), ("b", [("h", s[3])]), ("h", [("x", s[4])])]
        got = answer["backprop"](nodes, "loss")
        return {str(k): float(v) for k, v in got.items()} if isinstance(got, dict) else None

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against both ways, added."""
        s = inputs["s"]
        one, other = s[0] * s[2] * s[4], s[1] * s[3] * s[4]
        if seen is None or "x" not in seen:
            return Overwritten.not_right("`backprop` should return the dict of gradients, with one for x.")
        example = f"Two ways lead to x, carrying {one:.2f} and {other:.2f}; you have {seen['x']:.2f}."
        if np.isclose(seen["x"], one + other):
            return Overwritten.right()
        if np.isclose(seen["x"], one) or np.isclose(seen["x"], other):
            return Overwritten.fits("still-overwritten", example)
        if any(np.isclose(seen["x"], form) for form in (s[4], s[4] + s[2] + s[3], 2 * s[4])):
            return Overwritten.fits("forgot-incoming", example)
        at_h = s[0] * s[2] * s[1] * s[3]
        if np.isclose(seen["x"], at_h * s[4]) or np.isclose(seen["x"], at_h):
            return Overwritten.fits("multiplied-where-ways-meet", example)
        return Overwritten.not_right(example)
