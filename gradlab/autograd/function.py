"""Function: an operation of your own, with its derivative."""

from __future__ import annotations

from itertools import compress
from typing import Any

import numpy as np

from gradlab import errors
from gradlab._signature import bound
from gradlab.autograd._once import once_differentiable
from gradlab.engine.modes import EXTRAS, modes, notify
from gradlab.engine.node import numbers
from gradlab.engine.saved import FREED, SavedTensor, SavingNode, save_input, save_result
from gradlab.engine.tensor import TensorBase, make, new
from gradlab.operators._views import alias, check_writable, count_write, mark_outputs, rebase

__all__ = ["Function", "InplaceFunction", "once_differentiable"]


class FunctionNode(SavingNode):
    """The node of a Function, which is also the ``ctx`` that forward and backward share."""

    __slots__ = ("__dict__", "outputs")
    _forward_cls: type[Function]
    undefined_too = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep inputs or outputs for backward: ``ctx.saved_tensors`` gives them back, checked for in-place edits."""
        self.to_save = tensors

    def mark_dirty(self, *tensors: TensorBase) -> None:
        """Say which inputs forward wrote in place; each must be returned."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: TensorBase) -> None:
        """Say which outputs have no gradient."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """False: backward gets None, instead of zeros, for an output that no gradient came back to."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple:
        """What save_for_backward kept."""
        return tuple(self.read(name) for name in self.saves)

    saved_variables = errors.renamed("saved_variables", "saved_tensors")

    @property
    def _raw_saved_tensors(self) -> tuple:
        return tuple(SavedTensor(self, name) for name in self.saves if self.slot(name))

    def output_number(self, name: str) -> int:
        return self.output_numbers[int(name)]

    def apply(self, g: Any) -> list:
        given = [g] if self.outputs is None else g
        grads = self._run([x if x is None else make(x) for x in given])
        return [x if x is None else x._array for x in grads]

    def apply_recorded(self, g: Any) -> list:
        return self._run([g] if self.outputs is None else list(g))

    def _run(self, grads: list) -> list:
        if self.saved is FREED:
            raise errors.freed(self)
        for i in self.tensor_outputs if self.materialize_grads else ():
            grads[i] = make(np.zeros(*self.all_outputs()[i])) if grads[i] is None else grads[i]
        found = errors.backward_of(self._forward_cls, Function)(self, *grads)
        return list(compress(errors.checked_gradients(self, found), self.are_tensors))


class Function:
    """Base class of operations of your own: write ``forward`` and ``backward`` as static methods, call ``apply``.

    forward(ctx, *args) -> a tensor or a tuple of them (what else it returns, a list too, is handed on without a graph), or
    forward(*args) with setup_context(ctx, inputs, output);
    backward(ctx, *grads) -> one gradient per argument of forward, None for those without.
    Source: https://docs.pytorch.org/docs/stable/autograd.html#function

    >>> import gradlab
    >>> class Square(gradlab.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return 2 * x * g
    >>> x = gradlab.tensor(3.0, requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor(6.)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        errors.warn_function_instantiated(type(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise errors.function_called(type(self))

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        body: dict[str, Any] = {"_forward_cls": cls, "__module__": cls.__module__, "__slots__": ()}
        cls._backward_cls = type(cls.__name__ + "Backward", (FunctionNode,), body)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result. Recording is off inside."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: FunctionNode, inputs: tuple, output: Any) -> None:
        """Save for backward, where forward takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    _backward_cls: type = FunctionNode

    @staticmethod
    def backward(ctx: FunctionNode, *grad_outputs: Any) -> Any:
        """Turn the gradients of the outputs into gradients of forward's arguments."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function.")

    vjp = backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward and record a node for it."""
        is_split = cls.setup_context is not Function.setup_context
        if kwargs or is_split:
            args = bound(cls.forward, () if is_split else (None,), args, kwargs, is_split)
        ctx: Any = new(cls._backward_cls)
        inputs = [x if isinstance(x, TensorBase) else None for x in args]
        ctx.edges = tuple(x._gradient_edge() if modes.grad else None for x in inputs if x is not None)
        ctx.extras, ctx.number, ctx.are_tensors = None, next(numbers), [x is not None for x in inputs]
        ctx.needs_input_grad = tuple(x is not None and x.requires_grad for x in inputs)
        ctx.saved = ctx.saves = ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = ()
        ctx.materialize_grads = True
        before = modes.set(grad=False)
        try:
            if is_split:
                found = cls.forward(*args)
                cls.setup_context(ctx, args, found)
            else:
                found = cls.forward(ctx, *args)
        finally:
            modes.set(**before)
        results = _place_outputs(ctx, inputs, list(found) if isinstance(found, tuple) else [found])
        result = tuple(results) if isinstance(found, tuple) else results[0]
        if modes.word == EXTRAS:
            notify("Function.apply", args, result)
        return result


InplaceFunction = Function  # torch's name for one that writes its inputs


def _place_outputs(ctx: Any, inputs: list, outputs: list) -> list:
    """Give forward's outputs their place in the graph, and fill the saved slots."""
    errors.check_dirty(ctx, inputs, outputs)
    shapes = [(o._array.shape, o._array.dtype) if isinstance(o, TensorBase) else ((), np.dtype("f4")) for o in outputs]
    (ctx.shape, ctx.dtype), ctx.outputs = shapes[0], shapes if len(shapes) > 1 else None
    ctx.tensor_outputs = [i for i, o in enumerate(outputs) if isinstance(o, TensorBase)]
    placed = [_place(ctx, inputs, o, i) if isinstance(o, TensorBase) else o for i, o in enumerate(outputs)]
    mark_outputs(ctx, placed)
    if any(ctx.edges):
        if modes.anomaly:
            modes.anomaly.recorded(ctx)
        ctx.saves, ctx.output_numbers = tuple(map(str, range(len(ctx.to_save)))), [0] * len(ctx.to_save)
        for i, x in enumerate(ctx.to_save):
            ctx.saved += _save(ctx, inputs, x, i, list(zip(outputs, placed, strict=True)))
    ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = ()
    return placed


def _place(ctx: Any, inputs: list, output: TensorBase, number: int) -> TensorBase:
    dirty, returned = _among(output, ctx.dirty_tensors), _among(output, inputs)
    if dirty:
        check_writable(output, tuple(inputs))
        count_write(output)
    if not any(ctx.edges) or output._array.dtype.kind != "f" or _among(output, ctx.non_differentiable):
        return output.detach() if returned and not dirty else output
    if dirty:
        rebase(output, (ctx, number))
    else:
        output = alias(output) if returned else output
        output._edge = (ctx, number)
    return output


def _save(ctx: Any, inputs: list, x: Any, index: int, pairs: list) -> tuple:
    errors.check_saved(x)
    for number, (output, result) in enumerate(pairs):
        ours = x is output is not None and result._edge == (ctx, number)
        if ours and (x is result or not _among(x, inputs)):
            ctx.output_numbers[index] = number
            return save_result(result, number)
    return save_input(x)


def _among(x: Any, things: Any) -> bool:
    return any(x is thing for thing in things)
