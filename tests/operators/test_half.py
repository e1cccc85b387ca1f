"""float16 is computed in float32 and rounded, as in torch, and is as exact; an overflow is silent."""

import warnings

import numpy as np
import pytest
import torch

import gradlab

PROGRAMS = {
    "layer_norm": lambda T, x: T.nn.functional.layer_norm(x, (x.shape[1],)),
    "mean": lambda T, x: x.mean(1),
    "mean of all": lambda T, x: x.mean(),
    "var": lambda T, x: x.var(1),
    "std": lambda T, x: x.std(),
    "batch_norm": lambda T, x: T.nn.functional.batch_norm(x, None, None, training=True),
}


@pytest.mark.parametrize("offset", [0, 10, 1000])
@pytest.mark.parametrize("size", [3, 64, 2000])
@pytest.mark.parametrize("name", PROGRAMS)
def test_float16_is_as_exact_as_in_torch(name, size, offset):
    array = (np.random.default_rng(0).standard_normal((8, size)) + offset).astype(np.float16)

    def error(library):
        result = PROGRAMS[name](library, library.tensor(array))
        assert str(result.dtype).endswith("float16")
        return np.abs(np.array(result.tolist()) - exact).max()

    exact = np.array(PROGRAMS[name](torch, torch.tensor(array.astype(np.float64))).tolist())
    assert error(gradlab) <= 2 * error(torch) + 1e-4 * np.abs(exact).max()


@pytest.mark.parametrize("program", ["x.mean()", "x.mean(0)", "x.var()", "x.std(0)", "gradlab.var_mean(x)"])
def test_an_overflow_is_silent_as_in_torch(program):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        eval(program, {"gradlab": gradlab, "x": gradlab.tensor([3e38, 3e38, -3e38])})
    shown = [w.filename for w in caught if gradlab.__path__[0] not in w.filename]  # gradlab's own have a filter
    assert not shown
