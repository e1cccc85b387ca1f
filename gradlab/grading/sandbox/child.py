"""The process that a submission runs in: it runs cells and probes as it is told, and answers each.

A submission shares this process and may change anything in it. So nothing here is trusted by the other side: a reply
counts only for the step whose token it carries, and what it says is judged outside.
"""

from __future__ import annotations
import __future__

import builtins
import copy
import linecache
import os
import re
import struct
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from gradlab.grading import plain

HEADER = struct.Struct("<I16sc")  # length of the body, token, kind
READY, CELL, PROBE = b"r", b"c", b"p"  # what is asked; READY is said once, unasked
DONE, ERROR, STATE, VALUE, UNREADABLE = b"d", b"e", b"s", b"v", b"u"  # what is answered

_compile, _exec, _read, _write = compile, exec, os.read, os.write
_encode, _decode = plain.encode, plain.decode
_LAZY_ANNOTATIONS = __future__.annotations.compiler_flag  # a probe's annotations name what its own file imports
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")


def serve(source: int, sink: int) -> None:
    """Answer steps that arrive on the descriptor `source` until it ends."""
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    namespace = vars(main)
    namespace.update(teaching_words())
    names = {name for name, value in vars(builtins).items() if isinstance(value, type)}
    session = _Session(namespace, frozenset(names))
    _send(sink, b"\0" * 16, READY, b"")
    while True:
        head = _receive(source, HEADER.size)
        if head is None:
            return
        length, token, kind = HEADER.unpack(head)
        body = _receive(source, length)
        if body is None:
            return
        answer, content = session.step(kind, body)
        _send(sink, token, answer, content)


class _Session:
    """One submission's namespace."""

    def __init__(self, namespace: dict[str, Any], exceptions: frozenset[str]) -> None:
        self.namespace, self.exceptions = namespace, exceptions
        self.has_seen_inputs = False

    def step(self, kind: bytes, body: bytes) -> tuple[bytes, bytes]:
        try:
            if kind == CELL:
                return self._cell(_decode(body))
            (length,) = struct.unpack_from("<I", body)
            return self._probe(_decode(body[4 : 4 + length]), _decode(body[4 + length :]))
        except plain.NotPlainError:
            return UNREADABLE, b""
        except BaseException as error:  # SystemExit and KeyboardInterrupt as well
            return ERROR, _encode(self._describe(error))

    def _cell(self, cell: dict[str, Any]) -> tuple[bytes, bytes]:
        source, file = cell["source"], cell["file"]
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        _exec(_compile(source, file, "exec", dont_inherit=True), self.namespace)
        return DONE, b""

    def _probe(self, task: dict[str, Any], inputs: Any) -> tuple[bytes, bytes]:
        unready = unfinished(self.namespace, task["names"], task["kind"])
        if unready is not None:
            return STATE, _encode(unready)
        self.has_seen_inputs = True
        _usual_modes()
        room: dict[str, Any] = {"__name__": "__probe__"}
        _exec(_compile(task["source"], "<probe>", "exec", _LAZY_ANNOTATIONS, dont_inherit=True), room)
        answer = {name: self.namespace[name] for name in task["names"]}
        return VALUE, _encode(room["probe"](answer, copy.deepcopy(inputs)))

    def _describe(self, error: BaseException) -> dict[str, Any]:
        """What went wrong: the text only as long as it cannot contain a hidden input."""
        name = type(error).__name__
        text = ""
        if not self.has_seen_inputs:
            first = (str(error).strip().splitlines() or [""])[0]
            text = _ADDRESS.sub("0x...", first)[:220]
        return {"type": name if name in self.exceptions else "", "text": text, "line": _line(error)}


def _usual_modes() -> None:
    """Gradients on and torch's own default dtype, as in a lesson's check: a cell's switches have no say in it."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)


def _line(error: BaseException) -> int | None:
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith("<cell"):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def unfinished(namespace: dict[str, Any], names: list[str], kind: str) -> dict[str, str] | None:
    """Why the answer cannot be probed yet, or None: a name is missing, still `...`, or of the wrong kind.

    >>> unfinished({"table": {"x": ...}}, ["table"], "dict")
    {'state': 'blank', 'name': 'table', 'detail': 'x'}
    """
    for name in names:
        if name not in namespace:
            return {"state": "missing", "name": name, "detail": ""}
        value = namespace[name]
        if value is ...:
            return {"state": "ellipsis", "name": name, "detail": ""}
        blanks = _blanks(value)
        if blanks:
            return {"state": "blank", "name": name, "detail": ", ".join(blanks)[:200]}
        if not _is_kind(value, kind):
            return {"state": "kind", "name": name, "detail": "None" if value is None else type(value).__name__[:60]}
    return None


def _blanks(value: Any, depth: int = 0) -> list[str]:
    """The places of a dict or list that hold `...`, also inside lists in them, as deep as a table goes."""
    pairs = value.items() if type(value) is dict else enumerate(value) if type(value) in (list, tuple) else ()
    return [
        str(key)
        for key, inner in pairs
        if inner is ... or (depth < 3 and type(inner) in (list, tuple) and _blanks(inner, depth + 1))
    ]


def _is_kind(value: Any, kind: str) -> bool:
    if kind == "callable":
        return callable(value)
    if kind == "tensor":
        return hasattr(value, "shape") and hasattr(value, "dtype")
    if kind == "number":
        return isinstance(value, (int, float, complex, np.number)) and not isinstance(value, bool)
    forms: dict[str, Any] = {"dict": dict, "list": (list, tuple), "text": str}
    return isinstance(value, forms[kind])


class _Nothing:
    """What a teaching word gives back here. As a context manager it swallows the announced exception."""

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        return kind is not None and issubclass(kind, Exception)


def teaching_words() -> dict[str, Callable[..., Any]]:
    """check, hint, predict, reveal and progress, which do nothing while an answer is graded."""
    return dict.fromkeys(("check", "hint", "predict", "reveal", "progress"), lambda *_, **__: _Nothing())


def _receive(source: int, length: int) -> bytes | None:
    parts = []
    while length:
        part = _read(source, min(length, 1 << 20))
        if not part:
            return None
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _send(sink: int, token: bytes, kind: bytes, body: bytes) -> None:
    whole = memoryview(HEADER.pack(len(body), token, kind) + body)
    while whole:
        whole = whole[_write(sink, whole) :]
