"""What parameters a function has, and which value each gets in a call: for operators, which are called on every line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

REQUIRED = object()


def parameters(function: Callable, inputs: tuple[str, ...]) -> tuple[list[str], dict[str, Any]]:
    """Names and defaults of a function's parameters; a ufunc has none to look at and takes the names of ``inputs``."""
    if isinstance(function, np.ufunc):
        names = list(inputs) or ["self", "other"][: function.nin]
        return names, dict.fromkeys(names, REQUIRED)
    code, defaults = function.__code__, function.__defaults__ or ()
    names = list(code.co_varnames[: code.co_argcount])
    given = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    return names, dict.fromkeys(names, REQUIRED) | given


def bound(forward: Callable, first: tuple, args: tuple, kwargs: dict, fill: bool) -> tuple:
    """A Function's arguments in forward's order: named ones in their place, defaults filled in where setup_context sees them."""
    found = inspect.signature(forward).bind(*first, *args, **kwargs)
    if fill:
        found.apply_defaults()
    if found.kwargs:
        raise TypeError(f"forward() got {', '.join(found.kwargs)} by name, but not all of its arguments before")
    return found.args[len(first) :]
