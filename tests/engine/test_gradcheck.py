"""gradcheck and gradgradcheck: what they pass, and what they find."""

import pytest
import torch

import gradlab
from gradlab.autograd import GradcheckError, gradcheck, gradgradcheck
from tests.engine.beside import attempt, beside_torch


def scaled(library, factor, slope):
    """x * factor, with a backward that says the slope is another."""

    class Scaled(library.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return g * slope

    return Scaled.apply


def doubles(library, *shape):
    return library.full(shape, 0.5, dtype=library.float64, requires_grad=True)


@pytest.mark.parametrize("library", [torch, gradlab])
@pytest.mark.parametrize("fast", [False, True])
def test_a_wrong_slope_is_found(library, fast):
    check = library.autograd.gradcheck
    assert check(scaled(library, 3, 3), doubles(library, 2), fast_mode=fast)
    assert not check(scaled(library, 3, 2.9), doubles(library, 2), fast_mode=fast, raise_exception=False)
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        check(scaled(library, 3, 2.9), doubles(library, 2), fast_mode=fast)


@pytest.mark.parametrize("library", [torch, gradlab])
def test_a_wrong_second_derivative_is_found(library):
    class Square(library.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * g * x.detach()  # right in value, constant to the second backward

    assert library.autograd.gradcheck(Square.apply, doubles(library, 2))
    with pytest.raises(RuntimeError, match=r"expected to be zero|Jacobian mismatch"):
        library.autograd.gradgradcheck(Square.apply, doubles(library, 2))


@beside_torch
def test_other_faults_that_are_found(torch):
    check = torch.autograd.gradcheck
    jitter = iter(range(10**6))

    class Random(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * (1 + 1e-5 * next(jitter) % 7)

    def refuses_none(g):
        if g is None:
            raise RuntimeError("no gradient")

    def hooked(x):
        y = x.clone()
        y.register_hook(refuses_none)
        return y

    x = doubles(torch, 1)
    yield attempt(lambda: check(Random.apply, x))
    yield attempt(lambda: check(lambda x: torch.tensor([x.item()], dtype=torch.float64), x))  # cut, yet it moves
    yield attempt(lambda: check(lambda x: torch.cat([x, x]) if bool(x >= 0.5) else x, x))  # an AssertionError
    yield attempt(lambda: check(lambda x: x.float() if bool(x >= 0.5) else x, x))
    yield attempt(lambda: check(hooked, x)), check(hooked, x, check_undefined_grad=False)
    yield attempt(lambda: check(lambda x: (), x))
    yield attempt(lambda: check(lambda x: x, torch.ones(1)))  # nothing requires grad
    yield attempt(lambda: check(lambda x: x, x, check_backward_ad=False))


def test_what_is_refused():
    x = doubles(gradlab, 1)
    for option in ("check_forward_ad", "check_batched_grad", "check_batched_forward_grad", "masked"):
        with pytest.raises(NotImplementedError):
            gradcheck(lambda x: x, x, **{option: True})
    for option in ("check_fwd_over_rev", "check_batched_grad", "masked"):
        with pytest.raises(NotImplementedError):
            gradgradcheck(lambda x: x, x, **{option: True})
    assert issubclass(GradcheckError, RuntimeError)


@beside_torch
def test_an_input_that_overlaps_itself_is_refused(lib):
    x = lib.ones(1, dtype=lib.float64, requires_grad=True).expand(3)
    yield attempt(lambda: lib.autograd.gradcheck(lambda t: t * 2, x))
    yield attempt(lambda: lib.autograd.gradcheck(lambda t: t * 2, x, raise_exception=False))
    yield lib.autograd.gradcheck(lambda t: t * 2, x.contiguous())


def test_an_empty_input_overlaps_nothing():
    x = gradlab.zeros(3, 0, dtype=gradlab.float64, requires_grad=True)
    assert gradlab.autograd.gradcheck(lambda x: x * 2, (x,))
