"""Adam and AdamW."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradlab.engine import make
from gradlab.operators._views import count_write
from gradlab.optim.optimizer import Optimizer, check, check_rate


class Adam(Optimizer):
    """Steps scaled by running means of the gradient and of its square.

    `m = b1 * m + (1 - b1) * g`, `v = b2 * v + (1 - b2) * g * g`,
    `p -= lr * (m / (1 - b1**t)) / (sqrt(v / (1 - b2**t)) + eps)` at step t. weight_decay * p is added to the gradient.
    amsgrad uses the largest v so far. Source: D. Kingma and J. Ba, Adam (2015).

    >>> import gradlab
    >>> w = gradlab.tensor([1.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> gradlab.optim.Adam([w], lr=0.1).step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_rate(lr)
        check(eps >= 0, f"Invalid epsilon value: {eps}")
        check(len(betas) == 2, f"betas must be two numbers, got {betas}")
        check(
            all(isinstance(b, (float, int)) for b in betas),
            "betas must be either both floats or both Tensors: gradlab takes floats",
        )
        for n, beta in enumerate(betas):
            check(0 <= beta < 1, f"Invalid beta parameter at index {n}: {beta}")
        check(weight_decay >= 0, f"Invalid weight_decay value: {weight_decay}")
        names = "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused decoupled_weight_decay"
        given = locals()
        super().__init__(params, {name: given[name] for name in names.split()})

    def _step_group(self, group: dict[str, Any]) -> None:
        super()._step_group(group)
        if group["decoupled_weight_decay"] and group["weight_decay"]:
            for parameter in group["params"]:  # torch writes each parameter twice here: once for the decay
                if parameter._meta and parameter._meta.grad is not None:
                    count_write(parameter)

    def update(self, parameter: np.ndarray, gradient: np.ndarray, state: dict, group: dict) -> None:
        if not state:
            self._begin(parameter, state, group)
        state["step"]._array += 1
        step, (beta1, beta2), rate = float(state["step"]._array), group["betas"], float(group["lr"])
        if group["weight_decay"] and group["decoupled_weight_decay"]:
            parameter *= 1 - rate * group["weight_decay"]
        elif group["weight_decay"]:
            gradient = gradient + group["weight_decay"] * parameter
        mean, square = state["exp_avg"]._array, state["exp_avg_sq"]._array
        scratch = np.subtract(gradient, mean, out=np.empty_like(mean))
        scratch *= 1 - beta1
        mean += scratch
        square *= beta2
        np.multiply(gradient, gradient, out=scratch)
        scratch *= 1 - beta2
        square += scratch
        if group["amsgrad"]:
            square = np.maximum(state["max_exp_avg_sq"]._array, square, out=state["max_exp_avg_sq"]._array)
        np.sqrt(square, out=scratch)
        scratch /= math.sqrt(1 - beta2**step)
        scratch += group["eps"]
        np.divide(mean, scratch, out=scratch)
        scratch *= rate / (1 - beta1**step)
        parameter -= scratch

    def _begin(self, parameter: np.ndarray, state: dict, group: dict) -> None:
        state["step"] = make(np.zeros((), np.float32))
        state["exp_avg"], state["exp_avg_sq"] = make(np.zeros_like(parameter)), make(np.zeros_like(parameter))
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = make(np.zeros_like(parameter))


class AdamW(Adam):
    """Adam with weight decay apart from the gradient: `p *= 1 - lr * weight_decay` first.

    Source: I. Loshchilov and F. Hutter, Decoupled weight decay regularization (2019).

    >>> import gradlab
    >>> w = gradlab.tensor([1.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> gradlab.optim.AdamW([w], lr=0.1, weight_decay=0.5).step()
    >>> w
    tensor([0.8500], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
