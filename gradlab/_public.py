"""Public functions and methods: what `gradlab.exp` does more than the operator `exp` that formulas use.

An operator takes arrays as well as tensors; what users call takes tensors where torch wants them, and says so otherwise.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradlab import errors
from gradlab.engine import TensorBase, modes
from gradlab.operators._writing import check_fits, write

_ARITHMETIC = "add sub rsub mul div true_divide floor_divide remainder xlogy multiply subtract divide"
_BITS = "bitwise_and bitwise_or bitwise_xor"
NUMBER_FIRST = set(f"{_ARITHMETIC} {_BITS} pow".split())  # what torch lets start with a number
LISTS = set("cat concat concatenate stack hstack vstack broadcast_tensors einsum".split())  # look for themselves

# Beside the first argument: the parameters that have to be tensors, each with the functions that it belongs to ...
TENSORS = {
    "condition": "where",
    "end": "lerp",
    "index": "gather scatter scatter_add index_select index_add index_copy index_fill",
    "mask": "masked_fill masked_select",
    "mat1": "addmm",
    "mat2": "addmm mm bmm",
    "other": "allclose atan2 equal expand_as is_same_size isclose logaddexp logical_and logical_or logical_xor matmul maximum "
    "minimum reshape_as type_as view_as",
    "source": "index_add index_copy",
    "src": "scatter_add",
    "tensor": "dot",
    "tensor1": "addcmul addcdiv",
    "tensor2": "addcmul addcdiv",
    "b": "tensordot",
    "values": "index_put",
    "vec": "mv",
    "vec2": "outer",
    "weights": "bincount",
}
# ... and those that may be numbers too.
OR_NUMBERS = {
    "dim": "max min",
    "exponent": "pow",
    "max": "clamp clip clamp_max",
    "min": "clamp clip clamp_min",
    "other": f"{_ARITHMETIC} {_BITS} eq ne lt le gt ge where",
    "repeats": "repeat_interleave",
    "self": "where",
    "src": "scatter",
    "value": "fill index_fill masked_fill",
    "weight": "lerp",
}
# The same for all of nn.functional.
FUNCTIONAL = frozenset("input target weight bias running_mean running_var pos_weight tensor x1 x2".split())

_TENSOR, _NONE, _INT = (TensorBase,), (type(None),), (int, np.integer)
_NUMBER = (int, float, complex, np.number, np.bool_)


def _parameters(function: Callable) -> dict[str, Any]:
    """The parameters that may be given by place, and the default of each (`...` where there is none)."""
    op = getattr(function, "operator", None)
    if op is not None:
        return {name: ... if type(op.defaults[name]) is object else op.defaults[name] for name in op.names}
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    return dict.fromkeys(names, ...) | dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))


def _wanted(label: str, parameters: dict[str, Any], tensors: frozenset[str] = frozenset()) -> dict[str, tuple]:
    """The types that each parameter takes, up to the last that is no plain option."""
    found: dict[str, tuple] = {}
    for place, (name, default) in enumerate(parameters.items() if label not in LISTS else ()):
        only = name in tensors or label in TENSORS.get(name, "").split() or (not place and not tensors)
        numbers = label in OR_NUMBERS.get(name, "").split() or (not place and label in NUMBER_FIRST)
        absent = default is None and name not in ("dim", "src") or name.startswith("running")  # may be left out as None
        types = _TENSOR * (only or numbers) + (_INT if name == "dim" else _NUMBER) * numbers + _NONE * absent
        found[name] = types if only or numbers else (object,)
    while found and next(reversed(found.values())) == (object,):
        found.popitem()
    return found


def public(function: Callable, name: str | None = None, tensors: frozenset[str] = frozenset()) -> Callable:
    """``function`` for users: TypeError for what is no tensor; takes ``input=`` for the first argument, and ``out=``.

    tensors: the parameters that take tensors only, where neither the table above nor their place says so.
    """
    label = name or function.__name__
    parameters = _parameters(function)
    wanted = _wanted(label, parameters, tensors)
    places, own_out = tuple(wanted.values()), "out" in parameters

    @functools.wraps(function)
    def wrapper(*args: Any, **options: Any) -> Any:
        for value, types in zip(args, places):
            if not isinstance(value, types):
                raise _wrong(label, wanted, args)
        if not options:
            return function(*args)
        if not args and "input" in options and "input" not in parameters:
            return wrapper(options.pop("input"), **options)
        _check_named(label, wanted, options)
        if "out" in options and not own_out:
            return _into(label, options.pop("out"), function(*args, **options))
        return function(*args, **options)

    wrapper.__name__ = wrapper.__qualname__ = label
    return wrapper


def method(function: Callable, name: str, like: Callable) -> Callable:
    """A method that takes other tensors, with the same check; itself where it takes none. like: where its parameters stand."""
    wanted = _wanted(name.rstrip("_"), _parameters(like))
    places = tuple(wanted.values())[1:]
    if not places:
        return function

    @functools.wraps(function)
    def wrapper(self: Any, *args: Any, **options: Any) -> Any:
        for value, types in zip(args, places):
            if not isinstance(value, types):
                raise _wrong(name, dict(list(wanted.items())[1:]), args)
        if options:
            _check_named(name, wanted, options)
        return function(self, *args, **options)

    return wrapper


def _check_named(label: str, wanted: dict[str, tuple], options: dict) -> None:
    for name, value in options.items():
        if not isinstance(value, wanted.get(name, object)):
            raise errors.argument(label, name, value)


def _wrong(label: str, wanted: dict[str, tuple], args: tuple) -> TypeError:
    place, name = next((i, n) for i, (n, types) in enumerate(wanted.items()) if not isinstance(args[i], types))
    return errors.argument(label, "input" if name in ("self", "A") else name, args[place], place + 1)


def _into(label: str, out: Any, result: Any) -> Any:
    if modes.grad and (result.requires_grad or out.requires_grad):
        raise RuntimeError(
            f"{label}(): functions with out=... arguments don't support automatic differentiation, but one "
            "of the arguments requires "
            "grad. Leave out= away, or compute under torch.no_grad()."
        )
    if out._array.shape != result._array.shape:
        raise RuntimeError(
            f"{label}(): out has shape {list(out.shape)}, the result {list(result.shape)}; gradlab does not resize."
        )
    check_fits(out, result, label)
    write(out, result._array)
    return out
