"""What backward() and grad() say before they run, and what is silent."""

import subprocess
import sys

import pytest
import torch as the_torch

import gradlab
from tests.engine.beside import beside_torch, warned


@beside_torch
def test_backward_with_create_graph_warns_of_the_cycle_it_makes(torch):
    x = torch.ones(2, requires_grad=True)
    if torch is the_torch:
        torch.set_warn_always(True)
    yield warned(lambda: (x * x).sum().backward(create_graph=True))
    yield warned(lambda: torch.autograd.backward((x * x).sum(), create_graph=True))
    yield warned(lambda: torch.autograd.grad((x * x).sum(), x, create_graph=True))


def test_a_gradient_of_another_shape_is_named_with_its_number():
    x = gradlab.ones(2, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"grad_output\[1\] has a shape of .*\[2\].* and output\[1\] has"):
        gradlab.autograd.grad([x * 1, x * 2], x, [gradlab.ones(2, 2), gradlab.ones(2)])


PROGRAM = """
import gradlab, numpy
zero = gradlab.zeros(2, requires_grad=True)
for y in [1 / zero, zero.log(), zero / zero, (zero + 1e38) * 1e38, zero.sqrt()]:
    y.sum().backward()
print(zero.grad.isnan().all().item())
numpy.log(numpy.zeros(1))
"""


def test_numbers_that_numpy_warns_of_pass_silently_in_gradlab_alone():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "True"
    assert done.stderr.count("RuntimeWarning") == 1, done.stderr
    assert "<string>:7" in done.stderr
