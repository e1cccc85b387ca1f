"""draw() and the Drawing that it returns."""

from __future__ import annotations

import contextlib
import math
import os
import re
import sys
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from gradlab.drawing import dot, layout, outline, png, scene, svg
from gradlab.drawing import fold as folding
from gradlab.drawing.themes import theme_named
from gradlab.graphs import collector
from gradlab.graphs.naming import caller_names
from gradlab.graphs.reading import read
from gradlab.graphs.records import Snapshot

PIXELS = 2.5e6  # of a PNG at most
NOTEBOOK = 900  # points: what a notebook has room for
SMALLEST = 0.75  # of its size, to be read easily
FORMATS = ("svg", "png", "pdf", "dot", "html", "txt")


def draw(
    *outputs: Any,
    params: Any = None,
    tensors: Any = None,
    saved: bool = True,
    values: bool | str = "auto",
    fold: Any = "auto",
    theme: str = "auto",
) -> Drawing:
    """The graph behind one or more tensors of gradlab or torch, as a picture.

    `outputs`: tensors, or tuples, lists and dicts of them. `params`: a module or a dict that names the leaves.
    `tensors={"h": h}`: inner tensors to name and show. `saved=False` leaves the saved slots out. `values`: show the
    numbers of small tensors ("auto": while the picture is small). `fold`: "auto", True, False, a depth of module
    names, or names of modules to fold. `theme`: "light", "dark" or "auto", which follows the viewer.

    The result shows itself in a notebook, and has `.svg()`, `.png()`, `.text()`, `.source` and `.save(path)`.

    >>> import gradlab
    >>> w = gradlab.tensor(2.0, requires_grad=True)
    >>> loss = w * w
    >>> print(gradlab.draw(loss).text())
    gradlab graph: 1 operation, 1 leaf with gradient
    loss: output, shape () float32, data 4.0, grad not kept -> Mul #0
      Mul #0 (MulBackward0): saves self held = 2.0, other held = 2.0 -> w, w
    w: leaf, shape () float32, data 2.0, grad None
    """
    graph = read(outputs, params, tensors, caller_names(sys._getframe(1)))
    return Drawing(graph, saved=saved, values=values, fold=fold, theme=theme)


class Drawing:
    """A picture of a Snapshot. Nothing is laid out before it is shown, saved or asked for."""

    def __init__(
        self,
        snapshot: Snapshot,
        *,
        saved: bool = True,
        values: bool | str = "auto",
        fold: Any = "auto",
        theme: str = "auto",
        marks: Iterable[scene.Mark] = (),
        flow: scene.Flow | None = None,
        opened: Iterable[str] = (),
    ):
        if values not in (True, False, "auto"):
            raise ValueError(f"values={values!r}: it is True, False or 'auto'")
        self.snapshot, self.theme = snapshot, theme
        self._colors = theme_named(theme)
        self._values = None if values == "auto" else bool(values)
        self._saved = saved
        folding.check(fold)
        with collector.paused():
            self.scene = folding.fold(scene.build(snapshot, marks, flow), fold, opened)

    @cached_property
    def source(self) -> str:
        """The picture as DOT text."""
        return dot.source(self.scene, self._colors, self._values, self._saved)

    @cached_property
    def _svg(self) -> str:
        drawn = layout.render(self.source, "svg").decode()
        return svg.finish(drawn, self.theme, self.text())

    def svg(self) -> str:
        """The picture as SVG. Raises LayoutError when there is no layout engine."""
        return self._svg

    def html(self) -> str:
        """The picture as an <img>, to stand in other HTML. Raises LayoutError when there is no layout engine."""
        return svg.image(self.svg(), self.text())

    def _dpi(self, pixels: float) -> int:
        """Two pixels a point, fewer in a picture so large that it would be heavy or that an engine would refuse it."""
        width, height = self.size()
        return max(24, min(144, int(72 * math.sqrt(pixels / (width * height))), int(72 * 30_000 / max(width, height))))

    def size(self) -> tuple[float, float]:
        """Width and height in points."""
        found = re.search(r'<svg width="([\d.]+)" height="([\d.]+)"', self.svg())
        assert found is not None
        return float(found[1]), float(found[2])

    def png(self) -> bytes:
        """The picture as PNG, two pixels a point, fewer if it is large. Raises LayoutError without a layout engine."""
        return png.draw(self.source, self.svg(), self._dpi(PIXELS))

    def text(self) -> str:
        """The picture in words, one line for each box."""
        return outline.outline(self.scene)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture; the ending says how: .svg, .png, .pdf (needs Graphviz's dot), .dot, .html or .txt.

        Raises ValueError for another ending, LayoutError without a layout engine, OSError when it cannot be written.
        """
        path = Path(path)
        form = path.suffix.removeprefix(".").lower()
        if form not in FORMATS:
            raise ValueError(f"cannot save a picture as {path.name!r}: the name must end in .{', .'.join(FORMATS)}")
        path.write_bytes(self._bytes(form))
        return path

    def _bytes(self, form: str) -> bytes:
        if form == "png":
            return self.png()
        if form == "pdf":
            return layout.render(self.source, "pdf")
        if form == "svg":
            return self.svg().encode()
        if form == "html":
            return svg.page(self.svg(), self.theme).encode()
        return (self.source if form == "dot" else self.text() + "\n").encode()

    def __repr__(self) -> str:
        return self.text()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.bundle(PIXELS)

    def bundle(self, pixels: float) -> tuple[dict[str, Any], dict[str, Any]]:
        """Everything that a notebook keeps: SVG, a PNG of at most so many pixels, and text, with the size to show.

        A picture a little too wide for a notebook is shown smaller; a much wider one is scrolled.
        """
        data: dict[str, Any] = {"text/plain": self.text()}
        try:
            picture, (width, height) = self.svg(), self.size()
        except layout.LayoutError as error:
            return {"text/plain": f"{error}\n\n{self.text()}"}, {}
        scale = min(1.0, max(NOTEBOOK / width, SMALLEST))
        size = {"width": round(scale * width), "height": round(scale * height)}
        data["image/svg+xml"] = svg.sized(picture, size["width"], size["height"])
        with contextlib.suppress(layout.LayoutError):  # an engine without the glyphs: the SVG and the text remain
            data["image/png"] = png.draw(self.source, picture, self._dpi(pixels))
        return data, {"image/png": size}
