"""What counts as tame: code that cannot have changed anything but its own names."""

import pytest

from gradlab.grading.tame import is_tame


@pytest.mark.parametrize(
    "source",
    [
        "def back(g, x, out):\n    return g * (1 - out * out)",
        "import torch\nimport numpy as np\nfrom gradlab import check, draw",
        "table = {'before': None, 'after': [6.0, ...]}",
        "def leaves(y):\n    found, todo = [], [y.grad_fn]\n    while todo:\n        n = todo.pop()\n"
        "        todo += [m for m, _ in n.next_functions]\n        found.append(n)\n    return found",
        "x = torch.ones(3, requires_grad=True)\n(x * x).sum().backward()\nwith torch.no_grad():\n    x.zero_()",
    ],
)
def test_ordinary_answers_are_tame(source):
    assert is_tame(source)


@pytest.mark.parametrize(
    "source",
    [
        "torch.tanh = None",
        "t = torch.Tensor\nt.backward = lambda self: None",
        "def f(x):\n    torch.Tensor.grad = 3",
        "setattr(torch, 'tanh', None)",
        "vars(torch).clear()",
        "torch.__dict__['tanh'] = None",
        "import sys",
        "import torch.utils._python_dispatch as d",
        "from torch import *",
        "torch.set_grad_enabled(False)",
        "torch.set_default_dtype(torch.float64)",
        "np.random.seed(0)",
        "np.seterr(all='raise')",
        "np.sctypeDict.clear()",
        "torch.nn.modules.module._global_forward_hooks[0] = print",
        "exec('import torch')",
        "f = exec",
        "getattr(torch, 'set_' + 'grad_enabled')(False)",
        "global x\nx = 1",
        "del torch",
        "class A: pass",
        "@torch.no_grad()\ndef f(): pass",
        "try:\n    pass\nexcept Exception:\n    pass",
        "open('x', 'w')",
        "__builtins__['len'] = None",
        "torch.overrides.TorchFunctionMode",
        "torch.library.Library",
        "def f(:",
    ],
)
def test_what_could_reach_further_is_not(source):
    assert not is_tame(source)
