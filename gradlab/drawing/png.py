"""DOT -> PNG. graphviz-pure draws what its fonts lack (CJK, emoji) as empty boxes: then the PNG is made another way."""

from __future__ import annotations

import importlib
import re
import shutil

from gradlab.drawing import layout

_IN_ITS_FONTS = re.compile(
    r"[\x00-\u058f\u05d0-\u05ea\u1e00-\u1fff\u2010-\u2026\u2190-\u2193\u2212\u25a0\u25a1\u25ca]*"
)


def draw(source: str, svg: str, dpi: int) -> bytes:
    """The PNG of a picture whose SVG is already made; `dpi` is 72 for one pixel a point."""
    engine = layout.find_engine()
    if not engine.is_pure or _IN_ITS_FONTS.fullmatch(source):
        return layout.render(source, "png", engine, dpi)
    dot = shutil.which("dot")
    if dot is not None:
        return layout.render(source, "png", layout.LayoutEngine(dot, "PATH"), dpi)
    drawn = _from_svg(svg, dpi)
    if drawn is None:
        lacking = "".join(dict.fromkeys(re.sub(_IN_ITS_FONTS, "", source)))
        raise layout.LayoutError(
            f"graphviz-pure has no glyphs for {lacking[:12]} in a PNG: save an .svg, or `pip install resvg-py`, or install dot"
        )
    return drawn


def _from_svg(svg: str, dpi: int) -> bytes | None:
    """With resvg, which looks for glyphs in the system's fonts; None when it is not installed or has none."""
    try:
        resvg = importlib.import_module("resvg_py")
        return bytes(resvg.svg_to_bytes(svg_string=svg, zoom=dpi / 72))
    except (ImportError, ValueError):
        return None
