"""A Recording that can show itself: one picture for each step, and an animation."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from gradlab.drawing import player, words
from gradlab.drawing.flow import flow_after
from gradlab.drawing.picture import Drawing
from gradlab.graphs import records
from gradlab.graphs.naming import caller_names
from gradlab.graphs.recording import run, state_after


@dataclass(slots=True)
class Recording(records.Recording):
    """One backward, node by node, with pictures of it."""

    def draw(self, step: int | None = None, **options: Any) -> Drawing:
        """The graph after `step` steps (None: all of them). `options` as in `draw`: saved, values, fold, theme.

        Raises IndexError when there are not so many steps.
        """
        count = len(self.steps) if step is None else step
        if not 0 <= count <= len(self.steps):
            raise IndexError(
                f"step {step}: this backward has {len(self.steps)} steps, so step is 0 to {len(self.steps)}"
            )
        return Drawing(state_after(self, count), flow=flow_after(self, count), **options)

    def to_html(self, path: str | os.PathLike[str] | None = None, theme: str = "auto") -> str:
        """The animation as one self-contained HTML page, also written to `path`. It loads nothing from elsewhere."""
        page = player.page(player.of_recording(self), theme)
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def text(self) -> str:
        """Every step in one sentence."""
        lines = []
        for number, step in enumerate(self.steps):
            lines.append(f"{number + 1}. {words.plain(words.said(self, number))}{words.freed(step.freed)}")
        return "\n".join(lines + ([f"It ended with {self.error}"] if self.error else []))

    def __repr__(self) -> str:
        return self.text()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = self.draw()._repr_mimebundle_()
        return data | {"text/plain": self.text()}, metadata


def record(
    loss: Any,
    gradient: Any = None,
    retain_graph: bool = False,
    create_graph: bool = False,
    *,
    params: Any = None,
    tensors: Any = None,
) -> Recording:
    """Run `loss.backward(gradient, retain_graph, create_graph)` and keep every step of it.

    This is a real backward: it fills `.grad` and frees saved tensors. Its hooks are gone afterwards, however it ends.
    `params` and `tensors` name tensors as in `draw`. The result has `.steps`, `.before`, `.after`, `.draw(step)`,
    `.text()` and `.to_html(path)`; `gradlab.explore(recording)` steps through it.

    Raises what backward raises, with the steps so far as `error.recording`; RuntimeError when `loss` has no graph.

    >>> import gradlab
    >>> w = gradlab.tensor(3.0, requires_grad=True)
    >>> print(gradlab.record(w * w).text())
    1. MulBackward0 received 1.0 and passes 3.0 to w, along 2 edges. Its saved self and other are freed.
    2. w.grad was None and is now 6.0.
    """
    try:
        made = run(loss, gradient, retain_graph, create_graph, params, tensors, caller_names(sys._getframe(1)))
    except BaseException as error:
        if hasattr(error, "recording"):
            error.recording = showing(error.recording)
        raise
    return showing(made)


def showing(recording: records.Recording) -> Recording:
    """The same record, with pictures."""
    return Recording(**{field.name: getattr(recording, field.name) for field in fields(records.Recording)})
