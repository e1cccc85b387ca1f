"""What of this machine's files a submission sees: the Python runtime, without the course and what is being graded."""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

_SYSTEM = (
    "/usr/lib",
    "/usr/lib64",
    "/usr/lib32",
    "/usr/local/lib",
    "/usr/share/zoneinfo",
    "/etc/ld.so.cache",
    "/etc/localtime",
)
_PLAIN_FOLDERS = ("/lib", "/lib64", "/lib32")


def package_folder(name: str) -> Path | None:
    """The folder of an installed package, found without importing it."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))).resolve()


def import_path() -> list[str]:
    """The sys.path for processes that the grader starts: this one's, with gradlab's own place, without the empty entry."""
    own = package_folder("gradlab")
    entries = [os.path.abspath(entry) for entry in sys.path if entry]
    return list(dict.fromkeys([*entries, *([str(own.parent)] if own else [])]))


def visible_paths() -> list[Path]:
    """The folders and files that Python, numpy, torch and gradlab need, none inside another."""
    wanted = [Path(place) for place in _SYSTEM]
    wanted += [Path(place) for place in _PLAIN_FOLDERS if not os.path.islink(place)]
    wanted += [Path(sys.executable), Path(os.path.realpath(sys.executable))]
    if sys.base_prefix != "/usr":
        wanted += [Path(sys.base_prefix, name) for name in ("lib", "lib64", "bin")]
    if sys.prefix != sys.base_prefix:
        wanted += [Path(sys.prefix, name) for name in ("lib", "lib64", "bin", "pyvenv.cfg")]
    wanted += [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    wanted += [Path(entry) for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")]
    wanted += [folder for name in ("gradlab", "torch", "numpy") if (folder := package_folder(name)) is not None]
    return _outermost(path for path in wanted if path.exists())


def hidden_paths(secrets: Iterable[Path], blocked: Iterable[str] = ()) -> list[Path]:
    """What must not be seen although it lies inside a visible folder: the course, `secrets`, blocked modules."""
    own = package_folder("gradlab")
    wanted = [Path(secret).resolve() for secret in secrets]
    if own is not None:
        wanted += [own / "exercises", own / "_lessons", own / "lessons"]
        wanted += [own.parent / name for name in ("lessons", "tests", "gradlab_lessons", ".git")]
    wanted += [folder for name in blocked if (folder := package_folder(name)) is not None]
    visible = [path.resolve() for path in visible_paths()]
    inside = [path for path in wanted if path.exists() and any(place in (path, *path.parents) for place in visible)]
    return _outermost(inside)


def _outermost(paths: Iterable[Path]) -> list[Path]:
    unique = sorted(set(paths))
    return [path for path in unique if not any(other in path.parents for other in unique)]
