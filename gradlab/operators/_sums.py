"""Sums and products of arrays, accumulated as in torch: float16 in float32, bools and small integers in int64.

They call numpy's ufuncs: an array's own `.sum()` is Python code of numpy, and an overflow there would be shown as a warning of
numpy, where torch is silent (gradlab's filter knows gradlab's files only).
"""

from __future__ import annotations

import math

import numpy as np

from gradlab.engine import TensorBase
from gradlab.engine.walk import ones
from gradlab.operators._arguments import count

_HALF = np.dtype(np.float16)


def wide(x):
    """An array of float16 as float32, in which torch computes it; anything else as it is."""
    return x.astype(np.float32) if isinstance(x, (np.ndarray, np.float16)) and x.dtype == _HALF else x


def reduced(ufunc, x, dims=None, keepdims=False):
    """A sum or product of an array over one dim, several, or (None) all of them."""
    if x.dtype.kind in "bui":
        return ufunc.reduce(x, dims, np.int64, keepdims=keepdims)
    return ufunc.reduce(x, dims, _accumulator(x, dims), keepdims=keepdims).astype(x.dtype, copy=False)


def _accumulator(x, dims):
    """numpy adds pairwise along the innermost dim only; many rows that are added one by one need more digits."""
    if x.size > 1000 and dims is not None and count(x.shape, dims) > 1000 and np.argmin(np.abs(x.strides)) not in dims:
        return np.float64
    return np.float32 if x.dtype == _HALF else None


def running(ufunc, x, dim):
    """The sums or products along a dim so far, in more digits than they are given, as in torch."""
    kind = np.int64 if x.dtype.kind in "bui" else np.float32 if x.dtype == _HALF else np.float64
    out = ufunc.accumulate(x, dim, kind)
    return out if x.dtype.kind in "bui" else out.astype(x.dtype, copy=False)


def average(x, dims, keepdims=False):
    """The mean of an array over dims; nan of no elements."""
    total = np.add.reduce(x, dims, _accumulator(x, dims), keepdims=keepdims)
    return (total / (count(x.shape, dims) or math.nan)).astype(x.dtype, copy=False)


def free(shape, dims, correction):
    """How many degrees of freedom the deviations have; torch divides by 0 when there are too few."""
    return max(count(shape, dims) - correction, 0)


def variance(x, dims, correction, keepdims=False):
    """The squared deviations of an array from its mean, over dims, divided by the degrees of freedom."""
    deep = wide(x)
    squares = np.square(deep - average(deep, dims, True))
    squares = np.add.reduce(squares, dims, _accumulator(squares, dims), keepdims=keepdims)
    return (squares / squares.dtype.type(free(x.shape, dims, correction))).astype(x.dtype, copy=False)


def sum_kept(x, dims):
    """The sum of an array or tensor over dims, which are kept.

    Over the last dims of an array it is a product with ones, in a fraction of the time.
    """
    if isinstance(x, TensorBase):
        return x.sum(axis=dims, keepdims=True) if x.ndim else x
    shape = x.shape
    if x.itemsize > 2 and shape and 0 < dims[0] == len(shape) - len(dims) and x.flags.c_contiguous and x.size:
        if len(shape) == 2 and shape[1] <= 1024:
            return x.dot(ones((shape[1], 1), x.dtype))
        n = count(shape, dims)
        if n <= 1024:
            return x.reshape(-1, n).dot(ones(n, x.dtype)).reshape(shape[: dims[0]] + (1,) * len(dims))
    return reduced(np.add, x, dims if shape else (), True)
