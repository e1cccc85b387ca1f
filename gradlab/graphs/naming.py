"""Names for tensors: from modules, dicts, the structure of an output, and the caller's variables."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any

from gradlab.graphs.engines import is_tensor

Named = list[tuple[str | None, Any]]


def flatten(value: Any, name: str | None = None) -> Named:
    """Every tensor in a tensor, tuple, list, dict or dataclass, with where it was found.

    Raises TypeError naming the place of anything else.
    """
    if is_tensor(value):
        return [(name, value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        value = {key: item for key, item in value.items() if item is not None}
    if isinstance(value, Mapping):
        pairs: list[tuple[str | None, Any]] = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, (tuple, list)):
        pairs = [(None if len(value) == 1 else f"[{i}]", item) for i, item in enumerate(value)]
    else:
        where = f"item {name}" if name else "this"
        raise TypeError(f"{where} is {_describe(value)}, not a tensor of gradlab or torch")
    found: Named = []
    for key, item in pairs:
        nested = isinstance(item, (tuple, list)) or not is_tensor(item)
        full = key if name is None else name if key is None else (name + key if key[0] == "[" else f"{name}.{key}")
        found += flatten(item, full if nested or full is not None else None)
    return found


def named_parameters(params: Any) -> list[tuple[str, Any]]:
    """(name, tensor) from a module, a dict of tensors (names may be dotted) or of modules, or pairs of these."""
    if params is None:
        return []
    if hasattr(params, "named_parameters"):
        return _of_module(params)
    found: list[tuple[str, Any]] = []
    for name, value in _pairs(params).items():
        if hasattr(value, "named_parameters"):
            found += [(f"{name}.{inner}", tensor) for inner, tensor in _of_module(value)]
        elif is_tensor(value):
            found.append((str(name), value))
        else:
            raise TypeError(f"params[{name!r}] is {_describe(value)}, not a tensor or a module")
    return found


def _of_module(module: Any) -> list[tuple[str, Any]]:
    """A tensor that two modules share is there under both names."""
    buffers = getattr(module, "named_buffers", lambda **_: ())
    return [*module.named_parameters(remove_duplicate=False), *buffers(remove_duplicate=False)]


def caller_names(frame: FrameType | None) -> dict[int, str]:
    """id(tensor) -> the first public variable that holds it, locals before globals."""
    names: dict[int, str] = {}
    if frame is None:
        return names
    for scope in variables(frame):
        for name, value in scope.items():
            if not name.startswith("_") and is_tensor(value):
                names.setdefault(id(value), name)
    return names


def variables(frame: FrameType) -> list[dict[str, Any]]:
    """Copies of a frame's locals and globals, in that order.

    Up to Python 3.12 a function's frame remembers the dict that f_locals made, and with it every value in it, until the
    function ends: it is emptied here, unless the caller's own locals() holds it.
    """
    found: Any = frame.f_locals
    if found is frame.f_globals:
        return [dict(found)]
    scopes = [dict(found), dict(frame.f_globals)]
    ours = 3  # this name, getrefcount's argument, the frame
    if frame.f_code.co_flags & inspect.CO_OPTIMIZED and type(found) is dict and sys.getrefcount(found) <= ours:
        found.clear()
    return scopes


def _pairs(params: Any) -> dict[str, Any]:
    try:
        return dict(params)
    except (TypeError, ValueError):
        raise TypeError(
            f"params is {_describe(params)}; it takes a module, or a dict of tensors by name: params={{'w': w}}"
        ) from None


def _describe(value: Any) -> str:
    if value is None:
        return "None"
    kind = type(value).__name__
    return f"an {kind}" if kind[0] in "aeiouAEIOU" else f"a {kind}"
