"""What backward() and grad() say before they run."""

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
