"""A leaf takes over a gradient's memory only where nothing else can see it."""

import numpy as np
import pytest

import gradlab


class Kept(gradlab.autograd.Function):
    """Hands on a gradient that its caller still holds."""

    held: list = []

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        Kept.held.append(g * 2)
        return Kept.held[-1]


def same_gradient_twice(x, w, given):
    (x + w).backward(given)


def the_one_given(x, w, given):
    (x + w.detach()).backward(given)
    w.grad = gradlab.zeros(3, 2)


def what_a_function_keeps(x, w, given):
    (Kept.apply(x) + Kept.apply(w)).backward(given)


def parts_of_one_array(x, w, given):
    gradlab.cat([x, w]).backward(gradlab.cat([given, given]))


def transposed(x, w, given):
    (x.t() @ w).backward(gradlab.ones(2, 2))


def stretched(x, w, given):
    (x.sum() + w.sum()).backward()


def seen_by_a_hook(x, w, given):
    x.register_hook(Kept.held.append)
    w.register_hook(lambda g: Kept.held.append(g))
    (x * w).backward(given)


def root_is_a_leaf(x, w, given):
    x.backward(given)
    w.backward(given)


PROGRAMS = [same_gradient_twice, the_one_given, what_a_function_keeps, parts_of_one_array, transposed, stretched]
PROGRAMS += [seen_by_a_hook, root_is_a_leaf]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_grad_shares_memory_with_nothing(program):
    Kept.held = []
    x, w = (gradlab.arange(6.0).view(3, 2).clone().requires_grad_() for _ in range(2))
    given = gradlab.ones(3, 2)
    program(x, w, given)
    others = [given, x, w, *Kept.held]
    for grad, rest in ((x.grad, [*others, w.grad]), (w.grad, [*others, x.grad])):
        assert grad._array.flags.writeable and 0 not in grad._array.strides
        assert not any(np.shares_memory(grad._array, other._array) for other in rest)


def test_a_fresh_gradient_is_not_copied():
    """The product is the only one who knows its result: its memory is all the gradient needs."""
    import tracemalloc

    x, w = gradlab.ones(4, 1000), gradlab.ones(1000, 1000, requires_grad=True)
    loss = (x @ w).sum()
    tracemalloc.start()
    loss.backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * w.nbytes
