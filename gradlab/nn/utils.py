"""torch.nn.utils' names: clipping gradients, and parameters as one vector."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from gradlab._tensor import Tensor
from gradlab.autograd.grad_mode import no_grad
from gradlab.errors import not_tensor
from gradlab.operators import joining, reduction, shape


def _gradients(parameters: Any) -> list:
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p.grad for p in parameters if p.grad is not None]


def get_total_norm(tensors: Iterable[Any], norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None) -> Any:
    """The norm of all tensors together, as if they were one vector.

    >>> import gradlab
    >>> gradlab.nn.utils.get_total_norm([gradlab.tensor([3.0]), gradlab.tensor([4.0])])
    tensor(5.)
    """
    tensors = list(tensors)
    if not tensors:
        return Tensor([0.0])[0]
    norms = joining.stack([reduction.vector_norm(t.detach(), norm_type) for t in tensors])
    total = reduction.vector_norm(norms, norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. To "
            "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None
) -> Any:
    """Scale all gradients in place so that their common norm is at most `max_norm`; returns the norm before.

    >>> import gradlab
    >>> x = gradlab.tensor([3.0, 4.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> gradlab.nn.utils.clip_grad_norm_(x, 1.0)
    tensor(10.)
    >>> x.grad
    tensor([0.6000, 0.8000])
    """
    gradients = _gradients(parameters)
    with no_grad():
        total = get_total_norm(gradients, float(norm_type), error_if_nonfinite)
        factor = (float(max_norm) / (total + 1e-6)).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(factor)
    return total


def clip_grad_value_(parameters: Any, clip_value: float, foreach: Any = None) -> None:
    """Hold every element of every gradient between -clip_value and clip_value, in place.

    >>> import gradlab
    >>> x = gradlab.tensor([3.0, -0.2], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> gradlab.nn.utils.clip_grad_value_(x, 1.0)
    >>> x.grad
    tensor([ 1.0000, -0.4000])
    """
    with no_grad():
        for gradient in _gradients(parameters):
            gradient.clamp_(-float(clip_value), float(clip_value))


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """All parameters one after the other, as one vector.

    >>> import gradlab
    >>> gradlab.nn.utils.parameters_to_vector([gradlab.ones(2), gradlab.zeros(1, 1)])
    tensor([1., 1., 0.])
    """
    return joining.cat([shape.view(p, -1) for p in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Write a vector into the parameters, one after the other.

    >>> import gradlab
    >>> w, b = gradlab.zeros(2), gradlab.zeros(1)
    >>> gradlab.nn.utils.vector_to_parameters(gradlab.tensor([1.0, 2.0, 3.0]), [w, b])
    >>> w, b
    (tensor([1., 2.]), tensor([3.]))
    """
    if not isinstance(vec, Tensor):
        raise not_tensor("what vector_to_parameters writes", vec)
    start = 0
    for p in parameters:
        p.data = shape.view_as(vec[start : start + p.numel()], p).data
        start += p.numel()
