"""dtypes by torch's names over numpy's, the default dtype, torch's promotion rules, and arrays of Python data.

Promotion source: https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradlab import errors


class dtype:
    """A data type, such as ``gradlab.float32``. ``numpy`` is the numpy dtype behind it.

    >>> import gradlab
    >>> gradlab.float32.itemsize, gradlab.float32.is_floating_point
    (4, True)
    """

    __slots__ = ("is_floating_point", "is_signed", "itemsize", "name", "numpy")
    is_complex = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.numpy = np.dtype(name)
        self.itemsize = self.numpy.itemsize
        self.is_floating_point = self.numpy.kind == "f"
        self.is_signed = self.numpy.kind in "if"

    def __repr__(self) -> str:
        return f"gradlab.{self.name}"

    def __reduce__(self) -> str:
        return self.name


float16, float32, float64 = dtype("float16"), dtype("float32"), dtype("float64")
int8, int16, int32, int64, uint8 = dtype("int8"), dtype("int16"), dtype("int32"), dtype("int64"), dtype("uint8")
bool = dtype("bool")
half, float, double, short, int, long = float16, float32, float64, int16, int32, int64  # torch's other names

_ALL = (float16, float32, float64, int8, int16, int32, int64, uint8, bool)
_BY_NUMPY = {d.numpy: d for d in _ALL}
_BY_PYTHON = {builtins.float: float64, builtins.int: int64, builtins.bool: bool}
_default = float32


def of(kind: np.dtype) -> dtype:
    """The gradlab dtype of a numpy dtype that tensors can have."""
    return _BY_NUMPY[kind]


def to_numpy(kind: Any) -> np.dtype:
    """The numpy dtype for a gradlab dtype or a Python type (float is float64, as in torch); TypeError for anything else."""
    if isinstance(kind, type):
        kind = _BY_PYTHON.get(kind, kind)
    if not isinstance(kind, dtype):
        names = ", ".join(f"gradlab.{d.name}" for d in _ALL)
        raise TypeError(f"argument 'dtype' must be a gradlab dtype, not {type(kind).__name__} {kind!r}: {names}")
    return kind.numpy


def supported(array: np.ndarray) -> np.ndarray:
    """The array itself when a tensor can hold it; TypeError, or NotImplementedError for complex, when not."""
    if array.dtype in _BY_NUMPY:
        return array
    if array.dtype.kind == "c":
        raise NotImplementedError(errors.COMPLEX)
    raise TypeError(
        f"can't convert np.ndarray of type {array.dtype}. The supported types are: "
        + ", ".join(d.name for d in _ALL)
        + ". Convert it first, for example with array.astype(np.float32)."
    )


def get_default_dtype() -> dtype:
    """The dtype that Python floats become (float32 unless changed).

    >>> import gradlab
    >>> gradlab.get_default_dtype()
    gradlab.float32
    """
    return _default


def set_default_dtype(d: dtype) -> None:
    """Make ``d`` the dtype that Python floats become; TypeError for a dtype that is not floating point.

    >>> import gradlab
    >>> gradlab.set_default_dtype(gradlab.float64)
    >>> gradlab.tensor(1.5).dtype
    gradlab.float64
    >>> gradlab.set_default_dtype(gradlab.float32)
    """
    global _default
    if not isinstance(d, dtype) or not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, got {d!r}.")
    _default = d


class _Limits:
    """What a dtype can hold, as Python numbers."""

    kind: str
    names: tuple[str, ...]

    def __init__(self, type: dtype | None = None) -> None:
        wanted = type or _default
        if wanted.is_floating_point != (self.kind == "f") or wanted is bool:
            raise TypeError(f"{self.__class__.__name__}() has no limits of {wanted}: finfo is for floats, iinfo for integers")
        found: Any = (np.finfo if self.kind == "f" else np.iinfo)(wanted.numpy)
        self.bits, self.dtype = found.bits, wanted.numpy.name
        for name in self.names:
            value = f"1e-{found.precision}" if name == "resolution" else getattr(found, name)
            setattr(self, name, (builtins.float if self.kind == "f" else builtins.int)(value))

    def __repr__(self) -> str:
        shown = "".join([f"{name}={getattr(self, name):g}, " for name in self.names])
        return f"{self.__class__.__name__}({shown}dtype={self.dtype})"


class finfo(_Limits):
    """Limits of a floating-point dtype (the default one when left out).

    >>> import gradlab
    >>> gradlab.finfo(gradlab.float64).eps == 2.0**-52
    True
    """

    kind, names = "f", ("resolution", "min", "max", "eps", "smallest_normal", "tiny")


class iinfo(_Limits):
    """Limits of an integer dtype.

    >>> import gradlab
    >>> gradlab.iinfo(gradlab.int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    kind, names = "i", ("min", "max")


@functools.cache
def promote_types(a: np.dtype, b: np.dtype) -> np.dtype:
    """torch's promotion of two numpy dtypes: a float beats every integer, whatever its width."""
    if (a.kind == "f") != (b.kind == "f"):
        return a if a.kind == "f" else b
    return np.promote_types(a, b)


_RANK = {"b": 0, "i": 1, "u": 1, "f": 2}


def result_dtype(operands: Any) -> np.dtype:
    """torch's result type of arrays and Python numbers, as a numpy dtype.

    Arrays with dimensions outrank 0-d arrays, and those outrank Python's and numpy's numbers, within one category (bool,
    integer, float).
    """
    levels: list[np.dtype | None] = [None, None, None]
    for x in operands:
        if isinstance(x, np.ndarray):
            level, kind = (0 if x.ndim else 1), x.dtype
        else:
            level, kind = 2, _number_dtype(x)
        known = levels[level]
        levels[level] = kind if known is None else promote_types(known, kind)
    result = levels[2]
    for kind in (levels[1], levels[0]):
        if kind is not None and (result is None or _RANK[kind.kind] >= _RANK[result.kind]):
            result = kind
    assert result is not None, "result_dtype needs at least one operand"
    return result


def promoted(operands: list, places: Any, to_float: builtins.bool) -> list:
    """The operands (arrays, numbers, lists of arrays) with those at ``places`` brought to their common result type.

    to_float: bring integers and booleans to the default dtype too.
    """
    flat = [x for i in places for x in (operands[i] if isinstance(operands[i], list) else [operands[i]]) if _takes_part(x)]
    kind = result_dtype(flat)
    if to_float and kind.kind != "f":
        kind = _default.numpy

    return [_cast(x, kind) if i in places else x for i, x in enumerate(operands)]


def _cast(x: Any, kind: np.dtype) -> Any:
    if isinstance(x, list):
        return [_cast(item, kind) for item in x]
    if isinstance(x, np.ndarray):
        return x if x.dtype == kind else x.astype(kind)
    return wrapped(x, kind) if _takes_part(x) else x


def wrapped(number: Any, kind: np.dtype) -> Any:
    """A number in this dtype; an integer too large for it wraps, as in torch."""
    try:
        return kind.type(number)
    except OverflowError:
        return np.asarray(number).astype(kind)[()]


def fitted(number: Any, kind: np.dtype) -> Any:
    """A number in this dtype, without its fraction in an integer one; RuntimeError where it is too large."""
    if isinstance(number, complex):
        raise NotImplementedError(errors.COMPLEX)
    errors.check_in_range(number, kind)
    return np.asarray(number).astype(kind)[()]


def _takes_part(x: Any) -> builtins.bool:
    return isinstance(x, np.ndarray | np.generic | builtins.float | builtins.int | complex)


def _number_dtype(x: Any) -> np.dtype:
    if isinstance(x, builtins.bool | np.bool_):
        return bool.numpy
    if isinstance(x, complex):
        raise NotImplementedError(errors.COMPLEX)
    return int64.numpy if isinstance(x, builtins.int | np.integer) else _default.numpy


def guessed(data: Any) -> np.dtype | None:
    """The dtype of Python numbers: the default one for floats, int64, bool; None where an array alone says it."""
    if isinstance(data, (np.ndarray, np.generic)):
        return None
    kinds: set[Any] = set()
    stack = [data]
    while stack:
        item = stack.pop()
        if isinstance(item, (list, tuple)):
            stack.extend(item)
        else:
            kinds.add(item.dtype if isinstance(item, (np.ndarray, np.generic)) else type(item))
    found = [kind if isinstance(kind, np.dtype) else _python_dtype(kind) for kind in kinds]
    if not found:
        return _default.numpy
    return None if None in found else functools.reduce(promote_types, found)


def _python_dtype(kind: type) -> np.dtype | None:
    if issubclass(kind, builtins.float):
        return _default.numpy
    if issubclass(kind, builtins.int):
        return np.dtype(builtins.bool if kind is builtins.bool else np.int64)
    if issubclass(kind, str):
        raise TypeError("new(): invalid data type 'str'")
    if issubclass(kind, (complex, Sequence)) or hasattr(kind, "__array__") or hasattr(kind, "__array_interface__"):
        return None
    raise RuntimeError(f"Could not infer dtype of {kind.__name__}")


def array_of(data: Any, wanted: Any) -> np.ndarray:
    """A fresh array of numbers, nested lists or an array, in a dtype if one is given.

    ValueError for ragged lists, TypeError for what is not numbers, RuntimeError for numbers that the dtype cannot hold.
    """
    found = guessed(data)
    exact = float64.numpy if wanted is not None and found is not None and found.kind == "f" else found
    try:
        array = np.array(data, dtype=exact)
    except ValueError as error:
        raise ValueError(f"expected a sequence whose parts have equal lengths: {error}") from None
    except OverflowError as error:
        raise RuntimeError(f"value cannot be converted to type {exact} without overflow: {error}") from None
    if array.dtype.kind in "OUS":
        raise TypeError(f"new(): data must be numbers, got {type(data).__name__} with dtype {array.dtype}")
    array = np.array(supported(array.astype(array.dtype.newbyteorder("="), copy=False)), order="C")
    return array if wanted is None else _held(array, to_numpy(wanted), checked=found is not None)


def _held(array: np.ndarray, kind: np.dtype, checked: builtins.bool) -> np.ndarray:
    """Numbers in another dtype; those of Python are looked at before an integer dtype would wrap them."""
    if checked and array.size and kind.kind in "iu":
        for number in (array.min(), array.max()):
            errors.check_in_range(number.item(), kind)
    return array.astype(kind, copy=False)
