"""checkpoint: forget what a part of the forward saved, and run that part again in backward."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from gradlab._backward import backward
from gradlab.autograd.function import Function
from gradlab.autograd.grad_mode import enable_grad, set_grad_enabled
from gradlab.autograd.graph import saved_tensors_hooks
from gradlab.engine import TensorBase, modes
from gradlab.engine.saved import PLAIN, SavingNode, save_input
from gradlab.random import get_rng_state, set_rng_state


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function did not save what the first one saved."""


def checkpoint(
    function: Callable,
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Any = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args)`` without keeping what it saves: backward runs it again.

    use_reentrant=False (recommended) records the graph and recomputes saved tensors when they are asked for; works with
    autograd.grad. use_reentrant=True records one node whose backward runs a backward of its own; then at least one argument
    must require grad, and keyword arguments are refused (ValueError). Left out it is True, with a warning, as in torch.
    preserve_rng_state: the second run draws the same random numbers.
    determinism_check="none" lets the second run save other shapes and dtypes than the first (use_reentrant=False).
    early_stop: the second run ends when it has what is needed (use_reentrant=False).
    context_fn and debug are refused (NotImplementedError).

    >>> import gradlab
    >>> from gradlab.utils.checkpoint import checkpoint
    >>> x = gradlab.tensor(2.0, requires_grad=True)
    >>> checkpoint(lambda x: x * x * x, x, use_reentrant=False).backward()
    >>> x.grad
    tensor(12.)
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly; without it, it is True today. "
            "use_reentrant=False is recommended.",
            stacklevel=2,
        )
    if context_fn is not None or debug:
        raise NotImplementedError("checkpoint(context_fn=..., debug=True): gradlab has neither; leave them out.")
    if use_reentrant is False:
        if determinism_check not in ("default", "none"):
            raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
        return _Frame(function, args, kwargs, preserve_rng_state, determinism_check == "default", early_stop).forward(args)
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}. The reentrant kind takes positional arguments only.")
    return CheckpointFunction.apply(function, _Rng(preserve_rng_state), *args)


class _Rng:
    """The random state at the forward, and a block that runs from it again."""

    def __init__(self, wanted: bool) -> None:
        self.state = get_rng_state() if wanted else None

    def __enter__(self) -> None:
        self.now = get_rng_state()
        if self.state is not None:
            set_rng_state(self.state)

    def __exit__(self, *exc: Any) -> None:
        if self.state is not None:
            set_rng_state(self.now)


class CheckpointArguments(SavingNode):
    """Keeps the arguments of a checkpointed call as any node keeps its inputs: hooks see them, and in-place edits are noticed.

    No edge leads to it.
    """

    __slots__ = ("saves",)

    def __init__(self, args: tuple) -> None:
        self.extras, self.edges = None, ()
        slots = [save_input(each) if isinstance(each, TensorBase) else (each, PLAIN, None) for each in args]
        self.saves, self.saved = tuple(map(str, range(len(args)))), tuple(chain.from_iterable(slots))  # type: ignore[assignment]

    def output_number(self, name: str) -> int:
        return 0

    def again(self) -> list:
        """The arguments, tensors as leaves of a graph of their own."""
        return _as_leaves([self.read(name) for name in self.saves])


def _as_leaves(args: Iterable) -> list:
    return [x.detach().requires_grad_(x.requires_grad) if isinstance(x, TensorBase) else x for x in args]


class _Enough(Exception):
    """Ends a second run that has saved all that the first one saved."""


class _Frame:
    """One checkpointed call: counts what its forward saves, and finds the n-th again by running forward once more."""

    def __init__(self, function: Callable, args: tuple, kwargs: dict, preserve: bool, compare: bool, early_stop: bool) -> None:
        self.function, self.kwargs, self.compare = function, kwargs, compare
        self.kept, self.early_stop = CheckpointArguments(args), early_stop
        self.rng, self.saved, self.again = _Rng(preserve), [], {}  # type: ignore[var-annotated]

    def forward(self, args: tuple) -> Any:
        with saved_tensors_hooks(self._pack, self._unpack):
            return self.function(*args, **self.kwargs)

    def _pack(self, tensor: Any) -> int:
        self.saved.append((tensor.shape, tensor.dtype))
        return len(self.saved) - 1

    def _unpack(self, index: int) -> Any:
        if index not in self.again:
            self._recompute()
        return self.again.pop(index)

    def _recompute(self) -> None:
        found: list = []

        def pack(tensor: Any) -> None:
            found.append(tensor.detach())
            if self.early_stop and len(found) == len(self.saved):
                raise _Enough

        args, before = self.kept.again(), modes.set(saved_hooks=())
        try:
            with enable_grad(), self.rng, saved_tensors_hooks(pack, lambda t: t):
                self.function(*args, **self.kwargs)
        except _Enough:
            pass
        finally:
            modes.set(**before)
        if len(found) != len(self.saved):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation: "
                f"{len(self.saved)} and {len(found)}. The function must do the same each time it runs."
            )
        for number, (first, second) in enumerate(zip(self.saved, found, strict=False)):
            if self.compare and first != (second.shape, second.dtype):
                raise CheckpointError(
                    "torch.utils.checkpoint: Recomputed values have different metadata than during the forward pass: saved "
                    f"tensor {number} was {list(first[0])}, {first[1]}, and is {list(second.shape)}, {second.dtype}. The "
                    "function must do the same each time it runs."
                )
        self.again = dict(enumerate(found))


class CheckpointFunction(Function):
    """The reentrant kind's node: its backward runs the function again and then a backward through what that recorded."""

    @staticmethod
    def forward(ctx: Any, function: Callable, rng: _Rng, *args: Any) -> Any:
        ctx.function, ctx.rng = function, rng
        ctx.others = [None if isinstance(a, TensorBase) else a for a in args]
        ctx.save_for_backward(*[a if isinstance(a, TensorBase) else None for a in args])
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple:
        if modes.walk is not None and modes.walk.into is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(): its backward fills every leaf. Use checkpoint(..., use_reentrant=False)."
            )
        args = _as_leaves(a if t is None else t for t, a in zip(ctx.saved_tensors, ctx.others, strict=True))
        with set_grad_enabled(True), ctx.rng:
            outputs = ctx.function(*args)
        outputs = outputs if isinstance(outputs, tuple | list) else (outputs,)
        pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if isinstance(o, TensorBase) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(a.grad if isinstance(a, TensorBase) else None for a in args))


def checkpoint_sequential(
    functions: Iterable, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run modules or functions one after another in ``segments`` checkpointed parts; the last part is kept as it is.

    >>> import gradlab
    >>> from gradlab.utils.checkpoint import checkpoint_sequential
    >>> x = gradlab.tensor(2.0, requires_grad=True)
    >>> checkpoint_sequential([gradlab.exp, gradlab.sin, gradlab.cos], 2, x, use_reentrant=False).requires_grad
    True
    """
    steps = list(functions)
    size = max(1, len(steps) // segments)
    starts = list(range(0, size * (segments - 1), size))

    def run(part: list) -> Callable:
        def through(x: Any) -> Any:
            for step in part:
                x = step(x)
            return x

        return through

    for start in starts:
        input = checkpoint(run(steps[start : start + size]), input, use_reentrant=use_reentrant, **kwargs)
    return run(steps[size * (segments - 1) :])(input)
