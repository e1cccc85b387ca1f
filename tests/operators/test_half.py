"""float16: torch computes in float32 and rounds the result; so must what gradlab gives be no less exact."""

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
