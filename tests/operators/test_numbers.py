"""A number beside a tensor: every operator, dtype and kind of number, from both sides, gives torch's dtype and values."""

import operator

import numpy as np
import pytest
import torch

import gradlab

DTYPES = "bool uint8 int8 int16 int32 int64 float16 float32 float64".split()
NUMBERS = [2, True, False, 2.5, -1, 0, np.int64(2), np.float32(2.5), np.float64(2.5), np.int8(3), np.uint8(3), np.float16(1.5)]
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow]
OPERATORS += [operator.eq, operator.lt, operator.ge, operator.and_, operator.or_, operator.xor]


def outcome(lib, function, data, dtype, number, first):
    tensor = lib.tensor(data).to(getattr(lib, dtype))
    try:
        result = function(number, tensor) if first else function(tensor, number)
    except Exception as error:
        return type(error).__name__, None
    kind = str(result.dtype).split(".")[-1] if isinstance(result, lib.Tensor) else type(result).__name__
    return kind, np.array(result.tolist(), float)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore")
def test_as_in_torch(function, dtype):
    for number in NUMBERS:
        for first in (True, False):
            for data in ([1, 0, 3], 3):
                wanted, found = (outcome(lib, function, data, dtype, number, first) for lib in (torch, gradlab))
                said = f"{function.__name__} of {dtype} {data} and {number!r}, number first: {first}"
                assert found[0] == wanted[0], said
                if wanted[1] is not None:
                    np.testing.assert_allclose(found[1], wanted[1], rtol=2e-3, err_msg=said)
