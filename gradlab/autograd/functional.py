"""Jacobians, Hessians and their products with vectors, from backward passes.

jvp uses the double-backward trick: the vector-Jacobian product is linear in its vector, so its own vector-Jacobian product is the
Jacobian-vector product. Source: https://j-towns.github.io/2017/06/12/A-new-trick.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradlab._backward import grad
from gradlab.autograd.grad_mode import enable_grad
from gradlab.engine import TensorBase, make


def _as_tuple(x: Any, what: str, function: str) -> tuple[bool, tuple]:
    is_tuple = isinstance(x, tuple)
    found = x if is_tuple else (x,)
    for i, t in enumerate(found):
        if not isinstance(t, TensorBase):
            raise TypeError(
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors; element {i} is a "
                f"{type(t).__name__}."
            )
    return is_tuple, tuple(found)


def _prepared(inputs: tuple, create_graph: bool) -> tuple:
    """Inputs to differentiate by: still attached to the caller's graph with create_graph, else fresh leaves."""
    if create_graph:
        return tuple(t.view_as(t) if t.requires_grad else t.detach().clone().requires_grad_() for t in inputs)
    return tuple(t.detach().clone().requires_grad_() for t in inputs)


def _finished(tensors: tuple, create_graph: bool) -> tuple:
    return tensors if create_graph else tuple(t.detach() for t in tensors)


def _filled(grads: tuple, like: tuple, strict: bool, create_graph: bool) -> tuple:
    for i, g in enumerate(grads):
        if g is None and strict:
            raise RuntimeError(f"The output of the function is independent of input {i}. This is not allowed in strict mode.")
        if strict and create_graph and not g.requires_grad:
            raise RuntimeError(
                f"The derivative by input {i} is independent of the inputs. This is not allowed in strict mode when "
                "create_graph=True."
            )
    return tuple(make(np.zeros_like(t._array)) if g is None else g for g, t in zip(grads, like, strict=True))


def _vector(v: Any, like: tuple, function: str) -> tuple:
    if v is None:
        if len(like) != 1 or like[0]._array.size != 1:
            raise RuntimeError(f"The vector v can only be None in {function} if the other side is a single number; pass v.")
        return (make(np.ones_like(like[0]._array)),)
    _, found = _as_tuple(v, "vector v", function)
    if len(found) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(found)}.")
    for i, (a, b) in enumerate(zip(found, like, strict=True)):
        if a._array.shape != b._array.shape:
            raise RuntimeError(f"Entry {i} of v has invalid size: should be {list(b.shape)} but got {list(a.shape)}.")
    return found


def _shaped(is_tuple: bool, found: tuple) -> Any:
    return found if is_tuple else found[0]


def vjp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(func(inputs), v^T J): the outputs and the vector-Jacobian product, shaped like the inputs.

    >>> import gradlab
    >>> x = gradlab.tensor([1.0, 2.0])
    >>> gradlab.autograd.functional.vjp(lambda x: x * x, x, gradlab.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        many_in, given = _as_tuple(inputs, "inputs", "vjp")
        xs = _prepared(given, create_graph)
        many_out, ys = _as_tuple(func(*xs), "outputs of the function", "vjp")
        vs = _vector(v, ys, "vjp")
        found = _gradients(ys, xs, vs, create_graph, strict)
    return _shaped(many_out, _finished(ys, create_graph)), _shaped(many_in, _finished(found, create_graph))


def _gradients(ys: tuple, xs: tuple, vs: tuple, create_graph: bool, strict: bool) -> tuple:
    pairs = [(y, v) for y, v in zip(ys, vs, strict=True) if y.requires_grad]
    if strict and len(pairs) < len(ys):
        raise RuntimeError(
            "Output of the user-provided function is independent of all inputs. This is not allowed in "
            "strict mode."
        )
    if not pairs:
        return _filled((None,) * len(xs), xs, strict, create_graph)
    outs, starts = zip(*pairs, strict=True)
    found = grad(outs, xs, starts, create_graph=create_graph, retain_graph=True, allow_unused=True)
    return _filled(found, xs, strict, create_graph)


def jvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(func(inputs), J v): the outputs and the Jacobian-vector product, shaped like the outputs.

    >>> import gradlab
    >>> x = gradlab.tensor([1.0, 2.0])
    >>> gradlab.autograd.functional.jvp(lambda x: (x * x).sum(), x, gradlab.tensor([1.0, 10.0]))
    (tensor(5.), tensor(42.))
    """
    with enable_grad():
        _, given = _as_tuple(inputs, "inputs", "jvp")
        vs = _vector(v, given, "jvp")
        xs = _prepared(given, create_graph)
        many_out, ys = _as_tuple(func(*xs), "outputs of the function", "jvp")
        dummies = tuple(make(np.zeros_like(y._array)).requires_grad_() for y in ys)
        gx = _gradients(ys, xs, dummies, True, strict)
        found = _gradients(gx, dummies, vs, create_graph, False)
    return _shaped(many_out, _finished(ys, create_graph)), _shaped(many_out, _finished(found, create_graph))


def jacobian(
    func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False
) -> Any:
    """The Jacobian: for one input and output a tensor of shape output.shape + input.shape, else nested tuples (output, input).

    >>> import gradlab
    >>> gradlab.autograd.functional.jacobian(lambda x: x * x, gradlab.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if vectorize:
        raise NotImplementedError("gradlab has no batched gradients, so no jacobian(vectorize=True); leave it out.")
    with enable_grad():
        many_in, given = _as_tuple(inputs, "inputs", "jacobian")
        xs = _prepared(given, create_graph)
        many_out, ys = _as_tuple(func(*xs), "outputs of the function", "jacobian")
        rows = tuple(_jacobian_of(y, xs, create_graph, strict) for y in ys)
    found = tuple(_shaped(many_in, _finished(row, create_graph)) for row in rows)
    return _shaped(many_out, found)


def _jacobian_of(y: Any, xs: tuple, create_graph: bool, strict: bool) -> tuple:
    from gradlab.operators import stack

    rows: list[list] = [[] for _ in xs]
    for k in range(y._array.size):
        seed = np.zeros_like(y._array)
        seed.reshape(-1)[k] = 1
        for row, g in zip(rows, _gradients((y,), xs, (make(seed),), create_graph, strict), strict=True):
            row.append(g)
    return tuple(
        stack(row, 0).reshape(y.shape + x.shape) if row else make(np.zeros(tuple(y.shape) + tuple(x.shape), x._array.dtype))
        for row, x in zip(rows, xs, strict=True)
    )


def hessian(func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False) -> Any:
    """The Hessian of a function with one number as its value; nested tuples (input, input) for several inputs.

    >>> import gradlab
    >>> gradlab.autograd.functional.hessian(lambda x: (x * x * x).sum(), gradlab.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    many_in, given = _as_tuple(inputs, "inputs", "hessian")

    def first(*xs: Any) -> tuple:
        y = _single(func(*xs), "hessian")
        return _gradients((y,), xs, (make(np.ones_like(y._array)),), True, strict)

    with enable_grad():
        xs = given if create_graph else tuple(t.detach() for t in given)
        fresh = tuple(t if t.requires_grad else t.detach().requires_grad_() for t in xs)
        found = jacobian(lambda *ys: first(*ys), fresh, create_graph, strict, vectorize)
    return found if many_in else found[0][0]


def _single(y: Any, function: str) -> Any:
    if not isinstance(y, TensorBase) or y._array.size != 1:
        raise RuntimeError(f"The function given to {function} must return a single Tensor with a single element.")
    return y


def vhp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(func(inputs), v^T H) for a function with one number as its value; shaped like the inputs.

    >>> import gradlab
    >>> x = gradlab.tensor([1.0, 2.0])
    >>> gradlab.autograd.functional.vhp(lambda x: (x * x * x).sum(), x, gradlab.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product(func, inputs, v, create_graph, strict, "vhp")


def hvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(func(inputs), H v). The Hessian is symmetric where it is continuous, so this agrees with vhp there.

    >>> import gradlab
    >>> x = gradlab.tensor([1.0, 2.0])
    >>> gradlab.autograd.functional.hvp(lambda x: (x * x * x).sum(), x, gradlab.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product(func, inputs, v, create_graph, strict, "hvp")


def _hessian_product(func: Callable, inputs: Any, v: Any, create_graph: bool, strict: bool, name: str) -> tuple[Any, Any]:
    with enable_grad():
        many_in, given = _as_tuple(inputs, "inputs", name)
        vs = _vector(v, given, name)
        xs = _prepared(given, create_graph)
        y = _single(func(*xs), name)
        gx = _gradients((y,), xs, (make(np.ones_like(y._array)),), True, strict)
        found = _gradients(gx, xs, vs, create_graph, strict)
    return _finished((y,), create_graph)[0], _shaped(many_in, _finished(found, create_graph))
