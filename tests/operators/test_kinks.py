"""First and second derivatives where a function has a kink, a tie or a zero: torch's choice there."""

import numpy as np
import pytest
import torch

import gradlab

PROGRAMS = """
F.elu(x) | F.elu(x, .5) | F.huber_loss(x, zeros, reduction='sum') | F.huber_loss(x, zeros, reduction='sum', delta=.5)
F.smooth_l1_loss(x, zeros, reduction='sum') | F.smooth_l1_loss(x, zeros, beta=.5) | F.hardtanh(x) | F.relu(x)
F.relu6(x) | F.leaky_relu(x, .1) | F.softplus(x, 1, 1) | F.softsign(x) | x.clamp(-1, 1) | x.clamp(min=0)
x.maximum(zeros) | x.norm() | (x*0).norm() | x.pow(2) | x.pow(3) | x.pow(0) | x.sign() | x.sqrt() | x.logsumexp(0)
x.softmax(0) | x.max() | x.amax() | x.median() | x.sort()[0] | x.prod() | x.cumprod(0) | x.var() | x.std() | (x*0).std()
F.normalize(x[None]) | F.normalize(x[None]*0) | F.cosine_similarity(x[None], x[None]*0) | F.gelu(x) | F.silu(x)
F.logsigmoid(x) | x.atan2(x*0) | x.xlogy(x) | T.where(x>0, x, x*0) | x.remainder(.5) | x.frac() | x.erf()
x.nan_to_num()
"""


def derivatives(T, program):
    x = T.tensor([-1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 6.0], dtype=T.float64, requires_grad=True)
    zeros = T.zeros(7, dtype=T.float64)
    y = eval(program, {"T": T, "F": T.nn.functional, "x": x, "zeros": zeros})
    (first,) = T.autograd.grad(y.sum(), x, create_graph=True)
    if not first.requires_grad:
        return first.tolist(), [0.0] * 7
    weights = T.arange(1, 8, dtype=T.float64)
    (second,) = T.autograd.grad((first * weights).sum(), x, allow_unused=True, materialize_grads=True)
    return first.tolist(), second.tolist()


@pytest.mark.parametrize("program", [p.strip() for line in PROGRAMS.strip().splitlines() for p in line.split(" | ")])
def test_as_in_torch(program):
    for ours, theirs in zip(derivatives(gradlab, program), derivatives(torch, program), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)
