"""What the player shows: one picture in which every step has its place, and for each step what changes.

The player itself is `player.js` with `player.css`: the same in the notebook widget and in a page of its own.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from gradlab.drawing import dot, layout, numbers, outline, scene, svg, words
from gradlab.drawing import fold as folding
from gradlab.drawing.flow import flow_after
from gradlab.drawing.rules import factor
from gradlab.drawing.themes import DARK, LIGHT
from gradlab.graphs import collector
from gradlab.graphs.records import FREED, HELD, MISMATCH, NEVER, PACKED, NodeRecord, Recording, Snapshot, TensorRecord

Payload = dict[str, Any]


def of_recording(recording: Recording, fold: Any = "auto", opened: Iterable[str] = ()) -> Payload:
    """Everything to step through a backward in a browser, without asking Python again."""
    return _Player(recording.before, recording, fold, opened).payload


def of_snapshot(snapshot: Snapshot, fold: Any = "auto", opened: Iterable[str] = ()) -> Payload:
    """The same for a graph whose backward was not run: the order, and no values."""
    return _Player(snapshot, None, fold, opened).payload


class _Player:
    def __init__(self, snapshot: Snapshot, recording: Recording | None, fold: Any, opened: Iterable[str]):
        self.snapshot, self.recording = snapshot, recording
        flow = flow_after(recording, len(recording.steps)) if recording is not None else scene.Flow()
        flow.active = None
        with collector.paused():
            self.scene = folding.fold(scene.build(_ended(snapshot, recording), flow=flow), fold, opened)
        self.tags = dot.Tags()
        self.writer = dot.Writer(self.scene, LIGHT, None, True, self.tags)
        self.home = {f"n{node}": group.key for group in self.scene.groups for node in group.nodes}
        items: list[Any] = [*self.scene.cards, *self.scene.ops, *self.scene.groups]
        self.shown = {item.key for item in items}
        self.payload: Payload = {
            "svg": self._svg(),
            "text": outline.outline(self.scene),
            "steps": self._steps(),
            "items": self._items(),
            "chips": self._chips(),
            "grads": self._grads(),
            "recorded": recording is not None,
            "retain": recording is not None and (recording.retain_graph or recording.create_graph),
            "error": recording.error if recording is not None else None,
            "notes": self.scene.notes,
        }

    def _svg(self) -> str:
        drawn = svg.compact(self.tags.resolve(layout.render(self.writer.graph.source, "svg").decode()))
        return re.sub(r'id="([tnegc]\d+)"', r'data-key="\1"', drawn.replace(' id="graph0"', ""))

    def _visible(self, node: NodeRecord) -> str:
        key = f"t{node.tensor}" if node.tensor is not None else f"n{node.id}"
        if key in self.shown:
            return key
        return self.home.get(f"n{node.id}") or self._absorbed.get(key, "")

    @functools.cached_property
    def _absorbed(self) -> dict[str, str]:
        """Leaves that were folded into a group."""
        absorbed: dict[str, str] = {}
        for edge in self.snapshot.edges:
            target = self.snapshot.nodes[edge.target] if edge.target is not None else None
            if target is not None and target.tensor is not None:
                absorbed.setdefault(f"t{target.tensor}", self.home.get(f"n{edge.source}", ""))
        return absorbed

    def _steps(self) -> list[dict[str, Any]]:
        arrows = {(a.edge.source, a.edge.input): f"e{i}" for i, a in enumerate(self.scene.arrows) if a.edge is not None}
        starts = [
            f"e{i}"
            for i, a in enumerate(self.scene.arrows)
            if a.edge is None and int(a.tail[1:]) in self.snapshot.roots
        ]
        if self.recording is None:
            return [self._order_step(node, arrows) for node in self.snapshot.nodes]
        steps = []
        for step in self.recording.steps:
            node = self.snapshot.nodes[step.node]
            edges = [
                arrows[step.node, e.input]
                for e in self.snapshot.edges_from(step.node)
                if (step.node, e.input) in arrows and words.edge_label(self.snapshot, step, e) is not None
            ]
            found: dict[str, Any] = {
                "at": self._visible(node),
                "say": words.said(self.recording, step.number),
                "edges": edges + (starts if step.number == 0 else []),
                "frees": self._frees(node),
                "got": [words.gradient(v) for v in step.incoming],
                "sent": self._sent(step),
            }
            if step.tensor is not None and step.grad_after is not None:
                found["grad"] = {f"t{step.tensor}": dot.grad_lines(step.grad_after)}
            for tensor in step.retained:
                grad = self.recording.after.tensors[tensor].grad
                if grad is not None:
                    found.setdefault("grad", {})[f"t{tensor}"] = dot.grad_lines(grad)
            steps.append(found)
        return steps

    def _sent(self, step: Any) -> list[str]:
        sent = []
        for edge in self.snapshot.edges_from(step.node):
            value = step.outgoing[edge.input] if edge.input < len(step.outgoing) else None
            if value is not None and edge.target is not None:
                sent.append(f"{words.gradient(value)} → {words.goal_of(self.snapshot, edge)}")
        return sent

    def _order_step(self, node: NodeRecord, arrows: dict[tuple[int, int], str]) -> dict[str, Any]:
        edges = [
            arrows[node.id, e.input]
            for e in self.snapshot.edges_from(node.id)
            if e.target is not None and (node.id, e.input) in arrows
        ]
        return {
            "at": self._visible(node),
            "say": words.would(self.snapshot, node.id),
            "edges": edges,
            "frees": self._frees(node),
        }

    def _frees(self, node: NodeRecord) -> list[str]:
        return [f"n{node.id}:{slot.name}" for slot in node.slots if slot.state in (HELD, PACKED, MISMATCH)]

    def _chips(self) -> dict[str, list[str]]:
        """For each saved slot its state and its words while kept and when freed."""
        chips = {}
        for node in self.snapshot.nodes:
            for slot in node.slots:
                if slot.state in (HELD, PACKED, MISMATCH):
                    kept, gone = self.writer.chip_words(slot, slot.state), self.writer.chip_words(slot, FREED)
                    visible = f"n{node.id}" in self.shown
                    chips[f"n{node.id}:{slot.name}"] = [slot.state, kept, gone] if visible else [slot.state]
        return chips

    def _grads(self) -> dict[str, list[str]]:
        """The gradient on each card before the first step, as lines."""
        tensors = [self.snapshot.tensors[card.tensor.id] for card in self.scene.cards if card.tensor.grad is not None]
        return {f"t{t.id}": ["None"] if t.grad is None else dot.grad_lines(t.grad) for t in tensors}

    def _items(self) -> dict[str, dict[str, Any]]:
        items: dict[str, dict[str, Any]] = {}
        for op in self.scene.ops:
            items[op.key] = {"title": dot.op_title(op.node), "sub": op.node.name, "rows": self._op_rows(op.node)}
        for card in self.scene.cards:
            tensor = self.snapshot.tensors[card.tensor.id]
            title = card.tensor.name or dot.title_of(card)
            items[card.key] = {"title": title, "sub": dot.KIND_TEXT[card.kind], "rows": self._tensor_rows(tensor)}
        for group in self.scene.groups:
            rows = [["holds", line] for line in group.lines]
            title = (
                group.title if "×" in group.title else group.path or group.title
            )  # a title may be cut short in its frame
            items[group.key] = {"title": title, "sub": "folded", "rows": rows, "path": group.path}
        order = {key: i for i, key in enumerate(dict.fromkeys(self._order()))}
        return dict(sorted(items.items(), key=lambda item: order.get(item[0], len(order))))

    def _order(self) -> Iterable[str]:
        yield from (f"t{root}" for root in self.snapshot.roots)
        yield from (self._visible(node) for node in self.snapshot.nodes)

    def _op_rows(self, node: NodeRecord) -> list[list[str]]:
        rows = []
        outs = [f"{numbers.shape(out[0])} {out[1]}" for out in node.outputs if out is not None]
        rows.append(["output", ", ".join(outs) or "unknown"])
        for slot in node.slots:
            about = slot.state
            if slot.shape is not None:
                about += f", {numbers.shape(slot.shape)} {slot.dtype}"
                about += f" = {numbers.brief(slot.values)}" if slot.values and slot.values.numbers is not None else ""
            if slot.tensor is not None and self.snapshot.tensors[slot.tensor].name:
                about += f" (it is {self.snapshot.tensors[slot.tensor].name})"
            rows.append([f"saved {slot.name}", about if slot.state != NEVER else "never saved"])
            if slot.message:
                rows.append(["", slot.message])
        if not node.slots:
            rows.append(["saves", "nothing"])
        rows += [[key, str(value)] for key, value in node.options.items()]
        rules = [
            factor(self.snapshot, node, edge.input)
            for edge in self.snapshot.edges_from(node.id)
            if edge.target is not None
        ]
        if any(rules):
            rows.append(["passes on", " and ".join("gradient" if r == "1" else f"gradient × {r}" for r in rules if r)])
        return rows

    def _tensor_rows(self, tensor: TensorRecord) -> list[list[str]]:
        shown = numbers.lines(tensor.values, 64)
        rows = [["shape", f"{numbers.shape(tensor.shape)} {tensor.dtype}"]]
        rows.append([".data", "\n".join(shown) if shown else "too many numbers to show"])
        if tensor.requires_grad:
            kept = tensor.is_leaf or tensor.retains_grad
            now = "None" if tensor.grad is None else "\n".join(dot.grad_lines(tensor.grad))
            rows.append([".grad", now if kept else "None (not kept: no retain_grad)"])
        rows += [
            ["is_leaf", str(tensor.is_leaf)],
            ["requires_grad", str(tensor.requires_grad)],
            ["version", str(tensor.version)],
        ]
        return rows


def _ended(snapshot: Snapshot, recording: Recording | None) -> Snapshot:
    """The graph before, with the gradients it will have: the picture then has room for them from the start."""
    if recording is None:
        return snapshot
    last: dict[Any, Any] = {step.tensor: step.grad_after for step in recording.steps if step.grad_after is not None}
    last |= {t: recording.after.tensors[t].grad for step in recording.steps for t in step.retained}
    tensors = [dataclasses.replace(t, grad=last.get(t.id, t.grad)) for t in snapshot.tensors]
    return dataclasses.replace(snapshot, tensors=tensors)


@functools.cache
def script() -> str:
    """The player's ES module."""
    return (files("gradlab.drawing") / "player.js").read_text(encoding="utf-8")


@functools.cache
def style() -> str:
    """The player's CSS with the colours of both themes."""
    css = (files("gradlab.drawing") / "player.css").read_text(encoding="utf-8")
    return (
        "".join(_colors(theme, css_class) for theme, css_class in ((LIGHT, "gl-light"), (DARK, "gl-dark")))
        + _painted()
        + css
    )


def _colors(theme: Any, css_class: str) -> str:
    pairs = ";".join(f"--{name.replace('_', '-')}:{getattr(theme, name)}" for name in theme.__slots__)
    return f".gl.{css_class}{{{pairs}}}\n"


def _painted() -> str:
    """The picture is drawn in the light theme's colours; in the player each becomes the theme's variable."""
    rules = []
    for name in LIGHT.__slots__:
        color, variable = getattr(LIGHT, name), f"var(--{name.replace('_', '-')})"
        rules.append(f'.gl svg [fill="{color}"]{{fill:{variable}}}.gl svg [stroke="{color}"]{{stroke:{variable}}}')
    hidden = f'.gl svg g.edge:not(.ran) text[fill="{LIGHT.grad}"]{{visibility:hidden}}'
    return "".join(rules) + hidden + "\n"


def page(payload: Payload, theme: str = "auto") -> str:
    """A self-contained page around the player."""
    data = json.dumps(payload, ensure_ascii=False).replace("<", "\\u003c")
    start = 'standalone(document.getElementById("player"), JSON.parse(document.getElementById("data").textContent), '
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>gradlab: backward, step by step</title>'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        f"<style>body{{margin:1rem}}h1{{font:600 18px system-ui,sans-serif}}{style()}</style></head><body>"
        '<main><h1>Backward, step by step</h1><div id="player"></div></main>'
        f'<script type="application/json" id="data">{data}</script>\n'
        f'<script type="module">{script()}\n{start}{json.dumps(theme)});</script></body></html>\n'
    )
