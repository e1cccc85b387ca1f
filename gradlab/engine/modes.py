"""What is switched on in this thread: recording, inference, saved-tensor hooks, anomaly detection, watching."""

import threading
from collections.abc import Callable
from typing import Any

OFF, ON, EXTRAS = 0, 1, 2


class _Modes(threading.local):
    """One per thread. `word` sums up the rest, so that recording an operation reads a single attribute."""

    def __init__(self) -> None:
        self.word = ON
        self.grad = True
        self.inference = False
        self.anomaly: Any = None  # an Anomaly of autograd/anomaly.py, told of each node that is recorded and run
        self.walk: Any = None  # the backward pass under way
        self.watcher: Callable[..., None] | None = None  # called as watcher(name, arguments, result)
        self.saved_hooks: tuple[tuple[Callable, Callable], ...] = ()  # (pack, unpack), the innermost last
        self.hooks_disabled: str | None = None

    def set(self, **changes: Any) -> dict[str, Any]:
        """Change some, and return what they were, to be set again."""
        state = self.__dict__
        before = {name: state[name] for name in changes}
        state.update(changes)
        extras = state["inference"] or state["anomaly"] or state["watcher"] or state["saved_hooks"]
        state["word"] = EXTRAS if extras else ON if state["grad"] else OFF
        return before


modes = _Modes()


def notify(name: str, arguments: Any, result: Any) -> None:
    """Tell the watcher of this thread, if any, what just happened to a tensor."""
    if modes.watcher is not None:
        modes.watcher(name, arguments, result)
