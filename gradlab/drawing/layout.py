"""Finds a layout engine and runs it: $GRADLAB_DOT, then `dot`, then the pip-installed graphviz-pure."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

TIMEOUT = 120  # seconds

NO_ENGINE = (
    "no layout engine was found, so there is no picture (the text outline works without one). Get one with "
    "`pip install graphviz-pure`, or install Graphviz (https://graphviz.org/download) so that `dot` is on the PATH; "
    "$GRADLAB_DOT may name another one."
)


class LayoutError(RuntimeError):
    """The picture could not be laid out; the message says what to do."""


@dataclass(frozen=True, slots=True)
class LayoutEngine:
    """A program that takes DOT."""

    path: str
    found: str  # "$GRADLAB_DOT", "PATH" or "graphviz-pure"

    @property
    def is_pure(self) -> bool:
        return "graphviz-pure" in Path(self.path).name


def find_engine() -> LayoutEngine:
    """The layout engine in use. Raises LayoutError when there is none."""
    chosen = os.environ.get("GRADLAB_DOT")
    if chosen:
        path = shutil.which(chosen)
        if path is None:
            raise LayoutError(f"$GRADLAB_DOT is {chosen!r}, but that is not a program that can be run")
        return LayoutEngine(path, "$GRADLAB_DOT")
    path = shutil.which("dot")
    if path is not None:
        return LayoutEngine(path, "PATH")
    path = _pure()
    if path is not None:
        return LayoutEngine(path, "graphviz-pure")
    raise LayoutError(NO_ENGINE)


def _pure() -> str | None:
    """The program of the graphviz-pure wheel: beside the running Python, wherever the wheel put it, or on PATH."""
    name = "graphviz-pure.exe" if os.name == "nt" else "graphviz-pure"
    places = [Path(sys.executable).parent / name]
    try:
        files = importlib.metadata.distribution("graphviz-pure").files or []
        places += [Path(str(file.locate())) for file in files if file.name == name]
    except importlib.metadata.PackageNotFoundError:
        pass
    return next((str(place.resolve()) for place in places if place.is_file()), shutil.which(name))


def render(source: str, form: str, engine: LayoutEngine | None = None, dpi: int | None = None) -> bytes:
    """DOT text -> the bytes of an SVG, PNG, PDF, ... Raises LayoutError."""
    engine = engine or find_engine()
    command = [engine.path, "-Kdot", f"-T{form}"] + ([f"-Gdpi={dpi}"] if dpi else [])
    try:
        done = subprocess.run(command, input=source.encode(), capture_output=True, timeout=TIMEOUT)
    except OSError as error:
        raise LayoutError(f"the layout engine {engine.path} ({engine.found}) could not be started: {error}") from None
    except subprocess.TimeoutExpired:
        raise LayoutError(
            f"the layout engine needed more than {TIMEOUT} seconds: fold the graph (fold='auto'), or take .text()"
        ) from None
    if done.returncode != 0 or not done.stdout:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        if form not in ("svg", "png") and any("not recognized" in line for line in said):
            raise LayoutError(f"{Path(engine.path).name} cannot write {form}; install Graphviz's own `dot` for that")
        raise LayoutError(f"the layout engine {engine.path} ({engine.found}) failed: {said[-1]}")
    if form == "svg" and b"<svg" not in done.stdout:
        raise LayoutError(f"the layout engine {engine.path} ({engine.found}) gave no SVG: is it Graphviz's dot?")
    return done.stdout
