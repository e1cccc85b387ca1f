"""The graph with the break marked."""

from __future__ import annotations

from typing import Any

from gradlab.diagnosis.report import Diagnosis


def marked(diagnosis: Diagnosis) -> Any:
    """A Drawing of the diagnosis's graph."""
    raise NotImplementedError


def embedded(diagnosis: Diagnosis) -> str:
    """The drawing as HTML to go below the box; empty where there is none."""
    return ""
