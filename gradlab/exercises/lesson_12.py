"""Lesson 12, train: the loop, a stable loss, six broken loops, momentum, digits."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradlab.exercises._framework import Exercise, Prediction, Verdict, Wrong
from gradlab.exercises._tables import TableExercise

PREDICTIONS = [
    Prediction(
        "12A",
        "The same loop, once with torch and once with gradlab, from the same numbers. After 50 steps, how far apart are the two weights?",
        {
            "a few percent": "They do the same operations in the same order on the same numbers. There is nothing that could differ, but for the last digit of a rounding.",
            "less than a millionth": "Yes: the same operations on the same numbers.",
        },
        shows="True",
    ),
    Prediction(
        "12B",
        "Scores of 1000, 0 and 0; the right class is the second. `softmax`, then `log`, then minus: what is the loss?",
        {
            "1000": "That is the right answer, and a stable formula gives it. But softmax has rounded the second probability down to exactly 0 before log sees it.",
            "inf": "Yes: softmax rounds the second probability to exactly 0, and -log(0) is infinite.",
            "nan": "torch's softmax is careful and gives [1, 0, 0]. Then -log(0) is infinite.",
        },
        shows="inf",
    ),
    Prediction(
        "12C",
        "The weights of the finished digit reader, drawn as ten 8×8 pictures. What will they look like?",
        {
            "noise": "There is one weight per pixel and class: where ink speaks *for* a digit it is positive, where it speaks *against* it negative. Look at the zero: a ring, with a forbidden middle.",
            "something of the digits": "Yes: where ink speaks for a digit the weight is positive, where it speaks against it negative. The zero is a ring with a forbidden middle; others are less tidy, since a weight asks what tells this digit from the nine others.",
        },
        shows="held-out",
    ),
]


class PlaceZeroAndStep(Exercise):
    id = "12-1"
    title = "Where do zero and step go?"
    kind = "list"
    question = """
        A pass of a training loop. `"forward"`, `"loss"` and `"backward"` are in their places; put `"zero"` (`optimizer.zero_grad()`) and `"step"` (`optimizer.step()`) into the list, so that every pass trains
        with its own gradient.
    """
    names = ("order",)
    hints = (
        "step uses what is in `.grad`. Who puts it there, and who takes it away?",
        "Between backward and step the gradient has to stay; between step and the next backward it has to go.",
        '```python\norder = [____, "forward", "loss", "backward", "step"]\n```',
    )
    stub = 'order = ["forward", "loss", "backward"]          # where do "zero" and "step" go?'
    solution = 'order = ["zero", "forward", "loss", "backward", "step"]'
    also_right = (
        'order = ["forward", "loss", "zero", "backward", "step"]',
        'order = ["forward", "loss", "backward", "step", "zero"]',
        'order = ["step", "zero", "forward", "loss", "backward"]',
    )
    wrong = (
        Wrong('order = ["forward", "loss", "backward", "zero", "step"]', "zeroed-before-step"),
        Wrong('order = ["zero", "step", "forward", "loss", "backward"]', "zeroed-before-step"),
        Wrong('order = ["forward", "loss", "backward", "step"]', "never-zeroed"),
        Wrong('order = ["zero", "forward", "loss", "backward"]', "never-steps"),
        Wrong('order = ["zero", "forward", "loss", "step", "zero", "backward"]', "zeroed-before-step"),
    )
    misconceptions = {
        "zeroed-before-step": "The gradient is thrown away before step can use it: w never moves.",
        "never-zeroed": "Nobody clears: every pass adds its gradient to those of all passes before, and the steps grow.",
        "never-steps": "Gradients come and go, and nobody moves the weights.",
    }

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The list as text."""
        return [str(line).strip().lower() for line in answer["order"]]

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """The loop, run: three passes of a one-weight regression."""
        known = ["zero", "forward", "loss", "backward", "step"]
        strange = [line for line in seen if line not in known]
        if strange or [line for line in seen if line in ("forward", "loss", "backward")] != [
            "forward",
            "loss",
            "backward",
        ]:
            return PlaceZeroAndStep.not_right(
                'Keep "forward", "loss", "backward" in this order and add "zero" and "step".'
            )
        if "step" not in seen:
            return PlaceZeroAndStep.fits("never-steps")
        if "zero" not in seen:
            return PlaceZeroAndStep.fits("never-zeroed")

        def run(order: list[str]) -> list[float]:
            w, grad, pred, places = 0.0, None, 0.0, []
            for _ in range(3):
                for line in order:
                    if line == "zero":
                        grad = None
                    elif line == "forward":
                        pred = 2.0 * w
                    elif line == "backward":
                        grad = (grad or 0.0) + 2 * (pred - 6.0) * 2.0
                    elif line == "step" and grad is not None:
                        w -= 0.05 * grad
                places.append(w)
            return places

        true, got = run(known), run(seen)
        if got == true:
            return PlaceZeroAndStep.right("Right: every pass trains with its own gradient.")
        if got == [0.0, *true[:2]]:
            return PlaceZeroAndStep.right(
                "Right, one pass late: the first step does nothing, since there is no gradient yet; from then on it is the usual loop, begun at another line."
            )
        words = f"After three passes w should have moved to {true[2]:.2f}; with your order it is at {got[2]:.2f}."
        if any(got):
            return PlaceZeroAndStep.not_right(f"Each pass takes one step, with the gradient that it computed. {words}")
        return PlaceZeroAndStep.fits("zeroed-before-step", words)


class StableLoss(Exercise):
    id = "12-2"
    title = "A loss that does not overflow"
    points = 3
    question = """
        Write `cross_entropy(scores, target)`: the mean over the rows of *minus the log of the softmax of the right class*. scores are (N, C), target (N,) class numbers. It has to stay right for scores of
        1000. (Do not call torch's own cross_entropy or log_softmax.)
    """
    names = ("cross_entropy",)
    hints = (
        "log(exp(a) / sum(exp)) can be simplified before it is computed. What is left of log(exp(a))?",
        "-log softmax = log(sum(exp(scores))) - the right score. And exp(1000) is infinite: subtract the row's largest score from all of them first; nothing changes but the overflow.",
        "```python\n    s = scores - scores.max(1, keepdim=True).values\n    right = s.gather(1, target[:, None]).squeeze(1)\n    return (____ - right).mean()\n```",
    )
    stub = """
        def cross_entropy(scores, target):
            "Mean of -log softmax(scores) at the target's place; right for large scores too."
            p = torch.exp(scores) / torch.exp(scores).sum(1, keepdim=True)
            return -torch.log(p[torch.arange(len(target)), target]).mean()
    """
    solution = "def cross_entropy(scores, target):\n    s = scores - scores.max(1, keepdim=True).values\n    right = s.gather(1, target[:, None]).squeeze(1)\n    return (s.exp().sum(1).log() - right).mean()"
    also_right = (
        "def cross_entropy(scores, target):\n    return (torch.logsumexp(scores, 1) - scores[torch.arange(len(target)), target]).mean()",
        "def cross_entropy(scores, target):\n    m = scores.detach().max(1, keepdim=True).values\n    return (torch.log(torch.exp(scores - m).sum(1)) + m[:, 0] - scores[torch.arange(len(target)), target]).mean()",
    )
    wrong = (
        Wrong(
            "def cross_entropy(scores, target):\n    p = scores.softmax(1)\n    return -torch.log(p[torch.arange(len(target)), target]).mean()",
            "log-of-rounded-zero",
        ),
        Wrong(
            "def cross_entropy(scores, target):\n    p = scores.softmax(1)\n    return -torch.log(p[torch.arange(len(target)), target] + 1e-9).mean()",
            "a-little-added",
        ),
        Wrong(
            "def cross_entropy(scores, target):\n    return (scores.exp().sum(1).log() - scores[torch.arange(len(target)), target]).mean()",
            "exp-overflows",
        ),
        Wrong(
            "def cross_entropy(scores, target):\n    return (torch.logsumexp(scores, 1) - scores[torch.arange(len(target)), target]).sum()",
            "sum-for-mean",
        ),
        Wrong(
            "def cross_entropy(scores, target):\n    return (torch.logsumexp(scores, 1, keepdim=True) - scores).mean()",
            "all-classes",
        ),
    )
    misconceptions = {
        "log-of-rounded-zero": "For small scores right. For large ones softmax rounds a small probability to exactly 0, and log(0) is infinite. Do not compute the probability at all: simplify log(exp(a)/sum) first.",
        "a-little-added": "No infinity any more, but the loss is wrong where it matters most (in a row that is badly wrong), and its gradient there is nearly 0: that row learns nothing.",
        "exp-overflows": "exp(1000) is infinite. Subtract the row's largest score first.",
        "sum-for-mean": "That is the sum over the rows.",
        "all-classes": "You averaged over *all* classes; only the right one of each row counts.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """Small scores and classes."""
        n = int(rng.integers(5, 8))
        return {"scores": rng.normal(size=(n, 3)), "target": rng.integers(0, 3, size=n)}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """Loss and gradient for small scores, for large ones, and for one large row; torch's own loss in the graph."""
        import torch

        def names(t: torch.Tensor) -> set[str]:
            nodes, todo = set(), [t.grad_fn]
            while todo:
                node = todo.pop()
                if node is not None and node not in nodes:
                    nodes.add(node)
                    todo += [below for below, _ in node.next_functions]
            return {node.name() for node in nodes}

        found = []
        target = torch.tensor(inputs["target"])
        small = torch.tensor(inputs["scores"])
        large = torch.zeros_like(small)
        large[torch.arange(len(target)), (target + 1) % 3] = 1000.0
        mixed = torch.cat([large[:1], torch.zeros_like(small[1:])])
        for scores in (small, large, mixed):
            scores = scores.clone().requires_grad_()
            value = answer["cross_entropy"](scores, target)
            if not isinstance(value, torch.Tensor) or value.dim():
                return None
            own = not any(name.startswith(("LogSoftmax", "NllLoss")) for name in names(value))
            if value.requires_grad:
                value.backward()
            grad = None if scores.grad is None else scores.grad.numpy().copy()
            found.append({"value": float(value.detach()), "grad": grad, "own": own})
        return found

    @staticmethod
    def graph(answer: dict[str, Any]) -> dict[str, Any]:
        """What the answer records on small numbers."""
        import torch

        scores = torch.tensor([[2.0, 0.0, 1.0]], requires_grad=True)
        return {"loss": answer["cross_entropy"](scores, torch.tensor([0])), "scores": scores}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against numpy, small and large."""
        if seen is None:
            return StableLoss.not_right("`cross_entropy` should return one number, as a tensor.")
        if not all(found["own"] for found in seen):
            return StableLoss.not_right(
                "Your answer calls torch's own loss or log_softmax. This one is written without them."
            )
        s, t = inputs["scores"], inputs["target"]
        p = np.exp(s) / np.exp(s).sum(1, keepdims=True)
        rows = np.arange(len(t))
        small = -np.log(p[rows, t])
        value, large = seen[0]["value"], seen[1]["value"]
        example = f"For small scores the loss should be {small.mean():.4f}; yours is {value:.4f}."
        if not np.isclose(value, small.mean(), atol=1e-6):
            if np.isclose(value, small.sum()):
                return StableLoss.fits("sum-for-mean", example)
            return (
                StableLoss.fits("all-classes", example)
                if np.isclose(value, -np.log(p).mean())
                else StableLoss.not_right(example)
            )
        example = (
            f"For a row of scores 1000, 0, 0 with the wrong class in front the loss is 1000; yours is {large:.4g}."
        )
        if np.isnan(large):
            return StableLoss.fits("exp-overflows", example)
        if np.isinf(large):
            return StableLoss.fits(_which_infinity(seen[1]["grad"], t), example)
        if not np.isclose(large, 1000.0):
            return StableLoss.fits("a-little-added", example)
        if not np.isclose(seen[2]["value"], (1000.0 + (len(t) - 1) * np.log(3)) / len(t)):
            return StableLoss.not_right(
                "Right where all rows are alike, not where one row has large scores and the others small ones."
            )
        true = p.copy()
        true[rows, t] -= 1
        grad = seen[0]["grad"]
        return (
            StableLoss.right("Right, for small scores and for 1000.")
            if grad is not None and np.allclose(grad, true / len(t), atol=1e-6)
            else StableLoss.not_right("The value is right, its gradient is not.")
        )


def _which_infinity(grad: np.ndarray | None, target: np.ndarray) -> str:
    """Tell exp's overflow (NaN at the large score only) from log(0) behind a softmax (NaN in the whole row)."""
    if grad is None:
        return "log-of-rounded-zero"
    return "log-of-rounded-zero" if np.isnan(grad[np.arange(len(target)), target]).any() else "exp-overflows"


_CAUSES = {
    "thrown away": "the gradient is cleared before step uses it",
    "silent square": "(N, 1) against (N,)",
    "graph kept": "every step's graph is kept alive",
    "name moved": "the leaf stays, the name moves on",
    "cut off": "no way from the loss to the weights",
    "other parameters": "the optimizer moves weights that the model does not use",
}
_HEAD = ["model = torch.nn.Linear(3, 1)", "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)"]
_LOOPS: dict[str, tuple[list[str], int, str, str]] = {
    "A": (
        [
            *_HEAD,
            "for x, y in data:                      # y has shape (N, 1)",
            "    loss = ((model(x) - y) ** 2).mean()",
            "    loss.backward()",
            "    optimizer.zero_grad()",
            "    optimizer.step()",
        ],
        6,
        "",
        "thrown away",
    ),
    "B": (
        [
            *_HEAD,
            "for x, y in data:                      # y has shape (N,)",
            "    optimizer.zero_grad()",
            "    loss = ((model(x) - y) ** 2).mean()",
            "    loss.backward()",
            "    optimizer.step()",
        ],
        5,
        "    loss = ((model(x).squeeze(1) - y) ** 2).mean()",
        "silent square",
    ),
    "C": (
        [
            *_HEAD,
            "total = 0",
            "for x, y in data:",
            "    optimizer.zero_grad()",
            "    loss = ((model(x) - y) ** 2).mean()",
            "    loss.backward()",
            "    optimizer.step()",
            "    total += loss",
        ],
        9,
        "    total += loss.item()",
        "graph kept",
    ),
    "D": (
        [
            "w = torch.zeros(3, 1, requires_grad=True)",
            "for x, y in data:",
            "    loss = ((x @ w - y) ** 2).mean()",
            "    loss.backward()",
            "    w = w - 0.1 * w.grad",
        ],
        5,
        "    w = (w - 0.1 * w.grad).detach().requires_grad_()",
        "name moved",
    ),
    "E": (
        [
            *_HEAD,
            "for x, y in data:",
            "    optimizer.zero_grad()",
            "    pred = model(x).detach()",
            "    loss = ((pred - y) ** 2).mean()",
            "    loss.backward()",
            "    optimizer.step()",
        ],
        5,
        "    pred = model(x)",
        "cut off",
    ),
    "F": (
        [
            *_HEAD,
            "model = torch.nn.Linear(3, 1)          # a fresh start",
            "for x, y in data:",
            "    optimizer.zero_grad()",
            "    loss = ((model(x) - y) ** 2).mean()",
            "    loss.backward()",
            "    optimizer.step()",
        ],
        3,
        "",
        "other parameters",
    ),
}


def _listing() -> str:
    parts = []
    for name, (lines, *_) in _LOOPS.items():
        numbered = "\n".join(f"{i:2}  {line}" for i, line in enumerate(lines, 1))
        parts.append(f"**{name}**\n```\n{numbered}\n```")
    return "\n\n".join(parts)


def _clinic(**changes: tuple[int, str]) -> str:
    cells = {name: (line, cause) for name, (_, line, _, cause) in _LOOPS.items()} | changes
    return (
        "diagnosis = {\n"
        + "".join(f'    "{name}": [{line}, "{cause}"],\n' for name, (line, cause) in cells.items())
        + "}"
    )


class Clinic(TableExercise):
    id = "12-3"
    title = "Clinic: six broken loops"
    points = 3
    question = (
        'Each loop has **one** broken line. Name its number and its cause, for example `[4, "cut off"]`. The causes:\n\n'
        + "\n".join(f"- `{name}`: {words}" for name, words in _CAUSES.items())
        + "\n\n"
        + _listing()
    )
    names = ("diagnosis",)
    hints = (
        "Go through each loop with one question: who puts a number where, and who still needs it?",
        "The line to name is the one you would change, not the one at which you notice. Each cause occurs once.",
        '```python\n"A": [6, "thrown away"],\n"B": [5, "____"],\n```',
    )
    stub = (
        "diagnosis = {                 # [line number, cause]\n"
        + "".join(f'    "{name}": [..., ...],\n' for name in _LOOPS)
        + "}"
    )
    solution = _clinic()
    wrong = (
        Wrong(_clinic(A=(7, "thrown away")), "symptom-not-cause"),
        Wrong(_clinic(E=(7, "cut off")), "symptom-not-cause"),
        Wrong(_clinic(B=(5, "cut off"), E=(5, "silent square")), "right-line-wrong-cause"),
        Wrong(_clinic(F=(2, "other parameters")), "healthy-line"),
        Wrong(_clinic(C=(6, "graph kept")), "healthy-line"),
    )
    misconceptions = {
        "symptom-not-cause": "that is the line at which one *notices*. Which line would you change?",
        "right-line-wrong-cause": "the right line, for another reason.",
        "healthy-line": "this line is as it should be.",
    }

    @classmethod
    def truth(cls) -> dict[str, Any]:
        """Line and cause of each loop; a test runs every loop, broken and repaired."""
        return {name: [line, cause] for name, (_, line, _, cause) in _LOOPS.items()}

    @classmethod
    def word(cls, key: str, given: Any, true: Any) -> str | None:
        """Which misunderstanding a wrong diagnosis shows."""
        if not isinstance(given, list) or len(given) != 2:
            return None
        if given[0] == true[0]:
            return "right-line-wrong-cause"
        lines = _LOOPS[key][0]
        line = lines[given[0] - 1] if isinstance(given[0], int) and 1 <= given[0] <= len(lines) else ""
        return "symptom-not-cause" if "backward()" in line or "step()" in line else "healthy-line"


class Momentum(Exercise):
    id = "12-4"
    title = "Momentum, as torch has it"
    core = False
    points = 2
    question = """
        Write `step(p, v, g, lr, mu)`: one step of SGD with momentum. p are the weights, v the speed (0 at the start), g the gradient. Return the new p and the new v. After 20 steps p has to equal torch's.
    """
    names = ("step",)
    hints = (
        "The speed keeps a part mu of itself and takes the gradient on top. Then p moves by the speed.",
        "v = mu·v + g, p = p - lr·v. (Not an average: the gradient is not multiplied by 1 - mu.)",
        "```python\n    v = mu * v + ____\n    return p - lr * v, v\n```",
    )
    stub = """
        def step(p, v, g, lr, mu):
            return p - lr * g, v
    """
    solution = "def step(p, v, g, lr, mu):\n    v = mu * v + g\n    return p - lr * v, v"
    also_right = ("def step(p, v, g, lr, mu):\n    v = mu * v - lr * g\n    return p + v, v",)
    wrong = (
        Wrong("def step(p, v, g, lr, mu):\n    v = mu * v + (1 - mu) * g\n    return p - lr * v, v", "averages"),
        Wrong("def step(p, v, g, lr, mu):\n    return p - lr * (mu * v + g), g", "only-the-last-one"),
        Wrong("def step(p, v, g, lr, mu):\n    new = mu * v + g\n    return p - lr * v, new", "old-speed"),
        Wrong("def step(p, v, g, lr, mu):\n    v = mu * v + g\n    return p - lr * (g + mu * v), v", "looks-ahead"),
    )
    misconceptions = {
        "averages": "You take an average of gradients. torch's speed *adds*: with momentum 0.9 it becomes up to ten times the gradient, which is why one lowers the learning rate.",
        "only-the-last-one": "The speed has to carry on: a part of *all* gradients before, not only of the last one.",
        "old-speed": "p moves with the speed of the step before; it should move with the new one.",
        "looks-ahead": "That is Nesterov's variant (`nesterov=True`), a good one, but not this one.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """A start, a bowl, the length of a step and the momentum."""
        found = {"p": rng.normal(size=3), "bowl": rng.uniform(0.5, 2, size=3)}
        return found | {"lr": float(rng.uniform(0.03, 0.06)), "mu": float(rng.uniform(0.7, 0.9))}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """p after 20 steps."""
        import torch

        p, bowl = torch.tensor(inputs["p"]), torch.tensor(inputs["bowl"])
        v = torch.zeros_like(p)
        for _ in range(20):
            got = answer["step"](p, v, bowl * p, inputs["lr"], inputs["mu"])
            if not isinstance(got, (tuple, list)) or len(got) != 2 or not all(isinstance(t, torch.Tensor) for t in got):
                return None
            p, v = got
        return p.detach().numpy().copy()

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against torch's optimizer."""
        import torch

        if seen is None:
            return Momentum.not_right("`step` should return two tensors: the new p and the new v.")
        p, bowl = torch.tensor(inputs["p"], requires_grad=True), torch.tensor(inputs["bowl"])
        lr, mu = inputs["lr"], inputs["mu"]
        optimizer = torch.optim.SGD([p], lr=lr, momentum=mu)
        for _ in range(20):
            optimizer.zero_grad()
            (bowl * p * p / 2).sum().backward()
            optimizer.step()
        if np.allclose(seen, p.detach().numpy()):
            return Momentum.right("Right: equal to torch after 20 steps.")
        forms = {
            "averages": lambda p, v, g: (p - lr * (mu * v + (1 - mu) * g), mu * v + (1 - mu) * g),
            "only-the-last-one": lambda p, v, g: (p - lr * (mu * v + g), g),
            "old-speed": lambda p, v, g: (p - lr * v, mu * v + g),
            "looks-ahead": lambda p, v, g: (p - lr * (g + mu * (mu * v + g)), mu * v + g),
        }
        for word, form in forms.items():
            q, v = inputs["p"], np.zeros(3)
            for _ in range(20):
                q, v = form(q, v, inputs["bowl"] * q)
            if np.allclose(seen, q):
                return Momentum.fits(word)
        return Momentum.not_right(
            f"After 20 steps the first weight should be {p[0].item():.5f}; yours is {seen[0]:.5f}."
        )


_READER = """
def train(images, labels):
    W = torch.zeros(64, 10, requires_grad=True)
    b = torch.zeros(10, requires_grad=True)
    optimizer = torch.optim.SGD([W, b], lr={lr})
    for epoch in range({epochs}):
        loss = torch.nn.functional.cross_entropy(images @ W + b, labels)
        optimizer.zero_grad()
        loss.backward()
        {step}
    def read(images):
        return {answer}
    return read
"""


def _reader(
    lr: str = "2.0", epochs: str = "150", step: str = "optimizer.step()", answer: str = "(images @ W + b).argmax(1)"
) -> str:
    return _READER.format(lr=lr, epochs=epochs, step=step, answer=answer)


class ReadDigits(Exercise):
    id = "12-5"
    title = "Read digits"
    core = False
    points = 3
    seconds = promised_seconds = 60.0
    question = """
        Write `train(images, labels)`: images (N, 64) float32 between 0 and 1, labels (N,). It returns a **function** that takes images and gives labels. It has to be right for at least 90 % of digits that it
        has never seen, within a minute. How you train is up to you.
    """
    names = ("train",)
    hints = (
        "The lesson's own loop is nearly there: what has to be returned?",
        "A straight line per class is enough: scores = images @ W + b, cross entropy, 150 passes. The label is the place of the largest score.",
        "```python\n    def read(images):\n        return (images @ W + b).____(1)\n    return read\n```",
    )
    stub = _reader(epochs="3", lr="0.01")
    solution = _reader()
    also_right = (
        "def train(images, labels):\n    torch.manual_seed(0)\n    net = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))\n    opt = torch.optim.Adam(net.parameters(), lr=0.01)\n    for _ in range(120):\n        opt.zero_grad()\n        torch.nn.functional.cross_entropy(net(images), labels).backward()\n        opt.step()\n    return lambda images: net(images).argmax(1)",
    )
    wrong = (
        Wrong(_reader(step="pass"), "never-learns"),
        Wrong(_reader(epochs="2", lr="0.001"), "stopped-too-early"),
        Wrong(_reader(answer="images @ W + b"), "scores-for-labels"),
        Wrong(_reader(answer="(images @ W + b).argmax(0)"), "wrong-axis"),
    )
    misconceptions = {
        "never-learns": "About one in ten is right: that is guessing. Do the weights move at all?",
        "stopped-too-early": "It has learned something, but not enough yet: more passes, or longer steps.",
        "scores-for-labels": "You return ten scores for each image; the label is the *place* of the largest one.",
        "wrong-axis": "One answer for each image is wanted: the largest score along the axis of the *classes*.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """1000 digits to learn from, 300 others to read; the labels of these stay with the judge.

        Which label stands for which digit is shuffled: the labels of `gradlab.datasets` are of no use here.
        """
        from gradlab import datasets

        data = datasets.digits()
        images, labels = data.images.numpy().reshape(-1, 64), data.labels.numpy()
        order = rng.permutation(len(labels))
        seen, new = order[:1000], order[1000:1300]
        label = rng.permutation(10)
        return {
            "images": images[seen].astype(np.float32),
            "labels": label[labels[seen]],
            "new": images[new].astype(np.float32),
            "places": new,
            "label": label,
        }

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """What the trained function says of the new images."""
        import torch

        read = answer["train"](torch.tensor(inputs["images"]), torch.tensor(inputs["labels"]))
        if not callable(read):
            return None
        said = read(torch.tensor(inputs["new"]))
        return torch.as_tensor(said).detach().numpy().copy()

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against the labels that were kept back."""
        from gradlab import datasets

        if seen is None:
            return ReadDigits.not_right("`train` should return a function that reads images.")
        labels = inputs["label"][datasets.digits().labels.numpy()[inputs["places"]]]
        if seen.shape == (len(labels), 10):
            return ReadDigits.fits("scores-for-labels")
        if seen.shape == (10,):
            return ReadDigits.fits("wrong-axis", "For 300 images there are ten answers.")
        if seen.shape != labels.shape:
            return ReadDigits.not_right(
                f"One label for each image is wanted, in one row; your answer has shape {seen.shape}."
            )
        share = float((seen == labels).mean())
        words = f"{share:.1%} of 300 new digits are right."
        if share >= 0.9:
            return ReadDigits.right(f"Right: {words}")
        if share < 0.04:
            return ReadDigits.not_right(f"Guessing would do better: {words} Is what you return the label itself?")
        return ReadDigits.fits("never-learns" if share < 0.2 else "stopped-too-early", words)
