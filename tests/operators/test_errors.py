"""Wrong arguments: torch's own error samples (OpInfo's error_inputs) raise the same type of exception."""

import pytest
import torch

import gradlab
from tests.operators.samples import ToGradlab, ToTorch, _by_path, operators


def raised(function, convert, sample):
    """The type of exception that the call raises, or None."""
    try:
        function(convert(sample.input), *map(convert, sample.args), **{k: convert(v) for k, v in sample.kwargs.items()})
    except Exception as error:
        return type(error)
    return None


def test_most_error_samples_raise_torchs_type():
    same, total = 0, 0
    for op in operators():
        for error in op.error_inputs("cpu") if op.error_inputs_func else ():
            wanted = raised(op.op, ToTorch(), error.sample_input)
            if wanted is None:
                continue
            total += 1
            got = raised(_by_path(gradlab, op.name), ToGradlab(), error.sample_input)
            same += got is not None and issubclass(got, wanted)
    assert total > 200
    assert same >= 0.85 * total


def test_a_dim_out_of_range_names_the_range():
    try:
        gradlab.ones(2, 3).sum(5)
    except IndexError as error:
        assert "expected to be in range of [-2, 1], but got 5" in str(error)
    else:
        raise AssertionError("no error")


def test_torch_is_the_referee_for_shapes_that_do_not_fit():
    for lib in (gradlab, torch):
        try:
            lib.ones(2, 3) @ lib.ones(2, 3)
        except RuntimeError as error:
            assert "mat1 and mat2 shapes cannot be multiplied" in str(error)
        else:
            raise AssertionError("no error")


NO_SUCH_OPERATION = ["~f", "f & f", "f | 1", "b - b", "1 - b", "b.frac()", "T.lerp(b, b, 0.5)", "F.mse_loss(b, b)", "i % 1j"]


@pytest.mark.parametrize("program", NO_SUCH_OPERATION)
def test_a_dtype_without_such_an_operation_is_refused_as_in_torch_and_named(program):
    found = []
    for T in (torch, gradlab):
        names = {"T": T, "F": T.nn.functional, "f": T.tensor([1.5]), "b": T.tensor([True]), "i": T.tensor([1])}
        with pytest.raises((TypeError, RuntimeError, NotImplementedError)) as raised:
            eval(program, names)
        found.append((type(raised.value), "Subtraction" in str(raised.value)))
    assert found[0] == found[1]
