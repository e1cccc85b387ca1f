"""A small course for the grader's tests: what a teacher's own exercise file looks like."""

import numpy as np

from gradlab.exercises import Exercise, Verdict, Wrong


class TanhBack(Exercise):
    id = "91-1"
    title = "One derivative"
    question = "Write the backward of tanh: `g` arrives, `x` went in, `out` came out."
    names = ("tanh_back",)
    hints = ("Look at what came out.", "The slope of tanh is 1 - tanh(x)**2.", "return g * (1 - ...)")
    stub = "def tanh_back(g, x, out):\n    ..."
    solution = "def tanh_back(g, x, out):\n    return g * (1 - out * out)"
    also_right = ("def tanh_back(g, x, out):\n    return g / torch.cosh(x) ** 2",)
    wrong = (Wrong("def tanh_back(g, x, out):\n    return 1 - out ** 2", "forgot-incoming"),)
    misconceptions = {"forgot-incoming": "A local slope is multiplied by what arrives."}

    @staticmethod
    def inputs(rng):
        return {"g": rng.normal(size=4), "x": rng.normal(size=4)}

    @staticmethod
    def probe(answer, inputs):
        import torch

        g, x = torch.tensor(inputs["g"]), torch.tensor(inputs["x"])
        result = answer["tanh_back"](g, x, torch.tanh(x))
        return result.numpy() if isinstance(result, torch.Tensor) else None

    @staticmethod
    def judge(inputs, seen):
        slope = 1 - np.tanh(inputs["x"]) ** 2
        if not isinstance(seen, np.ndarray) or seen.shape != slope.shape:
            return Verdict("failed", None, "Give back a tensor of the shape of x.")
        if np.allclose(seen, inputs["g"] * slope):
            return Verdict("passed", None, "Right.")
        if np.allclose(seen, slope):
            return TanhBack.fits("forgot-incoming")
        return Verdict("failed", None, "Not the gradient.")


class Table(Exercise):
    id = "91-2"
    title = "Two cells"
    question = "What is in `x.grad` before and after `(x * x).backward()` for x = 3?"
    points = 3
    names = ("table",)
    kind = "dict"
    hints = ("Run it.", "None means never filled.", "'before': None")
    stub = "table = {'before': ..., 'after': ...}"
    solution = "table = {'before': None, 'after': 6.0}"
    wrong = (Wrong("table = {'before': 0, 'after': 6.0}", "grad-starts-at-zero"),)
    misconceptions = {"grad-starts-at-zero": ".grad is None until something is added to it."}

    @staticmethod
    def probe(answer, inputs):
        table = answer["table"]
        return {key: table.get(key) for key in ("before", "after")}

    @staticmethod
    def judge(inputs, seen):
        if seen["after"] != 6.0:
            return Verdict("failed", None, "Look at x.grad after backward.")
        if seen["before"] is None:
            return Verdict("passed", None, "Right.")
        return Table.fits("grad-starts-at-zero") if seen["before"] == 0 else Verdict("failed", None, "Not that.")


class Accumulate(Exercise):
    id = "91-3"
    title = "Two losses"
    question = "`both(a, b)`: run backward through both losses, which share their trunk."
    names = ("both",)
    hints = ("Once or twice?", "A sum has one graph.", "(a + ...).backward()")
    stub = "def both(a, b):\n    a.backward()\n    b.backward()\n    return ..."
    solution = "def both(a, b):\n    (a + b).backward()"
    wrong = (Wrong("def both(a, b):\n    a.backward()", "only-one"),)
    misconceptions = {"only-one": "Only the first loss has reached the leaves."}

    @staticmethod
    def inputs(rng):
        return {"x": rng.normal(size=3)}

    @staticmethod
    def probe(answer, inputs):
        import torch

        x = torch.tensor(inputs["x"], requires_grad=True)
        trunk = x.exp()
        answer["both"](trunk.sum(), (trunk * trunk).sum())
        return None if x.grad is None else x.grad.numpy()

    @staticmethod
    def judge(inputs, seen):
        first, second = np.exp(inputs["x"]), 2 * np.exp(2 * inputs["x"])
        if isinstance(seen, np.ndarray) and seen.shape == first.shape:
            if np.allclose(seen, first + second):
                return Verdict("passed", None, "Right.")
            if np.allclose(seen, first):
                return Accumulate.fits("only-one")
        return Verdict("failed", None, "x.grad is not the gradient of the sum.")


class WithoutTorch(Exercise):
    id = "91-4"
    title = "Without torch"
    question = "`total(values)`: the sum, with numpy."
    names = ("total",)
    hints = ("numpy", "It has a sum.", "np.su...")
    stub = "def total(values):\n    ..."
    solution = "def total(values):\n    return float(np.sum(values))"
    wrong = (Wrong("def total(values):\n    return float(np.mean(values))", "mean-is-sum"),)
    misconceptions = {"mean-is-sum": "That is the mean."}
    forbids = ("torch",)

    @staticmethod
    def inputs(rng):
        return {"values": rng.normal(size=5)}

    @staticmethod
    def probe(answer, inputs):
        return answer["total"](inputs["values"])

    @staticmethod
    def judge(inputs, seen):
        if isinstance(seen, float) and np.isclose(seen, inputs["values"].sum()):
            return Verdict("passed", None, "Right.")
        if isinstance(seen, float) and np.isclose(seen, inputs["values"].mean()):
            return WithoutTorch.fits("mean-is-sum")
        return Verdict("failed", None, "Not the sum.")
