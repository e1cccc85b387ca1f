"""What parameters a function has, and which value each gets in a call: for operators, which are called on every line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from gradlab import errors

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


def bind(op: Any, args: tuple, options: dict) -> list:
    """The value of every parameter of an operator, in order; TypeError for one too many or too few."""
    if len(args) > len(op.names):
        raise errors.arguments(op, f"takes {len(op.names)} arguments but {len(args)} were given")
    values, options = list(args), dict(options)
    for name in op.names[len(args) :]:
        values.append(options.pop(name, op.defaults[name]))
        if values[-1] is REQUIRED:
            raise errors.arguments(op, f"missing required argument: '{name}'")
    if options:
        raise errors.arguments(op, f"got an unexpected keyword argument '{next(iter(options))}'")
    return values


def bound(forward: Callable, first: tuple, args: tuple, kwargs: dict, fill: bool) -> tuple:
    """A Function's arguments in forward's order: named ones in their place, defaults filled in where setup_context sees them."""
    found = inspect.signature(forward).bind(*first, *args, **kwargs)
    if fill:
        found.apply_defaults()
    if found.kwargs:
        raise TypeError(f"forward() got {', '.join(found.kwargs)} by name, but not all of its arguments before")
    return found.args[len(first) :]
