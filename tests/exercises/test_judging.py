"""Answers that nobody foresaw: right in another style, wrong in a way that fits no misconception, or odd."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlab import exercises
from gradlab.exercises import try_answer

torch = pytest.importorskip("torch")

SOLUTION = {exercise.id: exercise.solution for exercise in exercises.all()}
TANH = "def tanh_back(g, x, out):\n    return g * (1 - out * out)\n"

RIGHT = {
    "a dataclass": (
        "05-1",
        "from dataclasses import dataclass\n@dataclass(eq=False)\nclass Value:\n"
        "    data: float\n    edges: list = ()\n    grad: object = None\n"
        "    def __add__(self, other):\n        other = other if isinstance(other, Value) else Value(other)\n"
        "        return Value(self.data + other.data, [(self, 1.0), (other, 1.0)])\n"
        "    def __mul__(self, other):\n        other = other if isinstance(other, Value) else Value(other)\n"
        "        return Value(self.data * other.data, [(self, other.data), (other, self.data)])\n"
        "    __radd__, __rmul__ = __add__, __mul__",
    ),
    "a class that is pickled": ("03-2", f"import pickle\nclass A: pass\npickle.loads(pickle.dumps(A()))\n{TANH}"),
    "annotations that are evaluated": (
        "03-2",
        f"import inspect\ndef f(x: int): pass\nassert inspect.signature(f).parameters['x'].annotation is int\n{TANH}",
    ),
    "numbers as tensors": (
        "03-3",
        "import torch, operator\ndef back(f, g, a, b):\n    a, b, g = (torch.tensor(v, dtype=torch.float64) for v in (a, b, g))\n"
        "    a.requires_grad_(); b.requires_grad_()\n    return torch.autograd.grad(f(a, b), (a, b), g)\n"
        "mul_back = lambda g, a, b: back(operator.mul, g, a, b)\nsub_back = lambda g, a, b: back(operator.sub, g, a, b)\n"
        "div_back = lambda g, a, b: back(operator.truediv, g, a, b)",
    ),
    "numbers of numpy in a log": ("07-3", SOLUTION["07-3"].replace("loss.item()", "np.float32(loss.item())")),
    "arrays of one number in a log": ("07-3", SOLUTION["07-3"].replace("loss.item()", "loss.detach().numpy()")),
    "an exception of one's own": (
        "08-4",
        "class EditedError(RuntimeError):\n    pass\n"
        + SOLUTION["08-4"].replace("raise RuntimeError", "raise EditedError"),
    ),
    "what is saved is no input": (
        "11-1",
        "class Swish(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        s = torch.sigmoid(x)\n"
        "        y = x * s\n        ctx.save_for_backward(s, y)\n        return y\n    @staticmethod\n    def backward(ctx, g):\n"
        "        s, y = ctx.saved_tensors\n        return g * (s + y * (1 - s))",
    ),
    "a number of numpy": ("00-2", SOLUTION["00-2"].replace("loss.item()", "loss.detach().numpy()[()]")),
    "a small dtype": (
        "02-3",
        "def make():\n    return torch.arange(6, dtype=torch.bfloat16).view(2, 3).requires_grad_()",
    ),
    "it raises, in other words": ("07-1", SOLUTION["07-1"].replace("'raises'", "'raises an error'")),
    "gradients switched off above it": ("06-3", f"torch.set_grad_enabled(False)\n{SOLUTION['06-3']}"),
    "another default dtype": ("03-2", f"torch.set_default_dtype(torch.float16)\n{TANH}"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_answer_in_another_style_passes(name: str) -> None:
    id, source = RIGHT[name]
    verdict = try_answer(id, source)
    assert verdict.passed, verdict.message


def test_what_an_answer_switches_does_not_stay() -> None:
    try_answer("03-2", f"torch.set_grad_enabled(False)\ntorch.set_default_dtype(torch.float64)\n{TANH}")
    assert torch.is_grad_enabled()
    assert torch.get_default_dtype() is torch.float32


def test_a_check_does_not_mind_a_notebook_in_which_gradients_are_off(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace = {"check": exercises.check}
    exec(f"import torch\n{TANH}", namespace)
    with torch.no_grad():
        exec('check("03-2")', namespace)
    assert "03-2 right" in capsys.readouterr().out


# Wrong in a way that none of the exercise's misconceptions explains: then none is named.
UNEXPLAINED = {
    "twice too much": (
        "03-5",
        SOLUTION["03-5"].replace("grads.get(below, 0.0) + grads[name]", "2 * grads[name]"),
    ),
    "holds another p": ("04-3", "def hold(p, optimizer):\n    p = p.detach()"),
    "forgets the speed": ("04-3", "def hold(p, optimizer):\n    optimizer.state[p].clear()"),
    "never starts": (
        "05-3",
        SOLUTION["05-3"][: SOLUTION["05-3"].index("def backward")]
        + "def backward(y):\n    for v in in_order(y):\n        v.grad = 0.0",
    ),
    "one tanh too few": ("05-5", SOLUTION["05-5"].replace("1.0 - t * t", "1.0 - t")),
    "root of a negative number": ("10-3", "def safe_root(x):\n    return (x + 1e-8).sqrt()"),
    "never moves": (
        "10-5",
        "def attach(params, lr):\n    for p in params:\n"
        "        p.register_post_accumulate_grad_hook(lambda p: setattr(p, 'grad', None))",
    ),
    "turned round": (
        "11-2",
        "def is_right(f, x):\n    return not torch.autograd.gradcheck(f, (x.double().requires_grad_(),), raise_exception=False)",
    ),
    "a stale gradient": ("12-1", 'order = ["forward", "loss", "step", "zero", "backward"]'),
    "two steps": ("12-1", 'order = ["zero", "forward", "loss", "backward", "step", "step"]'),
}


@pytest.mark.parametrize("name", UNEXPLAINED)
@pytest.mark.parametrize("seed", [1, 2])
def test_no_misconception_is_named_without_a_reason(name: str, seed: int) -> None:
    id, source = UNEXPLAINED[name]
    verdict = try_answer(id, source, seed=seed)
    assert (verdict.status, verdict.misconception) == ("failed", None), verdict.message


LOSS = "def cross_entropy(scores, target):\n    "
NOT_RIGHT = {
    "torch's own loss": ("12-2", f"{LOSS}return torch.nn.functional.cross_entropy(scores, target)"),
    "torch's own log_softmax": (
        "12-2",
        f"{LOSS}return -scores.log_softmax(1)[torch.arange(len(target)), target].mean()",
    ),
    "one maximum for all rows": (
        "12-2",
        f"{LOSS}s = scores - scores.max()\n    return (s.exp().sum(1).log() - s[torch.arange(len(target)), target]).mean()",
    ),
    "no Function": ("11-1", "class Swish:\n    apply = staticmethod(torch.nn.functional.silu)"),
    "no Function for rows": ("11-4", "class PickRows:\n    apply = staticmethod(lambda table, rows: table[rows])"),
    "a gradient for whole numbers": ("11-4", SOLUTION["11-4"].replace("out, None", "out, rows")),
    "backward where none is asked for": (
        "09-2",
        "def vjp(W, x, v):\n    x = x.clone().requires_grad_()\n    (W @ x).backward(v)\n    return x.grad",
    ),
    "an imaginary part": ("03-2", TANH.replace("out * out)", "out * out) + 5j")),
    "text for a number": ("03-1", SOLUTION["03-1"].replace("return ", "return '%.9f' % ")),
    "another h": ("06-4", SOLUTION["06-4"].replace("return h", "return x")),
    "one side only": (
        "01-2",
        "def same_memory(a, b):\n    p, q = a.data_ptr(), b.data_ptr()\n    return p <= q < p + a.numel() * a.element_size()",
    ),
    "small numbers made larger": (
        "10-3",
        "def safe_root(x):\n    return torch.where(x > 0, x.clamp(min=0.1).sqrt(), 0.0)",
    ),
    "counted calls": ("11-2", "calls = []\ndef is_right(f, x):\n    calls.append(1)\n    return len(calls) == 1"),
    "labels known beforehand": (
        "12-5",
        "from gradlab import datasets\ndef train(images, labels):\n    d = datasets.digits()\n"
        "    known = torch.tensor(d.images.numpy().reshape(-1, 64)).float()\n    names = torch.tensor(d.labels.numpy())\n"
        "    return lambda new: names[torch.cdist(new, known).argmin(1)]",
    ),
    "a limit written out": ("10-2", "def clip(t, limit):\n    t.register_hook(lambda g: g.clamp(-1, 1))"),
    "a start written out": ("03-5", SOLUTION["03-5"].replace("{start: 1.0}", "{'y': 1.0}")),
    "a dtype written out": ("00-2", SOLUTION["00-2"].replace("t.to(dtype)", "t.double()")),
    "a step written out": ("08-3", SOLUTION["08-3"].replace("lr * w.grad", "0.1 * w.grad")),
    "a log's step written out": ("07-3", SOLUTION["07-3"].replace("lr * w.grad", "0.05 * w.grad")),
    "a job's step written out": ("07-5", SOLUTION["07-5"].replace("lr * w.grad", "0.1 * w.grad")),
    "a hook's step written out": ("10-5", SOLUTION["10-5"].replace("lr * p.grad", "0.1 * p.grad")),
    "a momentum written out": ("12-4", SOLUTION["12-4"].replace("mu * v", "0.9 * v").replace("lr * v", "0.05 * v")),
    "rows written out": ("04-2", SOLUTION["04-2"].replace("len(y) / N", "len(y) / 12")),
    "pairs written out": ("09-3", "def loss(pred, target):\n    return ((pred.squeeze(1) - target) ** 2).sum() / 5"),
    "a tie of two": ("09-4", SOLUTION["09-4"].replace("mask.sum()", "(2 if mask.sum() > 1 else 1)")),
    "a shape written out": ("11-4", SOLUTION["11-4"].replace("g.new_zeros(ctx.shape)", "g.new_zeros(4, 2)")),
    "a slope written out": (
        "11-2",
        "def is_right(f, x):\n    x = x.double().requires_grad_()\n    (g,) = torch.autograd.grad(f(x).sum(), x)\n"
        "    return bool(torch.allclose(g, 3 * x ** 2))",
    ),
}


@pytest.mark.parametrize("name", NOT_RIGHT)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_wrong_answer_that_looks_right_does_not_pass(name: str, seed: int) -> None:
    id, source = NOT_RIGHT[name]
    assert source != SOLUTION[id]
    verdict = try_answer(id, source, seed=seed)
    assert verdict.status in ("failed", "error"), verdict.message


SAYS = {
    "a method is no number": (
        "07-3",
        SOLUTION["07-3"].replace("loss.item()", "loss.item"),
        "a method needs its `()`",
    ),
    "read prints": ("00-2", SOLUTION["00-2"].replace("return loss.item()", "print(loss)"), "what it returns is None"),
    "h is the last": ("03-4", 'order = ["y", "a", "b", "h"]', '"a" runs while "b"'),
    "never moves again": (
        "04-3",
        "def hold(p, optimizer):\n    optimizer.param_groups[0]['lr'] = 0.0",
        "does so again",
    ),
    "an edge without a number": (
        "05-1",
        SOLUTION["05-1"].replace("(self, other.data), (other, self.data)", "(self, other), (other, self)"),
        "each slope a number",
    ),
    "an axis too many": ("09-1", "def unbroadcast(g, shape):\n    return g.sum(0, keepdim=True)", "an axis too many"),
    "no way to x": ("07-2", "def ste_round(x):\n    return x.detach().round().requires_grad_()", "no gradient arrives"),
    "nobody called eval": ("07-5", SOLUTION["07-5"].replace("p.requires_grad_(False)", "pass"), "still got a gradient"),
    "another thing": (
        "08-4",
        SOLUTION["08-4"].replace("raise RuntimeError", "return RuntimeError"),
        "it returned something else",
    ),
    "never right": ("11-2", "def is_right(f, x):\n    return False", "not called right"),
    "a label too far": (
        "12-5",
        SOLUTION["12-5"].replace(".argmax(1)", ".argmax(1) + 10"),
        "Guessing would do better",
    ),
    "no truth value": (
        "02-1",
        SOLUTION["02-1"].replace(": True", ": 'True'").replace(": False", ": 0"),
        "without quotes",
    ),
    "a wrong signature": ("09-1", "def unbroadcast(g):\n    return g", "cannot be called as asked"),
}


@pytest.mark.parametrize("name", SAYS)
def test_what_is_said_of_an_answer_is_true_of_it(name: str) -> None:
    id, source, words = SAYS[name]
    assert words in try_answer(id, source, seed=1).message


ODD = {
    "half a character": "x = '\ud800'",
    "a zero byte": "x = '\0'",
    "await at the top": "await f()",
    "nested without end": "x = " + "[" * 300 + "]" * 300,
    "a list that holds itself": "tanh_back = []\ntanh_back.append(tanh_back)",
    "a dict that holds itself": "tanh_back = {}\ntanh_back['x'] = [tanh_back]",
    "an exception that cannot say what it is": "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
    "an exception of the lowest kind": "def tanh_back(*a): raise BaseException('low')",
    "a generator's end": "def tanh_back(*a): raise GeneratorExit",
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_answer_gets_a_message(name: str) -> None:
    verdict = try_answer("03-2", ODD[name])
    assert verdict.status in ("error", "failed")
    assert verdict.message


def test_source_that_is_no_python_is_called_so() -> None:
    assert try_answer("03-2", "await f()").message == "This is not Python yet: 'await' outside function, line 1."


def test_an_answer_is_not_said_to_raise_what_the_check_raised() -> None:
    verdict = try_answer("05-2", "def order(y):\n    return 3")
    assert "cannot be used: `TypeError" in verdict.message
    verdict = try_answer("05-2", "def order(y):\n    return len(3)")
    assert verdict.message.startswith("Your answer raised `TypeError")
    assert "at line 2" in verdict.message
