"""detect_anomaly: the forward line of the node whose backward failed, and of those that led to it."""

import io
import sys
import warnings

import pytest
import torch

import gradlab
from tests.engine.beside import beside_torch


@pytest.fixture(params=[torch, gradlab], ids=["torch", "gradlab"])
def library(request):
    return request.param


def edited_in_place(library):
    x = library.ones(3, requires_grad=True)
    y = x + 1
    loss = (y**2).sum()  # the forward line
    y += 1
    return loss


def test_a_failing_backward_warns_with_the_forward_line_and_raises_its_own_error(library):
    with (
        pytest.raises(RuntimeError, match="modified by an inplace operation"),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        with library.autograd.detect_anomaly():
            edited_in_place(library).backward()
    first, second = (str(w.message) for w in caught)
    assert "Anomaly Detection has been enabled" in first
    assert "Error detected in PowBackward0" in second
    assert "# the forward line" in second


def test_a_warning_made_an_error_goes_to_stderr_and_hides_nothing(library, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with library.autograd.detect_anomaly():
            warnings.simplefilter("error")
            edited_in_place(library).backward()
    assert "Error detected in PowBackward0" in sys.stderr.getvalue()


def test_a_nan_is_named_with_its_node_and_output(library):
    x = library.zeros(1, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with library.autograd.detect_anomaly():
            y = (x * 0).sqrt() * 0
            with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"):
                y.sum().backward()
        with library.autograd.detect_anomaly(check_nan=False):
            y = (x * 0).sqrt() * 0
            y.sum().backward()
    assert len(caught) == 3  # two of detect_anomaly itself, one of the first backward


def test_a_forward_outside_the_block_left_no_line(library):
    y = library.zeros(1, requires_grad=True).sqrt() * 0
    with warnings.catch_warnings(record=True) as caught, pytest.raises(RuntimeError, match="SqrtBackward0"):
        warnings.simplefilter("always")
        with library.autograd.detect_anomaly():
            y.sum().backward()
    assert "No forward pass information" in str(caught[1].message)


def test_a_node_recorded_in_a_backward_names_the_node_whose_backward_it_was(library):
    class Square(library.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return Bad.apply(g, x)  # the line in backward

    class Bad(library.autograd.Function):
        @staticmethod
        def forward(ctx, g, x):
            return 2 * g * x

        @staticmethod
        def backward(ctx, gg):
            return None, gg / 0 * 0

    x = library.ones(2, requires_grad=True)
    failure = pytest.raises(RuntimeError, match=r"'BadBackward'.* 1th output")
    with warnings.catch_warnings(record=True) as caught, failure:
        warnings.simplefilter("always")
        with library.autograd.detect_anomaly():
            y = Square.apply(x)  # the line in forward
            (gx,) = library.autograd.grad(y.sum(), x, create_graph=True)
            gx.sum().backward()
    _, detected, induced = (str(w.message) for w in caught)
    assert "Error detected in BadBackward" in detected
    assert "# the line in backward" in detected
    assert "induced by SquareBackward" in induced
    assert "# the line in forward" in induced


@beside_torch
def test_the_switch(torch):
    asked = torch.is_anomaly_enabled, torch.is_anomaly_check_nan_enabled
    yield [ask() for ask in asked]
    torch.autograd.set_detect_anomaly(True, check_nan=False)
    yield [ask() for ask in asked]
    with torch.autograd.set_detect_anomaly(False):
        yield [ask() for ask in asked]
    yield asked[0]()
    torch.autograd.set_detect_anomaly(False)
    yield [ask() for ask in asked]
