"""Function: an operation of your own, with its derivative."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradlab.engine import saved
from gradlab.engine.modes import EXTRAS, modes
from gradlab.engine.node import FREED, Node, freed, numbers
from gradlab.engine.tensor import TensorBase, make, new, notify
from gradlab.engine.views import View, bump, check_inplace, rebase


class FunctionNode(Node):
    """The node of a Function, which is also the ``ctx`` that forward and backward share."""

    __slots__ = ("__dict__", "_slots", "outputs")
    function: type[Function]
    undefined_too = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep inputs or outputs for backward, where ``ctx.saved_tensors`` gives them back, checked for in-place edits."""
        self._to_save = tensors

    def mark_dirty(self, *tensors: TensorBase) -> None:
        """Say which inputs forward wrote in place; each must be returned."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: TensorBase) -> None:
        """Say which outputs have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """False: backward gets None, instead of zeros, for an output that no gradient came back to."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple:
        """What save_for_backward kept."""
        return tuple(saved.recorded(self, *slot) for slot in self._held())

    @property
    def _forward_cls(self) -> type[Function]:
        return self.function

    def _held(self) -> list:
        if self._slots is FREED:
            raise freed(self)
        return self._slots

    def _slot(self, name: str) -> Any:
        return self._held()[int(name)][:3]

    @property
    def _raw_saved_tensors(self) -> tuple:
        return tuple(_SavedTensor(self, str(i)) for i in range(len(self._held())))

    def free(self) -> None:
        if self._slots:
            self._slots = FREED

    def apply(self, g: Any) -> list:
        grads = self.apply_recorded([x if x is None else make(x) for x in _as_list(self, g)])
        return [x if x is None else x._array for x in grads]

    def apply_recorded(self, g: Any) -> list:
        if self._slots is FREED:
            raise freed(self)
        grads = _as_list(self, g)
        if self._materialize:
            grads = [make(np.zeros(*meta)) if x is None else x for x, meta in zip(grads, self._outputs(), strict=True)]
        found = self.function._backward(self, *grads)
        return self._checked(list(found) if isinstance(found, tuple | list) else [found])

    def _checked(self, grads: list) -> list:
        expected = len(self.edges)
        while len(grads) > expected and grads[-1] is None:
            grads.pop()
        if len(grads) != expected:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {expected}, got {len(grads)}): "
                "backward returns one per argument of forward, None for those without."
            )
        for i, (grad, is_tensor) in enumerate(zip(grads, self._are_tensors, strict=True)):
            if grad is not None and not is_tensor:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different from None at position {i + 1}, but the corresponding "
                    "forward input was not a Variable"
                )
            if grad is not None and not isinstance(grad, TensorBase):
                raise TypeError(f"expected Variable or None (got {type(grad).__name__}) from {self.name()} at position {i + 1}")
        return grads


class _SavedTensor(saved.SavedTensor):
    __slots__ = ()

    @property
    def data(self) -> Any:
        slot = self._node._slot(self._name)
        return slot[0] if isinstance(slot[1], saved.Packed) else saved.recorded(self._node, *slot)


def _as_list(node: Node, g: Any) -> list:
    return [g] if node.outputs is None else list(g)


class Function:
    """Base class of operations of your own: write ``forward`` and ``backward`` as static methods, call ``apply``.

    forward(ctx, *args) -> tensor(s), or forward(*args) with setup_context(ctx, inputs, output);
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

    _node_class: type[FunctionNode]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"{type(self).__name__} is not to be instantiated. Call {type(self).__name__}.apply(...).")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._node_class = type(cls.__name__ + "Backward", (FunctionNode,), {"function": cls, "__module__": cls.__module__, "__slots__": ()})

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result. Recording is off inside."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: FunctionNode, inputs: tuple, output: Any) -> None:
        """Save for backward, where forward takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: FunctionNode, *grad_outputs: Any) -> Any:
        """Turn the gradients of the outputs into gradients of forward's arguments."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function.")

    vjp = backward

    @classmethod
    def _backward(cls, ctx: FunctionNode, *grads: Any) -> Any:
        return (cls.backward if cls.backward is not Function.backward else cls.vjp)(ctx, *grads)

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run forward and record a node for it."""
        tensors = [x if isinstance(x, TensorBase) else None for x in args]
        edges = tuple(x._gradient_edge() if x is not None and modes.grad else None for x in tensors)
        ctx = new(cls._node_class)
        ctx.edges, ctx.extras, ctx.number, ctx._slots = edges, None, next(numbers), []
        ctx._are_tensors = [x is not None for x in tensors]
        ctx.needs_input_grad = tuple(x is not None and x.requires_grad for x in tensors)
        ctx._to_save = ctx._dirty = ctx._non_differentiable = ()
        ctx._materialize = True
        grad = modes.grad
        modes.set(grad=False)
        try:
            if cls.setup_context is Function.setup_context:
                found = cls.forward(ctx, *args)
            else:
                found = cls.forward(*args)
                cls.setup_context(ctx, args, found)
        finally:
            modes.set(grad=grad)
        results = _Results(ctx, tensors, any(edges)).finish(list(found) if isinstance(found, tuple | list) else [found])
        result = tuple(results) if isinstance(found, tuple | list) else results[0]
        if modes.word == EXTRAS:
            notify("Function.apply", args, result)
        return result


class _Results:
    """Gives forward's outputs their place in the graph, and fills the saved slots."""

    def __init__(self, ctx: Any, inputs: list, recorded: bool) -> None:
        self.ctx, self.inputs, self.recorded = ctx, inputs, recorded

    def finish(self, outputs: list) -> list:
        ctx = self.ctx
        if any(all(d is not o for o in outputs) for d in ctx._dirty):
            raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output.")
        tensors = [o if isinstance(o, TensorBase) else None for o in outputs]
        metas = [((), np.dtype("float32")) if t is None else (t._array.shape, t._array.dtype) for t in tensors]
        (ctx.shape, ctx.dtype), ctx.outputs = metas[0], metas if len(metas) > 1 else None
        placed = [o if t is None else self._place(t, i) for i, (o, t) in enumerate(zip(outputs, tensors, strict=True))]
        if self.recorded:
            ctx._slots = [self._save(x, outputs, placed) for x in ctx._to_save]
        ctx._to_save = ctx._dirty = ctx._non_differentiable = ()
        return placed

    def _place(self, output: TensorBase, number: int) -> TensorBase:
        ctx = self.ctx
        dirty = any(output is d for d in ctx._dirty)
        is_input = self._is_input(output)
        if dirty:
            check_inplace(output, tuple(self.inputs))
            bump(output)
        differentiable = self.recorded and output._array.dtype.kind == "f" and all(output is not n for n in ctx._non_differentiable)
        if not differentiable:
            return output.detach() if output.requires_grad or is_input and not dirty else output
        if is_input and not dirty:
            output = _view_as_itself(output)
        if dirty and output._view is not None and output._view.base.requires_grad:
            rebase(output, (ctx, number))
        else:
            output._edge = (ctx, number)
        if output._view is not None and not dirty:
            output._view.origin = "function"
        return output

    def _is_input(self, x: Any) -> bool:
        return any(x is i for i in self.inputs)

    def _save(self, x: Any, outputs: list, placed: list) -> tuple:
        if x is not None and not isinstance(x, TensorBase):
            raise TypeError(f"save_for_backward can only save variables, but argument is of type {type(x).__name__}")
        for number, (output, result) in enumerate(zip(outputs, placed, strict=True)):
            if x is output is not None and result._edge == (self.ctx, number) and (x is result or not self._is_input(x)):
                return (*saved.save_result(result, self.ctx, number), number)
        return (*saved.save_input(x), 0)


def _view_as_itself(x: TensorBase) -> TensorBase:
    tensor = make(x._array)
    tensor._view = View(x, lambda array: array[...], "function")
    tensor._counter = saved.counter_of(x)
    return tensor


class _DelayedError(Node):
    """Stands where a second derivative would need one that was declared not to exist."""

    __slots__ = ()

    def apply(self, g: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")

    apply_recorded = apply


def once_differentiable(backward: Callable) -> Callable:
    """Decorator for a backward that is not itself differentiable: a second derivative through it raises RuntimeError.

    It raises only where the incoming gradient requires grad; where it does not, the missing term is silently zero (as in torch).
    """

    @functools.wraps(backward)
    def wrapper(ctx: FunctionNode, *grads: Any) -> Any:
        grad = modes.grad
        modes.set(grad=False)
        try:
            found = backward(ctx, *grads)
        finally:
            modes.set(grad=grad)
        if not grad or not any(isinstance(g, TensorBase) and g.requires_grad for g in grads):
            return found
        outputs = found if isinstance(found, tuple | list) else (found,)
        return tuple(_fails_later(x, grads) if isinstance(x, TensorBase) else x for x in outputs)

    return wrapper


def _fails_later(x: TensorBase, grads: tuple) -> TensorBase:
    tensor = x.detach()
    node = _DelayedError()
    node.edges = tuple(g._gradient_edge() for g in grads if isinstance(g, TensorBase))
    node.number, node.extras, node.shape, node.dtype = next(numbers), None, x._array.shape, x._array.dtype
    tensor._edge = (node, 0)
    return tensor
