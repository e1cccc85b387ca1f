"""The plain values that a node keeps beside its slots (dim, exponent, stride), told alike for both engines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

_SIZES = re.compile(r".*_(shape|sizes|sizes_opt|strides|numel|options|argsize_\w+)|need|full_matrices")
_DIMS = re.compile(r"dim[012s]?|dimension")
_REDUCTIONS = ("none", "mean", "sum")  # torch keeps their numbers
_USUAL = {"alpha": 1, "beta": 1}


def readable(kept: dict[str, Any], rank: int | None) -> dict[str, Any]:
    """What a person gave the operation, without sizes, absent arguments and arrays; `rank` is that of its input.

    >>> readable({"dim": 2**64 - 1, "keepdim": True, "self_sizes": [2, 3], "alpha": 1, "reduction": 1}, 2)
    {'dim': 1, 'keepdim': True, 'reduction': 'mean'}
    """
    sizes = kept.get("self_sizes", kept.get("self_shape"))
    rank = len(sizes) if isinstance(sizes, Sequence) else rank
    found = {}
    for name, value in kept.items():
        if value is None or isinstance(value, np.ndarray) or _SIZES.fullmatch(name) or _USUAL.get(name) == value:
            continue
        value = _plain(value)
        if _DIMS.fullmatch(name):
            value = _from_the_front(value, rank)
        elif name == "reduction" and value in (0, 1, 2):
            value = _REDUCTIONS[value]
        found[name] = value
    return found


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, float, str)):
        return value
    if isinstance(value, int):
        return value - 2**64 if value >= 2**63 else value  # torch shows a negative dim as unsigned
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return str(value)


def _from_the_front(dim: Any, rank: int | None) -> Any:
    if isinstance(dim, list):
        return _from_the_front(dim[0], rank) if len(dim) == 1 else [_from_the_front(one, rank) for one in dim]
    return dim + max(rank, 1) if rank is not None and isinstance(dim, int) and dim < 0 else dim
