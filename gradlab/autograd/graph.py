"""torch.autograd.graph: the node type, and hooks on what nodes save."""

from collections.abc import Callable
from typing import Any

from gradlab.engine import Node
from gradlab.engine.modes import modes

__all__ = ["Node", "disable_saved_tensors_hooks", "save_on_cpu", "saved_tensors_hooks"]


class saved_tensors_hooks:
    """In this block, what operations save goes through ``pack_hook(tensor)`` now and ``unpack_hook(packed)`` in backward.

    >>> import gradlab
    >>> x = gradlab.ones(2, requires_grad=True)
    >>> shapes = []
    >>> with gradlab.autograd.graph.saved_tensors_hooks(lambda t: (shapes.append(tuple(t.shape)), t)[1], lambda t: t):
    ...     y = (x.exp() * x).sum()
    >>> shapes
    [(2,), (2,), (2,)]
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.hooks = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if modes.hooks_disabled:
            raise RuntimeError(modes.hooks_disabled)
        modes.set(saved_hooks=(*modes.saved_hooks, self.hooks))

    def __exit__(self, *exc: Any) -> None:
        modes.set(saved_hooks=modes.saved_hooks[:-1])


class disable_saved_tensors_hooks:
    """In this block, ``saved_tensors_hooks`` raises RuntimeError with this message.

    >>> import gradlab
    >>> with gradlab.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
    ...     try:
    ...         with gradlab.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    ...             pass
    ...     except RuntimeError as error:
    ...         print(error)
    no hooks here
    """

    def __init__(self, error_message: str) -> None:
        self.message = error_message

    def __enter__(self) -> None:
        if modes.saved_hooks:
            raise RuntimeError(self.message)
        self.before, modes.hooks_disabled = modes.hooks_disabled, self.message

    def __exit__(self, *exc: Any) -> None:
        modes.hooks_disabled = self.before


class save_on_cpu(saved_tensors_hooks):
    """Saved tensors go to the CPU in this block. They are there already.

    >>> import gradlab
    >>> x = gradlab.tensor([1.0, 2.0], requires_grad=True)
    >>> with gradlab.autograd.graph.save_on_cpu():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cpu") -> None:
        super().__init__(lambda x: x, lambda x: x)
