"""detect_anomaly: find the forward line whose backward made a NaN, or failed."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gradlab import errors
from gradlab.engine import TensorBase
from gradlab.engine.modes import modes

_ROOM = os.path.dirname(os.path.dirname(__file__)) + os.sep


class Anomaly:
    """What anomaly detection does at a node: note the lines that recorded it, look at what its backward returns."""

    def __init__(self, check_nan: bool) -> None:
        self.check_nan, self.running = check_nan, None

    def recorded(self, node: Any) -> None:
        """Keep on the node the lines that led to it and, in a recorded backward, the node it is the backward of."""
        stack = traceback.extract_stack()
        users = [i for i, frame in enumerate(stack) if not frame.filename.startswith(_ROOM)]
        shown = stack[: users[-1] + 1] if users else []
        node.metadata["traceback_"], node.metadata["parent_"] = traceback.format_list(shown or stack), self.running

    def run(self, node: Any, visit: Callable, g: Any) -> Any:
        """``visit(node, g)``; where it fails or returns a NaN, a warning shows the forward lines first."""
        before, self.running = self.running, node
        try:
            grads = visit(node, g)
            for i, x in enumerate(grads if self.check_nan else ()):
                if x is not None and np.isnan(x._array if isinstance(x, TensorBase) else x).any():
                    raise errors.nan_found(node, i)
        except Exception:
            _tell(node)
            raise
        finally:
            self.running = before
        return grads


def _tell(node: Any) -> None:
    text, above = errors.node_failed(node), node.metadata.get("parent_")
    while text:
        try:
            warnings.warn(text, stacklevel=2)
        except Warning as warning:  # made an error by a filter: the node's own error must not be lost for it
            print(f"{type(warning).__name__}: {warning}", file=sys.stderr)
        text = above and errors.node_induced(above)
        above = above and above.metadata.get("parent_")


class detect_anomaly:
    """In this block forwards remember where they were called, and a backward that makes a NaN raises RuntimeError.

    The error, and a warning before any error of a backward, show the line of the forward.

    >>> import gradlab
    >>> x = gradlab.tensor(0.0, requires_grad=True)
    >>> with gradlab.autograd.detect_anomaly():
    ...     y = (x * 0).sqrt() * 0
    ...     try:
    ...         y.backward()
    ...     except RuntimeError as error:
    ...         print(str(error).splitlines()[0])
    Function 'SqrtBackward0' returned nan values in its 0th output. Recorded by this forward call:
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.wanted = Anomaly(check_nan)
        warnings.warn("Anomaly Detection has been enabled. It slows everything down: for debugging only.", stacklevel=2)

    def __enter__(self) -> None:
        self.before = modes.set(anomaly=self.wanted)

    def __exit__(self, *exc: Any) -> None:
        modes.set(**self.before)


class set_detect_anomaly(detect_anomaly):
    """The same as a switch: on or off at once, and until the end of the block in a ``with``.

    >>> import gradlab
    >>> with gradlab.autograd.set_detect_anomaly(True):
    ...     gradlab.is_anomaly_enabled()
    True
    >>> gradlab.is_anomaly_enabled()
    False
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.before = modes.set(anomaly=Anomaly(check_nan) if mode else None)

    def __enter__(self) -> None:
        pass


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on in this thread.

    >>> import gradlab
    >>> gradlab.is_anomaly_enabled()
    False
    """
    return modes.anomaly is not None


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection looks for NaN in gradients.

    >>> import gradlab
    >>> with gradlab.autograd.set_detect_anomaly(True, check_nan=False):
    ...     gradlab.is_anomaly_check_nan_enabled()
    False
    """
    return modes.anomaly is None or modes.anomaly.check_nan
