"""Names for the tensors of a running program: its variables, and the parameters of its modules."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Any

from gradlab.graphs.engines import is_tensor
from gradlab.graphs.naming import caller_names, variables


def names_seen_from(frame: FrameType | None) -> dict[int, str]:
    """id(tensor) -> the variable, or the variable and dotted parameter name of the module, that holds it."""
    names = caller_names(frame)
    for scope in [] if frame is None else variables(frame):
        for name, tensor in _parameters(scope):
            names.setdefault(id(tensor), name)
    return names


def names_in_scope(scope: dict[str, Any]) -> dict[int, str]:
    """id(tensor) -> name, for the variables of a namespace and the parameters of its modules."""
    names = {
        id(value): name for name, value in reversed(scope.items()) if is_tensor(value) and not name.startswith("_")
    }
    for name, tensor in _parameters(scope):
        names.setdefault(id(tensor), name)
    return names


def name_in(tensor: Any, frame: FrameType | None, depth: int = 4) -> str | None:
    """The variable or module parameter that holds a tensor, seen from a frame and its callers."""
    while frame is not None and depth:
        scopes = variables(frame)
        for scope in scopes:
            for name, value in scope.items():
                if value is tensor and not name.startswith("_"):
                    return name
        for scope in scopes:
            for name, parameter in _parameters(scope):
                if parameter is tensor:
                    return name
        frame, depth = frame.f_back, depth - 1
    return None


def _parameters(scope: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The parameters of a scope's modules, by variable and dotted name; `self` is left out of the name."""
    for name, value in scope.items():
        if hasattr(value, "named_parameters") and not isinstance(value, type) and not name.startswith("_"):
            for inner, parameter in value.named_parameters():
                yield (inner if name == "self" else f"{name}.{inner}"), parameter
