"""detect_anomaly: find the forward line whose backward made a NaN."""

from __future__ import annotations

from typing import Any

from gradlab.engine.modes import modes


class detect_anomaly:  # noqa: N801  torch's name
    """In this block, forwards remember where they were called and a backward that makes a NaN raises RuntimeError with that place.

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
        self.wanted = True, check_nan

    def __enter__(self) -> None:
        self.before = modes.anomaly, modes.check_nan
        modes.set(anomaly=self.wanted[0], check_nan=self.wanted[1])

    def __exit__(self, *exc: Any) -> None:
        modes.set(anomaly=self.before[0], check_nan=self.before[1])


class set_detect_anomaly(detect_anomaly):  # noqa: N801  torch's name
    """The same as a switch: on or off at once, and until the end of the block in a ``with``."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.wanted = mode, check_nan
        self.before = modes.anomaly, modes.check_nan
        modes.set(anomaly=mode, check_nan=check_nan)

    def __enter__(self) -> None:
        pass


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on in this thread."""
    return modes.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection looks for NaN in gradients."""
    return modes.check_nan
