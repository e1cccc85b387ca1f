"""A process's file view without namespaces: Linux's landlock, for where bubblewrap cannot run. man 7 landlock."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_RULE_PATH_BENEATH, _GET_VERSION = 1, 1
_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute (loading a library), read a file, list a folder
_READ_FILE = 1 << 0 | 1 << 2
_WRITE_FILE = 1 << 1
_ALL = {1: (1 << 13) - 1, 2: (1 << 14) - 1}
_ALL_SINCE_3 = (1 << 15) - 1

libc = ctypes.CDLL(None, use_errno=True)


def version() -> int:
    """The version of landlock that the kernel offers, 0 for none."""
    return max(0, libc.syscall(_CREATE_RULESET, None, 0, _GET_VERSION))


def restrict(readable: Sequence[Path], hidden: Sequence[Path], writable: Sequence[Path]) -> bool:
    """Leave this process and its children these paths only; False where the kernel cannot."""
    if not version():
        return False
    everything = _ALL.get(version(), _ALL_SINCE_3)
    attributes = struct.pack("Q", everything)
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.c_char_p(attributes), len(attributes), 0)
    if ruleset < 0:
        return False
    for path in without(readable, hidden):
        _allow(ruleset, path, _READ if path.is_dir() else _READ_FILE)
    for device in ("null", "zero", "full", "random", "urandom"):
        _allow(ruleset, Path("/dev", device), _READ_FILE | _WRITE_FILE)
    for path in writable:
        _allow(ruleset, path, everything)
    libc.prctl(38, 1, 0, 0, 0)
    done = libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0
    os.close(ruleset)
    return done


def without(paths: Iterable[Path], hidden: Sequence[Path]) -> list[Path]:
    """The paths, with a folder that contains something hidden replaced by what else is in it.

    >>> import tempfile; top = Path(tempfile.mkdtemp())
    >>> for name in ("seen", "hidden"): (top / name).mkdir()
    >>> [path.name for path in without([top], [top / "hidden"])]
    ['seen']
    """
    found: list[Path] = []
    for path in paths:
        if path in hidden:
            continue
        if any(path in secret.parents for secret in hidden):
            found += without(sorted(path.iterdir()), hidden)
        else:
            found.append(path)
    return found


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    rule = struct.pack("=Qi", rights, descriptor)
    libc.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.c_char_p(rule), 0)
    os.close(descriptor)
