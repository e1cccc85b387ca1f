"""FloatTensor and its kin, torch's names of one class per dtype from before 0.4. Kept so that old code runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradlab import dtypes
from gradlab._tensor import Size, Tensor
from gradlab.engine import TensorBase
from gradlab.operators import creation
from gradlab.operators._arguments import sizes


class TensorType:
    """One of the old classes: makes tensors of its dtype from data or from sizes, and answers isinstance.

    >>> import gradlab
    >>> gradlab.LongTensor([1, 2]).dtype, isinstance(gradlab.ones(1), gradlab.FloatTensor)
    (gradlab.int64, True)
    """

    def __init__(self, name: str, dtype: dtypes.dtype) -> None:
        self.__name__ = self.__qualname__ = name
        self.dtype = dtype

    def __call__(self, *data: Any) -> Any:
        if len(data) == 1 and isinstance(data[0], TensorBase):
            if data[0]._array.dtype != self.dtype.numpy:
                other = dtypes.of(data[0]._array.dtype)
                raise TypeError(f"{self.__name__} of a tensor of dtype {other}: convert it with .to(...).")
            return Tensor(data[0])
        if len(data) == 1 and isinstance(data[0], list | tuple | np.ndarray) and not isinstance(data[0], Size):
            return creation.tensor(data[0], dtype=self.dtype)
        if len(data) == 1 and not isinstance(data[0], int | Size):
            found = type(data[0]).__name__
            raise TypeError(f"new(): data must be a sequence (got {found}); gradlab.tensor takes a number")
        return creation.zeros(*sizes(data) if data else (0,), dtype=self.dtype)

    def __instancecheck__(self, thing: object) -> bool:
        return isinstance(thing, TensorBase) and thing._array.dtype == self.dtype.numpy

    def __repr__(self) -> str:
        return f"<class 'gradlab.{self.__name__}'>"


FloatTensor, DoubleTensor = TensorType("FloatTensor", dtypes.float32), TensorType("DoubleTensor", dtypes.float64)
HalfTensor, BoolTensor = TensorType("HalfTensor", dtypes.float16), TensorType("BoolTensor", dtypes.bool)
ByteTensor, CharTensor = TensorType("ByteTensor", dtypes.uint8), TensorType("CharTensor", dtypes.int8)
ShortTensor, IntTensor = TensorType("ShortTensor", dtypes.int16), TensorType("IntTensor", dtypes.int32)
LongTensor = TensorType("LongTensor", dtypes.int64)
