"""Public functions and methods: what `gradlab.exp` does more than the operator `exp` that formulas use.

An operator takes arrays as well as tensors; what users call takes tensors where torch wants them, and says so otherwise.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from gradlab import errors
from gradlab.engine import TensorBase, modes
from gradlab.operators._writing import check_fits, write
from gradlab.operators.creation import as_tensor

_ARITHMETIC = "add sub rsub mul div true_divide floor_divide remainder xlogy multiply subtract divide"
_BITS = "bitwise_and bitwise_or bitwise_xor"
NUMBER_FIRST = set(f"{_ARITHMETIC} {_BITS} pow".split())  # what torch lets start with a number
OF_NUMBERS = set("add sub mul div true_divide floor_divide multiply subtract divide".split())  # two of them make a tensor
SIZES = set("broadcast_to flip permute reshape tile".split())
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
NUMBERS = {"alpha", "beta", "negative_slope", "ord", "threshold", "value"}  # where their default is a number
# Bools that are False by default and that torch takes as what counts as true, or that the function itself looks at.
ANY = {"inplace", "return_indices", "requires_grad"}

_TENSOR, _NONE, _INT, _BOOL = (TensorBase,), (type(None),), (int, np.integer), (bool,)
_NUMBER = (int, float, np.number, np.bool_)
NUMPYS = {"axis": "dim", "keepdims": "keepdim", "axis0": "dim0", "axis1": "dim1"}  # numpy's names, which torch takes too


class _Plain(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, TensorBase) and not value.requires_grad and not value._array.ndim


class _PlainTensor(metaclass=_Plain):
    """A tensor that stands for a number: of no dims, and without a gradient, which would go nowhere."""


def _renamed(options: dict, parameters: dict) -> None:
    """numpy's names among the options given torch's."""
    for theirs in NUMPYS.keys() & options:
        ours = NUMPYS[theirs]
        if ours in parameters and ours not in options:
            options[ours] = options.pop(theirs)


_KNOWN: dict[tuple[str, str], tuple] = {}
for _name, _functions in TENSORS.items():
    _KNOWN |= dict.fromkeys([(_name, f) for f in _functions.split()], _TENSOR)
for _name, _functions in OR_NUMBERS.items():
    _KNOWN |= dict.fromkeys([(_name, f) for f in _functions.split()], _TENSOR + (_INT if _name == "dim" else _NUMBER))


class _Signature(inspect.Signature):
    """What help() shows of a public function, worked out when it is asked for: there are hundreds, and few are."""

    __slots__ = ("_function", "_public")
    _return_annotation = inspect.Signature.empty

    def __init__(self, function: Callable, public: bool = False) -> None:
        self._function, self._public = function, public

    @property
    def _parameters(self) -> dict[str, inspect.Parameter]:  # type: ignore[override]
        op = getattr(self._function, "operator", None)
        if op is None:
            found = dict(inspect.signature(self._function).parameters)
        else:
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            defaults = {
                n: inspect.Parameter.empty if type(d) is object else d for n, d in _parameters(self._function).items()
            }
            found = {n: inspect.Parameter(n, kind, default=d) for n, d in defaults.items()}
        if not self._public:
            return found
        found = {"input" if n == "self" else n: p.replace(name="input" if n == "self" else n) for n, p in found.items()}
        return found | {"out": inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)}


def _parameters(function: Callable) -> dict[str, Any]:
    """The parameters that have a name, and the default of each (`...`, or an operator's own mark, where there is none)."""
    op = getattr(function, "operator", None)
    if op is not None:
        return op.defaults
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    found = dict.fromkeys(names, ...)
    if defaults:
        found.update(zip(names[-len(defaults) :], defaults))
    return found | function.__kwdefaults__ if function.__kwdefaults__ else found


def _types(label: str, place: int, name: str, default: Any, tensors: frozenset[str]) -> tuple:
    """What a parameter takes; () where the function itself looks."""
    found: tuple = _KNOWN.get((name, label), ())
    if name in tensors or (not place and not tensors and label not in LISTS):
        found = _TENSOR + _NUMBER if not place and label in NUMBER_FIRST else _TENSOR
    elif not found:
        if name in NUMBERS and type(default) in (int, float):
            return (*_NUMBER, _PlainTensor)
        if not (name in ("stable", "unbiased") or default is True or (default is False and name not in ANY)):
            return ()
        found = _BOOL
    absent = default is None and name not in ("dim", "src") or name in ("running_mean", "running_var")
    return found + _NONE if absent else found


class _Check:
    """The types that the parameters of a public function or method take, by name and by place: read at its first call."""

    def __init__(self, label: str, function: Callable, tensors: frozenset[str] = frozenset(), skipped: int = 0) -> None:
        self.label, self.function, self.tensors, self.skipped = label, function, tensors, skipped

    def read(self) -> tuple:
        """The types by place, up to the last that is looked at."""
        function, skipped, base, last = self.function, self.skipped, self.label.rstrip("_"), 0
        self.parameters = _parameters(function)
        by_place = len(self.parameters) if hasattr(function, "operator") else function.__code__.co_argcount
        self.wanted, self.names, places = {}, list(self.parameters)[skipped:by_place], []
        for place, (name, default) in enumerate(self.parameters.items()):
            types = _types(base, place, name, default, self.tensors)
            if types and place >= skipped:
                self.wanted[name] = types
                last = place - skipped + 1
            if skipped <= place < by_place:
                places.append(object if not types else types[0] if len(types) == 1 else types)
        self.places = tuple(places[:last])
        return self.places

    def named(self, options: dict) -> None:
        for name, value in options.items():
            if not isinstance(value, self.wanted.get(name, object)):
                raise self._error(name, value, None)

    def wrong(self, args: tuple) -> Exception:
        place = next(i for i, types in enumerate(self.places) if not isinstance(args[i], types))
        return self._error(self.names[place], args[place], place + 1)

    def _error(self, name: str, value: Any, position: int | None) -> Exception:
        types = self.wanted[name]
        if isinstance(value, complex) and types != _BOOL:
            return NotImplementedError(errors.COMPLEX)
        kind = "Tensor" if types[0] is TensorBase else "bool" if types[0] is bool else "Number"
        return errors.argument(self.label, "input" if name in ("self", "A") else name, value, position, kind)


def public(function: Callable, name: str | None = None, tensors: frozenset[str] = frozenset()) -> Callable:
    """``function`` for users: TypeError for what is no tensor; takes ``input=`` for the first argument, and ``out=``.

    tensors: the parameters that take tensors only, where neither the table above nor their place says so.
    """
    label = name or function.__name__
    function = _in_a_list(function, label) if label in SIZES else function
    check = _Check(label, function, tensors)
    places: Any = None
    of_numbers = label in NUMBER_FIRST
    renames = not tensors and function.__name__ != "norm"  # torch.norm and nn.functional are written in Python: no renaming

    @functools.wraps(function)
    def wrapper(*args: Any, **options: Any) -> Any:
        nonlocal places
        if places is None:
            places = check.read()
        if not all(map(isinstance, args, places)):
            raise check.wrong(args)
        if of_numbers and not isinstance(args[0] if args else None, TensorBase):
            args = _with_a_tensor(label, args, options)
        if not options:
            return function(*args)
        if "input" in options and "input" not in check.parameters:
            if label == "where":  # its input comes second
                options["self"] = options.pop("input")
            elif not args:
                return wrapper(options.pop("input"), **options)
        if renames:
            _renamed(options, check.parameters)
        check.named(options)
        if "out" in options and "out" not in check.parameters:
            return _into(label, options.pop("out"), function(*args, **options))
        return function(*args, **options)

    wrapper.__name__ = wrapper.__qualname__ = label
    if not tensors or "self" in _parameters(function):
        wrapper.__signature__ = _Signature(function, public=True)  # type: ignore[attr-defined]
    return wrapper


def method(function: Callable, name: str, like: Callable) -> Callable:
    """A method with the same check of its arguments; itself where there is none. like: where its parameters stand."""
    if like is not function or hasattr(function, "operator"):
        function.__signature__ = _Signature(like)  # type: ignore[attr-defined]
    base, found = name.rstrip("_"), _parameters(like)
    looked_at = NUMBERS.union(NUMPYS.values())
    if name == "backward" or not any((n, base) in _KNOWN or n in looked_at or type(d) is bool for n, d in found.items()):
        return function
    renames = base != "norm"
    check, places = _Check(name, like, skipped=1), None  # type: tuple[_Check, Any]

    @functools.wraps(function)
    def wrapper(self: Any, *args: Any, **options: Any) -> Any:
        nonlocal places
        if places is None:
            places = check.read()
        if not all(map(isinstance, args, places)):
            raise check.wrong(args)
        if options:
            if renames:
                _renamed(options, check.parameters)
            check.named(options)
        return function(self, *args, **options)

    return wrapper


def _in_a_list(function: Callable, label: str) -> Callable:
    """A method that takes sizes or dims one by one, as a function, which takes them together only."""

    @functools.wraps(function)
    def listed(self: Any, *args: Any, **options: Any) -> Any:
        if len(args) > 1 or args and not isinstance(args[0], (tuple, list)):
            raise TypeError(f"{label}(): argument (position 2) must be tuple of ints, not {type(args[0]).__name__}")
        return function(self, *args, **options)

    return listed


def _with_a_tensor(label: str, args: tuple, options: dict) -> tuple:
    """Arguments that start with a number: the other operand is a tensor, but for what torch adds and divides of numbers."""
    second = args[1] if len(args) > 1 else options.get("exponent" if label == "pow" else "other")
    if not args or second is None or isinstance(second, TensorBase):
        return args
    if label in OF_NUMBERS:
        return (as_tensor(args[0]), *args[1:])
    raise TypeError(f"{label}(): one of the arguments must be Tensor, not two numbers. Make it one first: gradlab.tensor(...)")


def _into(label: str, out: Any, result: Any) -> Any:
    if not (isinstance(out, TensorBase) and isinstance(result, TensorBase)):
        raise TypeError(f"{label}(): out= takes one tensor, and goes with functions that return one")
    if modes.grad and (result.requires_grad or out.requires_grad):
        raise RuntimeError(
            f"{label}(): functions with out=... arguments don't support automatic differentiation, but one "
            "of the arguments requires "
            "grad. Leave out= away, or compute under torch.no_grad()."
        )
    if out._array.shape != result._array.shape:
        raise RuntimeError(
            f"{label}(): out has shape {list(out._array.shape)}, the result {list(result._array.shape)}; gradlab does not resize."
        )
    check_fits(out, result, label)
    write(out, result._array)
    return out
