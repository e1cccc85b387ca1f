"""Where in the user's program something happened: file and line, or notebook cell and line."""

from __future__ import annotations

import linecache
import os
import sys
from types import FrameType
from typing import Any

Place = tuple[str, int]

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_FOLLOWER = os.path.join(_HERE, "diagnosis", "watching.py")  # passes calls on: its frames say nothing of who called
_LOOKERS = tuple(_HERE + room for room in ("diagnosis/", "graphs/", "drawing/", "widget/", "comparing.py"))

_STANDARD = os.path.dirname(os.path.abspath(linecache.__file__)) + os.sep
_STATE = frozenset(
    ("_load_from_state_dict", "load_state_dict")
)  # copies values into parameters: no data flow of a computation

USER, LIBRARY, OPTIMIZER, LOOKER = "user", "library", "optimizer", "looker"
_kinds: dict[str, str] = {}


def kind_of(filename: str) -> str:
    """Whose code a file is: the user's, a library's, an optimizer's, or ours while it looks at tensors."""
    kind = _kinds.get(filename)
    if kind is None:
        kind = _kinds[filename] = _classify(filename)
    return kind


def _classify(filename: str) -> str:
    torch: Any = sys.modules.get("torch")
    roots = [_HERE] if torch is None else [_HERE, os.path.dirname(os.path.abspath(torch.__file__)) + os.sep]
    if filename == _FOLLOWER:
        return LIBRARY
    if filename.startswith(_LOOKERS):
        return LOOKER
    for root in roots:
        if filename.startswith(root):
            return OPTIMIZER if filename.startswith(root + "optim" + os.sep) else LIBRARY
    if filename == _STANDARD + "copy.py":
        return LOOKER  # a deep copy is a new start, not a step of the computation
    standard = filename.startswith(_STANDARD) and not filename.startswith(_STANDARD + "site-packages")
    return LIBRARY if standard or filename.startswith("<frozen") else USER


def user_frame(frame: FrameType | None) -> tuple[FrameType | None, str]:
    """The nearest frame of the user's code, and the most telling kind of what lies between."""
    between = LIBRARY
    while frame is not None:
        filename = frame.f_code.co_filename
        kind = _kinds.get(filename) or kind_of(filename)
        if kind == USER:
            return frame, between
        if between == LIBRARY and (kind != LIBRARY or frame.f_code.co_name in _STATE):
            between = kind if kind != LIBRARY else LOOKER
        frame = frame.f_back
    return None, between


def in_custom_forward(frame: FrameType | None, depth: int = 8) -> bool:
    """Whether a frame runs inside the forward of a custom Function, which the engine runs without recording."""
    while frame is not None and depth:
        frame, depth = frame.f_back, depth - 1
        name = "" if frame is None else frame.f_code.co_filename
        if name.endswith("function.py") and os.path.basename(os.path.dirname(name)) == "autograd":
            return frame is not None and frame.f_code.co_name == "apply"
    return False


def place_of(frame: FrameType | None) -> Place | None:
    """File and line of a frame."""
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def stack_of(frame: FrameType | None, depth: int = 12) -> list[Place]:
    """The user's places from a frame outwards."""
    places: list[Place] = []
    while frame is not None and len(places) < depth:
        if kind_of(frame.f_code.co_filename) == USER:
            places.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return places


def shown(place: Place | None) -> str:
    """A place for people.

    >>> shown(("/home/ada/train.py", 12))
    'train.py line 12'
    """
    if place is None:
        return "an unknown line"
    return f"{label(place[0])} line {place[1]}"


def label(filename: str) -> str:
    """A file's base name, or the cell's number for code of a notebook."""
    return cell_name(filename) or os.path.basename(filename) or filename


def cell_name(filename: str) -> str | None:
    """`In[3]` for a notebook cell's file name, else None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    naming = getattr(getattr(shell, "compile", None), "format_code_name", None)
    named = naming(filename) if naming is not None else None
    return named[1] if named else None


def code_at(place: Place | None) -> str:
    """The source line, stripped; empty when the source is not to be had."""
    return linecache.getline(*place).strip() if place else ""
