"""Lesson 10, hooks, and why a gradient is None or NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradlab.exercises._framework import Exercise, Prediction, Verdict, Wrong
from gradlab.exercises._tables import TableExercise

PREDICTIONS = [
    Prediction(
        "10B",
        "x is 3, `x.register_hook(lambda g: 2 * g)`, then `(x * x).backward()`. What is `x.grad`?",
        {
            "6": "The hook stands between the graph and `.grad`: what it returns replaces the gradient, *before* it is stored.",
            "12": "Yes: 6 arrives, the hook returns 12, and 12 is stored.",
            "an error": "Hooks on leaves are fine. What the hook returns replaces the gradient.",
        },
        shows="12",
    ),
    Prediction(
        "10C",
        "At x = 0: `y = torch.where(x > 0, x.sqrt(), 0.0)`. The square root is not even chosen. What is `x.grad`?",
        {
            "0": "Backward walks *both* branches. The one not chosen gets a 0, and 0 times the slope of sqrt at 0, which is infinite, is NaN.",
            "nan": "Yes: the branch not chosen gets a gradient of 0, and 0 times infinity (the slope of sqrt at 0) is NaN.",
            "inf": "The slope of sqrt at 0 is infinite; but what arrives there is 0, and 0 times infinity is NaN.",
        },
        shows="nan",
    ),
    Prediction(
        "10A",
        "`unused` requires a gradient but is not in the loss. After backward, `unused.grad` is",
        {
            "0": "A gradient of 0 would be mathematically right. But backward only visits what the graph reaches, and it never got there.",
            "None": "Yes: backward never got there, so nothing was ever stored.",
        },
        shows="None",
    ),
    Prediction(
        "10D",
        "`features(w)` returns `h.detach()`. Afterwards only the finished graph of the loss is there to look at. Which cause can it name?",
        {
            "detached": "The graph would have to remember its own cut. But what was cut off was never put into it; only somebody who watched the program run knows.",
            "not-reached": "Yes: the graph ends at b. That w once was on the way cannot be seen any more.",
            "no-backward-yet": "Backward has run, and b got its gradient. It never came to w.",
        },
        shows="not-reached",
    ),
]

_EXPLAIN = """
def explain_none(t, loss):
    if not (t.dtype.is_floating_point or t.dtype.is_complex):
        return "wrong dtype"
    if not t.requires_grad:
        return "not required"
    if not t.is_leaf:
        return "not a leaf"
    seen, todo = set(), [loss.grad_fn]
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if getattr(node, "variable", None) is t:
            return "not yet"
        todo += [below for below, _ in node.next_functions]
    return "not reached"
"""


class ExplainNone(Exercise):
    id = "10-1"
    title = "Why is my grad None?"
    points = 3
    question = """
        `t.grad` is None. Write `explain_none(t, loss)`, which returns one of `"wrong dtype"` (not a floating point tensor), `"not required"`, `"not a leaf"`, `"not reached"` (no way from loss to t) and
        `"not yet"` (there is a way; nobody has called backward). Give the first that applies, in this order.
    """
    names = ("explain_none",)
    hints = (
        "The first three can be read off t alone. For the last two you have to look from loss.",
        "Walk from `loss.grad_fn` as in 02-2, all the way down, and look for the node whose `variable` **is** t. A loss without a graph reaches nobody.",
        '```python\n        if getattr(node, "variable", None) is ____:\n            return "not yet"\n```',
    )
    stub = """
        def explain_none(t, loss):
            "One of: wrong dtype, not required, not a leaf, not reached, not yet."
            ...
    """
    solution = _EXPLAIN
    also_right = (
        _EXPLAIN.replace("if not (t.dtype.is_floating_point or t.dtype.is_complex):", "if not t.is_floating_point():"),
        """
        def explain_none(t, loss):
            if not t.is_floating_point(): return "wrong dtype"
            if not t.requires_grad: return "not required"
            if not t.is_leaf: return "not a leaf"
            if not loss.requires_grad: return "not reached"
            (g,) = torch.autograd.grad(loss, t, allow_unused=True, retain_graph=True)
            return "not reached" if g is None else "not yet"
        """,
    )
    wrong = (
        Wrong(
            _EXPLAIN.replace(
                'if not (t.dtype.is_floating_point or t.dtype.is_complex):\n        return "wrong dtype"\n    if', "if"
            ),
            "dtype-forgotten",
        ),
        Wrong(_EXPLAIN.replace('if not t.is_leaf:\n        return "not a leaf"\n    ', ""), "results-keep-their-grad"),
        Wrong(
            'def explain_none(t, loss):\n    if not t.is_floating_point():\n        return "wrong dtype"\n    if not t.requires_grad:\n        return "not required"\n    if not t.is_leaf:\n        return "not a leaf"\n    if loss.grad_fn and any(getattr(n, "variable", None) is t for n, _ in loss.grad_fn.next_functions):\n        return "not yet"\n    return "not reached"',
            "only-one-level",
        ),
        Wrong(
            _EXPLAIN.replace(
                'if getattr(node, "variable", None) is t:',
                'if hasattr(node, "variable") and torch.equal(node.variable, t):',
            ),
            "equal-is-not-the-same",
        ),
        Wrong(
            'def explain_none(t, loss):\n    if not t.is_floating_point():\n        return "wrong dtype"\n    if not t.requires_grad:\n        return "not required"\n    if not t.is_leaf:\n        return "not a leaf"\n    return "not yet"',
            "requires-grad-means-reached",
        ),
    )
    misconceptions = {
        "dtype-forgotten": "An integer tensor cannot require a gradient: that it does not is not the cause. The dtype is.",
        "results-keep-their-grad": "A result does not keep a `.grad`, however well it is reached.",
        "only-one-level": "The leaf may lie further down: walk all the way.",
        "equal-is-not-the-same": "Another leaf happens to hold the same numbers. Ask whether it **is** t.",
        "requires-grad-means-reached": "t asks for a gradient, but that alone puts it into no graph: is there a way from loss to t?",
    }

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The word for each of seven tensors."""
        import torch

        a = torch.ones(2, requires_grad=True)
        twin = torch.ones(2, requires_grad=True)
        h = a * 2
        deep = (h.exp() + 1).sum()
        cases = {
            "a leaf deep in the graph": (a, deep),
            "a leaf that only looks like it": (twin, deep),
            "a result in the graph": (h, deep),
            "integers": (torch.arange(2), deep),
            "a constant": (torch.ones(2), deep),
            "a leaf, and a loss without a graph": (a, torch.tensor(1.0)),
            "a leaf just below": (a, a.sum()),
        }
        found = {}
        for name, (t, loss) in cases.items():
            word = answer["explain_none"](t, loss)
            found[name] = None if word is None else str(word).strip().lower()
        return {"words": found, "filled": a.grad is not None}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Each case has one cause."""
        truth = {
            "a leaf deep in the graph": "not yet",
            "a leaf that only looks like it": "not reached",
            "a result in the graph": "not a leaf",
            "integers": "wrong dtype",
            "a constant": "not required",
            "a leaf, and a loss without a graph": "not reached",
            "a leaf just below": "not yet",
        }
        words = seen["words"]
        if seen["filled"]:
            return ExplainNone.not_right(
                "Your function ran a backward and filled a `.grad`. A question should not change what it asks about."
            )
        wrong = [name for name in truth if words[name] != truth[name]]
        if not wrong:
            return ExplainNone.right("Right for all seven. `gradlab.why` does this and more.")
        example = f'For {wrong[0]}: expected "{truth[wrong[0]]}", got {words[wrong[0]]!r}.'
        if "integers" in wrong and words["integers"] == "not required":
            return ExplainNone.fits("dtype-forgotten", example)
        if wrong == ["a result in the graph"]:
            return ExplainNone.fits("results-keep-their-grad", example)
        if wrong == ["a leaf deep in the graph"]:
            return ExplainNone.fits("only-one-level", example)
        if words["a leaf, and a loss without a graph"] == "not yet":
            return ExplainNone.fits("requires-grad-means-reached", example)
        return (
            ExplainNone.fits("equal-is-not-the-same", example)
            if wrong == ["a leaf that only looks like it"]
            else ExplainNone.not_right(example)
        )


class ClipByHook(Exercise):
    id = "10-2"
    title = "Clip by hook"
    question = """
        Write `clip(t, limit)`: from now on, no number of a gradient that flows through t is larger than `limit` or smaller than `-limit`. Call it *before* backward; it returns nothing. (t may be a leaf
        or a result.)
    """
    names = ("clip",)
    hints = (
        "When your function is called there is no gradient yet. Who is called when there is?",
        "`t.register_hook(f)`: f gets the gradient, and what f *returns* takes its place. It must not write into what it got: others may hold it.",
        "```python\ndef clip(t, limit):\n    t.register_hook(lambda g: g.____(-limit, limit))\n```",
    )
    stub = """
        def clip(t, limit):
            "Gradients that flow through t stay between -limit and limit."
            ...
    """
    solution = "def clip(t, limit):\n    t.register_hook(lambda g: g.clamp(-limit, limit))"
    also_right = (
        "def clip(t, limit):\n    def f(g):\n        return torch.minimum(torch.maximum(g, torch.full_like(g, -limit)), torch.full_like(g, limit))\n    t.register_hook(f)",
    )
    wrong = (
        Wrong(
            "def clip(t, limit):\n    def f(g):\n        g.clamp(-limit, limit)\n    t.register_hook(f)",
            "returns-nothing",
        ),
        Wrong(
            "def clip(t, limit):\n    def f(g):\n        return g.clamp_(-limit, limit)\n    t.register_hook(f)",
            "edits-the-shared-gradient",
        ),
        Wrong("def clip(t, limit):\n    if t.grad is not None:\n        t.grad.clamp_(-limit, limit)", "too-early"),
        Wrong(
            "def clip(t, limit):\n    t.register_hook(lambda g: g * min(1.0, limit / g.norm().item()))",
            "clips-the-length",
        ),
        Wrong("def clip(t, limit):\n    t.data.clamp_(-limit, limit)", "clips-the-numbers"),
    )
    misconceptions = {
        "returns-nothing": "Your hook computes the clipped gradient and does not return it. A hook that returns None leaves the gradient as it is.",
        "edits-the-shared-gradient": "t's gradient is clipped, and so is its *neighbour's*: an addition hands the very same tensor to both sides, and you wrote into it. Return a new one.",
        "too-early": "When `clip` is called, backward has not run: there is no gradient to clip. Leave a hook that will be called.",
        "clips-the-length": "That limits the *length* of the gradient; each single number was to stay between the limits.",
        "clips-the-numbers": "You clipped t's own numbers. Its gradient is another tensor.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """What flows back; the first number is too large, the second too small, the third fine."""
        g = np.array([5.0, -7.0, 0.3]) * float(rng.uniform(0.9, 1.1))
        return {"g": g, "limit": float(rng.uniform(1.5, 3.0))}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The gradients of t and of its neighbour in a sum."""
        import torch

        found = {}
        for kind in ("leaf", "result"):
            x, neighbour = (torch.full((3,), 9.0, dtype=torch.float64, requires_grad=True) for _ in range(2))
            t = x if kind == "leaf" else x * 1.0
            y = t + neighbour
            answer["clip"](t, inputs["limit"])
            hooked = bool(t._backward_hooks)
            changed = bool((t.detach() != 9.0).any())
            y.backward(torch.tensor(inputs["g"]))
            found[kind] = {
                "t": None if x.grad is None else x.grad.numpy().copy(),
                "neighbour": None if neighbour.grad is None else neighbour.grad.numpy().copy(),
                "changed": changed,
                "hooked": hooked,
            }
        return found

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Clipped at t, untouched at the neighbour."""
        g, limit = inputs["g"], inputs["limit"]
        true = np.clip(g, -limit, limit)
        example = f"{np.round(g, 2).tolist()} flows in with limit {limit:.2f}; t gets {np.round(seen['leaf']['t'], 2).tolist() if seen['leaf']['t'] is not None else None}."
        if seen["leaf"]["changed"]:
            return ClipByHook.fits("clips-the-numbers")
        for kind in ("leaf", "result"):
            t, neighbour = seen[kind]["t"], seen[kind]["neighbour"]
            if t is None or neighbour is None:
                return ClipByHook.not_right(example)
            if not np.allclose(t, true):
                if np.allclose(t, g):
                    return ClipByHook.fits("returns-nothing" if seen[kind]["hooked"] else "too-early", example)
                return (
                    ClipByHook.fits("clips-the-length", example)
                    if np.isclose(np.linalg.norm(t), limit)
                    else ClipByHook.not_right(example)
                )
            if not np.allclose(neighbour, g):
                return ClipByHook.fits(
                    "edits-the-shared-gradient",
                    f"For y = t + u, u should get {np.round(g, 2).tolist()} and gets {np.round(neighbour, 2).tolist()}.",
                )
        return ClipByHook.right()


class SafeRoot(Exercise):
    id = "10-3"
    title = "The NaN from the branch not taken"
    question = """
        `safe_root(x)` gives the square root where x > 0, and 0 elsewhere. Its values are right; its gradient at 0 is NaN. Repair it: the gradient is 0 wherever x ≤ 0, and right elsewhere.
    """
    names = ("safe_root",)
    hints = (
        "Which branch does the NaN come from, and what did that branch compute?",
        "Backward walks both branches, so *both* must be harmless. Give the square root something harmless where it will not be chosen.",
        "```python\n    inner = torch.where(x > 0, x, ____)\n    return torch.where(x > 0, inner.sqrt(), 0.0)\n```",
    )
    stub = """
        def safe_root(x):
            return torch.where(x > 0, x.sqrt(), 0.0)
    """
    solution = (
        "def safe_root(x):\n    inner = torch.where(x > 0, x, 1.0)\n    return torch.where(x > 0, inner.sqrt(), 0.0)"
    )
    also_right = (
        "def safe_root(x):\n    return torch.where(x > 0, x.clamp(min=1e-30).sqrt(), 0.0)",
        "def safe_root(x):\n    out = torch.zeros_like(x)\n    out[x > 0] = x[x > 0].sqrt()\n    return out",
    )
    wrong = (
        Wrong("def safe_root(x):\n    return x.sqrt() * (x > 0)", "multiplied-away"),
        Wrong(
            "def safe_root(x):\n    return torch.nan_to_num(torch.where(x > 0, x.sqrt(), 0.0))",
            "values-were-not-the-trouble",
        ),
        Wrong("def safe_root(x):\n    return torch.where(x > 0, x.sqrt().detach(), 0.0)", "everything-cut"),
        Wrong("def safe_root(x):\n    return (x.clamp(min=0) + 1e-12).sqrt()", "values-moved"),
        Wrong("def safe_root(x):\n    return torch.where(x > 0, (x + 1e-12).sqrt(), 0.0)", "a-little-added"),
    )
    misconceptions = {
        "multiplied-away": "0 times infinity is NaN, on the way there as on the way back. Multiplying with 0 does not remove it.",
        "values-were-not-the-trouble": "The *values* had no NaN. It arises on the way back, in the branch that was not chosen.",
        "everything-cut": "No NaN any more, and no gradient at all where it should be 1/(2√x).",
        "values-moved": "The values have changed: they should be the root wherever x > 0, however small x is, and exactly 0 elsewhere.",
        "a-little-added": "At 0 it is finite now, but for x < 0 the branch not chosen still takes the root of a negative number.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """A positive, a zero, a negative and a small positive number."""
        return {"x": np.array([rng.uniform(1, 4), 0.0, -rng.uniform(1, 2), rng.uniform(0.001, 0.009)])}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """Values and gradient."""
        import torch

        x = torch.tensor(inputs["x"], requires_grad=True)
        y = answer["safe_root"](x)
        if not isinstance(y, torch.Tensor) or y.is_complex():
            return None
        if y.requires_grad:
            y.sum().backward()
        return {"value": y.detach().double().numpy().copy(), "grad": None if x.grad is None else x.grad.numpy().copy()}

    @staticmethod
    def graph(answer: dict[str, Any]) -> dict[str, Any]:
        """What the answer records on small numbers."""
        import torch

        x = torch.tensor([4.0, 0.0], requires_grad=True)
        return {"y": answer["safe_root"](x), "x": x}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against the formula."""
        x = inputs["x"]
        safe = np.where(x > 0, x, 1.0)
        value, true = np.where(x > 0, np.sqrt(safe), 0), np.where(x > 0, 0.5 / np.sqrt(safe), 0)
        if seen is None or seen["value"].shape != x.shape:
            return SafeRoot.not_right("`safe_root` should return a tensor of x's shape, of real numbers.")
        example = f"For x = {np.round(x, 2).tolist()} your values are {np.round(seen['value'], 3).tolist()}."
        if np.isnan(seen["value"]).any():
            times_zero = seen["grad"] is not None and np.isnan(seen["grad"][1])
            return SafeRoot.fits("multiplied-away", example) if times_zero else SafeRoot.not_right(example)
        if not np.allclose(seen["value"], value, atol=1e-7):
            return SafeRoot.fits("values-moved", example)
        grad = seen["grad"]
        if grad is None:
            return SafeRoot.fits("everything-cut")
        example = f"For x = {np.round(x, 2).tolist()} your gradient is {np.round(grad, 3).tolist()}."
        if np.allclose(grad, true, atol=1e-6):
            return SafeRoot.right("Right: nothing harmful in either branch.")
        if np.isnan(grad[2]) and np.isfinite(grad[1]):
            return SafeRoot.fits("a-little-added", example)
        return (
            SafeRoot.fits("values-were-not-the-trouble", example)
            if np.isnan(grad).any()
            else SafeRoot.not_right(example)
        )


def _order(a: object, b: object, h: object, x: object) -> str:
    return f'given = {{\n    "A is given": {a},\n    "B is given": {b},\n    "h.grad": {h},\n    "x.grad": {x},\n}}'


class OrderOfHooks(TableExercise):
    id = "10-4"
    title = "In which order?"
    core = False
    points = 1
    question = """
        x is 1, `h = x * 3`. First `h.register_hook(A)` with A: g → 10·g, then `h.retain_grad()`, then `h.register_hook(B)` with B: g → g + 1. Then `h.backward()`. Four numbers, please.
    """
    names = ("given",)
    hints = (
        "A 1 arrives at h. Who sees it first?",
        "Hooks run in the order in which they were registered, each on what the one before returned. What is retained is what is left after *all* of them, wherever `retain_grad()` stood.",
        '```python\n"A is given": 1, "B is given": 10, "h.grad": ____,\n```',
    )
    stub = _order("...", "...", "...", "...")
    solution = _order(1, 10, 11, 33)
    wrong = (
        Wrong(_order(1, 10, 10, 33), "retained-in-the-middle"),
        Wrong(_order(1, 10, 1, 33), "retained-before-hooks"),
        Wrong(_order(2, 1, 20, 60), "last-hook-first"),
        Wrong(_order(1, 1, 1, 3), "hooks-only-look"),
    )
    misconceptions = {
        "retained-in-the-middle": "it does not matter where `retain_grad()` stood among the hooks: what is kept is the gradient after all of them.",
        "retained-before-hooks": "what is kept is not what arrived but what is left after the hooks: the gradient that goes on.",
        "last-hook-first": "hooks run in the order in which they were registered.",
        "hooks-only-look": "what a hook returns takes the gradient's place, for the next hook and for everything below.",
    }

    @classmethod
    def truth(cls) -> dict[str, Any]:
        """The program, run."""
        import torch

        given: dict[str, float] = {}

        def hook(name: str, f: Any) -> Any:
            def run(g: Any) -> Any:
                given[f"{name} is given"] = g.item()
                return f(g)

            return run

        x = torch.tensor(1.0, requires_grad=True)
        h = x * 3
        h.register_hook(hook("A", lambda g: 10 * g))
        h.retain_grad()
        h.register_hook(hook("B", lambda g: g + 1))
        h.backward()
        assert h.grad is not None
        assert x.grad is not None
        return {
            "A is given": given["A is given"],
            "B is given": given["B is given"],
            "h.grad": h.grad.item(),
            "x.grad": x.grad.item(),
        }

    @classmethod
    def word(cls, key: str, given: Any, true: Any) -> str | None:
        """Which misunderstanding a wrong number shows."""
        if key == "h.grad":
            words: dict[Any, str] = {10: "retained-in-the-middle", 1: "retained-before-hooks", 20: "last-hook-first"}
            return words.get(given) if isinstance(given, (int, float)) else None
        if key == "x.grad" and given in (3, 30):
            return "hooks-only-look"
        if key == "B is given":
            return "hooks-only-look" if given == 1 else "last-hook-first"
        return "last-hook-first"

    @classmethod
    def judge(cls, inputs: dict[str, Any], seen: dict[str, Any]) -> Verdict:
        """As in every table; but B before A explains everything at once."""
        verdict = super().judge(inputs, seen)
        if verdict.status == "failed" and seen.get("A is given") == 2 and seen.get("B is given") == 1:
            return cls.fits("last-hook-first")
        if verdict.status == "failed" and seen.get("B is given") == 1 and seen.get("A is given") == 1:
            return cls.fits("hooks-only-look", "B is given what A returned.")
        return verdict


_ATTACH = "def attach(params, lr):\n    def step(p):\n{body}\n    for p in params:\n        p.{how}(step)\n"


class StepInHook(Exercise):
    id = "10-5"
    title = "An optimizer in a hook"
    core = False
    points = 2
    question = """
        For huge models all gradients together do not fit into memory. So: as soon as a parameter's `.grad` is complete, move the parameter and let its gradient go, *while backward is still running*. Write
        `attach(params, lr)`; afterwards a plain `loss.backward()` trains, and leaves every `.grad` at None.
    """
    names = ("attach",)
    hints = (
        "Two kinds of hook on a leaf: one before the gradient is stored, one after.",
        "`p.register_post_accumulate_grad_hook(f)` calls f(p) when `p.grad` is there. Move p without recording, then drop its grad.",
        "```python\n    def step(p):\n        with torch.no_grad():\n            p -= lr * p.grad\n        p.grad = ____\n```",
    )
    stub = """
        def attach(params, lr):
            "Let each parameter take its own step as soon as its gradient is there."
            ...
    """
    solution = _ATTACH.format(
        body="        with torch.no_grad():\n            p -= lr * p.grad\n        p.grad = None",
        how="register_post_accumulate_grad_hook",
    )
    also_right = (
        _ATTACH.format(
            body="        p.detach().sub_(lr * p.grad)\n        p.grad = None", how="register_post_accumulate_grad_hook"
        ),
    )
    wrong = (
        Wrong(
            "def attach(params, lr):\n    for p in params:\n        def step(g, p=p):\n            if p.grad is not None:\n                p.data -= lr * p.grad\n            p.grad = None\n        p.register_hook(step)",
            "before-it-is-stored",
        ),
        Wrong(
            _ATTACH.format(
                body="        with torch.no_grad():\n            p -= lr * p.grad",
                how="register_post_accumulate_grad_hook",
            ),
            "gradient-kept",
        ),
        Wrong(
            "def attach(params, lr):\n    def step(p):\n        with torch.no_grad():\n            p -= lr * p.grad\n        p.grad = None\n    params[-1].register_post_accumulate_grad_hook(step)",
            "one-of-them",
        ),
        Wrong(
            _ATTACH.format(
                body="        with torch.no_grad():\n            p += lr * p.grad\n        p.grad = None",
                how="register_post_accumulate_grad_hook",
            ),
            "uphill",
        ),
    )
    misconceptions = {
        "before-it-is-stored": "`register_hook` is called *before* the gradient is stored: at that moment `p.grad` is still empty or old.",
        "gradient-kept": "The parameters move, but the gradients stay: the memory is not saved, and at the next backward the old gradient is added to the new one.",
        "one-of-them": "Not every parameter takes its step.",
        "uphill": "The parameters move in the direction of the gradient: the loss grows.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """Two parameters, the slopes of two losses and the length of a step."""
        return {"p": rng.normal(size=(2, 3)), "c": rng.normal(size=(2, 3)) + 2, "lr": float(rng.uniform(0.05, 0.15))}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The parameters after each of two backwards, and whether gradients are left."""
        import numpy as np
        import torch

        params = [torch.tensor(p, requires_grad=True) for p in inputs["p"]]
        answer["attach"](params, inputs["lr"])
        found = []
        for _ in range(2):
            sum((p * torch.tensor(c)).sum() for p, c in zip(params, inputs["c"], strict=True)).backward()
            found.append(
                {
                    "p": np.stack([p.detach().numpy() for p in params]).tolist(),
                    "kept": [p.grad is not None for p in params],
                }
            )
        return found

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Two steps of plain gradient descent, nothing left behind."""
        p, step = inputs["p"], inputs["lr"] * inputs["c"]
        first, second = (np.array(s["p"]) for s in seen)
        moved = [not np.allclose(first[i], p[i]) for i in range(2)]
        if not any(moved):
            words = "After the first backward no parameter has moved."
            is_late = any(seen[0]["kept"]) and not np.allclose(second, p)
            return StepInHook.fits("before-it-is-stored", words) if is_late else StepInHook.not_right(words)
        if not all(moved):
            return StepInHook.fits("one-of-them")
        if np.allclose(first, p + step):
            return StepInHook.fits("uphill")
        if any(seen[0]["kept"]):
            return StepInHook.fits("gradient-kept")
        good = np.allclose(first, p - step) and np.allclose(second, p - 2 * step)
        return (
            StepInHook.right()
            if good
            else StepInHook.not_right("The parameters should move by -lr times their gradient at each backward.")
        )


_NO_WAY = "the loss has no history at all, and backward has nowhere to go"
_MENDED = """
def loss_of(w, x, target):
    scale = (w * w).sum().sqrt()
    scores = torch.stack([(x[0] * w).sum(), (x[1] * w).sum()])
    soft = torch.sigmoid(scores / scale)
    return ((soft - target) ** 2).mean()
"""


class MendTheCuts(Exercise):
    id = "10-6"
    title = "Three cuts"
    points = 3
    core = False
    question = """
        `loss_of` computes what it should, but `w` gets no gradient: its way is cut in **three** places. Find them with `gradlab.watch()` (mend one, run again, look again) and mend them all. The value of the
        loss must stay as it is.
    """
    names = ("loss_of",)
    hints = (
        "`with gradlab.watch() as seen:` around `loss = loss_of(w, x, target)`, then `seen.why(w, loss)`: it names one line. Mend it, and ask again.",
        "Stay in torch all the way: a number taken out with `.item()`, a tensor built anew with `torch.tensor([...])`, and `.data` have no history. `torch.stack` builds a tensor from tensors and keeps it.",
        "```python\n        scale = (w * w).sum().sqrt()      # no .item()\n        scores = torch.____([(x[0] * w).sum(), (x[1] * w).sum()])\n        soft = torch.sigmoid(scores / scale)\n```",
    )
    stub = """
        def loss_of(w, x, target):
            "The same value, and a gradient for w."
            scale = (w * w).sum().sqrt().item()
            scores = torch.tensor([(x[0] * w).sum(), (x[1] * w).sum()])
            soft = torch.sigmoid(scores.data / scale)
            return ((soft - target) ** 2).mean()
    """
    solution = _MENDED
    also_right = (
        "def loss_of(w, x, target):\n    soft = torch.sigmoid((x * w).sum(1) / (w * w).sum().sqrt())\n    return ((soft - target) ** 2).mean()",
        "def loss_of(w, x, target):\n    soft = torch.sigmoid(x @ w / w.norm())\n    return ((soft - target) ** 2).mean()",
    )
    wrong = (
        Wrong(_MENDED.replace(".sqrt()", ".sqrt().item()"), "item-is-a-tensor"),
        Wrong(_MENDED.replace(".sqrt()", ".sqrt().detach()"), "detached-scale"),
        Wrong(
            _MENDED.replace("scores / scale)", "scores.data / scale.item())").replace(
                ".mean()", ".mean().requires_grad_()"
            ),
            "requires-grad-heals",
        ),
        Wrong(_MENDED.replace("scores / scale)", "scores.data / scale)"), "a-cut-is-left"),
        Wrong(_MENDED.replace("torch.stack", "torch.tensor"), "a-cut-is-left"),
        Wrong(_MENDED.replace(" / scale", ""), "other-value"),
    )
    misconceptions = {
        "item-is-a-tensor": "The gradient comes, but it is not right: `.item()` makes the scale a plain number, so the gradient treats it as a constant although it depends on w.",
        "detached-scale": "The gradient comes, but it is not right: the scale depends on w too, and you cut that way off.",
        "requires-grad-heals": "`requires_grad_()` on the loss silences the error and makes a new leaf: there is still no way back to w.",
        "a-cut-is-left": "A gradient comes, but a part of it is missing: one of the ways from w to the loss is still cut. Look again with `gradlab.watch()`.",
        "other-value": "The value of the loss has changed. Only the cuts are to go.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """Weights, two rows and two targets."""
        return {
            "w": rng.uniform(0.5, 2.0, 3).round(2), "x": rng.uniform(-1.5, 1.5, (2, 3)).round(2), "target": np.array([0.0, 1.0]),
        }  # fmt: skip

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The loss, and what arrives at w."""
        import inspect

        import torch

        w = torch.tensor(inputs["w"], requires_grad=True)
        loss = answer["loss_of"](w, torch.tensor(inputs["x"]), torch.tensor(inputs["target"]))
        if loss is None:
            return None
        error = None
        try:
            loss.backward()
        except RuntimeError as problem:
            error = str(problem).splitlines()[0]
        try:
            source = inspect.getsource(answer["loss_of"])
        except (OSError, TypeError):
            source = ""
        return {
            "loss": float(loss.detach()), "grad": None if w.grad is None else w.grad.numpy(), "error": error,
            "leaf": bool(loss.is_leaf and loss.requires_grad), "item": ".item()" in source,
        }  # fmt: skip

    @staticmethod
    def graph(answer: dict[str, Any]) -> dict[str, Any]:
        """What the answer records on small numbers."""
        import torch

        w = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = answer["loss_of"](w, torch.tensor([[1.0, 0.5], [0.5, 1.0]]), torch.tensor([0.0, 1.0]))
        return {"loss": loss, "w": w}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Same value, and the whole gradient."""
        cls = MendTheCuts
        if seen is None:
            return cls.not_right("`loss_of` returned None.")
        w, x, target = inputs["w"], inputs["x"], inputs["target"]
        scale = np.sqrt((w * w).sum())
        soft = 1 / (1 + np.exp(-(x @ w) / scale))
        value = float(((soft - target) ** 2).mean())
        if abs(seen["loss"] - value) > 1e-6:
            return cls.fits("other-value", f"For these numbers the loss is {value:.4f}, yours {seen['loss']:.4f}.")
        into = (2 * (soft - target) / 2) * soft * (1 - soft)
        constant = (into[:, None] * x).sum(0) / scale
        whole = constant - (into * (x @ w)).sum() * w / scale**3
        grad = seen["grad"]
        if grad is None:
            if seen["leaf"]:
                return cls.fits("requires-grad-heals", "After backward, `w.grad` is still None.")
            return cls.not_right(
                f"No gradient arrives at w{': ' + _NO_WAY if 'does not require grad' in (seen['error'] or '') else ''}. Ask `seen.why(w, loss)` for the next cut."
            )
        if np.allclose(grad, whole, atol=1e-6):
            return cls.right("The whole way is open, through the scale as well.")
        example = f"w[0] should get {whole[0]:.4f} and gets {grad[0]:.4f}."
        if np.allclose(grad, constant, atol=1e-6):
            name = "item-is-a-tensor" if seen["item"] else "detached-scale"
            return cls.fits(name, example)
        return (
            cls.fits("a-cut-is-left", example)
            if np.allclose(grad, whole - constant, atol=1e-6)
            else cls.not_right(example)
        )
