"""One anywidget class around the player. Stepping and inspecting happen in the browser; only opening a folded module
asks Python for a new picture."""

from __future__ import annotations

import secrets
import sys
from typing import Any

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise ImportError("gradlab.explore needs the lab extra: pip install 'gradlab[lab]'") from error

from gradlab.drawing import player
from gradlab.drawing.picture import Drawing
from gradlab.drawing.stepping import showing
from gradlab.graphs import records
from gradlab.graphs.naming import caller_names
from gradlab.graphs.reading import read

STILL = 0.35e6  # pixels of the still picture: it goes into the notebook


def explore(tensor_or_recording: Any, params: Any = None, tensors: Any = None, *, fold: Any = "auto") -> GraphExplorer:
    """Step through a backward in the notebook.

    `explore(gradlab.record(loss))` shows every gradient of that backward. `explore(loss)` runs no backward: it shows
    the graph and the order that backward would take. `params` and `tensors` name tensors as in `draw`, `fold` folds.

    The widget's traits are `step`, `selected`, `playing` and `retain`; setting them moves the picture.

    Raises TypeError for anything but a tensor, a structure of tensors or a Recording; LayoutError without a layout
    engine; ImportError when anywidget is not installed.

    >>> import gradlab
    >>> w = gradlab.tensor(3.0, requires_grad=True)
    >>> explorer = gradlab.explore(gradlab.record(w * w))
    >>> explorer.step, len(explorer.payload["steps"])
    (0, 2)
    """
    if isinstance(tensor_or_recording, records.Recording):
        return GraphExplorer(recording=tensor_or_recording, fold=fold)
    graph = read(tensor_or_recording, params, tensors, caller_names(sys._getframe(1)))
    return GraphExplorer(snapshot=graph, fold=fold)


class GraphExplorer(anywidget.AnyWidget):
    """A graph, or a recorded backward, to step through. Made by `explore`."""

    _esm = player.script()
    _css = player.style()

    payload = traitlets.Dict().tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    selected = traitlets.Unicode("").tag(sync=True)
    playing = traitlets.Bool(False).tag(sync=True)
    retain = traitlets.Bool(False).tag(sync=True)
    still = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        snapshot: records.Snapshot | None = None,
        recording: records.Recording | None = None,
        fold: Any = "auto",
    ):
        self._snapshot, self._recording, self._fold = snapshot, recording, fold
        self._opened: list[str] = []
        made = self._make()
        super().__init__(payload=made, retain=made["retain"], still=f"gradlab-still-{secrets.token_hex(6)}")
        self.on_msg(self._asked)

    def _make(self) -> dict[str, Any]:
        if self._recording is not None:
            return player.of_recording(self._recording, self._fold, self._opened)
        assert self._snapshot is not None
        return player.of_snapshot(self._snapshot, self._fold, self._opened)

    def _asked(self, _: Any, content: dict[str, Any], buffers: Any) -> None:
        path = content.get("open")
        if isinstance(path, str) and path not in self._opened:
            self._opened.append(path)
            self.payload = self._make()

    @traitlets.validate("step")
    def _valid_step(self, proposal: Any) -> int:
        last = len(self.payload["steps"])
        if not 0 <= proposal["value"] <= last:
            raise traitlets.TraitError(f"step {proposal['value']}: there are {last} steps, so step is 0 to {last}")
        return int(proposal["value"])

    def drawing(self) -> Drawing:
        """The picture that goes out before the widget: the end of the recording, or the graph."""
        if self._recording is not None:
            return showing(self._recording).draw(fold=self._fold)
        assert self._snapshot is not None
        return Drawing(self._snapshot, fold=self._fold)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Shows a still picture as an output of its own first: a saved notebook then never goes blank."""
        from IPython.display import display

        data, metadata = self.drawing().bundle(STILL)
        if "image/svg+xml" in data:
            data["image/svg+xml"] = data["image/svg+xml"].replace("<svg ", f'<svg data-still="{self.still}" ', 1)
        display(data, metadata=metadata, raw=True)  # type: ignore[no-untyped-call]
        return super()._repr_mimebundle_(**options)
