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
