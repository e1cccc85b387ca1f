"""numpy's numbers as operands and options: torch takes them as Python's, and float32 stays float32."""

import numpy as np
import pytest

from tests.engine.beside import beside_torch

OPTIONS = """
F.leaky_relu(x, n) | F.elu(x, n) | F.softplus(x, n) | F.hardtanh(x, -n, n) | F.huber_loss(x, y, delta=n)
F.smooth_l1_loss(x, y, beta=n) | F.cross_entropy(x, c, label_smoothing=n) | F.layer_norm(x, (2,), eps=n) | F.normalize(x, p=n)
T.lerp(x, y, n) | T.clamp(x, n, n) | T.clamp_min(x, n) | x.clip(max=n) | T.addcmul(x, x, y, value=n) | T.addcdiv(x, x, y, value=n)
T.add(x, y, alpha=n) | T.sub(x, y, alpha=n) | T.addmm(x, x, y, beta=n, alpha=n) | T.norm(x, n) | x.nan_to_num(n)
x * n | n * x | x / n | n / x | x - n | n - x | x % n | y ** n | n ** x | T.special.xlogy(y, n) | T.special.xlogy(n, y)
T.where(x > 0, x, n) | x.masked_fill(x > 0, n) | T.fill(x, n) | x.index_fill(0, c, n) | x.scatter(0, T.tensor([[0, 1]]), n)
x.sum() * n | n * x.sum() | x.mean() ** n | x > n | n == x
"""


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.int64, np.int32])
@pytest.mark.parametrize("program", [p.strip() for line in OPTIONS.strip().splitlines() for p in line.split("|")])
def test_as_with_pythons_own_number(program, kind):
    @beside_torch
    def observed(T):
        x = T.tensor([[0.5, -1.0], [2.0, 3.0]], requires_grad=True)
        y, c, n = x.detach().abs() + 1, T.tensor([0, 1]), kind(1)
        result = eval(program, {"T": T, "F": T.nn.functional, "x": x, "y": y, "c": c, "n": n})
        yield str(result.dtype).split(".")[-1], np.round(np.array(result.tolist(), float), 4).tolist()
        if result.requires_grad:
            result.sum().backward()
            yield str(x.grad.dtype).split(".")[-1], np.round(np.array(x.grad.tolist(), float), 4).tolist()

    observed()
