"""Ten times the operations cost at most twelve times the work."""

import sys

import pytest

import gradlab


def chain(length):
    """A chain of so many operations, forward and backward."""
    w = gradlab.tensor([1.001], requires_grad=True)
    y = w
    for n in range(length):
        y = y * w if n % 2 else (y + w).tanh()
    y.backward()
    return w.grad


def calls(length):
    """How many function calls a chain takes: work that no busy machine can change."""
    count = 0

    def count_call(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(count_call)
    try:
        chain(length)
    finally:
        sys.setprofile(None)
    return count


def test_growth_is_linear():
    chain(10)
    assert calls(10_000) <= 12 * calls(1_000)


@pytest.mark.long
def test_a_million_operations(long_slice):
    assert chain(max(100_000, int(1_000_000 * long_slice))) is not None
