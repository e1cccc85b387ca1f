"""Variable: what a tensor with history was called until 2018. Today it is the tensor."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from gradlab.engine import TensorBase, modes
from gradlab.engine.tensor import make


class _IsTensor(type):
    def __instancecheck__(cls, thing: object) -> bool:
        return isinstance(thing, TensorBase)


class _Engine:
    def queue_callback(self, callback: Callable[[], None]) -> None:
        """Call ``callback()`` when the backward that is under way has done everything else."""
        if modes.walk is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        modes.walk.callbacks.append(callback)


class Variable(metaclass=_IsTensor):
    """``Variable(tensor, requires_grad=False)`` returns a Tensor: a leaf on the same memory. Kept so that old code runs.

    >>> import gradlab
    >>> x = gradlab.autograd.Variable(gradlab.ones(2), requires_grad=True)
    >>> x.is_leaf, isinstance(gradlab.ones(1), gradlab.autograd.Variable)
    (True, True)
    """

    _execution_engine = _Engine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool | None = None) -> Any:
        if volatile is not None:
            warnings.warn(
                "volatile was removed (Variable.volatile is always False): use `with torch.no_grad():` instead.", stacklevel=2
            )
        if not isinstance(data, TensorBase):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}: write tensor(...) first.")
        tensor = make(data._array)
        tensor._counter = data._version_counter()
        return tensor.requires_grad_(requires_grad)
