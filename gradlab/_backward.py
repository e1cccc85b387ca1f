"""Asking for a backward pass: from which tensors, with which gradients, into which leaves."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np

from gradlab import errors
from gradlab.engine import TensorBase, Walk, make, modes, notify
from gradlab.engine.modes import EXTRAS

DEEP = 40  # a backward inside a backward ... this often goes on in a thread with a stack of its own, as torch's does


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
    roots, targets = _sequence(tensors), None if inputs is None else _sequence(inputs)
    starts = _starts(roots, grad_variables if grad_tensors is None else grad_tensors, create_graph)
    if targets is not None and not targets:
        raise RuntimeError(errors.EMPTY_INPUTS.format("backward"))
    if create_graph:
        warnings.warn(errors.CREATE_GRAPH, stacklevel=3)
    walk = Walk(starts, None if targets is None else _edges(targets), create_graph)
    for tensor in targets or ():
        tensor.retain_grad()
    _run(walk, retain_graph, (tuple(roots), walk.into, "backward"))


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
    roots, targets = _sequence(outputs), _sequence(inputs)
    if not targets:
        raise RuntimeError(errors.EMPTY_INPUTS.format("grad"))
    edges = _edges(targets)
    walk = Walk(_starts(roots, grad_outputs, create_graph), edges, create_graph)
    walk.captured = dict.fromkeys(edges)
    _run(walk, retain_graph, (tuple(roots), walk.into, "grad"))
    found = [walk.captured[edge] for edge in edges]
    missing = [i for i, g in enumerate(found) if g is None]
    if missing and not (allow_unused or materialize_grads):
        raise errors.unused(missing[0])
    return tuple(_zeros(t, create_graph) if g is None and materialize_grads else g for g, t in zip(found, targets, strict=True))


def _zeros(target: TensorBase, requires_grad: bool) -> Any:
    zeros = make(np.zeros_like(target._array))
    zeros.requires_grad = requires_grad
    return zeros


def _sequence(tensors: Any) -> list:
    return [tensors] if isinstance(tensors, TensorBase) else list(tensors)


def _starts(roots: list, grads: Any, create: bool) -> list:
    """For each root the edge and the gradient to start with: a tensor where the backward is recorded, else an array."""
    grads = [None] * len(roots) if grads is None else _sequence(grads)
    for g in grads:
        if g is not None and not isinstance(g, TensorBase):
            raise errors.not_tensor("a gradient", g)
    if len(grads) != len(roots):
        raise errors.counts_differ(len(roots), len(grads))
    starts = []
    for i, root in enumerate(roots):
        edge, g = root._gradient_edge(), grads[i]
        if edge is None or edge[0].hidden:
            raise errors.no_graph(i)
        if g is not None:
            _check_start(i, root, g)
            starts.append((edge, g if create else g._array))
        else:
            one = _one(root)
            starts.append((edge, make(one) if create else one))
    return starts


def _one(root: TensorBase) -> np.ndarray:
    """The gradient of a tensor with one element with respect to itself."""
    if root._array.size != 1:
        raise errors.not_scalar(root)
    one = np.empty(root._array.shape, root._array.dtype)  # np.ones takes four times as long
    one.fill(1)
    return one


def _check_start(index: int, root: TensorBase, g: Any) -> None:
    if g._array.shape != root._array.shape:
        raise errors.start_shape(index, root, g)


def _edges(targets: list) -> list:
    for t in targets:
        if not isinstance(t, TensorBase):
            raise RuntimeError(f"all inputs have to be Tensors, but got {type(t).__name__}")
    edges = [t._gradient_edge() for t in targets]
    if None in edges:
        raise errors.no_target(edges.index(None))
    return edges


def _run(walk: Walk, retain_graph: bool | None, announced: tuple) -> None:
    """Run the walk and its callbacks; a watcher hears of it before and after."""
    keep = walk.create if retain_graph is None else retain_graph
    announced = (*announced, keep)
    if modes.word == EXTRAS:
        notify("backward", announced, None)
    before = modes.set(walk=walk, grad=walk.create)
    walk.depth = 0 if before["walk"] is None else before["walk"].depth + 1
    try:
        _run_elsewhere(walk, keep) if walk.depth % DEEP == DEEP - 1 else walk.run(keep)
        if walk.callbacks:
            modes.set(grad=before["grad"])
        for callback in walk.callbacks:
            callback()
    finally:
        modes.set(**before)
        if modes.word == EXTRAS:
            notify("backward-done", announced, None)


def _run_elsewhere(walk: Walk, keep: bool) -> None:
    """Run the walk in a thread of its own, in the modes of this one, and wait for it."""
    state, failed = dict(vars(modes)), []

    def work() -> None:
        vars(modes).update(state)
        try:
            walk.run(keep)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
