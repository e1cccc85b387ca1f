"""Full backward hooks of a module: identity nodes around its forward that see the gradients pass."""

from __future__ import annotations

import warnings
from typing import Any

from gradlab.autograd.function import Function
from gradlab.autograd.grad_mode import is_grad_enabled
from gradlab.engine import TensorBase


class BackwardHookFunction(Function):
    """Passes tensors and gradients on as they are."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads


def _as_tuple(value: Any) -> tuple:
    return value if isinstance(value, tuple) else (value,)


class BackwardHooks:
    """One call of a module with backward hooks: remembers the gradient of the outputs until that of the inputs is known."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.hooks, self.pre_hooks = list(module._backward_hooks.values()), list(module._backward_pre_hooks.values())
        self.grad_outputs: tuple | None = None
        self.input_places: list[int] | None = None
        self.input_count = 0

    def _around(self, args: tuple) -> tuple[tuple, list[int] | None, Any]:
        """The arguments with their tensors passed through one identity node; None where nothing requires grad."""
        places = [n for n, a in enumerate(args) if isinstance(a, TensorBase)]
        if not (is_grad_enabled() and any(args[n].requires_grad for n in places)):
            return args, None, None
        passed = dict(zip(places, _as_tuple(BackwardHookFunction.apply(*[args[n] for n in places])), strict=True))
        node = next(t.grad_fn for t in passed.values() if t.requires_grad)
        return tuple([passed.get(n, a) for n, a in enumerate(args)]), places, node

    def inputs(self, args: tuple) -> tuple:
        """The arguments for forward; the hooks run when their gradients are known."""
        args, self.input_places, node = self._around(args)
        self.input_count = len(args)
        if node is not None:
            node.register_hook(self._inputs_known)
        return args

    def outputs(self, result: Any) -> Any:
        """The module's result; its gradients are caught on their way in."""
        several = isinstance(result, tuple)
        results, places, node = self._around(_as_tuple(result))
        if node is not None:
            self.output_places, self.output_count = places, len(results)
            node.register_hook(self._outputs_known)
            node.register_prehook(self._outputs_arrive)
        return results if several else results[0]

    def _spread(self, grads: tuple, places: Any, count: int) -> tuple:
        out: list[Any] = [None] * count
        for place, grad in zip(places, grads, strict=True):
            out[place] = grad
        return tuple(out)

    def _outputs_arrive(self, grads: tuple) -> Any:
        given = self._spread(grads, self.output_places, self.output_count)
        changed = False
        for hook in self.pre_hooks:
            result = hook(self.module, given)
            if result is not None:
                given, changed = _checked(result, len(given)), True
        return tuple([given[n] for n in self.output_places or ()]) if changed else None

    def _outputs_known(self, _: tuple, grads: tuple) -> None:
        self.grad_outputs = self._spread(grads, self.output_places, self.output_count)
        if self.input_places is None:
            if self.hooks:
                warnings.warn(
                    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
                    "require gradients.",
                    stacklevel=2,
                )
            for hook in self.hooks:
                if hook(self.module, (None,) * self.input_count, self.grad_outputs) is not None:
                    raise RuntimeError("Backward hook for Modules where no input requires gradient should always return None.")
            self.grad_outputs = None

    def _inputs_known(self, grads: tuple, _: tuple) -> Any:
        if self.grad_outputs is None:
            return None
        assert self.input_places is not None
        given = self._spread(grads, self.input_places, self.input_count)
        changed = False
        for hook in self.hooks:
            result = hook(self.module, given, self.grad_outputs)
            if result is not None:
                given, changed = _checked(result, len(given)), True
        self.grad_outputs = None
        return tuple([given[n] for n in self.input_places]) if changed else None


def _checked(result: Any, count: int) -> tuple:
    result = _as_tuple(result)
    if len(result) != count:
        raise RuntimeError(f"Backward hook returned an invalid number of grad_input, got {len(result)}, but expected {count}")
    return result
