"""Pictures of graphs: Snapshot -> scene -> DOT -> layout -> SVG, PNG and text."""

from gradlab.drawing.layout import LayoutError
from gradlab.drawing.picture import Drawing, draw

__all__ = ["Drawing", "LayoutError", "draw"]
