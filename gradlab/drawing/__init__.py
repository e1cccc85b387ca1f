"""Pictures of graphs: Snapshot -> scene -> DOT -> layout -> SVG, PNG and text."""

from gradlab.drawing.layout import LayoutError
from gradlab.drawing.picture import Drawing, draw
from gradlab.drawing.scene import Mark
from gradlab.drawing.stepping import Recording, record

__all__ = ["Drawing", "LayoutError", "Mark", "Recording", "draw", "record"]
