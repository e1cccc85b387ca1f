"""Every operator that gradlab offers agrees with torch on torch's own samples: values, shapes, dtypes, gradients.

By default a few samples of each; `--long=full` runs all of them.
"""

import pytest
import torch

from gradlab import Tensor
from tests.operators.samples import OFFERED, Result, difference, forms, id_of, operators, sample_inputs

FEW, ALL = 6, 1000
torch.set_num_threads(1)


def faults(op, dtype, most):
    """What differs from torch, for every form and sample; refusals are told apart."""
    found, refused, checked = [], 0, 0
    for form, theirs, ours in forms(op):
        for number, sample in enumerate(sample_inputs(op, dtype, most)):
            try:
                wanted = Result(torch, theirs, sample, number)
            except Exception:  # torch itself refuses this sample in this form
                continue
            checked += 1
            try:
                said = difference(Result(__import__("gradlab"), ours, sample, number), wanted, dtype is torch.float64)
            except NotImplementedError:
                refused += 1
                continue
            if said:
                found.append(f"{form} {sample.summary()[:200]}: {said}")
    assert checked
    assert refused <= checked / 4
    return found


@pytest.mark.parametrize("op", operators(), ids=id_of)
def test_agrees_with_torch_in_double_precision(op):
    assert faults(op, torch.float64, FEW) == []


@pytest.mark.parametrize("op", operators(), ids=id_of)
def test_float32_in_gives_float32_gradients_out(op):
    assert faults(op, torch.float32, 2) == []


@pytest.mark.long
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("op", operators(), ids=id_of)
def test_agrees_with_torch_on_all_samples(op, dtype, long_slice):
    assert faults(op, dtype, max(FEW, int(ALL * long_slice))) == []


def test_every_name_is_an_operator_of_torch():
    assert set(OFFERED) == {op.name for op in operators()}


def test_graphs_are_torchs_own_for_nearly_all_samples():
    """The same nodes, joined the same way; lessons/differences.md names the exceptions."""
    same = total = 0
    for op in operators():
        _, theirs, ours = next(forms(op))
        for number, sample in enumerate(sample_inputs(op, torch.float64, FEW)):
            try:
                wanted = Result(torch, theirs, sample, number)
            except Exception:
                continue
            total += 1
            same += Result(__import__("gradlab"), ours, sample, number).graph == wanted.graph
    assert same >= 0.95 * total


def test_a_composite_is_a_tensor_method_too():
    assert callable(Tensor.repeat_interleave)
