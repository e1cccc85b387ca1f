"""no_grad and its kin: switches of this thread, as context managers and decorators."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gradlab.engine.modes import modes

_GENERATOR = 0x20  # inspect.CO_GENERATOR; importing inspect costs more than the whole of this module


class _Switch:
    """A context manager that is a decorator too, also for generator functions."""

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exc: Any) -> None:
        raise NotImplementedError

    def _again(self) -> _Switch:
        return type(self)()

    def __call__(self, function: Callable) -> Callable:
        if getattr(getattr(function, "__code__", None), "co_flags", 0) & _GENERATOR:
            return self._wrap_generator(function)

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return wrapped

    def _wrap_generator(self, function: Callable) -> Callable:
        """The switch is on while the generator's body runs, and back to the caller's between two values."""

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            resume, value = generator.send, None
            while True:
                try:
                    with self._again():
                        given = resume(value)
                except StopIteration as end:
                    return end.value
                try:
                    resume, value = generator.send, (yield given)
                except GeneratorExit:
                    with self._again():
                        generator.close()
                    raise
                except BaseException as error:
                    resume, value = generator.throw, error

        return wrapped


def _record(wanted: bool) -> None:
    """Record from now on, or not; under inference_mode nothing is recorded, whatever is asked for."""
    modes.set(grad=wanted and not modes.inference)


class _GradSwitch(_Switch):
    enabled = True

    def __enter__(self) -> None:
        self.before = modes.grad
        _record(self.enabled)

    def __exit__(self, *exc: Any) -> None:
        modes.set(grad=self.before)


class enable_grad(_GradSwitch):
    """Record operations again inside a ``no_grad`` block. Context manager and decorator.

    >>> import gradlab
    >>> x = gradlab.ones(1, requires_grad=True)
    >>> with gradlab.no_grad(), gradlab.enable_grad():
    ...     (x * 2).requires_grad
    True
    """

    def __new__(cls, function: Callable | None = None) -> Any:
        switch = super().__new__(cls)
        return switch if function is None else switch(function)

    def __init__(self, function: Callable | None = None) -> None:
        pass


class no_grad(enable_grad):
    """Do not record operations: results do not require grad. Context manager and decorator, this thread only.

    >>> import gradlab
    >>> x = gradlab.ones(1, requires_grad=True)
    >>> with gradlab.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    enabled = False


class set_grad_enabled(_GradSwitch):
    """Switch recording on or off: at once when called, until the end of the block in a ``with``, or as a decorator.

    >>> import gradlab
    >>> with gradlab.set_grad_enabled(False):
    ...     gradlab.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        if type(mode) is not bool:
            raise TypeError(f"set_grad_enabled(): argument 'enabled' must be bool, not {type(mode).__name__}")
        self.before, self.enabled = modes.grad, mode
        _record(mode)

    def __enter__(self) -> None:
        _record(self.enabled)

    def __call__(self, function: Callable) -> Callable:
        modes.set(grad=self.before)
        return super().__call__(function)

    def _again(self) -> set_grad_enabled:
        return type(self)(self.enabled)


class inference_mode(_Switch):
    """No recording and no version counting: the tensors made inside can never be saved for a backward.

    >>> import gradlab
    >>> with gradlab.inference_mode():
    ...     gradlab.ones(2).is_inference()
    True
    """

    def __new__(cls, mode: Any = True) -> Any:
        return super().__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: Any = True) -> None:
        self.mode = mode is not False

    def _again(self) -> inference_mode:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        self.before = modes.inference, modes.grad
        modes.set(inference=self.mode, grad=not self.mode)

    def __exit__(self, *exc: Any) -> None:
        modes.set(inference=self.before[0], grad=self.before[1])


def is_grad_enabled() -> bool:
    """Whether operations are recorded in this thread now.

    >>> import gradlab
    >>> gradlab.is_grad_enabled()
    True
    """
    return modes.grad


def is_inference(tensor: Any) -> bool:
    """Whether the tensor was made in inference mode; the same as ``tensor.is_inference()``.

    >>> import gradlab
    >>> gradlab.is_inference(gradlab.ones(1))
    False
    """
    return tensor.is_inference()


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on in this thread now.

    >>> import gradlab
    >>> gradlab.is_inference_mode_enabled()
    False
    """
    return modes.inference
