"""Lesson 09, shapes: broadcasting, reductions, backward(v)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradlab.exercises._framework import Exercise, Prediction, Verdict, Wrong

PREDICTIONS = [
    Prediction(
        "09A",
        "w has shape (3,), x has shape (2, 3), `y = (w * x).sum()`. What is the shape of `w.grad`?",
        {
            "()": "A gradient has the shape of the tensor it belongs to, not of the result.",
            "(3,)": "Yes: `w.grad` always has the shape of w.",
            "(2, 3)": "w was stretched to (2, 3) on the way, but it has three numbers, so its gradient has three.",
        },
        shows="(3,)",
    ),
    Prediction(
        "09B",
        "x is a matrix of ones, (2, 3); w is (3,). `(w * x).sum().backward()`. What is `w.grad`?",
        {
            "[1, 1, 1]": "Each number of w was used **twice**, once in each row. Both uses send a gradient back, and they are added.",
            "[2, 2, 2]": "Yes: each number of w was used in two rows; the two gradients are added.",
            "[0.5, 0.5, 0.5]": "Uses are added, not averaged.",
        },
        shows="2.",
    ),
    Prediction(
        "09D",
        "`pred` has shape (4, 1), `target` has shape (4,). What is the shape of `pred - target`?",
        {
            "(4,)": "Broadcasting lines shapes up from the right: (4, 1) against (1, 4) gives a full square.",
            "(4, 4)": "Yes: every prediction against every target. The mean of its squares is a number like any other, and no error comes.",
            "an error": "The shapes do fit, to a square of 16 numbers. That is the trouble.",
        },
        shows="(4, 4)",
    ),
    Prediction(
        "09C",
        "x is [1, 2, 3], `y = x * x`. `y.backward(torch.tensor([1., 0., 0.]))`. What is `x.grad`?",
        {
            "[2, 4, 6]": "That would be for the weights [1, 1, 1]. Here only the first output starts with a 1.",
            "[2, 0, 0]": "Yes: v says how much of each output counts. Only the first does.",
            "[1, 0, 0]": "v is what *arrives* at y; it is still multiplied by the slopes 2·x.",
        },
        shows="[2., 0., 0.]",
    ),
]


class Unbroadcast(Exercise):
    id = "09-1"
    title = "Fan out, fan in"
    points = 3
    question = """
        A small tensor of `shape` was stretched to a larger one in the forward pass; the gradient `g` has the large shape. Write `unbroadcast(g, shape)`, which brings it back: a tensor of `shape`.
    """
    names = ("unbroadcast",)
    hints = (
        "How many times was each number of the small tensor used?",
        "Broadcasting does two things: it puts new axes in front, and it stretches axes of length 1. Undo both by summing; keep the axes that were there.",
        "```python\n    while g.dim() > len(shape):\n        g = g.sum(0)\n    for i, n in enumerate(shape):\n        if n == 1:\n            g = g.sum(i, keepdim=____)\n    return g\n```",
    )
    stub = """
        def unbroadcast(g, shape):
            "A small tensor of `shape` was stretched to g.shape. Bring the gradient back to it."
            ...
    """
    solution = "def unbroadcast(g, shape):\n    while g.dim() > len(shape):\n        g = g.sum(0)\n    for i, n in enumerate(shape):\n        if n == 1:\n            g = g.sum(i, keepdim=True)\n    return g"
    also_right = (
        "def unbroadcast(g, shape):\n    return g.sum_to_size(shape)",
        "def unbroadcast(g, shape):\n    small = torch.zeros(shape, dtype=g.dtype, requires_grad=True)\n    return torch.autograd.grad(small.expand(g.shape), small, g)[0]",
    )
    wrong = (
        Wrong(
            "def unbroadcast(g, shape):\n    while g.dim() > len(shape):\n        g = g.sum(0)\n    return g",
            "forgot-size-one-axes",
        ),
        Wrong(
            "def unbroadcast(g, shape):\n    while g.dim() > len(shape):\n        g = g.sum(0)\n    for i, n in reversed(list(enumerate(shape))):\n        if n == 1:\n            g = g.sum(i)\n    return g",
            "lost-the-axis",
        ),
        Wrong("def unbroadcast(g, shape):\n    return g.sum().expand(shape)", "sums-everything"),
        Wrong(
            "def unbroadcast(g, shape):\n    while g.dim() > len(shape):\n        g = g[0]\n    for i, n in enumerate(shape):\n        if n == 1:\n            g = g.narrow(i, 0, 1)\n    return g",
            "picks-instead-of-sums",
        ),
        Wrong(
            "def unbroadcast(g, shape):\n    while g.dim() > len(shape):\n        g = g.mean(0)\n    for i, n in enumerate(shape):\n        if n == 1:\n            g = g.mean(i, keepdim=True)\n    return g",
            "averages-instead-of-sums",
        ),
    )
    misconceptions = {
        "forgot-size-one-axes": "New axes in front are undone, but an axis of length 1 that was stretched has to be summed as well.",
        "lost-the-axis": "The numbers are right, an axis is gone: a gradient has exactly the shape of its tensor. (`keepdim`)",
        "sums-everything": "Every entry got the total. Only the stretched axes are summed.",
        "picks-instead-of-sums": "You took one of the copies. Each copy sent back its own part, and they are added.",
        "averages-instead-of-sums": "The copies' parts are *added*, not averaged: a number that is used twice moves the result twice.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """Gradients of several large shapes."""
        return {
            "a": rng.normal(size=(2, 3)),
            "b": rng.normal(size=(2, 3)),
            "c": rng.normal(size=(4, 2, 3)),
            "d": rng.normal(size=(2, 3)),
        }

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The small gradients."""
        import torch

        found = {}
        for name, shape in {"a": (3,), "b": (2, 1), "c": (1, 3), "d": (2, 3)}.items():
            got = answer["unbroadcast"](torch.tensor(inputs[name]), shape)
            found[name] = got.detach().numpy().copy() if isinstance(got, torch.Tensor) else None
        return found

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against sums by hand."""
        true = {
            "a": inputs["a"].sum(0),
            "b": inputs["b"].sum(1, keepdims=True),
            "c": inputs["c"].sum((0, 1)).reshape(1, 3),
            "d": inputs["d"],
        }
        wrong = [
            n for n, t in true.items() if seen[n] is None or seen[n].shape != t.shape or not np.allclose(seen[n], t)
        ]
        if not wrong:
            return Unbroadcast.right("Right, for new axes in front and for stretched ones.")
        n = wrong[0]
        if seen[n] is None:
            return Unbroadcast.not_right("`unbroadcast` should return a tensor.")
        example = f"From {inputs[n].shape} to {true[n].shape}: you return shape {seen[n].shape}."
        if any(
            seen[m].ndim > true[m].ndim and np.allclose(seen[m].ravel(), true[m].ravel())
            for m in wrong
            if seen[m] is not None and seen[m].size == true[m].size
        ):
            return Unbroadcast.not_right(f"The numbers are right, but there is an axis too many. {example}")
        if any(
            seen[m].ndim < true[m].ndim
            and seen[m].size == true[m].size
            and np.allclose(seen[m].ravel(), true[m].ravel())
            for m in wrong
            if seen[m] is not None
        ):
            return Unbroadcast.fits("lost-the-axis", example)
        if "a" not in wrong and any(seen[m].size > true[m].size for m in wrong if seen[m] is not None):
            return Unbroadcast.fits("forgot-size-one-axes", example)
        if np.allclose(seen[n], inputs[n].sum()):
            return Unbroadcast.fits("sums-everything", example)
        if "a" in wrong and seen["a"].shape == (3,):
            if np.allclose(seen["a"] * 2, true["a"]):
                return Unbroadcast.fits("averages-instead-of-sums", example)
            if any(np.allclose(seen["a"], row) for row in inputs["a"]):
                return Unbroadcast.fits("picks-instead-of-sums", example)
        return Unbroadcast.not_right(example)


class ByHand(Exercise):
    id = "09-2"
    title = "backward(v) by hand"
    question = """
        `y = W @ x` with W of shape (2, 3). Write `vjp(W, x, v)` **without** backward: what is in `x.grad` after `y.backward(v)`? (v has one number per output and says how much that output counts.)
    """
    names = ("vjp",)
    hints = (
        "x₁ moves y₁ by W₁₁ and y₂ by W₂₁. And y₁ counts v₁ times, y₂ counts v₂ times.",
        "Each input collects over the outputs: v₁·W₁ⱼ + v₂·W₂ⱼ. Which product of v and W is that?",
        "```python\n    return ____ @ W\n```",
    )
    stub = """
        def vjp(W, x, v):
            "x.grad after (W @ x).backward(v), without calling backward."
            ...
    """
    solution = "def vjp(W, x, v):\n    return v @ W"
    also_right = ("def vjp(W, x, v):\n    return W.T @ v", "def vjp(W, x, v):\n    return (W * v.unsqueeze(1)).sum(0)")
    wrong = (
        Wrong("def vjp(W, x, v):\n    return W.sum(0)", "v-left-out"),
        Wrong("def vjp(W, x, v):\n    return v.sum() * W.sum(0)", "v-is-a-factor"),
        Wrong("def vjp(W, x, v):\n    return W @ x * v", "output-shape"),
        Wrong("def vjp(W, x, v):\n    return (v @ W) * x", "times-the-input"),
    )
    misconceptions = {
        "v-left-out": "That is the answer for v = (1, 1): v has not been used.",
        "v-is-a-factor": "v is not one factor for everything (a learning rate is). Each output has its own weight.",
        "output-shape": "That has one number for each *output*. A gradient has the shape of its input.",
        "times-the-input": "The slope of W @ x towards x is W. x itself is not in it.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """A matrix, an input and weights of the outputs."""
        return {"W": rng.normal(size=(2, 3)), "x": rng.normal(size=3) + 2, "v": rng.normal(size=2)}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The function's answer."""
        import torch

        try:
            with torch.no_grad():  # nothing to walk: what is asked for is done by hand
                got = answer["vjp"](*(torch.tensor(inputs[k]) for k in ("W", "x", "v")))
        except RuntimeError as error:
            if "does not require grad" not in str(error):
                raise
            return "backward"
        return got.detach().numpy().copy() if isinstance(got, torch.Tensor) else None

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against torch's backward(v)."""
        import torch

        W, x, v = (torch.tensor(inputs[k]) for k in ("W", "x", "v"))
        x.requires_grad_()
        (W @ x).backward(v)
        assert x.grad is not None
        true = x.grad.numpy()
        if seen is None:
            return ByHand.not_right("`vjp` should return a tensor.")
        if isinstance(seen, str):
            return ByHand.not_right("Your answer runs a backward. This one is done without, from W and v.")
        if seen.shape == true.shape and np.allclose(seen, true):
            return ByHand.right()
        example = f"With v = {np.round(inputs['v'], 2).tolist()} you return {np.round(seen, 2).tolist()}."
        if seen.shape == (2,):
            return ByHand.fits("output-shape", example)
        sums = inputs["W"].sum(0)
        for word, form in {
            "v-left-out": sums,
            "v-is-a-factor": sums * inputs["v"].sum(),
            "times-the-input": true * inputs["x"],
        }.items():
            if seen.shape == form.shape and np.allclose(seen, form):
                return ByHand.fits(word, example)
        return ByHand.not_right(example)


class SilentLoss(Exercise):
    id = "09-3"
    title = "The silent square"
    question = """
        The model gives predictions of shape (N, 1), the targets have shape (N,). Repair `loss(pred, target)`: the mean squared error of each prediction against **its own** target.
    """
    names = ("loss",)
    hints = (
        "Print the shape of `pred - target`.",
        "Both must have the same shape *before* they are subtracted. Reshape one of them to the other.",
        "```python\n    return ((pred.____ - target) ** 2).mean()\n```",
    )
    stub = """
        def loss(pred, target):
            return ((pred - target) ** 2).mean()
    """
    solution = "def loss(pred, target):\n    return ((pred.squeeze(1) - target) ** 2).mean()"
    also_right = (
        "def loss(pred, target):\n    return ((pred - target.unsqueeze(1)) ** 2).mean()",
        "def loss(pred, target):\n    return torch.nn.functional.mse_loss(pred.reshape(-1), target)",
        "def loss(pred, target):\n    return ((pred - target) ** 2).diagonal().mean()",
    )
    wrong = (
        Wrong("def loss(pred, target):\n    return ((pred - target) ** 2).sum() / len(pred)", "divides-differently"),
        Wrong("def loss(pred, target):\n    return ((pred.mean() - target.mean()) ** 2)", "means-before-squares"),
        Wrong("def loss(pred, target):\n    return ((pred.T - target.unsqueeze(1)) ** 2).mean()", "still-a-square"),
        Wrong("def loss(pred, target):\n    return ((pred.squeeze(1) - target) ** 2).sum()", "sum-for-mean"),
    )
    misconceptions = {
        "divides-differently": "The difference is still an N×N square: every prediction against every target. Dividing by something else does not repair that.",
        "means-before-squares": "That compares the *averages*: wrong predictions that are wrong in both directions would cost nothing.",
        "still-a-square": "Turned round, but still a square: every prediction against every target.",
        "sum-for-mean": "The shapes are right now; the sum is N times the mean.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """Predictions and targets."""
        n = int(rng.choice([4, 6, 7]))
        return {"pred": rng.normal(size=(n, 1)), "target": rng.normal(size=n) + 1}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The loss, and the gradient of the predictions."""
        import torch

        pred = torch.tensor(inputs["pred"], requires_grad=True)
        value = answer["loss"](pred, torch.tensor(inputs["target"]))
        if not isinstance(value, torch.Tensor) or value.dim():
            return None
        if value.requires_grad:
            value.backward()
        return {"value": float(value.detach()), "grad": None if pred.grad is None else pred.grad.numpy().copy()}

    @staticmethod
    def graph(answer: dict[str, Any]) -> dict[str, Any]:
        """What the answer records on small numbers."""
        import torch

        pred = torch.tensor([[1.0], [2.0], [3.0]], requires_grad=True)
        return {"loss": answer["loss"](pred, torch.tensor([1.0, 2.0, 3.0])), "pred": pred}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against numpy, pair by pair."""
        if seen is None:
            return SilentLoss.not_right("`loss` should return one number, as a tensor.")
        p, t = inputs["pred"][:, 0], inputs["target"]
        square = (p[:, None] - t[None, :]) ** 2
        true, value = ((p - t) ** 2).mean(), seen["value"]
        if np.isclose(value, true):
            if seen["grad"] is None or not np.allclose(seen["grad"][:, 0], 2 * (p - t) / len(t)):
                return SilentLoss.not_right("The value is right, but the gradient of the predictions is not.")
            return SilentLoss.right()
        example = f"For {len(t)} pairs the mean squared error is {true:.4f}; you return {value:.4f}."
        for word, form in {
            "sum-for-mean": true * len(t),
            "means-before-squares": (p.mean() - t.mean()) ** 2,
            "still-a-square": square.mean(),
            "divides-differently": square.sum() / len(t),
        }.items():
            if np.isclose(value, form):
                return SilentLoss.fits(word, example)
        return SilentLoss.not_right(example)


class MaxBack(Exercise):
    id = "09-4"
    title = "Back through max, with ties"
    core = False
    points = 1
    question = """
        `m = x.max()` over a whole tensor. Write `max_back(g, x)`: what leaves towards x, as torch does it, **also when the largest number occurs several times**?
    """
    names = ("max_back",)
    hints = (
        "Try it: `x = torch.tensor([1., 5., 5.], requires_grad=True)`, then `x.max().backward()`.",
        "Only the places that hold the maximum get something; together they get exactly what arrives.",
        "```python\n    mask = (x == x.max()).to(x.dtype)\n    return g * mask / ____\n```",
    )
    stub = """
        def max_back(g, x):
            "g arrives at m = x.max(). What leaves towards x?"
            ...
    """
    solution = "def max_back(g, x):\n    mask = (x == x.max()).to(x.dtype)\n    return g * mask / mask.sum()"
    also_right = ("def max_back(g, x):\n    return g * (x == x.max()) / (x == x.max()).sum()",)
    wrong = (
        Wrong("def max_back(g, x):\n    return g * (x == x.max()).to(x.dtype)", "ties-paid-in-full"),
        Wrong(
            "def max_back(g, x):\n    out = torch.zeros_like(x)\n    out.view(-1)[x.argmax()] = g\n    return out",
            "winner-takes-all",
        ),
        Wrong("def max_back(g, x):\n    return g * torch.ones_like(x) / x.numel()", "max-is-mean"),
    )
    misconceptions = {
        "ties-paid-in-full": "With a tie each of the equal ones got the whole gradient: more leaves than arrives.",
        "winner-takes-all": "With a tie one of the equal ones got everything. torch's `x.max()` shares evenly. (`x.max(dim)` does pick one: it has to name an index.)",
        "max-is-mean": "Moving a number that is not the largest does not move the maximum: its gradient is 0.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """What arrives; a tensor without and one with a tie."""
        x = rng.normal(size=(2, 3))
        tie = rng.normal(size=6)
        tie[1 : int(rng.integers(4, 6))] = 5.0
        return {"g": float(rng.uniform(2, 3)), "x": x, "tie": tie}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """Both gradients."""
        import torch

        g = torch.tensor(inputs["g"], dtype=torch.float64)
        got = [answer["max_back"](g, torch.tensor(inputs[k])) for k in ("x", "tie")]
        return [
            t.detach().double().numpy().copy() if isinstance(t, torch.Tensor) and not t.is_complex() else None
            for t in got
        ]

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against torch."""
        import torch

        if None in [None if s is None else 1 for s in seen]:
            return MaxBack.not_right("`max_back` should return a tensor of x's shape, of real numbers.")
        true = []
        for k in ("x", "tie"):
            x = torch.tensor(inputs[k], requires_grad=True)
            x.max().backward(torch.tensor(inputs["g"], dtype=torch.float64))
            assert x.grad is not None
            true.append(x.grad.numpy())
        if all(s.shape == t.shape and np.allclose(s, t) for s, t in zip(seen, true, strict=True)):
            return MaxBack.right()
        if seen[0].shape != true[0].shape or not np.allclose(seen[0], true[0]):
            return (
                MaxBack.fits("max-is-mean")
                if seen[0].shape == true[0].shape and np.count_nonzero(seen[0]) == seen[0].size
                else MaxBack.not_right("Not yet right for a tensor without ties.")
            )
        example = f"For {np.round(inputs['tie'], 2).tolist()} a {inputs['g']:.2f} arrives; your gradients sum up to {seen[1].sum():.2f}."
        return MaxBack.fits("ties-paid-in-full" if seen[1].sum() > inputs["g"] * 1.01 else "winner-takes-all", example)


def _mm(a: str = "G @ B.T", b: str = "A.T @ G") -> str:
    return f"def matmul_back(G, A, B):\n    return {a}, {b}\n"


class MatmulBack(Exercise):
    id = "09-5"
    title = "Back through a matrix product"
    core = False
    points = 2
    question = """
        `C = A @ B`; `G` arrives, with C's shape. Write `matmul_back(G, A, B)`: what leaves towards A and towards B. (You need no calculus: the shapes leave only one possibility.)
    """
    names = ("matmul_back",)
    hints = (
        "A is (n, k), B is (k, m), G is (n, m). What can be multiplied to get (n, k)?",
        "(n, m) times (m, k): G and B turned round. And for B: (k, n) times (n, m).",
        "```python\n    return G @ ____, ____ @ G\n```",
    )
    stub = """
        def matmul_back(G, A, B):
            return ..., ...
    """
    solution = _mm()
    also_right = (_mm("torch.einsum('nm,km->nk', G, B)", "torch.einsum('nk,nm->km', A, G)"),)
    wrong = (
        Wrong(_mm("(G @ B.T).T", "(A.T @ G).T"), "turned-round"),
        Wrong(_mm("torch.ones_like(G) @ B.T", "A.T @ torch.ones_like(G)"), "forgot-incoming"),
        Wrong(_mm("A.T @ G", "G @ B.T"), "swapped"),
    )
    misconceptions = {
        "turned-round": "The numbers are right, the shape is turned round: a gradient has the shape of its tensor.",
        "forgot-incoming": "Right only if ones arrive: G has not been used.",
        "swapped": "The two are in the wrong order: first towards A, then towards B.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """Three matrices."""
        return {"A": rng.normal(size=(2, 3)), "B": rng.normal(size=(3, 4)), "G": rng.normal(size=(2, 4))}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """Both gradients."""
        import torch

        got = answer["matmul_back"](*(torch.tensor(inputs[k]) for k in ("G", "A", "B")))
        if not isinstance(got, (tuple, list)) or len(got) != 2:
            return None
        return [t.detach().numpy().copy() if isinstance(t, torch.Tensor) else None for t in got]

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against the formula in numpy."""
        if seen is None or any(s is None for s in seen):
            return MatmulBack.not_right("`matmul_back` should return two tensors: towards A, and towards B.")
        A, B, G = inputs["A"], inputs["B"], inputs["G"]
        true = [G @ B.T, A.T @ G]

        def near(one: np.ndarray, other: np.ndarray) -> bool:
            return one.shape == other.shape and bool(np.allclose(one, other))

        if near(seen[0], true[0]) and near(seen[1], true[1]):
            return MatmulBack.right()
        example = f"A is {A.shape} and B is {B.shape}; you return {seen[0].shape} and {seen[1].shape}."
        if near(seen[0], true[1]) and near(seen[1], true[0]):
            return MatmulBack.fits("swapped", example)
        if near(seen[0], true[0].T) or near(seen[1], true[1].T):
            return MatmulBack.fits("turned-round", example)
        ones = np.ones_like(G)
        return (
            MatmulBack.fits("forgot-incoming", example)
            if near(seen[0], ones @ B.T) or near(seen[1], A.T @ ones)
            else MatmulBack.not_right(example)
        )
