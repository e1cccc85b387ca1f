"""Graphs are freed by reference counting alone: nothing of the engine outlives a training step or a failed backward."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap

import pytest

import gradlab
from gradlab.engine import Node, TensorBase


def engine_objects():
    return sum(isinstance(thing, Node | TensorBase) for thing in gc.get_objects())


def train_step(w, x):
    loss = ((x @ w).tanh() * 0.5).sum()
    loss.backward()
    with gradlab.no_grad():
        w -= 0.001 * w.grad
    w.grad = None


def failed_backward(w, x):
    h = (x @ w).exp()
    loss = h.sum()
    h += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def hooked_step(w, x):
    h = (x @ w).tanh()
    h.retain_grad()
    handle = h.register_hook(lambda g: g * 2)
    h.grad_fn.register_hook(lambda inputs, outputs: None)
    (h[0] * h[1:]).sum().backward()
    handle.remove()
    w.grad = None


def view_step(w, x):
    h = (x @ w) * 1.0
    h[0] = h[1] * 2
    h.view(-1)[2:].mul_(3.0)
    h.sum().backward()
    w.grad = None


def second_order_step(w, x):
    (g,) = gradlab.autograd.grad((x @ w).tanh().sum(), w, create_graph=True)
    g.pow(2).sum().backward()
    w.grad = None


def left_behind(step, times):
    """How many engine objects more there are after so many steps, and what the collector then finds."""
    for _ in range(20):
        step()
    gc.collect()
    gc.disable()  # only reference counts free anything from here on
    try:
        before = engine_objects()
        for _ in range(times):
            step()
        return engine_objects() - before, gc.collect()
    finally:
        gc.enable()


@pytest.mark.parametrize("step", [train_step, failed_backward], ids=lambda step: step.__name__)
def test_ten_thousand_graphs_leave_nothing_behind(step):
    w, x = gradlab.ones(3, 2, requires_grad=True), gradlab.ones(2, 3)
    assert left_behind(lambda: step(w, x), 10_000) == (0, 0)


@pytest.mark.parametrize("step", [hooked_step, view_step, second_order_step], ids=lambda step: step.__name__)
def test_graphs_with_hooks_views_and_second_derivatives_leave_nothing_behind(step):
    w, x = gradlab.ones(3, 2, requires_grad=True), gradlab.ones(2, 3)
    assert left_behind(lambda: step(w, x), 1000) == (0, 0)


def test_a_custom_function_leaves_nothing_behind():
    class Square(gradlab.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = x * x
            ctx.save_for_backward(x, result)
            return result

        @staticmethod
        def backward(ctx, g):
            x, _ = ctx.saved_tensors
            return 2 * x * g

    w = gradlab.ones(3, requires_grad=True)

    def step():
        Square.apply(w).sum().backward()
        w.grad = None

    assert left_behind(step, 1000) == (0, 0)


LONG_CHAIN = """
    import gradlab
    x = gradlab.ones(1, requires_grad=True)
    y = x
    for i in range(1_000_000):
        y = y * 1.0 if i % 2 else y + 0.0
    y.backward()
    assert x.grad.tolist() == [1.0]
    del y
    views = gradlab.ones(2)
    for _ in range(100_000):
        views = views[:]
    views.add_(1)
    print("freed", views.tolist())
"""


def test_a_chain_of_a_million_operations_runs_and_is_freed_without_recursion():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(LONG_CHAIN)], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "freed [2.0, 2.0]", done.stderr[-500:]
