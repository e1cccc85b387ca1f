"""Scene -> DOT, made with the graphviz package. All text from outside is escaped here, in `text`."""

from __future__ import annotations

import html
import re
import unicodedata

import graphviz

from gradlab.drawing import numbers
from gradlab.drawing.scene import Arrow, Card, Cluster, Group, Op, Scene
from gradlab.drawing.themes import Theme
from gradlab.graphs.records import FREED, HELD, MISMATCH, NEVER, PACKED, NodeRecord, Slot, Values

FONT = "Arial"  # every layout engine has its metrics, and browsers fall back to its look-alikes
LONGEST = 34  # characters of a name; the middle of a longer one is left out
ROOMY = 60  # up to so many boxes each card shows its data; beyond, names and shapes only
WIDEST = 1150  # points; a wider picture runs from top to bottom
MARKS = {HELD: "■", FREED: "□", PACKED: "◊", NEVER: "–", MISMATCH: "!"}
WORDS = {HELD: "", FREED: "freed", PACKED: "packed", NEVER: "not saved", MISMATCH: "changed"}


def source(scene: Scene, theme: Theme, values: bool | None = None, saved: bool = True) -> str:
    """The DOT text of a scene. `values` None: where there is room and the tensor is small."""
    return Writer(scene, theme, values, saved).graph.source


class Tags:
    """Marks parts of a picture by colours that no theme has, so that they can be found in any engine's SVG."""

    def __init__(self) -> None:
        self._parts: list[tuple[str, str, str]] = []

    def add(self, role: str, key: str, color: str) -> str:
        self._parts.append((role, key, color))
        return f"#01{len(self._parts) - 1:04x}"

    def resolve(self, drawn: str) -> str:
        """The true colours again, with data-role and data-part on what was marked."""

        def part(found: re.Match[str]) -> str:
            role, key, color = self._parts[int(found[2], 16)]
            return f'data-role="{role}" data-part="{html.escape(key)}" {found[1]}="{color}"'

        return re.sub(r'(fill|stroke)="#01([0-9a-f]{4})"', part, drawn)


class Writer:
    def __init__(self, scene: Scene, theme: Theme, values: bool | None, saved: bool, tags: Tags | None = None):
        self.scene, self.theme, self.saved, self.tags = scene, theme, saved, tags
        self.roomy, self.sideways = scene.size <= ROOMY, sideways(scene)
        self.values = self.roomy if values is None else values
        self.graph = graphviz.Digraph("gradlab", graph_attr=self._frame(), node_attr={"shape": "plain"})
        self.graph.attr("graph", fontname=FONT)
        self.graph.attr("node", fontname=FONT)
        self.graph.attr("edge", fontname=FONT, fontsize="11", arrowsize=".7", color=theme.faint, penwidth="1.2")
        for card in scene.cards:
            self.graph.node(card.key, self._card(card), id=card.key)
        for op in scene.ops:
            self.graph.node(op.key, self._op(op), id=op.key)
        for group in scene.groups:
            self.graph.node(group.key, self._group(group), id=group.key)
        for cluster in scene.clusters:
            if cluster.parent is None:
                self._cluster(self.graph, cluster)
        for number, arrow in enumerate(scene.arrows):
            self._arrow(number, arrow)
        if tags is None and (scene.arrows or scene.notes):
            self.graph.attr("graph", label=self._legend(), labelloc="b", labeljust="l")

    def _frame(self) -> dict[str, str]:
        direction = "LR" if self.sideways else "TB"
        frame = {"bgcolor": self.theme.paper, "rankdir": direction, "nodesep": ".3", "ranksep": ".5", "pad": ".3"}
        if self.scene.groups:
            frame |= {"ranksep": ".28"}
        if not self.roomy:
            frame |= {"nodesep": ".18", "ranksep": ".32"}
        if self.scene.size > 400:
            frame |= {"splines": "line", "nslimit": "2", "nslimit1": "2", "mclimit": "0.2"}
        return frame

    def _card(self, card: Card) -> str:
        theme, tensor = self.theme, card.tensor
        accent, fill = {
            "parameter": (theme.leaf, theme.leaf_fill),
            "leaf": (theme.leaf, theme.leaf_fill),
            "constant": (theme.constant, theme.constant_fill),
            "output": (theme.out, theme.out_fill),
            "inner": (theme.inner, theme.inner_fill),
        }[card.kind]
        size, dtype = numbers.shape(tensor.shape), tensor.dtype
        kind = KIND_TEXT[card.kind]
        title = title_of(card)
        rows = [self._head(title, kind, accent)]
        rows.append(self._row("shape", [size], theme.ink, dtype).replace("</TR>", _filler(title, kind, card) + "</TR>"))
        rows += [self._row("also", [shorten(name)], theme.ink) for name in tensor.also]
        if self.values:
            data = numbers.lines(tensor.values, 64 if self.values is True and not self.roomy else 16)
            if data is not None:
                rows.append(self._row(".data", data, theme.ink))
        if self.values and (card.kind != "constant"):
            rows.append(self._grad(card))
        if tensor.version and not tensor.is_parameter:  # a parameter's was counted up when it was initialised
            rows.append(self._row("version", [str(tensor.version)], theme.ink))
        if card.note:
            rows.append(self._note(card.note, span=3))
        border = "2" if card.kind != "constant" else "1"
        accent = theme.alarm if card.note else accent
        flow = self.scene.flow
        if flow is not None and flow.active is not None and tensor.is_leaf and tensor.node == flow.active:
            fill = theme.now
        return table(rows, border, accent, fill, padding=4)

    def _grad(self, card: Card) -> str:
        tensor, theme = card.tensor, self.theme
        if tensor.grad is None:
            keeps = tensor.is_leaf or tensor.retains_grad
            return self._row(".grad", ["None"], theme.soft, "" if keeps else "not kept")
        shown = grad_lines(tensor.grad)
        return self._row(".grad", shown, theme.grad, "kept" if tensor.retains_grad else "", f"t{tensor.id}")

    def _head(self, title: str, kind: str, accent: str) -> str:
        width = f' WIDTH="{_width(title)}"' if _is_wide(title) else ""
        return (
            '<TR><TD COLSPAN="3" CELLPADDING="0"><TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="4"><TR>'
            f'<TD ALIGN="LEFT"{width}><B>{font(title, 14, self.theme.ink)}</B></TD>'
            f'<TD ALIGN="RIGHT">{font(kind, 9, accent)}</TD></TR></TABLE></TD></TR>'
        )

    def _row(self, key: str, values: list[str], color: str, extra: str = "", part: str = "") -> str:
        colors = [color] * len(values)
        if self.tags is not None and part:
            colors = [self.tags.add("grad", part, color) for _ in values]
        pairs = zip(values, colors, strict=True)
        lines = '<BR ALIGN="LEFT"/>'.join(font(value.replace(" [", "\u00a0["), 11, c) for value, c in pairs)
        lines += '<BR ALIGN="LEFT"/>' if len(values) > 1 else ""
        tail = font("\u00a0\u00a0" + extra, 9, self.theme.soft) if extra else ""
        return (
            f'<TR><TD ALIGN="LEFT" VALIGN="TOP">{font(key, 10, self.theme.soft)}</TD>'
            f'<TD ALIGN="LEFT" BALIGN="LEFT">{lines}{tail}</TD></TR>'
        )

    def _note(self, note: str, span: int = 1) -> str:
        words = "<BR/>".join(font(line, 10, self.theme.alarm) for line in wrapped(note, 30))
        return f'<TR><TD COLSPAN="{span}" BGCOLOR="{self.theme.alarm_fill}">{words}</TD></TR>'

    def _op(self, op: Op) -> str:
        theme, node = self.theme, op.node
        rows = [f"<TR><TD><B>{font(op_title(node), 13, theme.ink)}</B></TD></TR>"]
        out = node.outputs[0] if node.outputs else None
        if out is not None and out[0] and self.roomy:
            rows.append(f"<TR><TD>{font(numbers.shape(out[0]), 9, theme.soft)}</TD></TR>")
        if self.saved:
            rows += self._chips(node)
        if op.note:
            rows.append(self._note(op.note))
        active = self.scene.flow is not None and self.scene.flow.active == node.id
        accent = theme.alarm if op.note else theme.op
        return table(rows, "2" if active or op.note else "1", accent, theme.now if active else theme.op_fill, padding=4)

    def _chips(self, node: NodeRecord) -> list[str]:
        shown = [slot for slot in node.slots if slot.state != NEVER or slot.message]
        if not shown:
            return [f"<TR><TD>{font('saves nothing', 9, self.theme.soft)}</TD></TR>"] if self.roomy else []
        per_row = 3 if len(shown) != 4 else 2
        rows = []
        for start in range(0, len(shown), per_row):
            cells = "".join(
                f'<TD CELLPADDING="2">{self._chip(node.id, slot)}</TD>' for slot in shown[start : start + per_row]
            )
            inner = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0"><TR>{cells}</TR></TABLE>'
            rows.append(f"<TR><TD>{inner}</TD></TR>")
        return rows

    def _chip(self, number: int, slot: Slot) -> str:
        theme = self.theme
        words = self.chip_words(slot, slot.state)
        ink, border, fill, style = {
            HELD: (theme.saved_ink, theme.saved, theme.saved, "ROUNDED"),
            FREED: (theme.freed, theme.freed, theme.op_fill, "ROUNDED,DASHED"),
            PACKED: (theme.saved, theme.saved, theme.op_fill, "ROUNDED"),
            MISMATCH: (theme.alarm, theme.alarm, theme.alarm_fill, "ROUNDED"),
        }[slot.state]
        if self.tags is not None and slot.state in (HELD, PACKED, MISMATCH):
            part = f"n{number}:{slot.name}"
            words = max(words, self.chip_words(slot, FREED), key=len)
            ink, fill = self.tags.add("chip-ink", part, ink), self.tags.add("chip", part, fill)
        width = f' WIDTH="{_width(words) * 9 // 14 + 6}"' if _is_wide(words) else ""
        return (
            f'<TABLE BORDER="1" CELLBORDER="0" CELLSPACING="0" CELLPADDING="3" COLOR="{border}" BGCOLOR="{fill}" '
            f'STYLE="{style}"><TR><TD{width}>{font(words, 9, ink)}</TD></TR></TABLE>'
        )

    def chip_words(self, slot: Slot, state: str) -> str:
        return f"{MARKS[state]} {self._slot_words(slot, state)} {WORDS[state]}".rstrip()

    def _slot_words(self, slot: Slot, state: str) -> str:
        name = slot.name.replace("saved_tensors", "saved")
        if slot.tensor is not None and self.scene.snapshot.tensors[slot.tensor].name:
            return shorten(self.scene.snapshot.tensors[slot.tensor].name or "")
        shown = numbers.lines(slot.values, 1) if self.values else None
        return f"{name} {shown[0]}" if shown and state == HELD else name

    def _group(self, group: Group) -> str:
        theme = self.theme
        rows = [f"<TR><TD><B>{font(group.title, 13, theme.ink)}</B></TD></TR>"]
        rows += [f"<TR><TD>{font(line, 9, theme.soft)}</TD></TR>" for line in group.lines]
        rows += [self._note(group.note)] if group.note else []
        inner = table(rows, "1", theme.group, theme.group_fill, padding=4)
        return (
            f'<<TABLE BORDER="1" COLOR="{theme.group}" STYLE="ROUNDED" CELLBORDER="0" CELLSPACING="0" CELLPADDING="3" '
            f'BGCOLOR="{theme.group_fill}"><TR><TD>{inner[1:-1]}</TD></TR></TABLE>>'
        )

    def _cluster(self, graph: graphviz.Digraph, cluster: Cluster) -> None:
        with graph.subgraph(name=f"cluster_{cluster.path}") as frame:
            label = "<" + font(shorten(cluster.path), 11, self.theme.group) + ">"
            frame.attr(label=label, labelloc="t", labeljust="l", style="rounded,dashed", color=self.theme.group)
            frame.attr(id=f"c{self.scene.clusters.index(cluster)}", penwidth=".8", margin="10")
            for key in cluster.keys:
                frame.node(key)
            for inner in self.scene.clusters:
                if inner.parent == cluster.path:
                    self._cluster(frame, inner)

    def _arrow(self, number: int, arrow: Arrow) -> None:
        theme, flow = self.theme, self.scene.flow
        style: dict[str, str] = {"id": f"e{number}"}
        words = []
        if arrow.input:
            words.append(font(arrow.input, 9, theme.soft))
        if arrow.many > 1:
            words.append(font(f"×{arrow.many}", 9, theme.soft))
        if arrow.constant:
            style |= {"style": "dashed", "arrowhead": "none"}
        ran = flow.along(arrow) if flow is not None else None
        if flow is not None and ran is not None:
            key = (arrow.edge.source, arrow.edge.input) if arrow.edge else None
            if self.tags is None:
                style |= {"color": theme.grad, "penwidth": "2.4" if key in flow.fresh else "1.6"}
            words += [font(line, 11, theme.grad) for line in ran.split("\n") if line]
        if arrow.note:
            style |= {"color": theme.alarm, "style": "dashed", "penwidth": "1.6", "arrowhead": "tee"}
            words += [font(line, 10, theme.alarm) for line in wrapped("× " + arrow.note, 36)]
        if words:
            away = "" if self.sideways else font("\u00a0", 9, theme.soft)  # from an arrow that runs down
            style["label"] = "<" + "<BR/>".join(away + word for word in words) + ">"
        self.graph.edge(arrow.tail, arrow.head, **style)

    def _legend(self) -> str:
        cells = [f"<TD>{words}</TD>" for words in self._legend_words()]
        notes = [
            f'<TR><TD ALIGN="LEFT" COLSPAN="{max(1, len(cells))}">{font(line, 10, self.theme.soft)}</TD></TR>'
            for note in self.scene.notes
            for line in wrapped(note, 110)
        ]
        rows = "".join(notes) + (f"<TR>{''.join(cells)}</TR>" if cells else "")
        return f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="6" CELLPADDING="2">{rows}</TABLE>>'

    def _legend_words(self) -> list[str]:
        theme, scene = self.theme, self.scene
        states = {slot.state for op in scene.ops for slot in op.node.slots} if self.saved else set()
        kinds = {card.kind for card in scene.cards}
        words = []
        if HELD in states:
            words.append(font("■", 10, theme.saved) + font(" saved, held", 10, theme.soft))
        if FREED in states:
            words.append(font("□", 10, theme.freed) + font(" saved, freed", 10, theme.soft))
        if PACKED in states:
            words.append(font("◊", 10, theme.saved) + font(" packed by a hook", 10, theme.soft))
        if MISMATCH in states:
            words.append(font("!", 10, theme.alarm) + font(" changed since it was saved", 10, theme.soft))
        if scene.flow is not None:
            words.append(font("→", 11, theme.grad) + font(" gradient", 10, theme.soft))
        elif scene.arrows:
            words.append(font("→ the way gradients go", 10, theme.soft))
        if "constant" in kinds and any(arrow.constant for arrow in scene.arrows):
            words.append(font("- - no gradient", 10, theme.soft))
        return words


def grad_lines(grad: Values) -> list[str]:
    """A gradient on a card: its numbers, or its shape and range."""
    return numbers.lines(grad) or [numbers.shape(grad.shape)]


KIND_TEXT = {
    "parameter": "leaf · parameter",
    "leaf": "leaf",
    "constant": "leaf · constant",
    "output": "output",
    "inner": "inner",
}


def table(rows: list[str], border: str, color: str, fill: str, padding: int) -> str:
    return (
        f'<<TABLE BORDER="{border}" COLOR="{color}" BGCOLOR="{fill}" STYLE="ROUNDED" CELLBORDER="0" CELLSPACING="0" '
        f'CELLPADDING="{padding}">{"".join(rows)}</TABLE>>'
    )


def font(words: str, size: int, color: str) -> str:
    return f'<FONT POINT-SIZE="{size}" COLOR="{color}">{text(words)}</FONT>'


def text(words: str) -> str:
    """Escaped for an HTML-like label: whatever a name holds, it stays text."""
    words = clean(words).replace("\\", "\\\\")  # \N in a label is the node's own name
    return html.escape(words, quote=True).replace("&#x27;", "&#39;") or " "


def clean(words: str) -> str:
    """Without characters that XML or a line of text cannot hold."""
    return "".join(c if c >= " " and unicodedata.category(c) not in ("Cc", "Cs", "Cn") else "�" for c in words)


def title_of(card: Card) -> str:
    if card.tensor.name:
        return shorten(card.tensor.name)
    return {"parameter": "parameter", "constant": "constant", "output": "output"}.get(card.kind, "tensor")


def op_title(node: NodeRecord) -> str:
    """
    >>> op_title(NodeRecord(0, "PowBackward0", "Pow", options={"exponent": 2}))
    'Pow · 2'
    """
    options = node.options
    if node.op == "Pow" and isinstance(options.get("exponent"), (int, float)):
        return f"Pow · {numbers.number(options['exponent'])}"
    dim = options.get("dim")
    if isinstance(dim, list):
        dim = ", ".join(map(str, dim))
    if dim not in (None, "") and not node.custom:
        return f"{node.op} · dim {dim}"
    return shorten(node.op)


def shorten(name: str) -> str:
    name = clean(name)
    if len(name) <= LONGEST:
        return name
    half = (LONGEST - 1) // 2
    return f"{name[:half]}…{name[-half:]}"


def wrapped(words: str, width: int) -> list[str]:
    lines = [""]
    for word in re.split(r"\s+", words.strip()):
        if len(lines[-1]) + len(word) + 1 > width and lines[-1]:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _filler(title: str, kind: str, card: Card) -> str:
    """A third column that takes the width which a long title needs beyond the rows below it."""
    rows = [numbers.shape(card.tensor.shape) + " " + card.tensor.dtype]
    rows += (numbers.lines(card.tensor.values) or []) + (numbers.lines(card.tensor.grad) or [])
    missing = 8 * len(title) + 5 * len(kind) + 24 - 50 - 6 * max(map(len, rows))
    return f'<TD WIDTH="{missing}"></TD>' if missing > 0 else ""


def _is_wide(words: str) -> bool:
    return any(ord(c) > 0x2E80 for c in words)


def _width(words: str) -> int:
    """Points that a bold name needs; layout engines without CJK metrics count such characters as spaces."""
    return round(sum(15 if unicodedata.east_asian_width(c) in "WF" else 8 for c in words)) + 6


def sideways(scene: Scene) -> bool:
    """Left to right while that is not too wide, else top to bottom."""
    depth: dict[str, int] = {}
    turn = {f"t{t.id}": (t.node or 0) - 0.5 for t in scene.snapshot.tensors}  # an inner tensor just before its node
    turn |= {op.key: op.node.id for op in scene.ops} | {group.key: min(group.nodes) for group in scene.groups}
    for arrow in sorted(scene.arrows, key=lambda arrow: turn[arrow.tail]):
        depth[arrow.head] = max(depth.get(arrow.head, 0), depth.get(arrow.tail, 0) + 1)
    columns: dict[int, int] = {}
    gaps: dict[int, int] = {}
    for arrow in scene.arrows:
        said = (scene.flow and scene.flow.along(arrow)) or arrow.note or arrow.input or ""
        column = depth.get(arrow.tail, 0)
        gaps[column] = max(gaps.get(column, 46), 6 * min(len(said), 36) + 20)
    items: list[Card | Op | Group] = [*scene.cards, *scene.ops, *scene.groups]
    for item in items:
        column = depth.get(item.key, 0)
        columns[column] = max(columns.get(column, 0), _guess(item))
    return sum(width + gaps.get(column, 46) for column, width in columns.items()) <= WIDEST


def _guess(item: Card | Op | Group) -> int:
    """About how wide a box will be, in points."""
    if isinstance(item, Card):
        rows = (numbers.lines(item.tensor.values) or []) + (numbers.lines(item.tensor.grad) or [])
        return max(120, 8 * len(title_of(item)) + 70, 45 + 6 * max(map(len, rows), default=0))
    if isinstance(item, Op):
        return max(70, 8 * len(op_title(item.node)), 8 + sum(30 + 5 * len(slot.name) for slot in item.node.slots[:3]))
    return max(8 * len(item.title), *(5 * len(line) for line in item.lines))
