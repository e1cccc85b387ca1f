"""backward and grad: where a backward pass is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradlab import errors
from gradlab.engine import make, walk


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of the sum of ``tensors`` into the ``.grad`` of the leaves they were computed from.

    grad_tensors: one gradient per tensor, of its shape; None for a tensor with one element (then 1).
    inputs: add into the ``.grad`` of these tensors only. Other arguments as for ``Tensor.backward``.

    >>> import gradlab
    >>> x = gradlab.tensor([1.0, 2.0], requires_grad=True)
    >>> gradlab.autograd.backward([x.sum(), (x * x).sum()])
    >>> x.grad
    tensor([3., 5.])
    """
    grads = grad_variables if grad_tensors is None else grad_tensors
    walk.backward(walk.sequence(tensors), grads, retain_graph, create_graph, inputs)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple:
    """The gradients of the sum of ``outputs`` with respect to ``inputs``, as a tuple; ``.grad`` is left alone.

    RuntimeError for an input that does not require grad or that the outputs do not depend on (None with
    allow_unused=True, zeros with materialize_grads=True).

    >>> import gradlab
    >>> x = gradlab.tensor(3.0, requires_grad=True)
    >>> gradlab.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    if is_grads_batched:
        raise NotImplementedError(errors.BATCHED)
    if materialize_grads and allow_unused is False:
        raise ValueError(errors.MATERIALIZE)
    targets = walk.sequence(inputs)
    edges = walk.edges_of(targets)
    this = walk.Walk(walk.sequence(outputs), grad_outputs, edges, create_graph)
    this.captured = dict.fromkeys(edges)
    this.run(create_graph if retain_graph is None else retain_graph, "grad")
    found = [this.captured[edge] for edge in edges]
    missing = [i for i, g in enumerate(found) if g is None]
    if missing and not (allow_unused or materialize_grads):
        raise errors.unused(missing[0])
    zeros = [make(np.zeros_like(t._array)) if materialize_grads else None for t in targets]
    return tuple(z if g is None else g for g, z in zip(found, zeros, strict=True))
