"""float16 is computed in float32 and rounded, as in torch, and is as exact."""

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
    "sum of columns": lambda T, x: x.sum(0),
    "cumsum": lambda T, x: (x - x.mean()).cumsum(1),
    "cumprod": lambda T, x: (1 + x / 20000).cumprod(1)[:, :500],
    "norm": lambda T, x: x.norm(2, 1),
    "norm of third powers": lambda T, x: x.norm(3, 1),
    "normalize": lambda T, x: T.nn.functional.normalize(x),
    "cosine_similarity": lambda T, x: T.nn.functional.cosine_similarity(x, x + 1),
    "log_softmax of columns": lambda T, x: T.nn.functional.log_softmax(x, 0),
    "mse_loss": lambda T, x: T.nn.functional.mse_loss(x / 10, T.zeros_like(x)),
    "huber_loss": lambda T, x: T.nn.functional.huber_loss(x, T.zeros_like(x)),
    "binary_cross_entropy_with_logits": lambda T, x: (
        T.nn.functional.binary_cross_entropy_with_logits(x, T.zeros_like(x) + 0.5)
    ),
    "gelu": lambda T, x: T.nn.functional.gelu(x),
    "gelu by tanh": lambda T, x: T.nn.functional.gelu(x, approximate="tanh"),
    "silu": lambda T, x: T.nn.functional.silu(x),
    "adaptive_avg_pool2d": lambda T, x: T.nn.functional.adaptive_avg_pool2d(x[None], 2),
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


@pytest.mark.parametrize("program", ["x + b", "x * b", "T.nn.functional.linear(x, x[:4], b[:4])", "(x + b[:1])"])
def test_a_gradient_is_summed_in_float32_where_a_tensor_was_broadcast(program):
    x, b = np.random.default_rng(0).uniform(0, 1, (2, 3000, 8)).astype(np.float16)

    def gradient(library, dtype):
        names = {"T": library, "x": library.tensor(x.astype(dtype)), "b": library.tensor(b[0].astype(dtype), requires_grad=True)}
        eval(program, names).mean().backward()
        return np.array(names["b"].grad.tolist())

    exact = gradient(torch, np.float64)
    error = np.abs(gradient(torch, np.float16) - exact).max()
    assert np.abs(gradient(gradlab, np.float16) - exact).max() <= 2 * error + 2e-3 * np.abs(exact).max()


@pytest.mark.parametrize("name", "silu gelu softplus logsigmoid elu leaky_relu softsign".split())
def test_gradients_of_activations_are_as_exact(name):
    x, g = (np.random.default_rng(0).standard_normal((2, 3000)) * 2).astype(np.float16)

    def gradient(library, dtype):
        leaf = library.tensor(x.astype(dtype), requires_grad=True)
        getattr(library.nn.functional, name)(leaf).backward(library.tensor(g.astype(dtype)))
        return np.array(leaf.grad.tolist())

    exact = gradient(torch, np.float64)
    relative = lambda found: (np.abs(found - exact) / (np.abs(exact) + 1e-3)).max()  # noqa: E731
    assert relative(gradient(gradlab, np.float16)) <= 2 * relative(gradient(torch, np.float16))
