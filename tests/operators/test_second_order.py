"""Second derivatives: gradgradcheck on every offered operator, on torch's own samples where they are small enough."""

import pytest
import torch

import gradlab
from tests.operators.samples import ToGradlab, _by_path, id_of, operators, sample_inputs, tensors_in

LARGEST = 30  # elements of all differentiable inputs together: gradgradcheck's cost grows with the square


def small_samples(op, most, largest=LARGEST):
    """(inputs, function of them) for the first small samples."""
    found = 0
    for sample in sample_inputs(op, torch.float64, 60):
        convert = ToGradlab()
        args = [convert(sample.input), *map(convert, sample.args)]
        options = {k: convert(v) for k, v in sample.kwargs.items()}
        inputs = tuple(convert.inputs)
        if 0 < sum(t.numel() for t in inputs) <= largest:
            yield inputs, replayed(_by_path(gradlab, op.name), args, options, inputs)
            found += 1
        if found == most:
            return


def replayed(function, args, options, inputs):
    """The call as a function of its differentiable inputs, giving the outputs that require grad."""

    def call(*leaves):
        places = {id(old): new for old, new in zip(inputs, leaves, strict=True)}

        def put(value):
            if isinstance(value, (list, tuple)):
                return type(value)(map(put, value))
            return places.get(id(value), value)

        out = function(*map(put, args), **{k: put(v) for k, v in options.items()})
        return tuple(t for t in tensors_in(gradlab, out) if t.requires_grad)

    return call


def check(op, most):
    for inputs, call in small_samples(op, most):
        outputs = call(*inputs)
        if outputs and not any(t.isnan().any() for t in outputs):
            assert gradlab.autograd.gradgradcheck(call, inputs, atol=1e-4)


def smooth():
    """Without casts to float32, which finite differences cannot see through, and without samples taken at a kink."""
    return [op for op in operators() if op.supports_gradgrad and op.name != "float" and "at_zero" not in op.variant_test_name]


@pytest.mark.parametrize("op", smooth(), ids=id_of)
def test_second_derivatives(op):
    check(op, 1)


@pytest.mark.long
@pytest.mark.parametrize("op", smooth(), ids=id_of)
def test_second_derivatives_of_more_samples(op, long_slice):
    check(op, max(2, int(20 * long_slice)))
