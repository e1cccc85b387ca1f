"""Parameter and Buffer: tensors that a module finds in its attributes."""

from __future__ import annotations

from typing import Any

from gradlab._tensor import Tensor, new_instance
from gradlab.engine import make, modes, notify
from gradlab.engine.modes import EXTRAS


class Parameter(Tensor):
    """A leaf that a Module lists among its parameters when it is assigned as an attribute.

    >>> import gradlab
    >>> gradlab.nn.Parameter(gradlab.zeros(2))
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """

    __slots__ = ()

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        parameter = new_instance(cls, data.detach()._array if data is not None else Tensor(0)._array)
        if data is not None:
            parameter._counter = data.detach()._counter
        parameter.requires_grad = requires_grad
        if modes.word == EXTRAS:
            notify("Parameter", (data,), parameter)
        return parameter

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo: dict) -> Any:
        """A parameter on memory of its own, without `.grad`, as torch copies one."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(make(self._array.copy(order="K")), self.requires_grad)
        return memo[id(self)]


class Buffer(Tensor):
    """A tensor that a Module keeps in its state but does not train.

    >>> import gradlab
    >>> module = gradlab.nn.Module()
    >>> module.mean = gradlab.nn.Buffer(gradlab.zeros(2))
    >>> list(module.state_dict()), list(module.parameters())
    (['mean'], [])
    """

    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        buffer = new_instance(cls, data.detach()._array if data is not None else make([])._array)
        if data is not None:
            buffer._counter, buffer.requires_grad = data.detach()._counter, data.requires_grad
        buffer.persistent = persistent
        return buffer
