"""Normalising a zero vector: what comes back through a norm of zero, beside torch (x / x.norm() is where it is met)."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import gradlab


def normalised(lib, p):
    x = lib.tensor([0.0, 0.0], dtype=lib.float64, requires_grad=True)
    (x / x.norm(p)).sum().backward()
    return x.grad.numpy()


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, float("inf")])
def test_the_gradient_of_a_normalised_zero_vector_is_torchs(p):
    np.testing.assert_array_equal(normalised(gradlab, p), normalised(torch, p))
