"""gradcheck: compare a backward with finite differences.

Method: central differences (f(x + eps) - f(x - eps)) / 2 eps for each input element, against one backward per output
element. The whole Jacobians are compared, with fast_mode too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradlab._backward import grad
from gradlab.autograd.grad_mode import no_grad
from gradlab.engine import TensorBase, Walk, make


class GradcheckError(RuntimeError):
    """The backward and the finite differences disagree; the message holds both Jacobians.

    >>> import gradlab
    >>> x = gradlab.tensor([0.5], dtype=gradlab.float64, requires_grad=True)
    >>> try:
    ...     gradlab.autograd.gradcheck(lambda x: x * x.detach(), x)
    ... except gradlab.autograd.GradcheckError:
    ...     print("the Jacobians differ")
    the Jacobians differ
    """


def gradcheck(
    func: Callable,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether ``func``'s backward agrees with finite differences at ``inputs`` (a tensor or a tuple of arguments).

    Inputs that require grad should be float64: in float32 the differences are too coarse, and a warning says so.
    Raises GradcheckError where they differ by more than atol + rtol * |numerical|, or returns False with
    raise_exception=False. check_forward_ad and the batched checks are refused (NotImplementedError).

    >>> import gradlab
    >>> x = gradlab.tensor([0.3, 0.7], dtype=gradlab.float64, requires_grad=True)
    >>> gradlab.autograd.gradcheck(lambda x: (x * x).exp(), x)
    True
    """
    _refuse(check_forward_ad, check_batched_grad or check_batched_forward_grad, masked)
    if not check_backward_ad:
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    arguments = (inputs,) if isinstance(inputs, TensorBase) else tuple(inputs)
    try:
        _check_inputs(arguments, eps)
        _compare(func, arguments, eps, atol, rtol)
        _check_repeatable(func, arguments, nondet_tol)
        if check_undefined_grad:
            _check_undefined(func, arguments)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """gradcheck of ``func``'s own gradient: whether the second derivatives are right.

    grad_outputs: the gradients to start from; random ones when left out. Raises and returns as gradcheck.

    >>> import gradlab
    >>> x = gradlab.tensor([0.3, 0.7], dtype=gradlab.float64, requires_grad=True)
    >>> gradlab.autograd.gradgradcheck(lambda x: x * x * x, x)
    True
    """
    _refuse(check_fwd_over_rev, check_batched_grad, masked)
    arguments = (inputs,) if isinstance(inputs, TensorBase) else tuple(inputs)
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        outputs = _differentiable(func(*arguments))
        grad_outputs = [make(np.asarray(rng.standard_normal(o.shape), o._array.dtype)).requires_grad_() for o in outputs]
    starts = [grad_outputs] if isinstance(grad_outputs, TensorBase) else list(grad_outputs)
    count = len(arguments)

    def first_derivative(*everything: Any) -> tuple:
        given, seeds = everything[:count], everything[count:]
        wanted = [x for x in given if isinstance(x, TensorBase) and x.requires_grad]
        found = grad(_differentiable(func(*given)), wanted, seeds, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None and g.requires_grad)

    return gradcheck(
        first_derivative,
        (*arguments, *starts),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
    )


def _refuse(forward: bool, batched: bool, masked: bool | None) -> None:
    for asked, what in ((forward, "forward-mode autograd"), (batched, "batched gradients"), (masked, "sparse tensors")):
        if asked:
            raise NotImplementedError(f"gradlab has no {what}: gradcheck compares ordinary backwards only.")


def _tensors(x: Any) -> list:
    if isinstance(x, TensorBase):
        return [x]
    return [t for item in x for t in _tensors(item)] if isinstance(x, tuple | list) else []


def _differentiable(outputs: Any) -> list:
    return [t for t in _tensors(outputs) if t.requires_grad]


def _checked(arguments: Sequence) -> list:
    return [t for t in _tensors(arguments) if t.requires_grad]


def _check_inputs(arguments: tuple, eps: float) -> None:
    inputs = _checked(arguments)
    if not inputs:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have "
            "requires_grad=True."
        )
    for i, t in enumerate(inputs):
        if t._array.dtype != np.float64:
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point. This check will "
                "likely fail if all the "
                f"inputs are not of double precision floating point: a step of {eps} is lost in {t.dtype}. Use dtype=float64.",
                stacklevel=4,
            )
        if t._array.size and any(step == 0 and size > 1 for size, step in zip(t._array.shape, t._array.strides, strict=True)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping: a step "
                "in one element would move several. Take a contiguous() copy, then requires_grad_()."
            )


def _check_outputs(found: Any) -> None:
    for output in found if isinstance(found, tuple | list) else (found,):
        if not isinstance(output, TensorBase):
            raise TypeError(f"gradcheck compares tensors, but func returned {type(output).__name__}")
        if output._array.dtype == bool:
            raise RuntimeError("gradcheck takes differences of outputs, and a mask has none: leave it out of what func returns")


def _compare(func: Callable, arguments: tuple, eps: float, atol: float, rtol: float) -> None:
    inputs, found = _checked(arguments), func(*arguments)
    _check_outputs(found)
    outputs = _differentiable(found)
    numerical = _numerical(func, arguments, inputs, eps)
    if not outputs:
        if any(np.abs(j).max(initial=0) > atol for per_input in numerical for j in per_input):
            raise GradcheckError(
                "Numerical gradient for function expected to be zero: no output requires grad, yet outputs "
                "change."
            )
        return
    for o, output in enumerate(outputs):
        analytical = _analytical(output, inputs)
        for i, (column, rows) in enumerate(zip(analytical, numerical, strict=True)):
            expected = rows[o]
            if not np.allclose(column, expected, rtol=rtol, atol=atol, equal_nan=True):
                raise GradcheckError(
                    f"Jacobian mismatch for output {o} with respect to input {i},\nnumerical:{expected}\nanalytical:{column}\n"
                    "The backward disagrees with finite differences: look at the formula for this input."
                )


def _numerical(func: Callable, arguments: tuple, inputs: list, eps: float) -> list:
    """For each input, for each differentiable output, the Jacobian (input elements x output elements)."""

    def outputs() -> list[np.ndarray]:
        return [np.array(o._array) for o in _floating(func(*arguments))]

    def values() -> list[np.ndarray]:
        arrays = outputs()
        for a, b in zip(arrays, first, strict=True):
            for what, now, before in (("shape", a.shape, b.shape), ("dtype", a.dtype, b.dtype)):
                if now != before:
                    raise AssertionError(
                        f"Expected `func` to return outputs with the same {what} when inputs are perturbed on the order of "
                        f"{eps}, but got {before} and {now}."
                    )
        return [a.astype(np.float64) for a in arrays]

    found, first = [], outputs()
    for t in inputs:
        flat, rows = t._array.reshape(-1), []
        if not np.shares_memory(flat, t._array) and flat.size:
            raise GradcheckError("gradcheck needs inputs whose memory is contiguous: call .contiguous() or .clone() first.")
        for k in range(flat.size):
            before = flat[k]
            flat[k] = before + eps
            above = values()
            flat[k] = before - eps
            below = values()
            flat[k] = before
            rows.append([((a - b) / (2 * eps)).ravel() for a, b in zip(above, below, strict=True)])
        found.append([np.array([row[o] for row in rows]).reshape(flat.size, a.size) for o, a in enumerate(first)])
    return found


def _floating(outputs: Any) -> list:
    tensors = _tensors(outputs)
    return [t for t in tensors if t.requires_grad] or [t for t in tensors if t._array.dtype.kind == "f"]


def _analytical(output: Any, inputs: list) -> list[np.ndarray]:
    """For each input, the Jacobian (input elements x output elements) by one backward per output element."""
    columns: list[list[np.ndarray]] = [[] for _ in inputs]
    for k in range(output._array.size):
        seed = np.zeros(output._array.shape, output._array.dtype)
        seed.reshape(-1)[k] = 1
        found = grad(output, inputs, make(seed), retain_graph=True, allow_unused=True)
        for column, g, t in zip(columns, found, inputs, strict=True):
            column.append(np.zeros(t._array.size) if g is None else np.array(g._array, dtype=np.float64).ravel())
    return [np.array(c).T if c else np.zeros((t._array.size, 0)) for c, t in zip(columns, inputs, strict=True)]


def _check_repeatable(func: Callable, arguments: tuple, tolerance: float) -> None:
    inputs = _checked(arguments)
    for output in _differentiable(func(*arguments)):
        for a, b in zip(_analytical(output, inputs), _analytical(output, inputs), strict=True):
            if not np.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True):
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
                    "times gives different "
                    "values. Look for randomness or state in backward."
                )


def _check_undefined(func: Callable, arguments: tuple) -> None:
    """Where no gradient comes back to an output, or to any, none goes on to the inputs but zeros, and nothing fails."""
    inputs = _checked(arguments)
    count = len(_differentiable(func(*arguments)))
    for undefined in [set(range(count)), *({i} for i in range(count if count > 1 else 0))]:
        outputs = _differentiable(func(*arguments))
        starts = [None if i in undefined else np.zeros_like(o._array) for i, o in enumerate(outputs)]
        edges = [t._gradient_edge() for t in inputs]
        walk = Walk([(o._gradient_edge(), g) for o, g in zip(outputs, starts, strict=True)], edges, False)
        walk.captured = dict.fromkeys(edges)
        try:
            with no_grad():
                walk.run(True)
        except RuntimeError as error:
            warnings.warn("gradcheck: a backward did not handle undefined gradients. See the error that follows.", stacklevel=3)
            raise GradcheckError(
                "Expected backward function to handle undefined output grads: it (or a hook) may be handed None. "
                f"It raised: {error}"
            ) from error
        for g in walk.captured.values():
            if g is not None and np.asarray(g._array).any():
                raise GradcheckError(
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero."
                )
    outputs = _differentiable(func(*arguments))
    zeros = [make(np.zeros_like(o._array)) for o in outputs]
    for g in grad(outputs, inputs, zeros, allow_unused=True) if outputs else ():
        if g is not None and np.nan_to_num(g._array, nan=0.0, posinf=0.0, neginf=0.0).any():
            raise GradcheckError(
                "backward not multiplied by grad_output: with a gradient of zeros it still returned something "
                "else."
            )
