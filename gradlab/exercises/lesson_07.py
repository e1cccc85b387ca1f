"""Lesson 07, cutting the graph: detach, .data, no_grad, inference_mode."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from gradlab.exercises._framework import Exercise, Prediction, Verdict, Wrong
from gradlab.exercises._tables import TableExercise

PREDICTIONS = [
    Prediction(
        "07A",
        "p is 2, `y = p.detach() * p`. After `y.backward()`, what is `p.grad`?",
        {
            "4": "4 would count both factors. One of them came in through `detach()`: for backward it is just the number 2.",
            "2": "Yes: one factor is cut and counts as a plain number.",
            "None": "Only one of the two ways is cut; along the other the gradient arrives.",
        },
        shows="2",
    ),
    Prediction(
        "07B",
        "p is 2, `y = p * p`, then `p.data.mul_(10)`, then `y.backward()`. The right slope at p = 2 is 4. What is `p.grad`?",
        {
            "4": "The multiplication saved p itself, not a copy: it now finds 20 there, and uses it.",
            "40": "Yes: the multiplication saved p and finds 20 in it. Wrong, and not a word from torch.",
            "an error": "The same edit under `no_grad` would raise. `.data` goes around the check.",
        },
        shows="40",
    ),
    Prediction(
        "07C",
        "`model.eval()`, then `y = model(x)`. Is a graph recorded?",
        {
            "yes": "Yes: `eval()` changes what some layers do (dropout, batch norm). It has nothing to do with recording.",
            "no": "`eval()` changes what some layers do (dropout, batch norm). Recording goes on: use `torch.no_grad()`.",
        },
        shows="AddmmBackward0",
    ),
    Prediction(
        "07D",
        "y was computed outside. Then, **inside** `with torch.no_grad():`, `y.backward()`. What happens?",
        {
            "an error": "`no_grad` says: record nothing new. Walking a graph that is there is not recording.",
            "it works": "Yes: `no_grad` stops *recording*. The graph of y is there, and backward walks it.",
            "nothing: p.grad stays None": "`no_grad` stops recording, not walking. The gradient arrives.",
        },
        shows="4",
    ),
]

_PROGRAMS = {
    "y = p * p;  y.backward()": "y = p * p;  y.backward()",
    "y = p.detach() * p;  y.backward()": "y = p.detach() * p;  y.backward()",
    "y = (p * p).detach();  y.backward()": "y = (p * p).detach();  y.backward()",
    "y = p * p;  p.data.mul_(10);  y.backward()": "y = p * p;  p.data.mul_(10);  y.backward()",
    "y = p * p;  p.detach().mul_(10);  y.backward()": "y = p * p;  p.detach().mul_(10);  y.backward()",
    "y = p * p;  p.data = torch.tensor(5.0);  y.backward()": "y = p * p;  p.data = torch.tensor(5.0);  y.backward()",
}


def _table(*values: object) -> str:
    return "result = {\n" + "".join(f'    "{k}": {v!r},\n' for k, v in zip(_PROGRAMS, values, strict=True)) + "}"


class FourFortyOrRaises(TableExercise):
    id = "07-1"
    title = "4, 40, 10, or raises?"
    question = """
        p is 2.0 and requires a gradient. What is in `p.grad` at the end: a number, or `"raises"`?
    """
    names = ("result",)
    hints = (
        "Ask each time: what did the multiplication save, what is in that memory when backward comes, and does torch notice?",
        "`.data` and `.detach()` share p's memory. Only `detach()` shares the counter by which torch notices an edit. And `p.data = new` gives p other memory.",
        '```python\n# not in the table: p.data.add_(1), so p holds 3 at backward\n"y = p * p;  p.data.add_(1);  y.backward()": 3 + ____,    # one for each factor\n```',
    )
    stub = 'result = {               # a number, or "raises"\n' + "".join(f'    "{k}": ...,\n' for k in _PROGRAMS) + "}"
    solution = _table(4, 2, "raises", 40, "raises", 10)
    wrong = (
        Wrong(_table(4, 2, "raises", 4, "raises", 4), "saved-is-a-copy"),
        Wrong(_table(4, 2, "raises", "raises", "raises", "raises"), "data-is-checked"),
        Wrong(_table(4, 2, "raises", 40, 40, 10), "data-is-detach"),
        Wrong(_table(4, 4, "raises", 40, "raises", 10), "detach-does-nothing"),
        Wrong(_table(4, 2, 4, 40, "raises", 10), "detached-can-go-back"),
    )
    misconceptions = {
        "saved-is-a-copy": "4 takes for granted that the multiplication put a copy of p aside. It saved p itself. Print `p` on the line before backward: what does backward find, and does it notice?",
        "data-is-checked": "torch complains about the edits that it *notices*, and it notices them by a counter. Print `p._version` before and after this edit.",
        "data-is-detach": "`p.data` and `p.detach()` write into the same memory, and yet they are not the same. Print `p._version` before and after this edit, then the same with `.data`: which of the two does torch know of?",
        "detach-does-nothing": "4 counts both factors. Look at `y.grad_fn.next_functions`: how many of the two lead back to p?",
        "detached-can-go-back": "here it is the *result* that went through `detach()`. Where does backward begin? Look at `y.grad_fn`.",
    }

    @classmethod
    def truth(cls) -> dict[str, Any]:
        """Each program, run."""
        import torch

        found: dict[str, Any] = {}
        for key, program in _PROGRAMS.items():
            p = torch.tensor(2.0, requires_grad=True)
            try:
                exec(program, {"p": p, "torch": torch})
                found[key] = None if p.grad is None else p.grad.item()
            except RuntimeError:
                found[key] = "raises"
        return found

    @classmethod
    def meant(cls, given: Any) -> Any:
        """Also "raise" and "it raises an error" say that it raises."""
        return "raises" if isinstance(given, str) and re.search(r"\brais|\berror", given, re.IGNORECASE) else given

    @classmethod
    def word(cls, key: str, given: Any, true: Any) -> str | None:
        """Which misunderstanding a wrong cell shows."""
        raises = given == "raises"
        if isinstance(given, str) and not raises:
            return None
        if "p.data" in key:
            return "data-is-checked" if raises else "saved-is-a-copy" if given == 4 else None
        if "p.detach().mul_" in key:
            return "saved-is-a-copy" if given == 4 else "data-is-detach"
        if "(p * p).detach()" in key:
            return "detached-can-go-back"
        return "detach-does-nothing" if "p.detach() * p" in key and given == 4 else None


class StraightThrough(Exercise):
    id = "07-2"
    title = "Straight through"
    points = 3
    question = """
        Rounding is flat between its jumps: its slope is 0, and a network with a rounding in it never learns. The trick is to **lie** about the slope. Write `ste_round(x)`: forward it
        rounds, backward lets the gradient through unchanged.
    """
    names = ("ste_round",)
    hints = (
        "You want the *value* of x.round() and the *gradient* of x. Which expression adds up to the one, and shows backward only the other?",
        "x + (something): let the something be cut off, and choose it so that the sum is the rounded value.",
        "```python\n    return x + (____).detach()\n```",
    )
    stub = """
        def ste_round(x):
            "Rounds forward; backward lets the gradient through unchanged."
            return x.round()
    """
    solution = "def ste_round(x):\n    return x + (x.round() - x).detach()"
    also_right = (
        "def ste_round(x):\n    return x - (x - x.round()).data",
        "def ste_round(x):\n    with torch.no_grad():\n        d = x.round() - x\n    return x + d",
        "class R(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x.round()\n    @staticmethod\n    def backward(ctx, g):\n        return g\n\ndef ste_round(x):\n    return R.apply(x)",
    )
    wrong = (
        Wrong("def ste_round(x):\n    return 1.0 * x.round()", "round-has-zero-slope"),
        Wrong("def ste_round(x):\n    return x.detach().round()", "everything-cut"),
        Wrong("def ste_round(x):\n    with torch.no_grad():\n        return x.round()", "everything-cut"),
        Wrong("def ste_round(x):\n    return x.round().detach() + x", "wrong-value"),
        Wrong("def ste_round(x):\n    return x + (x.floor() - x).detach()", "wrong-value"),
        Wrong("def ste_round(x):\n    x.data.round_()\n    return x * 1", "rounds-the-callers-x"),
    )
    misconceptions = {
        "round-has-zero-slope": "The value is right, and the gradient is 0 everywhere: round is flat between its jumps.",
        "everything-cut": "The value is right, but the result has no way back: backward raises.",
        "wrong-value": "The gradient gets through, but the value is wrong. The part that is cut off must be the *difference*.",
        "rounds-the-callers-x": "The caller's own x was rounded in place; `.data` went around the check that would have said so.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """Numbers that are not whole, some nearer to the next one up, and what arrives."""
        parts = rng.uniform(0.1, 0.4, size=4) + np.array([0, 0.5, 0, 0.5])
        return {"x": rng.integers(-3, 3, size=4) + parts, "g": rng.normal(size=4) + 2}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """Value, gradient, and whether x was changed."""
        import numpy as np
        import torch

        x = torch.tensor(inputs["x"], requires_grad=True)
        y = answer["ste_round"](x)
        if not isinstance(y, torch.Tensor) or y.is_complex():
            return None
        found = {
            "value": y.detach().double().numpy().copy(),
            "changed": bool(not np.array_equal(x.detach().numpy(), inputs["x"])),
            "grad": None,
            "way": bool(y.requires_grad),
        }
        if y.requires_grad:
            y.backward(torch.tensor(inputs["g"], dtype=y.dtype))
            found["grad"] = None if x.grad is None else x.grad.numpy().copy()
        return found

    @staticmethod
    def graph(answer: dict[str, Any]) -> dict[str, Any]:
        """What the answer records on small numbers."""
        import torch

        x = torch.tensor([0.3, 0.8, 1.6], requires_grad=True)
        return {"y": answer["ste_round"](x), "x": x}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Rounded forward, the identity backward."""
        if seen is None:
            return StraightThrough.not_right("`ste_round` should return a tensor of real numbers.")
        if seen["changed"]:
            return StraightThrough.fits("rounds-the-callers-x")
        x, value = inputs["x"], seen["value"]
        worst = int(np.argmax(np.abs(value - np.round(x)))) if value.shape == x.shape else 0
        example = f"For x = {x[worst]:.2f} the value should be {np.round(x[worst]):.0f}; yours is {float(value.ravel()[worst]):.2f}."
        if value.shape != x.shape or not np.allclose(value, np.round(x), atol=1e-6):
            return StraightThrough.fits("wrong-value", example) if seen["way"] else StraightThrough.not_right(example)
        if not seen["way"]:
            return StraightThrough.fits("everything-cut", "torch says `element 0 of tensors does not require grad`.")
        if seen["grad"] is not None and np.allclose(seen["grad"], inputs["g"]):
            return StraightThrough.right("Right: rounded on the way there, untouched on the way back.")
        if seen["grad"] is None:
            return StraightThrough.not_right(
                "The value is right, but no gradient arrives at x: the result's history does not lead there."
            )
        if np.allclose(seen["grad"], 0):
            return StraightThrough.fits("round-has-zero-slope", f"A {inputs['g'][0]:.2f} arrives, a 0 leaves.")
        return StraightThrough.not_right(
            f"A {inputs['g'][0]:.2f} arrives, and {seen['grad'][0]:.2f} leaves; it should be the same."
        )


_LOG = """
def run(w, rows, lr):
    losses = []
    for row in rows:
        loss = (((w * row).sum() - 1) ** 2){early}
        w.grad = None
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
        losses.append({what})
    return losses
"""


class TheLog(Exercise):
    id = "07-3"
    title = "The log that ate the memory"
    question = """
        This loop writes down its losses, and its memory grows with every step. Repair it: `losses` holds the numbers, and no graph is kept alive by it. (The training stays as it is.)
    """
    names = ("run",)
    hints = (
        "What does a loss tensor hold on to, besides its number?",
        "`loss.grad_fn` holds the node, the node holds the next, ... A number holds nothing.",
        "```python\n        losses.append(loss.____())\n```",
    )
    stub = _LOG.format(early="", what="loss")
    solution = _LOG.format(early="", what="loss.item()")
    also_right = (
        _LOG.format(early="", what="loss.detach()"),
        _LOG.format(early="", what="float(loss)"),
        _LOG.format(early="", what="loss.data"),
    )
    wrong = (
        Wrong(_LOG.format(early="", what="loss.clone()"), "a-copy-has-history-too"),
        Wrong(_LOG.format(early="", what="loss * 1.0"), "a-copy-has-history-too"),
        Wrong(_LOG.format(early=".detach()", what="loss"), "cut-before-backward"),
        Wrong(_LOG.format(early="", what="str(loss)"), "text-is-not-a-number"),
        Wrong(_LOG.format(early="", what="w.grad"), "logs-something-else"),
    )
    misconceptions = {
        "a-copy-has-history-too": "What you keep still has a grad_fn: copying and computing make results *with* history, and each holds on to the whole graph of its step.",
        "cut-before-backward": "Cut too early: backward needs the graph. First backward, then cut.",
        "text-is-not-a-number": "No graph is kept, but a text cannot be averaged or plotted.",
        "logs-something-else": "What you keep are numbers, and they hold no graph; but they are not the losses.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """A weight, four rows and the length of a step."""
        return {"w": rng.normal(size=2), "rows": rng.normal(size=(4, 2)), "lr": float(rng.uniform(0.02, 0.08))}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """What kind of thing was kept."""
        import numpy as np
        import torch

        def numbers(value: Any) -> list[float]:
            if isinstance(value, torch.Tensor):
                value = value.detach().numpy()
            if not isinstance(value, (int, float, np.number, np.ndarray)) or np.asarray(value).dtype.kind not in "iuf":
                return []
            return [float(x) for x in np.ravel(value)]

        w = torch.tensor(inputs["w"], requires_grad=True)
        try:
            losses = list(answer["run"](w, torch.tensor(inputs["rows"]), inputs["lr"]))
        except RuntimeError as error:
            if "does not require grad" not in str(error):
                raise
            return {"cut": True}
        kept = [
            {
                "history": getattr(v, "grad_fn", None) is not None,
                "text": isinstance(v, str),
                "method": callable(v) and hasattr(v, "__self__"),
                "values": numbers(v),
            }
            for v in losses
        ]
        return {"cut": False, "kept": kept, "w": w.detach().numpy().copy()}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Numbers, the right ones, without history."""
        if seen["cut"]:
            return TheLog.fits("cut-before-backward", "torch said `element 0 of tensors does not require grad`.")
        w, true = inputs["w"].copy(), []
        for row in inputs["rows"]:
            error = w @ row - 1
            true.append(error**2)
            w = w - inputs["lr"] * 2 * error * row
        kept = seen["kept"]
        if any(v["history"] for v in kept):
            return TheLog.fits("a-copy-has-history-too")
        if any(v["text"] for v in kept):
            return TheLog.fits("text-is-not-a-number")
        if not np.allclose(seen["w"], w):
            return TheLog.not_right("The training itself has changed: w ends elsewhere. Only the log needs repair.")
        if len(kept) == 4 and all(
            len(v["values"]) == 1 and np.isclose(v["values"][0], t) for v, t in zip(kept, true, strict=True)
        ):
            return TheLog.right("Right: the numbers stay, the graphs go.")
        if any(v["method"] for v in kept):
            return TheLog.not_right(
                "You keep a method of each loss, and with it the loss and its graph: to call it, a method needs its `()`."
            )
        if not all(v["values"] for v in kept):
            return TheLog.not_right("Each entry of `losses` should be a number, and nothing else.")
        return TheLog.fits("logs-something-else", f"The first loss was {true[0]:.4f}.")


class TargetNetwork(Exercise):
    id = "07-4"
    title = "One side only"
    core = False
    points = 1
    question = """
        In reinforcement learning a network is trained towards its *own* estimate of what comes next: `net(now)` should come near to `reward + 0.9 * net(later)`. The target must not be pulled
        towards the guess. Write `td_loss(net, now, later, reward)`: the mean squared difference, with a gradient through `net(now)` only.
    """
    names = ("td_loss",)
    hints = (
        "Two calls of the same network. Which of the two may send a gradient back?",
        "The target counts as a plain number: cut it off *after* it was computed.",
        "```python\n    target = (reward + 0.9 * net(later)).____()\n```",
    )
    stub = """
        def td_loss(net, now, later, reward):
            return ((net(now) - (reward + 0.9 * net(later))) ** 2).mean()
    """
    solution = "def td_loss(net, now, later, reward):\n    target = (reward + 0.9 * net(later)).detach()\n    return ((net(now) - target) ** 2).mean()"
    also_right = (
        "def td_loss(net, now, later, reward):\n    with torch.no_grad():\n        target = reward + 0.9 * net(later)\n    return torch.nn.functional.mse_loss(net(now), target)",
    )
    wrong = (
        Wrong(
            "def td_loss(net, now, later, reward):\n    return ((net(now) - (reward + 0.9 * net(later.detach()))) ** 2).mean()",
            "cut-the-data",
        ),
        Wrong(
            "def td_loss(net, now, later, reward):\n    return ((net(now).detach() - (reward + 0.9 * net(later))) ** 2).mean()",
            "cut-the-wrong-side",
        ),
        Wrong(
            "def td_loss(net, now, later, reward):\n    return ((net(now) - (reward + 0.9 * net(later))) ** 2).mean().detach()",
            "everything-cut",
        ),
    )
    misconceptions = {
        "cut-the-data": "The data never asked for a gradient; the *weights* inside the network do, and through them the target is still pulled. Cut the result of the network.",
        "cut-the-wrong-side": "Now the target is pulled towards the guess, and the guess learns nothing. It is the other one that has to be cut.",
        "everything-cut": "The loss has no way back at all.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """A one-layer network and a few rows."""
        return {
            "w": rng.normal(size=(1, 3)),
            "now": rng.normal(size=(4, 3)),
            "later": rng.normal(size=(4, 3)),
            "reward": rng.normal(size=(4, 1)),
        }

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The loss, and the gradient of the weight."""
        import torch

        net = torch.nn.Linear(3, 1, bias=False).double()
        with torch.no_grad():
            net.weight.copy_(torch.tensor(inputs["w"]))
        loss = answer["td_loss"](net, *(torch.tensor(inputs[k]) for k in ("now", "later", "reward")))
        if not isinstance(loss, torch.Tensor) or loss.dim():
            return None
        if loss.requires_grad:
            loss.backward()
        return {
            "loss": float(loss.detach()),
            "grad": None if net.weight.grad is None else net.weight.grad.numpy().copy(),
        }

    @staticmethod
    def graph(answer: dict[str, Any]) -> dict[str, Any]:
        """What the answer records on small numbers."""
        import torch

        net = torch.nn.Linear(1, 1, bias=False)
        now, later, reward = torch.tensor([[1.0]]), torch.tensor([[2.0]]), torch.tensor([[0.5]])
        return {"loss": answer["td_loss"](net, now, later, reward), "weight": net.weight}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against the formula."""
        if seen is None:
            return TargetNetwork.not_right("`td_loss` should return one number, as a tensor.")
        w, now, later = inputs["w"], inputs["now"], inputs["later"]
        error = now @ w.T - (inputs["reward"] + 0.9 * later @ w.T)
        if not np.isclose(seen["loss"], (error**2).mean()):
            return TargetNetwork.not_right(f"The value should be {(error**2).mean():.4f}; yours is {seen['loss']:.4f}.")
        one, other = 2 * (error * now).mean(0), -2 * (error * 0.9 * later).mean(0)
        if seen["grad"] is None:
            return TargetNetwork.fits("everything-cut")
        if np.allclose(seen["grad"], one):
            return TargetNetwork.right()
        return (
            TargetNetwork.fits("cut-the-wrong-side")
            if np.allclose(seen["grad"], other)
            else TargetNetwork.fits("cut-the-data")
        )


def _jobs(
    measure: str = "    with torch.no_grad():\n        return model(x)",
    step: str = "    with torch.no_grad():\n        w -= lr * w.grad",
    freeze: str = "    for p in model.parameters():\n        p.requires_grad_(False)",
    start: str = "    return h.detach()",
) -> str:
    return f"def measure(model, x):\n{measure}\n\ndef step(w, lr):\n{step}\n\ndef freeze(model):\n{freeze}\n\ndef start_anew(h):\n{start}\n"


class FourJobs(Exercise):
    id = "07-5"
    title = "Four jobs, pick the tool"
    core = False
    points = 2
    names = ("measure", "step", "freeze", "start_anew")
    question = """
        Four places where people cut. `measure`: the model's result, nothing recorded. `step`: move the leaf w in place by `-lr * w.grad`. `freeze`: the model's parameters take no gradient from
        now on, but its **input** still does. `start_anew`: h's numbers without its history.
    """
    hints = (
        "For each job: is it about a *block of code*, about a *tensor that leaves*, or about a *parameter*?",
        "A block: no_grad. A tensor: detach. A parameter: requires_grad_(False).",
        "```python\ndef freeze(model):\n    for p in model.parameters():\n        p.____(False)\n```",
    )
    stub = _jobs("    return model(x)", "    w -= lr * w.grad", "    model.eval()", "    return h")
    solution = _jobs()
    also_right = (
        _jobs(
            "    return model(x).detach()",
            "    w.data -= lr * w.grad",
            "    model.requires_grad_(False)",
            "    return h.data",
        ),
    )
    wrong = (
        Wrong(_jobs(measure="    model.eval()\n    return model(x)"), "eval-stops-recording"),
        Wrong(_jobs(freeze="    model.eval()"), "eval-stops-recording"),
        Wrong(_jobs(step="    w = w - lr * w.grad"), "only-the-name-moved"),
        Wrong(_jobs(step="    w -= lr * w.grad"), "leaf-edited-while-recording"),
        Wrong(_jobs(start="    return h.clone()"), "a-copy-has-history-too"),
    )
    misconceptions = {
        "eval-stops-recording": "`eval()` changes what layers like dropout do. Recording goes on, and parameters still take gradients.",
        "only-the-name-moved": "`step`: inside your function the *name* w now means a new tensor. The caller's w has not moved.",
        "leaf-edited-while-recording": "`step`: torch refuses to edit a leaf in place while it records.",
        "a-copy-has-history-too": "`start_anew`: a clone remembers where it came from.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """A row, a weight and the length of a step."""
        return {"x": rng.normal(size=(1, 2)), "w": rng.normal(size=2), "lr": float(rng.uniform(0.05, 0.15))}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """What each does."""
        import torch

        x = torch.tensor(inputs["x"])
        model = torch.nn.Linear(2, 1).double()
        y = answer["measure"](model, x)
        measured = (
            None
            if not isinstance(y, torch.Tensor)
            else {"history": bool(y.requires_grad), "near": bool(torch.allclose(y, model(x).detach()))}
        )
        evaluated = not model.training
        w = torch.tensor(inputs["w"], requires_grad=True)
        (w * w).sum().backward()
        try:
            answer["step"](w, inputs["lr"])
            stepped = w.detach().numpy().copy()
        except RuntimeError as error:
            if "in-place" not in str(error):
                raise
            stepped = None
        answer["freeze"](model)
        evaluated = evaluated or not model.training
        v = x.clone().requires_grad_()
        out = model(v)
        reached = False
        if out.requires_grad:
            out.sum().backward()
            reached = v.grad is not None
        h = answer["start_anew"](v * 2)
        fresh = (
            None
            if not isinstance(h, torch.Tensor)
            else {"history": h.grad_fn is not None, "near": bool(torch.equal(h.detach(), v.detach() * 2))}
        )
        return {
            "measured": measured,
            "stepped": stepped,
            "frozen": not any(p.grad is not None for p in model.parameters()),
            "reached": bool(reached),
            "evaluated": bool(evaluated),
            "fresh": fresh,
        }

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Each job by what it does."""
        if seen["measured"] is None or seen["fresh"] is None:
            return FourJobs.not_right("`measure` and `start_anew` should return tensors.")
        if seen["measured"]["history"] or not seen["frozen"]:
            words = "After `freeze` a parameter still got a gradient."
            if seen["measured"]["history"]:
                words = "`measure` gave a result with history."
            return FourJobs.fits("eval-stops-recording", words) if seen["evaluated"] else FourJobs.not_right(words)
        if seen["stepped"] is None:
            return FourJobs.fits("leaf-edited-while-recording")
        if np.allclose(seen["stepped"], inputs["w"]):
            return FourJobs.fits("only-the-name-moved")
        if not np.allclose(seen["stepped"], (1 - 2 * inputs["lr"]) * inputs["w"]):
            return FourJobs.not_right("`step` should move w by -lr times its gradient.")
        if not seen["reached"]:
            return FourJobs.not_right(
                "After `freeze` the input gets no gradient any more; only the parameters should be left out."
            )
        if seen["fresh"]["history"]:
            return FourJobs.fits("a-copy-has-history-too")
        return (
            FourJobs.right("All four.")
            if seen["measured"]["near"] and seen["fresh"]["near"]
            else FourJobs.not_right("The numbers have changed; only the history should.")
        )
