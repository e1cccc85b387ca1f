"""Public functions: what `gradlab.exp` does more than the operator `exp` that formulas use."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradlab.engine import TensorBase, modes
from gradlab.operators._writing import check_fits, write

NUMBER_FIRST = ("pow", "xlogy", "remainder", "where")  # what torch lets start with a number


def public(function: Callable, name: str | None = None) -> Callable:
    """``function`` for users: TypeError for what is no tensor; takes ``input=`` for the first argument, and ``out=``."""
    label = name or function.__name__

    @functools.wraps(function)
    def wrapper(*args: Any, **options: Any) -> Any:
        if "input" in options and not args:
            args = (options.pop("input"),)
        if not (args and isinstance(args[0], TensorBase)):
            _check_arguments(label, args, options)
        if "out" in options:
            return _into(label, options.pop("out"), function(*args, **options))
        return function(*args, **options)

    wrapper.__name__ = wrapper.__qualname__ = label
    return wrapper


def _check_arguments(label: str, args: tuple, options: dict) -> None:
    flat = [x for a in (*args, *options.values()) for x in (a if isinstance(a, list | tuple) else [a])]
    if args and isinstance(args[0], list | tuple) and not args[0]:
        return  # an empty list of tensors: the function says what it needs
    wrong: Any = next((x for x in flat if isinstance(x, np.ndarray | np.generic)), None)
    if wrong is None and args and isinstance(args[0], int | float) and label not in NUMBER_FIRST:
        wrong = args[0]
    if wrong is not None or not any(isinstance(x, TensorBase) for x in flat):
        found = wrong if wrong is not None else args[0] if args else None
        raise TypeError(
            f"{label}(): argument 'input' (position 1) must be Tensor, not {type(found).__module__}.{type(found).__name__}. "
            "Make it one first: gradlab.tensor(...) copies, gradlab.from_numpy(array) shares memory."
        )


def _into(label: str, out: Any, result: Any) -> Any:
    if modes.grad and (result.requires_grad or out.requires_grad):
        raise RuntimeError(
            f"{label}(): functions with out=... arguments don't support automatic differentiation, but one "
            "of the arguments requires "
            "grad. Leave out= away, or compute under torch.no_grad()."
        )
    if out._array.shape != result._array.shape:
        raise RuntimeError(
            f"{label}(): out has shape {list(out.shape)}, the result {list(result.shape)}; gradlab does not "
            "resize."
        )
    check_fits(out, result, label)
    write(out, result._array)
    return out
