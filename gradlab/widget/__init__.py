"""explore(): the widget that steps through a backward in a notebook."""

from gradlab.widget.explorer import GraphExplorer, explore

__all__ = ["GraphExplorer", "explore"]
