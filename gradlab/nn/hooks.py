"""A module called between its hooks. Full backward hooks are identity nodes around its forward that see the gradients pass."""

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


class HookedCall:
    """One call of a module with hooks: the arguments and the result, which each hook may replace."""

    def __init__(self, module: Any, args: tuple, options: dict) -> None:
        self.module, self.args, self.options, self.result = module, args, options, None

    def run(self) -> Any:
        """The module's result. After an error those hooks with `always_call` run that have not run yet."""
        waiting = {key: hook for key, hook in self.module._forward_hooks.items() if hook[2]}
        try:
            return self._run(waiting)
        except Exception:
            for hook in waiting.values():
                self._after_an_error(hook)
            raise

    def _run(self, waiting: dict) -> Any:
        module = self.module
        for hook in list(module._forward_pre_hooks.values()):
            self._before(hook)
        backward = BackwardHooks(module) if module._backward_hooks or module._backward_pre_hooks else None
        self.args = self.args if backward is None else backward.inputs(self.args)
        self.result = module.forward(*self.args, **self.options)
        for key, hook in list(module._forward_hooks.items()):
            waiting.pop(key, None)
            self._after(hook)
        return self.result if backward is None else backward.outputs(self.result)

    def _before(self, hook: tuple) -> None:
        function, with_options = hook
        changed = function(self.module, self.args, self.options) if with_options else function(self.module, self.args)
        if changed is None:
            return
        if not with_options:
            self.args = _as_tuple(changed)
        elif isinstance(changed, tuple) and len(changed) == 2:
            self.args, self.options = changed
        else:
            raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}.")

    def _after(self, hook: tuple) -> None:
        function, with_options, _ = hook
        given = (self.args, self.options, self.result) if with_options else (self.args, self.result)
        changed = function(self.module, *given)
        self.result = self.result if changed is None else changed

    def _after_an_error(self, hook: tuple) -> None:
        try:
            self._after(hook)
        except Exception as error:
            warnings.warn(
                "module forward hook with ``always_call=True`` raised an exception that was silenced as another error was "
                f"raised in forward: {error}",
                stacklevel=4,
            )


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
                changed = hook(self.module, (None,) * self.input_count, self.grad_outputs)
                if changed is not None and not (isinstance(changed, tuple) and all(each is None for each in changed)):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return None or None for all "
                        "gradients."
                    )
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
    if isinstance(result, TensorBase) or len(result) != count:
        got = "a tensor" if isinstance(result, TensorBase) else len(result)
        raise RuntimeError(
            f"Backward hook returned an invalid number of gradients, got {got}, but expected a tuple of {count}"
        )
    return tuple(result)
