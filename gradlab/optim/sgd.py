"""Stochastic gradient descent, with momentum (Polyak's or Nesterov's) and weight decay."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradlab.engine import make
from gradlab.optim.optimizer import Optimizer, check, check_rate


class SGD(Optimizer):
    """`p -= lr * gradient`.

    weight_decay * p is added to the gradient. With momentum, the step is
    `buffer = momentum * buffer + (1 - dampening) * gradient` (the first gradient undampened);
    with nesterov, `gradient + momentum * buffer`. maximize turns the sign.
    Source: I. Sutskever et al., On the importance of initialization and momentum in deep learning (2013), as torch writes it.

    >>> import gradlab
    >>> w = gradlab.tensor([1.0], requires_grad=True)
    >>> optimizer = gradlab.optim.SGD([w], lr=0.1, momentum=0.9)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * 1).sum().backward()
    ...     optimizer.step()
    >>> w
    tensor([0.7100], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check(momentum >= 0, f"Invalid momentum value: {momentum}")
        check(weight_decay >= 0, f"Invalid weight_decay value: {weight_decay}")
        check(not nesterov or (momentum > 0 and dampening == 0), "Nesterov momentum requires a momentum and zero dampening")
        names = "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused".split()
        given = locals()
        super().__init__(params, {name: given[name] for name in names})

    def update(self, parameter: np.ndarray, gradient: np.ndarray, state: dict, group: dict) -> None:
        if group["weight_decay"]:
            gradient = gradient + group["weight_decay"] * parameter
        if group["momentum"]:
            gradient = self._with_momentum(gradient, state, group)
        parameter -= gradient * float(group["lr"])

    def _with_momentum(self, gradient: np.ndarray, state: dict, group: dict) -> np.ndarray:
        momentum = group["momentum"]
        if state.get("momentum_buffer") is None:
            state["momentum_buffer"] = make(gradient.copy(order="K"))
            buffer = state["momentum_buffer"]._array
        else:
            buffer = state["momentum_buffer"]._array
            buffer *= momentum
            buffer += gradient * (1 - group["dampening"])
        return gradient + momentum * buffer if group["nesterov"] else buffer
