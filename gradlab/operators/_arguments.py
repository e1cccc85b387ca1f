"""How torch reads dims and sizes: helpers shared by every family of operators."""

from __future__ import annotations

import math
import operator as _operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradlab import errors
from gradlab.engine import TensorBase


def axis(dim: Any, ndim: int) -> int:
    """`dim` counted from the front; a 0-d tensor counts as one-dimensional, as in torch.

    >>> axis(-1, 3), axis(0, 0)
    (2, 0)
    """
    if type(dim) is not int:
        dim = index(dim, "dim")
    span = ndim or 1
    if not -span <= dim < span:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got {dim}): "
            f"the tensor has {ndim} dimension(s)"
        )
    return dim % span


def index(value: Any, name: str) -> int:
    """An integer option; a float or a string is a TypeError, as in torch."""
    if isinstance(value, TensorBase):
        return int(value.item())
    try:
        if isinstance(value, bool):
            raise TypeError
        return _operator.index(value)
    except TypeError:
        raise TypeError(f"argument '{name}' must be int, not {type(value).__name__}") from None


def axes(dim: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """The reduced axes; None and an empty sequence mean all of them; () for a 0-d tensor.

    >>> axes(None, 2), axes([-1], 3), axes(0, 0)
    ((0, 1), (2,), ())
    """
    given = () if dim is None else each(dim)
    if not given:
        return tuple(range(ndim))
    found = tuple(axis(d, ndim) for d in given)
    if len(found) > 1 and len(set(found)) != len(found):
        raise RuntimeError(f"a dim appears multiple times in the list of dims {given}")
    return found if ndim else ()


def each(dim: int | Sequence[int]) -> tuple[int, ...]:
    """One int, or several.

    >>> each(1), each([0, 1])
    ((1,), (0, 1))
    """
    return (dim,) if isinstance(dim, int) or not getattr(dim, "ndim", 1) else tuple(dim)  # type: ignore[arg-type, return-value]


def sizes(args: tuple, named: Any = None) -> tuple[int, ...]:
    """Sizes given as `f(2, 3)`, as `f((2, 3))`, or by name.

    >>> sizes((2, 3)), sizes(([2, 3],))
    ((2, 3), (2, 3))
    """
    args = args if named is None else (named,)
    if not args:
        raise TypeError("missing 1 required positional argument: the sizes or dims; an empty tuple for none")
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = tuple(args[0])
    return tuple([n if type(n) is int else index(n, "size") for n in args])


def kept(shape: tuple[int, ...], dims: tuple[int, ...]) -> tuple[int, ...]:
    """`shape` with the reduced dims kept as 1."""
    return tuple([1 if n in dims else size for n, size in enumerate(shape)])


def count(shape: tuple[int, ...], dims: tuple[int, ...]) -> int:
    """How many elements one reduced value stands for."""
    return math.prod([shape[n] for n in dims])


def pair(value: int | Sequence[int], name: str = "size") -> tuple[int, int]:
    """An option given once or for height and width."""
    if isinstance(value, (tuple, list)):
        if len(value) not in (1, 2):
            raise RuntimeError(f"{name} must be one int or two, got {tuple(value)}")
        return index(value[0], name), index(value[-1], name)
    return (index(value, name),) * 2


def one_dimensional(forward):
    """A numpy function of (array, axis, ...) made to take a 0-d array as torch does: as if it had one element."""

    def along(self, dim, *rest):
        if self.ndim:
            return forward(self, dim, *rest)
        out = forward(np.reshape(self, 1), 0, *rest)
        return tuple([o.reshape(()) for o in out]) if isinstance(out, tuple) else out.reshape(())

    return along


def check_listed(tensors: Sequence[Any]) -> None:
    """TypeError for an item that is no tensor."""
    for n, item in enumerate(tensors):
        if not isinstance(item, TensorBase):
            raise TypeError(f"expected Tensor as element {n} in argument 0, but got {type(item).__name__}")


def is_number(value: object) -> bool:
    """A Python (or numpy) number or bool."""
    if isinstance(value, complex):
        raise NotImplementedError(errors.COMPLEX)
    return isinstance(value, (int, float, np.number, np.bool_))
