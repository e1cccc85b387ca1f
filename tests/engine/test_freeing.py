"""Which nodes a backward frees: those it ran, and no others. Facts measured on torch, which runs here beside gradlab."""

from __future__ import annotations

import pytest
import torch

import gradlab


def again(lib, first):
    """x, h = exp(x), y = h * h; run `first`, then say whether a backward from h and one from y still work."""
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    h = x.exp()
    y = (h * h).sum()
    first(lib, x, h, y)
    works = []
    for root in (h.sum(), y):
        try:
            root.backward(retain_graph=True)
            works.append(True)
        except RuntimeError:
            works.append(False)
    return works


FIRST = {
    "a whole backward": lambda lib, x, h, y: y.backward(),
    "a backward that retains": lambda lib, x, h, y: y.backward(retain_graph=True),
    "grad to the leaf": lambda lib, x, h, y: lib.autograd.grad(y, x),
    "grad to the middle": lambda lib, x, h, y: lib.autograd.grad(y, h),
    "backward into the middle": lambda lib, x, h, y: y.backward(inputs=[h]),
    "backward into something else": lambda lib, x, h, y: h.backward(lib.ones(2), inputs=[y]),
}


@pytest.mark.parametrize("first", FIRST.values(), ids=FIRST)
def test_a_backward_frees_the_nodes_it_ran_and_no_others(first):
    assert again(gradlab, first) == again(torch, first)
