"""Lesson 04, the life of .grad: accumulation, zeroing, None and zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradlab.exercises._framework import Exercise, Prediction, Verdict, Wrong
from gradlab.exercises._tables import TableExercise

PREDICTIONS = [
    Prediction(
        "04A",
        "x is 3. Three times: compute `y = x * x`, run `y.backward()`, print `x.grad`. What is printed?",
        {
            "6, 6, 6": "backward does not overwrite. Each call *adds* its 6 to what is there.",
            "6, 12, 18": "Yes: each backward adds its 6 to what is there.",
            "6, 12, 24": "Nothing is doubled: each call adds the same 6.",
        },
        shows="18",
    ),
    Prediction(
        "04B",
        "After `optimizer.zero_grad()`, what is in `p.grad`?",
        {
            "0": "The name says zero, but torch puts None there: it lets the memory go. (`zero_grad(set_to_none=False)` fills in zeros.)",
            "None": "Yes: despite its name it takes the gradient away. `zero_grad(set_to_none=False)` would fill in zeros.",
        },
        shows="None",
    ),
    Prediction(
        "04C",
        "Momentum 0.9, p has just moved from 1.0 to 0.9. Now its gradient is a **zero**, and `optimizer.step()` runs. Where is p?",
        {
            "0.9": "A zero gradient is a gradient: the optimizer works on p, and its momentum still carries p on: 0.9 - 0.1·0.9 = 0.81.",
            "0.81": "Yes: zero is a gradient like any other. The optimizer works on p, and its momentum carries p on.",
        },
        shows="0.81",
    ),
    Prediction(
        "04D",
        "`g = x.grad` after a first backward (it holds 6). A second backward runs. What does `g` hold?",
        {
            "6": "g and `x.grad` are one object, and backward adds into that object. To keep a value, write `x.grad.clone()`.",
            "12": "Yes: backward added in place, into the very object that g names. To keep a value: `x.grad.clone()`.",
        },
        shows="12",
    ),
]

_LINES = {
    "y().backward() three times": "y().backward(); y().backward(); y().backward()",
    "x.grad = None before each of three": "for _ in range(3):\n    x.grad = None\n    y().backward()",
    "one, then x.grad.zero_(), then two": "y().backward(); x.grad.zero_(); y().backward(); y().backward()",
    "(y() + y() + y()).backward() once": "(y() + y() + y()).backward()",
    "((y() + y() + y()) / 3).backward() once": "((y() + y() + y()) / 3).backward()",
    "one, then x.grad = None": "y().backward(); x.grad = None",
}


def _table(*values: object) -> str:
    return "grads = {\n" + "".join(f'    "{k}": {v},\n' for k, v in zip(_LINES, values, strict=True)) + "}"


class AddUp(TableExercise):
    id = "04-1"
    title = "What is in x.grad?"
    question = """
        x is 3, and `y()` computes `x * x` anew each time it is called; its slope is 6. What does `x.grad` hold at the end of each program?
        A number or `None`.
    """
    names = ("grads",)
    hints = (
        "For each program, count: how often does a 6 arrive, and what was there before?",
        "Every backward adds. Only `= None`, `.zero_()` and `zero_grad()` take away. The slope of a sum is the sum of the slopes.",
        '```python\n"one, then x.grad.zero_(), then two": 0 + 6 + ____,\n```',
    )
    stub = _table(*["..."] * 6)
    solution = _table(18, 6, 12, 18, 6, None)
    wrong = (
        Wrong(_table(6, 6, 6, 18, 6, None), "backward-overwrites"),
        Wrong(_table(18, 6, 12, 6, 6, None), "a-sum-is-one-loss"),
        Wrong(_table(18, 6, 12, 18, 18, None), "a-mean-is-a-sum"),
        Wrong(_table(18, 6, 12, 18, 6, 0), "none-is-zero"),
        Wrong(_table(18, 18, 18, 18, 6, None), "zeroing-does-nothing"),
    )
    misconceptions = {
        "backward-overwrites": "backward adds to `.grad`; it never replaces what is there.",
        "a-sum-is-one-loss": "one backward of a sum brings the gradient of every term.",
        "a-mean-is-a-sum": "dividing the loss by 3 divides its gradient by 3.",
        "none-is-zero": "`x.grad = None` takes the gradient away. None is not the number 0: an optimizer skips a parameter whose grad is None, and works on one whose grad is zero.",
        "zeroing-does-nothing": "what was there before the zeroing is gone. Count only what arrives afterwards.",
    }

    @classmethod
    def truth(cls) -> dict[str, Any]:
        """Each program, run."""
        import torch

        found = {}
        for name, program in _LINES.items():
            x = torch.tensor(3.0, requires_grad=True)
            exec(program, {"x": x, "y": lambda x=x: x * x})
            found[name] = None if x.grad is None else x.grad.item()
        return found

    @classmethod
    def word(cls, key: str, given: Any, true: Any) -> str | None:
        """Each program has its own misunderstanding."""
        if true is None:
            return "none-is-zero" if given == 0 else "zeroing-does-nothing"
        if key.startswith("x.grad = None") or key.startswith("one,"):
            return "backward-overwrites" if given == 6 else "zeroing-does-nothing"
        if key.startswith("((y()"):
            return "a-mean-is-a-sum"
        return "a-sum-is-one-loss" if key.startswith("(y()") else "backward-overwrites"


class MicroBatches(Exercise):
    id = "04-2"
    title = "Small batches, one large gradient"
    question = """
        The rows do not fit into memory at once, so they come in small batches, **of different sizes**. Leave in `w.grad` what *one* backward of
        the mean squared error over **all** rows together would leave.
    """
    points = 3
    names = ("accumulate",)
    hints = (
        "Accumulation is your friend here. The question is what each batch's loss has to be multiplied with before its backward.",
        "The mean over all rows divides every row's error by the number of *all* rows. The mean over a batch divides by the batch's own.",
        "```python\n    N = sum(len(y) for _, y in batches)\n    ...\n        (loss * len(y) / ____).backward()\n```",
    )
    stub = """
        def accumulate(w, batches):
            "batches: a list of (x, y), x of shape (rows, 3), y of shape (rows,)"
            for x, y in batches:
                loss = ((x @ w - y) ** 2).mean()
                ...
    """
    solution = """
        def accumulate(w, batches):
            N = sum(len(y) for _, y in batches)
            for x, y in batches:
                loss = ((x @ w - y) ** 2).mean()
                (loss * len(y) / N).backward()
    """
    also_right = (
        "def accumulate(w, batches):\n    N = sum(len(y) for _, y in batches)\n    (sum(((x @ w - y) ** 2).sum() for x, y in batches) / N).backward()",
        "def accumulate(w, batches):\n    x = torch.cat([x for x, _ in batches]); y = torch.cat([y for _, y in batches])\n    ((x @ w - y) ** 2).mean().backward()",
        "def accumulate(w, batches):\n    N = 0\n    for x, y in batches:\n        ((x @ w - y) ** 2).sum().backward()\n        N += len(y)\n    w.grad /= N",
    )
    wrong = (
        Wrong(
            "def accumulate(w, batches):\n    for x, y in batches:\n        loss = ((x @ w - y) ** 2).mean()\n        loss.backward()",
            "sum-of-means",
        ),
        Wrong(
            "def accumulate(w, batches):\n    for x, y in batches:\n        loss = ((x @ w - y) ** 2).mean()\n        (loss / len(batches)).backward()",
            "equal-weights",
        ),
        Wrong(
            "def accumulate(w, batches):\n    N = sum(len(y) for _, y in batches)\n    for x, y in batches:\n        w.grad = None\n        loss = ((x @ w - y) ** 2).mean()\n        (loss * len(y) / N).backward()",
            "zeroed-inside",
        ),
        Wrong(
            "def accumulate(w, batches):\n    for x, y in batches:\n        ((x @ w - y) ** 2).sum().backward()",
            "never-divided",
        ),
    )
    misconceptions = {
        "sum-of-means": "Too large: each batch's mean was added up, so every row counts as if its batch were all there is.",
        "equal-weights": "Right when all batches have the same size, wrong for sizes like 5 and 3: a batch of 3 rows must not weigh as much as one of 5.",
        "zeroed-inside": "`w.grad` holds the last batch only. Zeroing inside the loop throws away what you are collecting: here accumulation is what you want.",
        "never-divided": "That is the gradient of the *sum* of the errors. The mean divides by the number of all rows.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """A weight and three batches of different sizes."""
        sizes = (5, 3, int(rng.choice([6, 8, 9])))
        return {
            "w": rng.normal(size=3),
            "x": [rng.normal(size=(n, 3)) for n in sizes],
            "y": [rng.normal(size=n) for n in sizes],
        }

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """w.grad after the answer has run."""
        import torch

        w = torch.tensor(inputs["w"], requires_grad=True)
        answer["accumulate"](
            w, [(torch.tensor(x), torch.tensor(y)) for x, y in zip(inputs["x"], inputs["y"], strict=True)]
        )
        return None if w.grad is None else w.grad.detach().numpy().copy()

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against the closed formula of the gradient."""
        sums = [2 * x.T @ (x @ inputs["w"] - y) for x, y in zip(inputs["x"], inputs["y"], strict=True)]
        sizes = [len(y) for y in inputs["y"]]
        total = sum(sums) / sum(sizes)
        if seen is None:
            return MicroBatches.not_right("`w.grad` is None: no backward has reached w.")
        forms = {
            "sum-of-means": sum(s / n for s, n in zip(sums, sizes, strict=True)),
            "equal-weights": sum(s / n for s, n in zip(sums, sizes, strict=True)) / len(sizes),
            "zeroed-inside": sums[-1] / sum(sizes),
            "never-divided": sum(sums),
        }
        example = f"Batches of {sizes} rows: the first entry of your gradient is {float(seen.ravel()[0]):.3f}, {float(seen.ravel()[0] / total[0]):.2f} times what it should be."
        if seen.shape == total.shape and np.allclose(seen, total):
            return MicroBatches.right(
                "Right: the same gradient as from all rows at once, for batches of different sizes."
            )
        for word, form in forms.items():
            if np.allclose(seen, form):
                return MicroBatches.fits(word, example)
        if np.allclose(seen, sums[-1] / sizes[-1]):
            return MicroBatches.fits("zeroed-inside", example)
        return MicroBatches.not_right(example)


class StandStill(Exercise):
    id = "04-3"
    title = "Stand still"
    seconds = 60.0  # the first optimizer of a session takes torch some seconds
    question = """
        `optimizer` is an SGD with momentum, already under way. Write `hold(p, optimizer)`: whatever you do in it, the next `optimizer.step()` must
        leave `p` **exactly** where it is. (p keeps requiring a gradient, and the optimizer is not to be rebuilt.)
    """
    names = ("hold",)
    hints = (
        "What does the optimizer look at to decide whether it touches a parameter at all?",
        "A zero gradient is still a gradient: momentum goes on. A missing one means: skip this parameter.",
        "```python\ndef hold(p, optimizer):\n    p.grad = ____\n```",
    )
    stub = """
        def hold(p, optimizer):
            "After this, optimizer.step() leaves p exactly where it is."
            ...
    """
    solution = "def hold(p, optimizer):\n    p.grad = None"
    also_right = (
        "def hold(p, optimizer):\n    optimizer.zero_grad()",
        "def hold(p, optimizer):\n    optimizer.zero_grad(set_to_none=True)",
    )
    wrong = (
        Wrong("def hold(p, optimizer):\n    p.grad.zero_()", "zero-is-none"),
        Wrong("def hold(p, optimizer):\n    p.grad = torch.zeros_like(p)", "zero-is-none"),
        Wrong("def hold(p, optimizer):\n    p.requires_grad_(False)", "requires_grad-stops-the-optimizer"),
        Wrong("def hold(p, optimizer):\n    optimizer.param_groups.clear()", "optimizer-taken-apart"),
    )
    misconceptions = {
        "zero-is-none": "p still moved: its gradient is zero, and a zero gradient is a gradient. The optimizer works on p, and its momentum carries p on.",
        "requires_grad-stops-the-optimizer": "requires_grad says whether the *next* backward fills `.grad`. The gradient that is there stays there, and the optimizer uses it.",
        "optimizer-taken-apart": "p stood still, but it will never move again: the optimizer no longer knows it. Hold it for one step only.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """Where p starts, and its gradients."""
        return {"p": rng.normal(size=2), "grads": rng.normal(size=(3, 2)) + 2}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """p before and after the held step, and after the step that follows."""
        import torch

        p = torch.tensor(inputs["p"], requires_grad=True)
        optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9)
        (p * torch.tensor(inputs["grads"][0])).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        (p * torch.tensor(inputs["grads"][1])).sum().backward()
        before = p.detach().clone()
        answer["hold"](p, optimizer)
        left = p.grad is not None and bool(p.grad.any())
        optimizer.step()
        held = p.detach().clone()
        requires = bool(p.requires_grad)
        p.requires_grad_(True)
        p.grad = torch.tensor(inputs["grads"][2])
        optimizer.step()
        return {
            "moved": bool(not torch.equal(before, held)),
            "left": left,
            "requires": requires,
            "known": any(q is p for group in optimizer.param_groups for q in group["params"]),
            "again": bool(not torch.equal(held, p.detach())),
        }

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """p stands still once, and only once."""
        if not seen["requires"]:
            if seen["moved"]:
                return StandStill.fits("requires_grad-stops-the-optimizer")
            return StandStill.not_right("p stood still, but it does not require a gradient any more.")
        if seen["left"] and seen["moved"]:
            return StandStill.not_right("p still moved: its gradient is where it was, and the optimizer uses it.")
        if seen["moved"]:
            return StandStill.fits("zero-is-none")
        if not seen["again"]:
            if not seen["known"]:
                return StandStill.fits("optimizer-taken-apart")
            return StandStill.not_right(
                "p stood still, and at the step after it does so again. Hold it for one step only."
            )
        return StandStill.right(
            "Right: without a gradient the optimizer passes p by, and takes it up again when there is one."
        )


class GradNorm(Exercise):
    id = "04-4"
    title = "The first-step bug"
    core = False
    points = 1
    question = """
        Before clipping one wants the length of *all* gradients together: the square root of the sum of all their squared numbers. In the first step
        some parameters have no gradient yet. Write `grad_norm(params)`; it must change nothing.
    """
    names = ("grad_norm",)
    hints = (
        "What is `p.grad` of a parameter that no loss has reached yet?",
        "Leave out the ones that are None; add up *squares*, and take one root at the end.",
        "```python\n    total = sum((p.grad ** 2).sum() for p in params if ____)\n```",
    )
    stub = """
        def grad_norm(params):
            "The length of all gradients together, as a number. Some params have no gradient yet."
            return sum(p.grad.norm() for p in params)
    """
    solution = "def grad_norm(params):\n    return sum((p.grad ** 2).sum().item() for p in params if p.grad is not None) ** 0.5"
    also_right = (
        "def grad_norm(params):\n    return torch.nn.utils.clip_grad_norm_(params, float('inf'))",
        "def grad_norm(params):\n    gs = [p.grad.flatten() for p in params if p.grad is not None]\n    return torch.cat(gs).norm() if gs else 0.0",
    )
    wrong = (
        Wrong(
            "def grad_norm(params):\n    return sum((p.grad ** 2).sum() for p in params) ** 0.5", "none-has-no-numbers"
        ),
        Wrong(
            "def grad_norm(params):\n    return sum(p.grad.norm() for p in params if p.grad is not None)",
            "lengths-do-not-add",
        ),
        Wrong(
            "def grad_norm(params):\n    for p in params:\n        if p.grad is None:\n            p.grad = torch.zeros_like(p)\n    return sum((p.grad ** 2).sum() for p in params) ** 0.5",
            "fills-in-zeros",
        ),
        Wrong(
            "def grad_norm(params):\n    return sum((p.grad ** 2).sum() for p in params if p.grad is not None)",
            "root-forgotten",
        ),
        Wrong(
            "def grad_norm(params):\n    return torch.nn.utils.clip_grad_norm_(params, 0.1)",
            "changes-what-it-measures",
        ),
    )
    misconceptions = {
        "none-has-no-numbers": "A parameter that no backward has reached has `.grad` None, and None has no numbers to square.",
        "lengths-do-not-add": "Lengths do not add up: the length of (3, 4) is 5 and not 7. Add the squares, then take one root.",
        "fills-in-zeros": "The number is right, but your function put zeros where None was. To an optimizer with momentum that is not the same (exercise 04-3).",
        "root-forgotten": "That is the square of the length.",
        "changes-what-it-measures": "The number is right, but the gradients are not what they were before. Clipping returns the length and shortens the gradients as well.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """Two gradients, and the place of the parameter that has none."""
        return {"a": rng.normal(size=3), "b": rng.normal(size=(2, 2)), "none": int(rng.integers(3))}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The number, and whether a None was replaced."""
        import torch

        params = [torch.zeros(shape, requires_grad=True, dtype=torch.float64) for shape in (3, (2, 2))]
        for p, name in zip(params, ("a", "b"), strict=True):
            p.grad = torch.tensor(inputs[name])
        without = torch.zeros(2, requires_grad=True)
        params.insert(inputs["none"], without)
        try:
            value = answer["grad_norm"](params)
        except (AttributeError, TypeError) as error:
            if "None" in str(error):
                return {"none": True}
            raise
        kept = [p.grad is not None and p.grad.tolist() for p in params if p is not without]
        return {
            "none": False,
            "value": None if value is None else float(value),
            "filled": without.grad is not None,
            "changed": kept != [inputs["a"].tolist(), inputs["b"].tolist()],
        }

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against numpy's norm."""
        if seen["none"]:
            return GradNorm.fits(
                "none-has-no-numbers", "One of three parameters had no gradient, and your function raised."
            )
        if seen["value"] is None:
            return GradNorm.not_right("`grad_norm` returned None; it should return a number.")
        a, b, value = np.linalg.norm(inputs["a"]), np.linalg.norm(inputs["b"]), seen["value"]
        if seen["filled"]:
            return GradNorm.fits("fills-in-zeros")
        if seen["changed"]:
            return GradNorm.fits("changes-what-it-measures")
        if np.isclose(value, np.hypot(a, b)):
            return GradNorm.right()
        example = f"Two gradients of lengths {a:.3f} and {b:.3f}: you returned {value:.3f}."
        if np.isclose(value, a + b):
            return GradNorm.fits("lengths-do-not-add", example)
        return (
            GradNorm.fits("root-forgotten", example)
            if np.isclose(value, a * a + b * b)
            else GradNorm.not_right(example)
        )
