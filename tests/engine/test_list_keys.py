"""A list between the brackets: an index when it holds numbers, a tuple of indices when it holds anything else."""

import warnings

import pytest

from tests.engine.beside import attempt, beside_torch

KEYS = {
    "slice and list": lambda t: [slice(None), [0, 2]],
    "list and slice": lambda t: [[0, 1], slice(None)],
    "two lists": lambda t: [[0, 1], [1, 2]],
    "numbers": lambda t: [0, 1],
    "flags": lambda t: [True, False],
    "tensor and dots": lambda t: [t([0, 1]), ...],
    "none and list": lambda t: [None, [0, 1]],
    "list and none": lambda t: [[0, 1], None],
    "nested lists": lambda t: [[[0, 1], [1, 0]]],
    "list and tensor": lambda t: [[0, 1], t(1)],
    "a slice": lambda t: [slice(1)],
    "numbers in tensors": lambda t: [t(0), t(1)],
    "two tensors": lambda t: [t([0, 1]), t([1, 2])],
    "dots": lambda t: [...],
    "none": lambda t: [None],
    "mask and list": lambda t: [[True, False], [0]],
    "number and slice": lambda t: [0, slice(None)],
    "number and none": lambda t: [0, None],
    "list and number": lambda t: [[0], 0],
    "nothing": lambda t: [],
    "nothing in a list": lambda t: [[]],
    "mask": lambda t: [t([True, False])],
    "flag in a tensor": lambda t: [t(True)],
    "many": lambda t: [t(0)] * 40,
    "tuple of lists": lambda t: ([[0, 1], [1, 0]], 0),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_reading_and_writing(key):
    @beside_torch
    def program(torch):
        warnings.simplefilter("ignore")
        x = torch.arange(24.0).view(2, 3, 4).requires_grad_()
        yield attempt(lambda: list(x[key(torch.tensor)].shape))
        yield attempt(lambda: x[key(torch.tensor)])
        yield attempt(lambda: torch.autograd.grad(x[key(torch.tensor)].sum(), x))
        y = x.clone()
        yield attempt(lambda: y.__setitem__(key(torch.tensor), -1.0)), y

    program()
