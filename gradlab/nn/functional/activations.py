"""Activations, and dropout."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from gradlab.engine import make
from gradlab.operators import inplace as written
from gradlab.operators import neural, pointwise
from gradlab.operators._writing import inplace as in_place_form
from gradlab.random import source


def relu(input: Any, inplace: bool = False) -> Any:
    """`max(x, 0)`; its derivative at 0 is 0.

    >>> import gradlab
    >>> gradlab.nn.functional.relu(gradlab.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return written.relu_(input) if inplace else neural.relu(input)


def _maybe_inplace(function: Any, inplace: bool, input: Any, *options: Any) -> Any:
    return in_place_form(function)(input, *options) if inplace else function(input, *options)


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """x, or `negative_slope * x` where it is negative.

    >>> import gradlab
    >>> gradlab.nn.functional.leaky_relu(gradlab.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return _maybe_inplace(neural.leaky_relu, inplace, input, negative_slope)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x, or `alpha * (exp(x) - 1)` where it is negative.

    >>> import gradlab
    >>> gradlab.nn.functional.elu(gradlab.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return _maybe_inplace(neural.elu, inplace, input, alpha)


def gelu(input: Any, *, approximate: str = "none") -> Any:
    """x times the normal distribution function of x, or its tanh approximation.

    >>> import gradlab
    >>> gradlab.nn.functional.gelu(gradlab.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"approximate argument must be either none or tanh, got {approximate!r}")
    return neural.gelu(input, approximate)


def silu(input: Any, inplace: bool = False) -> Any:
    """`x * sigmoid(x)`.

    >>> import gradlab
    >>> gradlab.nn.functional.silu(gradlab.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """
    return _maybe_inplace(neural.silu, inplace, input)


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """`log(1 + exp(beta * x)) / beta`; x itself where beta * x is above the threshold.

    >>> import gradlab
    >>> gradlab.nn.functional.softplus(gradlab.tensor([-1.0, 2.0]))
    tensor([0.3133, 2.1269])
    """
    return neural.softplus(input, beta, threshold)


def softsign(input: Any) -> Any:
    """`x / (1 + |x|)`.

    >>> import gradlab
    >>> gradlab.nn.functional.softsign(gradlab.tensor([-1.0, 2.0]))
    tensor([-0.5000,  0.6667])
    """
    return input / (input.abs() + 1)


def _implicit_dim(name: str, input: Any, level: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=level + 1,
    )
    return 0 if input.ndim in (0, 1, 3) else 1


def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """`exp(x)` divided by its sum along a dim. Without a dim one is chosen, with a warning.

    >>> import gradlab
    >>> gradlab.nn.functional.softmax(gradlab.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return neural.softmax(input, _implicit_dim("softmax", input, _stacklevel) if dim is None else dim, dtype)


def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """`log(softmax(x))` along a dim, computed without overflow.

    >>> import gradlab
    >>> gradlab.nn.functional.log_softmax(gradlab.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    return neural.log_softmax(input, _implicit_dim("log_softmax", input, _stacklevel) if dim is None else dim, dtype)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """x held between two limits; its derivative at a limit is 0.

    >>> import gradlab
    >>> gradlab.nn.functional.hardtanh(gradlab.tensor([-1.0, 2.0]))
    tensor([-1.,  1.])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _maybe_inplace(neural.hardtanh, inplace, input, min_val, max_val)


def relu6(input: Any, inplace: bool = False) -> Any:
    """x held between 0 and 6.

    >>> import gradlab
    >>> gradlab.nn.functional.relu6(gradlab.tensor([-1.0, 2.0, 8.0]))
    tensor([0., 2., 6.])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


def logsigmoid(input: Any) -> Any:
    """`log(sigmoid(x))`, without overflow.

    >>> import gradlab
    >>> gradlab.nn.functional.logsigmoid(gradlab.tensor([0.0, -200.0]))
    tensor([  -0.6931, -200.0000])
    """
    return neural.log_sigmoid(input)


def sigmoid(input: Any) -> Any:
    """`1 / (1 + exp(-x))`.

    >>> import gradlab
    >>> gradlab.nn.functional.sigmoid(gradlab.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """
    return pointwise.sigmoid(input)


def tanh(input: Any) -> Any:
    """The hyperbolic tangent.

    >>> import gradlab
    >>> gradlab.nn.functional.tanh(gradlab.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """
    return pointwise.tanh(input)


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero each element with probability p and scale the others by 1 / (1 - p); the input itself when not training.

    >>> import gradlab
    >>> _ = gradlab.manual_seed(0)
    >>> sorted(set(gradlab.nn.functional.dropout(gradlab.ones(50), 0.5).tolist()))
    [0.0, 2.0]
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0 or not input.numel():
        return input
    array = input._array
    if array.dtype.kind != "f" and p < 1:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {input.dtype}: dropout takes floats")
    kept = source().random(array.shape) >= p
    noise = make(kept.astype(array.dtype) / (1 - p) if p < 1 else np.zeros_like(array))
    noise = noise if noise.dtype is input.dtype else noise.to(input.dtype)
    return written.mul_(input, noise) if inplace else pointwise.mul(input, noise)
