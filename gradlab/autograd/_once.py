"""once_differentiable: a decorator for backwards that are not themselves differentiable."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradlab import errors
from gradlab.engine import TensorBase, modes, operator


def _refuse(g: Any) -> Any:
    raise RuntimeError(errors.TWICE)


_fails_later = operator(
    "Error", lambda tensors: [np.array(t) for t in tensors], outputs="tensors", tensors=lambda grads: _refuse(grads)
)


def once_differentiable(backward: Callable) -> Callable:
    """Decorator for a backward that is not itself differentiable: a second derivative through it raises RuntimeError.

    It raises only where the incoming gradient requires grad; where it does not, the missing term is silently zero (as in
    torch).

    >>> import gradlab
    >>> class Square(gradlab.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @gradlab.autograd.function.once_differentiable
    ...     def backward(ctx, g):
    ...         return 2 * ctx.saved_tensors[0] * g
    >>> x = gradlab.tensor(3.0, requires_grad=True)
    >>> gradlab.autograd.grad(Square.apply(x), x)
    (tensor(6.),)
    """

    @functools.wraps(backward)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        before = modes.set(grad=False)
        try:
            found = backward(ctx, *grads)
        finally:
            modes.set(**before)
        if not any(isinstance(g, TensorBase) and g.requires_grad for g in grads):
            return found
        outputs = found if isinstance(found, tuple | list) else (found,)
        failing = _fails_later([x if x is None else x.detach().requires_grad_() for x in outputs])
        return tuple(None if x is None else f for x, f in zip(outputs, failing, strict=True))

    return wrapper
