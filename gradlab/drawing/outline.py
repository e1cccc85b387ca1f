"""A Scene's graph as text: the screen reader's picture, and what is shown where no layout engine is found."""

from __future__ import annotations

from gradlab.drawing import numbers
from gradlab.drawing.dot import KIND_TEXT, op_title, title_of
from gradlab.drawing.scene import Arrow, Card, Group, Op, Scene
from gradlab.graphs.records import HELD, Slot


def outline(scene: Scene) -> str:
    """One line a box, each with the boxes its gradients go to; no recursion, each box once."""
    names = {card.key: title_of(card) for card in scene.cards}
    names |= {op.key: f"{op_title(op.node)} #{op.node.id}" for op in scene.ops}
    names |= {group.key: group.title for group in scene.groups}
    lines = [_headline(scene)]
    after: dict[str, list[Arrow]] = {}
    for arrow in scene.arrows:
        after.setdefault(arrow.tail, []).append(arrow)
    roots = {f"t{root}" for root in scene.snapshot.roots}
    cards = {card.key: card for card in scene.cards}
    for key in sorted(roots & cards.keys(), key=lambda k: int(k[1:])):
        lines.append(_card(cards[key], after.get(key, []), names))
    items: list[Op | Group] = [*scene.ops, *scene.groups]
    for item in sorted(items, key=_place):
        lines.append(_op(item, after, names) if isinstance(item, Op) else _group(item, after, names))
    for key, card in cards.items():
        if key not in roots:
            lines.append(_card(card, after.get(key, []), names))
    return "\n".join(lines + [f"note: {note}" for note in scene.notes])


def _headline(scene: Scene) -> str:
    graph = scene.snapshot
    operations = sum(node.tensor is None for node in graph.nodes)
    leaves = sum(tensor.is_leaf and tensor.requires_grad for tensor in graph.tensors)
    parts = [numbers.count(operations, "operation"), f"{leaves:,} {'leaf' if leaves == 1 else 'leaves'} with gradient"]
    return f"{graph.engine} graph: " + ", ".join(parts)


def _place(item: Op | Group) -> int:
    return item.node.id if isinstance(item, Op) else min(item.nodes, default=0)


def _card(card: Card, arrows: list[Arrow], names: dict[str, str]) -> str:
    tensor = card.tensor
    parts = [f"{title_of(card)}: {KIND_TEXT[card.kind]}, shape {numbers.shape(tensor.shape)} {tensor.dtype}"]
    if tensor.also:
        parts.append(f"also {', '.join(tensor.also)}")
    shown = numbers.lines(tensor.values)
    if shown is not None:
        parts.append(f"data {' '.join(line.strip() for line in shown)}")
    if tensor.requires_grad:
        kept = tensor.is_leaf or tensor.retains_grad
        parts.append(f"grad {numbers.brief(tensor.grad)}" if kept else "grad not kept")
    if tensor.version:
        parts.append(f"version {tensor.version}")
    if card.note:
        parts.append(f"! {card.note}")
    return ", ".join(parts) + _goes(arrows, names)


def _op(op: Op, after: dict[str, list[Arrow]], names: dict[str, str]) -> str:
    slots = [_slot(slot) for slot in op.node.slots]
    text = f"  {names[op.key]} ({op.node.name}): " + ("saves " + ", ".join(slots) if slots else "saves nothing")
    return text + (f", ! {op.note}" if op.note else "") + _goes(after.get(op.key, []), names)


def _slot(slot: Slot) -> str:
    if slot.state != HELD or slot.shape is None:
        return f"{slot.name} {slot.state}"
    value = numbers.lines(slot.values, 6)
    what = f" = {value[0]}" if value and len(value) == 1 else f" {numbers.shape(slot.shape)}"
    return f"{slot.name} held{what}"


def _group(group: Group, after: dict[str, list[Arrow]], names: dict[str, str]) -> str:
    note = f", ! {group.note}" if group.note else ""
    return f"  [{group.title}: {', '.join(group.lines)}{note}]" + _goes(after.get(group.key, []), names)


def _goes(arrows: list[Arrow], names: dict[str, str]) -> str:
    targets = []
    for arrow in arrows:
        extra = f" as {arrow.input}" if arrow.input else ""
        extra += f" (×{arrow.many})" if arrow.many > 1 else ""
        extra += " (no gradient)" if arrow.constant else ""
        extra += f" (broken: {arrow.note})" if arrow.note else ""
        targets.append(names.get(arrow.head, arrow.head) + extra)
    return " -> " + ", ".join(targets) if targets else ""
