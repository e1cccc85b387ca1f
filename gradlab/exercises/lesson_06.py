"""Lesson 06, retain_graph=True: what is saved, what is freed, who needs it again."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradlab.exercises._framework import Exercise, Prediction, Verdict, Wrong
from gradlab.exercises._tables import TableExercise

PREDICTIONS = [
    Prediction(
        "06A",
        "The same again with `y = x + 1`: backward twice, no `retain_graph`. What happens?",
        {
            "raises": "A second backward does not fail because it is the second. It fails when something that was freed is needed again, and the slope of `x + 1` is 1, whatever x is: nothing was saved, so nothing is missing.",
            "works, x.grad is 1": "It works. But the second backward adds its 1 to the 1 that is there: `.grad` accumulates.",
            "works, x.grad is 2": "Yes: an addition saves nothing, so nothing is missing, and 1 + 1 accumulates to 2.",
        },
        shows="2",
    ),
    Prediction(
        "06B",
        "`y = x * x` is to run backward twice. Which call needs `retain_graph=True`?",
        {
            "the first": "Yes: the first call is the one that would free. `retain_graph` means *do not free when you are done*, so it has to be said before.",
            "the second": "Too late: the first call has already freed what was saved. `retain_graph` means *do not free when you are done*; it brings nothing back.",
            "both": "The first does. On the second it only keeps the saved tensors alive longer than anyone needs them.",
        },
        shows="second time",
    ),
    Prediction(
        "06C",
        "Three steps, each computes `y = x * x` anew and runs backward once. Without `retain_graph`:",
        {
            "raises at the second step": "Each step made a graph of its own: it was recorded by that step's forward, used once and freed. No step looks into an older graph.",
            "works": "Yes: a new forward records a new graph. Training loops need no `retain_graph`.",
        },
        shows="18",
    ),
    Prediction(
        "06D",
        "`y = x.exp() + b`. The second backward raises. What is in `b.grad` afterwards? (After the first it was 1.)",
        {
            "1": "The failing call got as far as b before it reached the empty node: it had already added its 1 to b.",
            "2": "Yes: b was reached before the empty node. A backward that fails leaves behind what it did until then.",
            "None": "An error takes nothing back. What was added to b before the empty node was reached stays there.",
        },
        shows="2",
    ),
    Prediction(
        "06E",
        "`h = x * x`, `y = h * 3`, then `y.backward(retain_graph=True)`. What is in `h.grad`?",
        {
            "3, because the graph was retained": "`retain_graph` keeps the *saved tensors*, not the gradients. For h's gradient there is another word: `h.retain_grad()`.",
            "None": "Yes: `retain_graph` keeps what the nodes saved on the way forward. Gradients of inner tensors are not kept; that would be `h.retain_grad()`.",
        },
        shows="None",
    ),
]

_SAVES = {
    "x + 1": lambda x: x + 1,
    "x ** 2": lambda x: x**2,
    "x.exp()": lambda x: x.exp(),
    "x.sin()": lambda x: x.sin(),
    "x.sum()": lambda x: x.sum(),
    "x.norm()": lambda x: x.norm(),
}


class WhatIsSaved(TableExercise):
    id = "06-1"
    title = "What does each operation save?"
    question = """
        Backward needs a slope at every node. What must each operation keep from the forward pass to have it: its `"input"`, its
        `"result"`, `"both"`, or `"nothing"`? (Think of the formula of each derivative before you look.)
    """
    names = ("saves",)
    hints = (
        "Write down each derivative. Which letters are in it: x, or the result?",
        "What is in the formula of the slope has to be kept; what forward has computed is not computed again. To differentiate a length, write it as √(x·x).",
        '```python\n"x.tanh()": "result",     # not in the table: its slope is 1 - tanh(x)², made of what came out\n"x.sin()": "____",        # its slope is cos(x)\n```',
    )
    stub = """
        saves = {            # "input", "result", "both" or "nothing"
            "x + 1": ...,
            "x ** 2": ...,
            "x.exp()": ...,
            "x.sin()": ...,
            "x.sum()": ...,
            "x.norm()": ...,
        }
    """
    solution = """
        saves = {
            "x + 1": "nothing",
            "x ** 2": "input",
            "x.exp()": "result",
            "x.sin()": "input",
            "x.sum()": "nothing",
            "x.norm()": "both",
        }
    """
    wrong = (
        Wrong(
            'saves = {"x + 1": "nothing", "x ** 2": "input", "x.exp()": "input", "x.sin()": "input", "x.sum()": "nothing", "x.norm()": "both"}',
            "input-for-result",
        ),
        Wrong(
            'saves = {"x + 1": "input", "x ** 2": "input", "x.exp()": "result", "x.sin()": "input", "x.sum()": "input", "x.norm()": "both"}',
            "every-node-saves",
        ),
        Wrong(
            'saves = {"x + 1": "nothing", "x ** 2": "result", "x.exp()": "result", "x.sin()": "result", "x.sum()": "nothing", "x.norm()": "both"}',
            "result-for-input",
        ),
        Wrong(
            'saves = {"x + 1": "nothing", "x ** 2": "nothing", "x.exp()": "nothing", "x.sin()": "nothing", "x.sum()": "nothing", "x.norm()": "nothing"}',
            "slope-out-of-nothing",
        ),
        Wrong(
            'saves = {"x + 1": "nothing", "x ** 2": "input", "x.exp()": "result", "x.sin()": "input", "x.sum()": "nothing", "x.norm()": "input"}',
            "one-of-two",
        ),
    )
    misconceptions = {
        "input-for-result": "write this derivative down and compute it at x = 1. Which number did you need, and had forward computed it already? Keep nothing from which backward would have to compute it once more.",
        "every-node-saves": "put another number into x: does the slope change? A node keeps the numbers that are in the formula of its slope. (`sum` keeps the *shape* as well; a shape is not one of the numbers.)",
        "result-for-input": "3 and -3 have the same square, 0 and π the same sine. Is the slope the same at both? Then ask of everything that you keep whether it tells backward which of the two it was.",
        "slope-out-of-nothing": "is this slope the same wherever x is? If not, the node has to keep something from which backward can know it. Which letter is in the formula?",
        "one-of-two": "write the slope of a length √(x·x) as a fraction. What stands above the line, what below it? Backward should find each of them without computing it a second time.",
    }

    @classmethod
    def truth(cls) -> dict[str, Any]:
        """What torch hands to the saved-tensor hooks, told apart by memory."""
        import torch

        found = {}
        for name, op in _SAVES.items():
            saved: list[Any] = []
            x = torch.tensor([3.0, 4.0], requires_grad=True)
            with torch.autograd.graph.saved_tensors_hooks(lambda t, into=saved: into.append(t) or t, lambda t: t):
                y = op(x)
            kept_input = any(t.data_ptr() == x.data_ptr() for t in saved)
            kept_result = any(t.data_ptr() == y.data_ptr() for t in saved)
            found[name] = {(0, 0): "nothing", (1, 0): "input", (0, 1): "result", (1, 1): "both"}[
                kept_input, kept_result
            ]
        return found

    @classmethod
    def word(cls, key: str, given: Any, true: Any) -> str | None:
        """Which misunderstanding a wrong cell shows."""
        if str(given).strip().lower() not in ("input", "result", "both", "nothing"):
            return None
        if true == "nothing":
            return "every-node-saves"
        if given == "nothing":
            return "slope-out-of-nothing"
        if true == "both":
            return "one-of-two"
        return "input-for-result" if true == "result" else "result-for-input"


_PROGRAMS = (
    "y = x + 1;  y.backward();  y.backward()",
    "y = x * x;  y.backward();  y.backward()",
    "y = x * x;  y.backward(retain_graph=True);  y.backward()",
    "y = x * x;  y.backward();  y.backward(retain_graph=True)",
    "y = x * x;  y.backward();  y = x * x;  y.backward()",
    "h = x.exp();  a = h + 1;  b = h + 2;  a.backward();  b.backward()",
)


def _answers(*values: bool) -> str:
    return "raises = {\n" + "".join(f'    "{p}": {v},\n' for p, v in zip(_PROGRAMS, values, strict=True)) + "}"


class WhichRaise(TableExercise):
    id = "06-2"
    title = "Which of these raise?"
    question = """
        Six programs, each starts with `x = torch.tensor(3.0, requires_grad=True)`. Which end in *Trying to backward through the graph a
        second time*? Write `True` or `False`.
    """
    names = ("raises",)
    hints = (
        "For each program ask: which node runs a second time, and had it saved something?",
        "A call frees what the nodes it passes have saved, unless that call says retain_graph=True. A new forward records new nodes.",
        '```python\n"h = x.exp();  a = h + 1;  b = h + 2; ...": ____   # both losses pass the exp node; exp saves its result\n```',
    )
    stub = "raises = {          # True or False\n" + "".join(f'    "{p}": ...,\n' for p in _PROGRAMS) + "}"
    solution = _answers(False, True, False, True, False, True)
    wrong = (
        Wrong(_answers(True, True, False, True, False, True), "second-always-fails"),
        Wrong(_answers(False, True, False, False, False, True), "retain-on-the-second-call"),
        Wrong(_answers(False, True, False, True, True, True), "new-forward-needs-retain"),
        Wrong(_answers(False, True, False, True, False, False), "new-loss-new-graph"),
        Wrong(_answers(False, True, True, True, False, True), "second-fails-even-retained"),
        Wrong(_answers(False, False, False, True, False, True), "nothing-is-freed"),
    )
    misconceptions = {
        "second-always-fails": "what fails is not *the second call* but *a node that is run again after what it saved was freed*. An addition saves nothing: nothing is missing.",
        "retain-on-the-second-call": "when the second call starts, the first has freed already. retain_graph is a promise made by the call that would free.",
        "new-forward-needs-retain": "the second `y = x * x` is a new node with a new saved x. The old graph is not touched again.",
        "new-loss-new-graph": "a and b are two losses, but both go back through the *same* exp node. The first backward emptied it.",
        "second-fails-even-retained": "the first call was told to keep what the node saved, so the second one finds it.",
        "nothing-is-freed": "backward frees what the nodes saved as it passes them, to give the memory back at once. Multiplication needs its inputs, and they are gone.",
    }

    @classmethod
    def truth(cls) -> dict[str, Any]:
        """Each program, run."""
        import torch

        found = {}
        for program in _PROGRAMS:
            try:
                exec(program, {"x": torch.tensor(3.0, requires_grad=True)})
                found[program] = False
            except RuntimeError:
                found[program] = True
        return found

    @classmethod
    def word(cls, key: str, given: Any, true: Any) -> str | None:
        """Each program has its own misunderstanding."""
        if not isinstance(given, bool):
            return None
        words = (
            "second-always-fails",
            "nothing-is-freed",
            "second-fails-even-retained",
            "retain-on-the-second-call",
            "new-forward-needs-retain",
            "new-loss-new-graph",
        )
        return words[_PROGRAMS.index(key)]


class TwoLosses(Exercise):
    id = "06-3"
    title = "Two losses, one trunk"
    question = """
        `a` and `b` are two losses computed from one shared trunk. Write `both(a, b)`: afterwards the leaves hold the gradient of `a + b`,
        **and** nothing that the trunk saved is held any longer.
    """
    names = ("both",)
    hints = (
        "Which call is the last one that needs what the trunk saved?",
        "A call that is not the last must keep; the last must not. (There is also a way with one single backward.)",
        "```python\ndef both(a, b):\n    a.backward(____)\n    b.backward()\n```",
    )
    stub = """
        def both(a, b):
            "Leave d(a + b) in the leaves, with the shared trunk freed afterwards."
            ...
    """
    solution = """
        def both(a, b):
            a.backward(retain_graph=True)
            b.backward()
    """
    also_right = (
        "def both(a, b):\n    (a + b).backward()",
        "def both(a, b):\n    torch.autograd.backward([a, b])",
        "def both(a, b):\n    b.backward(retain_graph=True)\n    a.backward()",
        "def both(a, b):\n    torch.stack([a, b]).sum().backward()",
    )
    wrong = (
        Wrong("def both(a, b):\n    a.backward()\n    b.backward(retain_graph=True)", "freed-too-early"),
        Wrong("def both(a, b):\n    a.backward()\n    b.backward()", "freed-too-early"),
        Wrong(
            "def both(a, b):\n    a.backward(retain_graph=True)\n    b.backward(retain_graph=True)", "kept-to-the-end"
        ),
        Wrong("def both(a, b):\n    a.backward(retain_graph=True)\n    (a + b).backward()", "counted-twice"),
        Wrong("def both(a, b):\n    a.backward()", "one-loss-lost"),
    )
    misconceptions = {
        "freed-too-early": "The first backward emptied the trunk that both losses share. `retain_graph` is a promise made *before*, by the call that would free; on the later call it is too late.",
        "kept-to-the-end": "The gradient is right, but the trunk still holds what it saved: the last backward should free it.",
        "counted-twice": "One of the losses went in twice.",
        "one-loss-lost": "The leaves hold the gradient of one of the losses only.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """The leaf, and a weight for one of the losses."""
        return {"x": rng.normal(size=3), "w": rng.normal(size=3)}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The leaf's gradient, what was raised, and whether the trunk can still be walked."""
        import torch

        x = torch.tensor(inputs["x"], requires_grad=True)
        h = x.exp()
        a, b = (h * torch.tensor(inputs["w"])).sum(), (h * h).sum()
        raised = None
        try:
            answer["both"](a, b)
        except RuntimeError as error:
            if "second time" not in str(error):
                raise
            raised = "second time"
        grad = None if x.grad is None else x.grad.numpy().copy()
        try:
            torch.autograd.grad(h.sum(), x)
            freed = False
        except RuntimeError:
            freed = True
        return {"raised": raised, "grad": grad, "freed": freed}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against the two gradients, each computed alone."""
        import torch

        x, w = torch.tensor(inputs["x"], requires_grad=True), torch.tensor(inputs["w"])
        da = torch.autograd.grad((x.exp() * w).sum(), x)[0].numpy()
        db = torch.autograd.grad((x.exp() ** 2).sum(), x)[0].numpy()
        if seen["raised"]:
            return TwoLosses.fits(
                "freed-too-early",
                "Your answer raised `Trying to backward through the graph a second time`. (And the failed call may already have added to some leaves.)",
            )
        grad = seen["grad"]
        if grad is None:
            return TwoLosses.not_right("After your function, `x.grad` is None: no backward has reached the leaf.")
        near = [
            name
            for name, true in {"a + b": da + db, "a": da, "b": db, "2a + b": 2 * da + db, "a + 2b": da + 2 * db}.items()
            if np.allclose(grad, true)
        ]
        if "a + b" in near:
            if seen["freed"]:
                return TwoLosses.right("Right: the gradient of a + b, and the trunk is freed.")
            return TwoLosses.fits("kept-to-the-end")
        example = f"For x = {np.round(inputs['x'], 2).tolist()} your `x.grad` is that of `{near[0]}`." if near else ""
        if near:
            return TwoLosses.fits("one-loss-lost" if near[0] in ("a", "b") else "counted-twice", example)
        return TwoLosses.not_right(
            f"`x.grad` is not the gradient of a + b. For x = {np.round(inputs['x'], 2).tolist()} it is {np.round(grad, 3).tolist()}."
        )


_TRAIN = """
def train(W, xs):
    h = torch.zeros(1, 3, dtype=W.dtype)
    for x in xs:
        h = torch.tanh(x @ W + h @ W){cut}
        loss = (h ** 2).sum()
        W.grad = None
        loss.backward({keep})
        with torch.no_grad():
            {step}
        {carry}
    return h
"""


def _train(carry: str, cut: str = "", keep: str = "", step: str = "W -= 0.1 * W.grad") -> str:
    return _TRAIN.format(carry=carry, cut=cut, keep=keep, step=step)


class CutTheCarry(Exercise):
    id = "06-4"
    title = "Cut the carry"
    question = """
        A little recurrent network: each step uses the `h` of the step before, and trains `W` on its own loss only. As it stands it fails at
        the second step. Make it work: the **number** in h goes on, its **history** does not.
    """
    points = 3
    names = ("train",)
    hints = (
        "At the second step, through which variable does backward get back into the first step's graph?",
        "A tensor with the same numbers and no history is made by `detach()` (a new tensor) or `detach_()` (in place).",
        "```python\n        with torch.no_grad():\n            W -= 0.1 * W.grad\n        h = ____\n```",
    )
    stub = _train("...                      # what has to happen to h before the next step?")
    solution = _train("h = h.detach()")
    also_right = (
        _train("h.detach_()"),
        _train("h = h.data"),
        _train("h = h.detach().clone()"),
        _train("pass").replace("h @ W", "h.detach() @ W"),
    )
    wrong = (
        Wrong(_train("h.detach()"), "carry-still-attached"),
        Wrong(_train("h = h.clone()"), "carry-still-attached"),
        Wrong(_train("pass", keep="retain_graph=True"), "retain-is-not-the-fix"),
        Wrong(_train("pass", cut=".detach()"), "cut-before-the-loss"),
        Wrong(_train("h = torch.zeros_like(h)"), "memory-wiped"),
        Wrong(_train("pass", keep="retain_graph=True", step="W.data = W.data - 0.1 * W.grad"), "graph-grows"),
    )
    misconceptions = {
        "carry-still-attached": "h still points into the last step's graph, which backward has freed. (`h.detach()` returns a new tensor; by itself it does not change h. And `clone()` copies the numbers *and* the history.)",
        "retain-is-not-the-fix": "The first error is gone and a different one is here: step 2 walks back into step 1, whose saved W you have changed since. Do not keep the old graph: keep it out. Cut the carry.",
        "cut-before-the-loss": "Cut too early: the loss itself has no way back to W. First backward, then cut.",
        "memory-wiped": "No error, but the state is forgotten: at step 2, h should still carry the *number* of step 1. Cut the history, keep the number.",
        "graph-grows": "No error, and yet: the graph behind h grows with every step, backward walks all of it, and `W.data` hid the edit from torch's check, so the old steps work with the wrong W.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """A weight matrix and eight inputs."""
        return {"W": rng.normal(size=(3, 3)) * 0.7, "xs": rng.normal(size=(8, 1, 3))}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """W and h after four and eight steps, the size of the graph behind h, and what was raised."""
        import torch

        def size(t: Any) -> int:
            seen, todo = set(), [t.grad_fn]
            while todo:
                node = todo.pop()
                if node is not None and node not in seen:
                    seen.add(node)
                    todo += [n for n, _ in node.next_functions]
            return len(seen)

        found: dict[str, Any] = {"raised": None, "W": None, "h": None, "sizes": []}
        for steps in (4, 8):
            W = torch.tensor(inputs["W"], requires_grad=True)
            try:
                h = answer["train"](W, [torch.tensor(x) for x in inputs["xs"][:steps]])
            except RuntimeError as error:
                found["raised"] = str(error)
                return found
            if not isinstance(h, torch.Tensor):
                return found
            found["sizes"].append(size(h))
            found["W"], found["h"] = W.detach().numpy().copy(), h.detach().numpy().copy()
        return found

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against the same loop, cut where it should be."""
        import torch

        def run(carry: bool) -> tuple[np.ndarray, np.ndarray]:
            W, h = torch.tensor(inputs["W"], requires_grad=True), torch.zeros(1, 3, dtype=torch.float64)
            for x in inputs["xs"]:
                h = torch.tanh(torch.tensor(x) @ W + h @ W)
                (slope,) = torch.autograd.grad((h**2).sum(), W)
                W = (W.detach() - 0.1 * slope).requires_grad_()
                h = h.detach() if carry else torch.zeros_like(h)
            return W.detach().numpy(), h.numpy()

        text = seen["raised"] or ""
        if "second time" in text:
            return CutTheCarry.fits(
                "carry-still-attached", "Your loop raised `Trying to backward through the graph a second time`."
            )
        if "inplace" in text:
            return CutTheCarry.fits(
                "retain-is-not-the-fix", "Your loop raised `... has been modified by an inplace operation`."
            )
        if "does not require grad" in text:
            return CutTheCarry.fits(
                "cut-before-the-loss", "Your loop raised `element 0 of tensors does not require grad`."
            )
        if text:
            return Verdict("error", None, f"Your loop raised `{text.splitlines()[0]}`.")
        if seen["W"] is None:
            return CutTheCarry.not_right("`train` should return h, the last state.")
        if len(seen["sizes"]) == 2 and seen["sizes"][1] > seen["sizes"][0] + 4:
            return CutTheCarry.fits(
                "graph-grows", f"Nodes behind h after 4 steps: {seen['sizes'][0]}; after 8 steps: {seen['sizes'][1]}."
            )
        W, h = run(carry=True)
        if np.allclose(seen["W"], W):
            if seen["h"].shape != h.shape or not np.allclose(seen["h"], h):
                return CutTheCarry.not_right(
                    "W is trained as it should be, but what `train` returns is not the last h."
                )
            return CutTheCarry.right("Right: the number goes on, the history is cut, every step walks one step only.")
        if np.allclose(seen["W"], run(carry=False)[0]):
            return CutTheCarry.fits("memory-wiped")
        if np.allclose(seen["W"], inputs["W"]):
            return CutTheCarry.not_right("No error, but W has not moved: after the loop it has its first numbers.")
        return CutTheCarry.not_right(
            "The loop runs, but W ends elsewhere than with eight steps of 0.1 times the gradient of each step's loss."
        )

    @staticmethod
    def picture(inputs: dict[str, Any], seen: Any) -> str:
        """Four steps, and how far back the last backward tried to go."""
        text = seen["raised"] or ""
        grows = len(seen["sizes"]) == 2 and seen["sizes"][1] > seen["sizes"][0] + 4
        if "does not require grad" in text:
            return ""
        attached = bool(text) or grows
        old = (
            "saved: freed"
            if "second time" in text
            else "saved W: edited"
            if "inplace" in text
            else "saved: all kept"
            if grows
            else "done and freed"
        )
        parts = [
            "<svg viewBox='0 0 560 120' width='560' role='img' aria-label='steps 1 to 3 of the loop; the way back from step to step is "
            f"{'still there' if attached else 'cut'}; step 1: {old}' font-family='sans-serif' font-size='13' fill='currentColor'>"
        ]
        dashed = "stroke-dasharray='5 4'"
        for i in range(3):
            x = 20 + 190 * i
            parts.append(
                f"<rect x='{x}' y='30' width='120' height='46' rx='7' fill='none' stroke='currentColor' {dashed if i < 2 and attached and not grows else ''}/>"
            )
            parts.append(f"<text x='{x + 60}' y='50' text-anchor='middle' font-weight='600'>step {i + 1}</text>")
            parts.append(
                f"<text x='{x + 60}' y='68' text-anchor='middle' font-size='11'>{old if i < 2 else 'backward starts'}</text>"
            )
            if i:
                colour = "#b4540a" if attached else "#808890"
                parts.append(
                    f"<line x1='{x - 4}' y1='53' x2='{x - 60}' y2='53' stroke='{colour}' stroke-width='2.5' {'' if attached else dashed}/>"
                )
                parts.append(
                    f"<polygon points='{x - 68},53 {x - 58},48 {x - 58},58' fill='{colour}'/>"
                    if attached
                    else f"<text x='{x - 35}' y='47' text-anchor='middle'>✂</text>"
                )
                parts.append(
                    f"<text x='{x - 35}' y='95' text-anchor='middle' font-size='11'>{'h, with history' if attached else 'h, number only'}</text>"
                )
        return "".join(parts) + "</svg>"
