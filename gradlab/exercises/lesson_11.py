"""Lesson 11, your own operator: Function, gradcheck, the gradient of a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradlab.exercises._framework import Exercise, Prediction, Verdict, Wrong

PREDICTIONS = [
    Prediction(
        "11A",
        "A Function that keeps its input with `ctx.x = x` instead of `save_for_backward`. x is edited in place before backward. What happens?",
        {
            "an error": "The check lives in `save_for_backward`. An attribute of ctx is a plain Python reference, and nobody compares versions.",
            "a wrong gradient, in silence": "Yes: nobody compares versions. The gradient is computed with the edited numbers.",
            "the right gradient": "`ctx.x = x` keeps the same tensor, not a copy: backward sees the edited numbers.",
        },
        shows="40",
    ),
    Prediction(
        "11B",
        "`gradcheck` on a *right* operator, with a float32 input. What does it say?",
        {
            "True": "It compares with small steps, and float32 has only about 7 digits: the steps drown in rounding. Use float64.",
            "it fails": "Yes: float32 has about 7 digits, and the small steps drown in rounding. Use float64.",
        },
        shows="GradcheckError",
    ),
    Prediction(
        "11C",
        "x is 3. `(g,) = torch.autograd.grad(x ** 3, x)`. What is `g.grad_fn`?",
        {
            "PowBackward0": "Without `create_graph=True` backward computes with plain numbers and records nothing.",
            "None": "Yes: backward is not recorded unless you ask with `create_graph=True`.",
        },
        shows="None",
    ),
    Prediction(
        "11D",
        "`O` squares, and its backward is marked once_differentiable. For `O(x) + x ** 3` at 2 the second derivative is 2 + 12 = 14. What does torch give?",
        {
            "14": "The part of O is missing: its backward gave a number without history. 12 is only the cube's.",
            "12": "Yes: 12, and in silence. The mark only raises if the *incoming* gradient requires one, and here it does not.",
            "an error": "The mark raises only if the incoming gradient requires a gradient itself. Here a plain 1 arrives, and 12 comes out in silence.",
        },
        shows="12",
    ),
]

_SWISH = """
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        {save}
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, g):
        {load}
        s = torch.sigmoid(x)
        return {slope}
"""


def _swish(
    save: str = "ctx.save_for_backward(x)",
    load: str = "(x,) = ctx.saved_tensors",
    slope: str = "g * (s + x * s * (1 - s))",
) -> str:
    return _SWISH.format(save=save, load=load, slope=slope)


class MakeSwish(Exercise):
    id = "11-1"
    title = "Swish"
    points = 3
    question = """
        Write the operator `Swish.apply(x)` = x·σ(x), where σ is the sigmoid. Its slope is σ + x·σ·(1 - σ). Keep what backward needs so that torch's checks still work.
    """
    names = ("Swish",)
    hints = (
        "Three things: what does backward need, how is it kept, and what is multiplied at the end?",
        "`ctx.save_for_backward(x)` in forward, `(x,) = ctx.saved_tensors` in backward; the result is g times the slope.",
        "```python\n    @staticmethod\n    def backward(ctx, g):\n        (x,) = ctx.____\n        s = torch.sigmoid(x)\n        return g * (s + ____)\n```",
    )
    stub = """
        class Swish(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * torch.sigmoid(x)

            @staticmethod
            def backward(ctx, g):
                ...
    """
    solution = _swish()
    also_right = (
        "class Swish(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        s = torch.sigmoid(x)\n        ctx.save_for_backward(x, s)\n        return x * s\n    @staticmethod\n    def backward(ctx, g):\n        x, s = ctx.saved_tensors\n        return g * s * (1 + x * (1 - s))",
    )
    wrong = (
        Wrong(_swish("ctx.x = x", "x = ctx.x"), "kept-on-ctx"),
        Wrong(_swish(slope="s + x * s * (1 - s)"), "forgot-incoming"),
        Wrong(_swish(slope="g * x * s * (1 - s)"), "one-factor-only"),
        Wrong(_swish(slope="g * s"), "one-factor-only"),
        Wrong(_swish("ctx.save_for_backward(x.clone())", "(x,) = ctx.saved_tensors"), "saves-a-copy"),
    )
    misconceptions = {
        "kept-on-ctx": "`ctx.x = x` works today and is not seen by torch's checks: an edit of x goes unnoticed, and a second backward runs without having been asked for. Use `save_for_backward`.",
        "forgot-incoming": "Right only when a 1 arrives: g is missing.",
        "one-factor-only": "x·σ(x) is a product: both factors depend on x, so the slope has two parts.",
        "saves-a-copy": "A copy is safe, but it doubles the memory, and an edit of x, which would make the caller's program wrong elsewhere, is hidden. Save x itself.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """A few numbers, and what arrives."""
        return {"x": rng.normal(size=4), "g": rng.normal(size=4) + 3}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """Value, gradient, what was saved, and whether an edit and a second backward are noticed."""
        import torch

        x = torch.tensor(inputs["x"], requires_grad=True)
        saved: list[Any] = []

        def keep(t: Any) -> Any:
            saved.append(t)
            return t

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
            y = answer["Swish"].apply(x)
        if not isinstance(y.grad_fn, torch.autograd.function.BackwardCFunction):
            return None
        value = y.detach().numpy().copy()
        y.backward(torch.tensor(inputs["g"]))
        grad = None if x.grad is None else x.grad.numpy().copy()

        def noticed(run: Any) -> bool:
            try:
                run()
            except RuntimeError:
                return True
            return False

        leaf = torch.tensor(inputs["x"], requires_grad=True)
        h = leaf * 1.0
        z = answer["Swish"].apply(h)
        with torch.no_grad():
            h.mul_(2)
        return {
            "value": value,
            "grad": grad,
            "copied": any(torch.equal(t, x) and t.data_ptr() != x.data_ptr() for t in saved),
            "edit": noticed(lambda: z.sum().backward()),
            "edited": None if leaf.grad is None else leaf.grad.numpy().copy(),
            "second": noticed(lambda: y.backward(torch.tensor(inputs["g"]))),
        }

    @staticmethod
    def graph(answer: dict[str, Any]) -> dict[str, Any]:
        """What the answer records on small numbers."""
        import torch

        x = torch.tensor([1.0, 2.0], requires_grad=True)
        return {"y": answer["Swish"].apply(x), "x": x}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against the formula; the checks of torch have to work."""
        if seen is None:
            return MakeSwish.not_right(
                "`Swish` should be a `torch.autograd.Function` with a backward of your own; torch recorded none."
            )
        x, g = inputs["x"], inputs["g"]
        s = 1 / (1 + np.exp(-x))
        slope = s + x * s * (1 - s)
        if not np.allclose(seen["value"], x * s):
            return MakeSwish.not_right("The value is not x·σ(x).")
        grad = seen["grad"]
        if grad is None:
            return MakeSwish.not_right("backward gives no gradient: it returns None.")
        example = f"For x = {x[0]:.2f} a {g[0]:.2f} arrives; {g[0] * slope[0]:.3f} should leave, {grad[0]:.3f} does."
        if not np.allclose(grad, g * slope):
            if np.allclose(grad, slope):
                return MakeSwish.fits("forgot-incoming", example)
            one = np.allclose(grad, g * s) or np.allclose(grad, g * x * s * (1 - s))
            return MakeSwish.fits("one-factor-only", example) if one else MakeSwish.not_right(example)
        if not seen["second"]:
            return MakeSwish.fits("kept-on-ctx", "Here a second backward ran without `retain_graph`.")
        if seen["copied"]:
            return MakeSwish.fits("saves-a-copy")
        unharmed = seen["edited"] is not None and np.allclose(seen["edited"], slope)
        if seen["edit"] or unharmed:
            return MakeSwish.right("Right, and torch's checks work on it.")
        return MakeSwish.fits("kept-on-ctx", "Here x was edited before backward, and nobody noticed.")


class UseGradcheck(Exercise):
    id = "11-2"
    title = "Find the wrong factor"
    question = """
        Somebody gives you operators with a hand-written backward; some are wrong by a factor. Write `is_right(f, x)`: True if f's gradient at x is right, else False. x comes as float32. Use
        `torch.autograd.gradcheck`.
    """
    names = ("is_right",)
    hints = (
        "gradcheck compares with small steps. What does it need of its input, and what does it do when the gradient is wrong?",
        "float64, requires_grad, and it *raises* GradcheckError unless you say raise_exception=False.",
        "```python\n    x = x.double().____()\n    return torch.autograd.gradcheck(f, (x,), raise_exception=____)\n```",
    )
    stub = """
        def is_right(f, x):
            "Is the gradient of f right at x? (x is float32)"
            return torch.autograd.gradcheck(f, (x,))
    """
    solution = "def is_right(f, x):\n    x = x.detach().double().requires_grad_()\n    return torch.autograd.gradcheck(f, (x,), raise_exception=False)"
    also_right = (
        "def is_right(f, x):\n    try:\n        torch.autograd.gradcheck(f, (x.double().requires_grad_(),))\n    except torch.autograd.gradcheck.GradcheckError if hasattr(torch.autograd.gradcheck, 'GradcheckError') else RuntimeError:\n        return False\n    return True",
        "def is_right(f, x):\n    x = x.double().requires_grad_()\n    (g,) = torch.autograd.grad(f(x).sum(), x)\n    e = 1e-6\n    with torch.no_grad():\n        h = torch.stack([(f(x + e * d).sum() - f(x - e * d).sum()) / (2 * e) for d in torch.eye(len(x), dtype=x.dtype)])\n    return torch.allclose(g, h, atol=1e-5)",
    )
    wrong = (
        Wrong(
            "def is_right(f, x):\n    import warnings\n    warnings.simplefilter('ignore')\n    return torch.autograd.gradcheck(f, (x.requires_grad_(),), raise_exception=False)",
            "float32-is-enough",
        ),
        Wrong(
            "def is_right(f, x):\n    x = x.double().requires_grad_()\n    return torch.autograd.gradcheck(f, (x,))",
            "it-returns-false",
        ),
        Wrong(
            "def is_right(f, x):\n    x = x.double().requires_grad_()\n    f(x).sum().backward()\n    return x.grad is not None and bool(torch.isfinite(x.grad).all())",
            "a-gradient-is-a-right-gradient",
        ),
        Wrong(
            "def is_right(f, x):\n    return torch.autograd.gradcheck(f, (x.double(),), raise_exception=False)",
            "nobody-asked",
        ),
    )
    misconceptions = {
        "float32-is-enough": "A right operator was not called right: in float32 the small steps drown in rounding. gradcheck wants float64.",
        "it-returns-false": "For a wrong operator gradcheck does not return False: it *raises* (with both tables, which is what you want when you look for the fault). Here you were asked for True or False.",
        "a-gradient-is-a-right-gradient": "That there is a gradient, and a finite one, does not make it right: a wrong factor went through.",
        "nobody-asked": "gradcheck needs an input that requires a gradient.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """Where to check, which power, and in which order the operators come."""
        order = rng.permutation(["right", "wrong", "slightly"] * 2).tolist()
        return {"x": rng.uniform(1, 2, size=3), "power": int(rng.choice([2, 4, 5])), "order": order}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The word on a right and two wrong operators."""
        import torch

        power = inputs["power"]
        dtypes = set()

        def operator(factor: float) -> Any:
            class Power(torch.autograd.Function):
                @staticmethod
                def forward(ctx: Any, x: Any) -> Any:
                    dtypes.add(x.dtype)
                    ctx.save_for_backward(x)
                    return x**power

                @staticmethod
                def backward(ctx: Any, g: Any) -> Any:
                    (x,) = ctx.saved_tensors
                    return g * factor * x ** (power - 1)

            return Power.apply

        found: dict[str, Any] = {"right": [], "wrong": [], "slightly": []}
        factors = {"right": power, "wrong": power - 1, "slightly": power + 0.02}
        for name in inputs["order"]:
            x = torch.tensor(inputs["x"], dtype=torch.float32)
            try:
                word = answer["is_right"](operator(factors[name]), x)
                found[name].append(None if word is None else bool(word))
            except (RuntimeError, ValueError) as error:
                found[name].append(str(error)[:80])
        return {"words": found, "single": dtypes == {torch.float32}}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """True, False, False."""
        single, truth = seen["single"], {"right": True, "wrong": False, "slightly": False}
        seen = {
            name: next((word for word in given if word is not truth[name]), truth[name])
            for name, given in seen["words"].items()
        }
        if seen == truth:
            return UseGradcheck.right()
        if seen["right"] is False and True in seen.values():
            return UseGradcheck.not_right("A right operator was called wrong, and a wrong one right.")
        if any(isinstance(v, str) and "require" in v for v in seen.values()):
            return UseGradcheck.fits("nobody-asked", f"It said: `{seen['right']}`.")
        if seen["right"] is True and isinstance(seen["wrong"], str):
            return UseGradcheck.fits("it-returns-false", "For a wrong operator your function raised.")
        if seen["right"] is True and True in (seen["wrong"], seen["slightly"]):
            return UseGradcheck.fits("a-gradient-is-a-right-gradient")
        if seen["right"] is None:
            return UseGradcheck.not_right("`is_right` should return True or False.")
        return (
            UseGradcheck.fits("float32-is-enough")
            if single
            else UseGradcheck.not_right("A right operator was not called right.")
        )


class HessianVector(Exercise):
    id = "11-3"
    title = "The gradient of a gradient"
    points = 3
    question = """
        The table of all second derivatives of f (the Hessian H) is huge. But *H times a vector* costs only two backwards: it is the gradient of g·v, where g is the gradient of f. Write `hvp(f, x, v)`.
    """
    names = ("hvp",)
    hints = (
        "Two calls of `torch.autograd.grad`. What must the first one leave behind so that the second has something to walk?",
        "First g with `create_graph=True`; then the gradient of (g * v).sum().",
        "```python\n    (g,) = torch.autograd.grad(f(x), x, ____)\n    return torch.autograd.grad((g * v).sum(), x)[0]\n```",
    )
    stub = """
        def hvp(f, x, v):
            "H times v, where H holds the second derivatives of f at x. (x requires a gradient.)"
            (g,) = torch.autograd.grad(f(x), x)
            return torch.autograd.grad((g * v).sum(), x)[0]
    """
    solution = "def hvp(f, x, v):\n    (g,) = torch.autograd.grad(f(x), x, create_graph=True)\n    return torch.autograd.grad((g * v).sum(), x)[0]"
    also_right = (
        "def hvp(f, x, v):\n    (g,) = torch.autograd.grad(f(x), x, create_graph=True)\n    return torch.autograd.grad(g, x, v)[0]",
        "def hvp(f, x, v):\n    return torch.autograd.functional.hvp(f, x, v)[1]",
        "def hvp(f, x, v):\n    return torch.autograd.functional.hessian(f, x) @ v",
    )
    wrong = (
        Wrong(
            "def hvp(f, x, v):\n    (g,) = torch.autograd.grad(f(x), x, retain_graph=True)\n    return torch.autograd.grad((g * v).sum(), x)[0]",
            "retain-is-not-create",
        ),
        Wrong(
            "def hvp(f, x, v):\n    (g,) = torch.autograd.grad(f(x), x, create_graph=True)\n    return torch.autograd.grad(g.sum(), x)[0]",
            "v-left-out",
        ),
        Wrong(
            "def hvp(f, x, v):\n    (g,) = torch.autograd.grad(f(x), x, create_graph=True)\n    return torch.autograd.grad(g.sum(), x)[0] * v",
            "v-at-the-wrong-place",
        ),
        Wrong("def hvp(f, x, v):\n    (g,) = torch.autograd.grad(f(x), x)\n    return g * v", "first-derivative-only"),
    )
    misconceptions = {
        "retain-is-not-create": "The first gradient has no history, so there is nothing to walk for the second. `retain_graph` keeps the *old* graph; what you need is that backward itself is recorded. Which argument of `grad` asks for that?",
        "v-left-out": "That is H times (1, 1, ...): v was not used.",
        "v-at-the-wrong-place": "You summed the rows of H first and multiplied by v afterwards. v has to weigh g *before* the second gradient.",
        "first-derivative-only": "That is the gradient times v: the second derivative is missing.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """A place and a direction."""
        return {"x": rng.uniform(0.5, 1.5, size=3), "v": rng.normal(size=3)}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The product for a function with mixed second derivatives."""
        import torch

        x = torch.tensor(inputs["x"], requires_grad=True)
        try:
            got = answer["hvp"](lambda t: (t**3).sum() + t[0] * t[1] * t[2], x, torch.tensor(inputs["v"]))
        except RuntimeError as error:
            if "require grad" not in str(error) and "second time" not in str(error):
                raise
            return {"raised": str(error)[:60]}
        return {"raised": None, "value": got.detach().numpy().copy() if isinstance(got, torch.Tensor) else None}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against the Hessian written down by hand."""
        if seen["raised"]:
            return HessianVector.fits("retain-is-not-create", f"torch said `{seen['raised']}...`.")
        a, b, c = x = inputs["x"]
        v = inputs["v"]
        H = np.array([[6 * a, c, b], [c, 6 * b, a], [b, a, 6 * c]])
        got = seen["value"]
        if got is None or got.shape != x.shape:
            return HessianVector.not_right("`hvp` should return a tensor of x's shape.")
        if np.allclose(got, H @ v):
            return HessianVector.right()
        example = f"The first number should be {(H @ v)[0]:.3f}; yours is {got[0]:.3f}."
        gradient = 3 * x**2 + np.array([b * c, a * c, a * b])
        for word, form in {
            "v-left-out": H.sum(1),
            "v-at-the-wrong-place": H.sum(1) * v,
            "first-derivative-only": gradient * v,
        }.items():
            if np.allclose(got, form):
                return HessianVector.fits(word, example)
        return HessianVector.not_right(example)


_PICK = """
class PickRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, table, rows):
        ctx.save_for_backward(rows)
        ctx.shape = table.shape
        return table[rows]

    @staticmethod
    def backward(ctx, g):
        (rows,) = ctx.saved_tensors
        out = g.new_zeros(ctx.shape)
        {write}
        return {result}
"""


class NotDifferentiable(Exercise):
    id = "11-4"
    title = "An input without a slope"
    core = False
    points = 1
    question = """
        `PickRows.apply(table, rows)` gives `table[rows]` (an embedding). `rows` are whole numbers: nothing to differentiate. Write its backward. Rows may be picked **several times**.
    """
    names = ("PickRows",)
    hints = (
        "forward has two inputs. How many results must backward have, and what stands for 'no gradient'?",
        "None for rows. And a row that was picked twice gets two gradients: they are added. (`out[rows] += g` adds only one of them; `out.index_add_(0, rows, g)` adds all.)",
        "```python\n        out.index_add_(0, rows, g)\n        return out, ____\n```",
    )
    stub = _PICK.format(write="...", result="...")
    solution = _PICK.format(write="out.index_add_(0, rows, g)", result="out, None")
    also_right = (_PICK.format(write="out.index_put_((rows,), g, accumulate=True)", result="out, None"),)
    wrong = (
        Wrong(_PICK.format(write="out.index_add_(0, rows, g)", result="out"), "one-result-for-two-inputs"),
        Wrong(_PICK.format(write="out[rows] = g", result="out, None"), "last-pick-wins"),
        Wrong(_PICK.format(write="out[rows] += g", result="out, None"), "last-pick-wins"),
        Wrong(_PICK.format(write="out = g", result="out, None"), "shape-of-the-result"),
    )
    misconceptions = {
        "one-result-for-two-inputs": "forward takes two inputs, so backward returns two things, one for each. For an input without a gradient: None.",
        "last-pick-wins": "A row that was picked twice should get both gradients; one of them is lost. (`out[rows] += g` reads, adds and writes *once* for each different row.)",
        "shape-of-the-result": "A gradient has the shape of its input: the whole table, zeros where no row was picked.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """A table, rows with a repetition, and what arrives."""
        return {
            "table": rng.normal(size=(int(rng.integers(5, 8)), 2)),
            "rows": np.array([1, 3, 1]),
            "g": rng.normal(size=(3, 2)),
        }

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The table's gradient."""
        import torch

        table = torch.tensor(inputs["table"], requires_grad=True)
        g = torch.tensor(inputs["g"])
        try:
            picked = answer["PickRows"].apply(table, torch.tensor(inputs["rows"]))
            if not isinstance(picked.grad_fn, torch.autograd.function.BackwardCFunction):
                return {"raised": None, "grad": None, "own": False, "results": []}
            given = answer["PickRows"].backward(picked.grad_fn, g.clone())
            picked.backward(g)
        except RuntimeError as error:
            return {"raised": str(error)[:120], "grad": None, "own": True, "results": []}
        return {
            "raised": None,
            "grad": None if table.grad is None else table.grad.numpy().copy(),
            "own": True,
            "results": [t is not None for t in given] if isinstance(given, (tuple, list)) else [],
        }

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against np.add.at."""
        true = np.zeros(inputs["table"].shape)
        np.add.at(true, inputs["rows"], inputs["g"])
        if not seen["own"]:
            return NotDifferentiable.not_right(
                "`PickRows` should be a `torch.autograd.Function` with a backward of your own; torch recorded none."
            )
        if seen["raised"]:
            if "number of gradients" in seen["raised"]:
                return NotDifferentiable.fits("one-result-for-two-inputs", f"torch said `{seen['raised']}`.")
            if "shape" in seen["raised"]:
                return NotDifferentiable.fits("shape-of-the-result", f"torch said `{seen['raised']}`.")
            return Verdict("error", None, f"Your backward raised `{seen['raised']}`.")
        grad = seen["grad"]
        if grad is None:
            return NotDifferentiable.not_right("The table gets no gradient.")
        if np.allclose(grad, true):
            if seen["results"] != [True, False]:
                return NotDifferentiable.not_right(
                    "The table's gradient is right, but what backward gives for `rows` says that they have one too."
                )
            return NotDifferentiable.right()
        return (
            NotDifferentiable.fits("last-pick-wins")
            if np.allclose(grad[3], true[3])
            else NotDifferentiable.not_right("The table's gradient is not right yet.")
        )


_PENALTY = """
def penalty(f, x):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x).sum(), x{create})
    return ((g.norm({dim}) - 1) ** 2).mean(){cut}
"""


class GradientPenalty(Exercise):
    id = "11-5"
    title = "Gradient penalty"
    core = False
    points = 1
    question = """
        Some networks are trained so that their slope has length 1 everywhere: to the loss one adds the mean over the rows of x of (‖∇f‖ - 1)². Write `penalty(f, x)`; it must be possible to run backward on it
        into f's weights.
    """
    names = ("penalty",)
    hints = (
        "The penalty is computed from a gradient, and you want *its* gradient.",
        "`create_graph=True`; and the length is taken row by row: `norm(dim=1)`.",
        "```python\n    (g,) = torch.autograd.grad(f(x).sum(), x, ____)\n    return ((g.norm(dim=____) - 1) ** 2).mean()\n```",
    )
    stub = """
        def penalty(f, x):
            "Mean over rows of (length of f's gradient at the row - 1) squared."
            ...
    """
    solution = _PENALTY.format(create=", create_graph=True", dim="dim=1", cut="")
    wrong = (
        Wrong(_PENALTY.format(create="", dim="dim=1", cut=""), "a-number-without-history"),
        Wrong(_PENALTY.format(create=", retain_graph=True", dim="dim=1", cut=""), "a-number-without-history"),
        Wrong(_PENALTY.format(create=", create_graph=True", dim="", cut=""), "one-length-for-all"),
        Wrong(_PENALTY.format(create=", create_graph=True", dim="dim=0", cut=""), "one-length-for-all"),
    )
    misconceptions = {
        "a-number-without-history": "The value is right, but it has no history: adding it to a loss changes nothing for the weights. The gradient in it was computed without being recorded.",
        "one-length-for-all": "Each *row* of x is one place with a slope of its own: take the length row by row.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """A weight and rows."""
        return {"w": rng.normal(size=3) + 1, "x": rng.normal(size=(int(rng.integers(5, 8)), 3))}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The penalty and its gradient in w, for f(x) = sum of w * x * x."""
        import torch

        w = torch.tensor(inputs["w"], requires_grad=True)
        value = answer["penalty"](lambda x: (w * x * x).sum(1), torch.tensor(inputs["x"]))
        if not isinstance(value, torch.Tensor) or value.dim():
            return None
        grad = torch.autograd.grad(value, w, allow_unused=True)[0] if value.requires_grad else None
        return {"value": float(value.detach()), "grad": None if grad is None else grad.numpy().copy()}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against numpy."""
        if seen is None:
            return GradientPenalty.not_right("`penalty` should return one number, as a tensor.")
        w, x = inputs["w"], inputs["x"]
        g = 2 * w * x
        length = np.linalg.norm(g, axis=1)
        value = ((length - 1) ** 2).mean()
        if not np.isclose(seen["value"], value):
            others = [(np.linalg.norm(g) - 1) ** 2, ((np.linalg.norm(g, axis=0) - 1) ** 2).mean()]
            example = f"It should be {value:.4f}; yours is {seen['value']:.4f}."
            return (
                GradientPenalty.fits("one-length-for-all", example)
                if np.isclose(others, seen["value"]).any()
                else GradientPenalty.not_right(example)
            )
        true = (2 * (length - 1) / length / len(x))[:, None] * g * 2 * x
        return (
            GradientPenalty.right()
            if seen["grad"] is not None and np.allclose(seen["grad"], true.sum(0))
            else GradientPenalty.fits("a-number-without-history")
        )
