"""Folding: a big graph drawn as its modules, repeated blocks as one, long stretches of plain operations as one.

What belongs to which module is read from the parameters' names: an operation belongs to the module whose parameters
it takes, and one without parameters to the block of what it was computed from last.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradlab.drawing import numbers
from gradlab.drawing.scene import Arrow, Cluster, Group, Scene
from gradlab.graphs.records import FREED, HELD, NEVER, NodeRecord, Snapshot

MANY = 300  # more visible boxes than this fold by themselves,
TALL = 48  # and so do more of them one above the other: four screens of a notebook
FEW, GOAL = 15, 30  # a folded picture opens its largest module until it has this many boxes
LONGEST_PERIOD = 64

_NAMELESS = "The parameters have no names: draw(..., params=model) folds by modules."

Path = tuple[str, ...]


def fold(scene: Scene, how: Any = "auto", opened: Iterable[str] = ()) -> Scene:
    """The scene with groups. `how` is "auto", True, False, a depth, or names of modules; `opened` are names to open."""
    check(how)
    if how is False or (how == "auto" and scene.size <= MANY and _height(scene.snapshot) <= TALL):
        return scene
    tree = _tree(scene.snapshot)
    frames: list[Unit] = []
    opened = set(opened)
    if how is True or how == "auto":
        units = _automatic(scene, tree, opened, frames)
        units += _stretches(scene, units, opened)
    elif isinstance(how, (str, list, tuple, set, frozenset)):
        units = _named(tree, {how} if isinstance(how, str) else set(how))
    else:
        units = _at_depth(tree, int(how))
    folded = _replace(scene, units)
    folded.clusters = _clusters(folded, units, frames)
    if folded.size >= scene.size:
        folded = scene
    elif folded.groups:
        folded.notes.append(f"Folded: {scene.size:,} boxes drawn as {folded.size:,}. fold=False draws all of them.")
    if how in (True, "auto") and not tree.children and sum(card.kind == "parameter" for card in scene.cards) > FEW:
        folded.notes.append(_NAMELESS)
    return folded


def check(how: Any) -> None:
    """Raises ValueError for what `fold` cannot be."""
    names = isinstance(how, (list, tuple, set, frozenset)) and all(isinstance(name, str) for name in how)
    depth = isinstance(how, int) and (isinstance(how, bool) or how > 0)
    if not (names or depth or isinstance(how, str)):
        raise ValueError(f"fold={how!r}: it is 'auto', True, False, a depth from 1 on, or names of modules to fold")


@dataclass(slots=True)
class Unit:
    """Nodes that may be drawn as one box."""

    path: Path
    nodes: list[int] = field(default_factory=list)  # all of them, those of children too
    children: list[Unit] = field(default_factory=list)
    times: int = 1  # so many equal siblings in one
    last: Path = ()
    rest: bool = False  # what is left of equal siblings whose first is open
    pattern: bool = False  # operations, not a module
    signature: tuple[Any, ...] = ()  # equal for blocks that are built alike
    loose: dict[int, Path] = field(default_factory=dict)  # the whole graph's operations without parameters, by module

    @property
    def title(self) -> str:
        if self.times == 1:
            return ".".join(self.path)
        return f"{'.'.join(self.path)} – {self.last[-1]}  ×{self.times}"


def _height(snapshot: Snapshot) -> int:
    """How many boxes stand one above the other, at most."""
    above = [1] * len(snapshot.nodes)
    below: dict[int, list[int]] = {}
    for edge in snapshot.edges:
        if edge.target is not None:
            below.setdefault(edge.source, []).append(edge.target)
    for number in range(len(above)):  # inputs come after their node
        for target in below.get(number, ()):
            above[target] = max(above[target], above[number] + 1)
    return max(above, default=0)


def module_paths(snapshot: Snapshot) -> tuple[list[Path | None], list[Path | None]]:
    """For each node the path of its module, () the outermost, None unknown; and that by its own parameters alone."""
    count = len(snapshot.nodes)
    edges: list[list[int]] = [[] for _ in range(count)]
    for edge in snapshot.edges:
        if edge.target is not None:
            edges[edge.source].append(edge.target)
    own: list[Path | None] = [None] * count  # by parameters
    pure: list[Path | None] = [None] * count  # computed from parameters alone: a transposed weight
    shared = _shared(snapshot)
    for number in reversed(range(count)):  # inputs come after their node in backward order
        node = snapshot.nodes[number]
        if node.tensor is not None:
            pure[number] = _home_of(snapshot.tensors[node.tensor].name)
            continue
        paths = [shared.get((number, target), pure[target]) for target in edges[number]]
        found = [path for path in paths if path is not None]
        if found:
            own[number] = _common(found)
            if len(found) == len(edges[number]) and not node.slots:
                pure[number] = own[number]
    return _blocks(edges, own), own


def _home_of(name: str | None) -> Path | None:
    return tuple(name.split(".")[:-1]) if name and "." in name else None


def _shared(snapshot: Snapshot) -> dict[tuple[int, int], Path | None]:
    """(node, leaf) -> the module for which it uses a weight that several modules share: the first use is the first's."""
    uses: dict[int, list[int]] = {}
    for edge in snapshot.edges:
        if edge.target is not None and snapshot.nodes[edge.target].tensor is not None:
            uses.setdefault(edge.target, []).append(edge.source)
    found = {}
    for target, users in uses.items():
        leaf = snapshot.tensors[snapshot.nodes[target].tensor or 0]
        if leaf.also and len(users) == 1 + len(leaf.also):
            for user, name in zip(sorted(users, reverse=True), [leaf.name, *leaf.also], strict=True):
                found[user, target] = _home_of(name)
    return found


def _blocks(edges: list[list[int]], own: list[Path | None]) -> list[Path | None]:
    """Operations without parameters belong to the block of their latest input; what prepares a block, to that block."""
    count = len(edges)
    containers = {path[:depth] for path in own if path for depth in range(len(path))}

    def outside(number: int) -> Path:
        path = block[number] or ()
        return path[:-1] if own[number] is not None and path not in containers else path

    block = list(own)
    users = Counter(target for targets in edges for target in targets)
    for number in reversed(range(count)):
        known = [target for target in edges[number] if block[target] is not None]
        if own[number] is None and known:
            block[number] = outside(min(known))
    for number in range(count):
        for target in edges[number]:
            if own[target] is None and block[target] == () and users[target] == 1 and block[number]:
                block[target] = outside(number)
    return block


def _common(paths: Sequence[Path]) -> Path:
    shared = paths[0]
    for path in paths[1:]:
        equal = [a == b for a, b in zip(shared, path, strict=False)]
        shared = shared[: equal.index(False) if False in equal else len(equal)]
    return shared


def _tree(snapshot: Snapshot) -> Unit:
    root = Unit(())
    paths, own = module_paths(snapshot)
    index: dict[Path, Unit] = {(): root}
    for number in reversed(range(len(paths))):  # forward order
        path = paths[number]
        if path is None:
            continue
        root.nodes.append(number)
        if own[number] is None:
            root.loose[number] = path
        for depth in range(1, len(path) + 1):
            unit = index.get(path[:depth])
            if unit is None:
                unit = index[path[:depth]] = Unit(path[:depth], loose=root.loose)
                index[path[: depth - 1]].children.append(unit)
            unit.nodes.append(number)
            if own[number] is not None:
                unit.signature += (path[depth:], snapshot.nodes[number].op)
    return root


def _named(tree: Unit, names: set[str]) -> list[Unit]:
    found, stack = [], list(tree.children)
    while stack:
        unit = stack.pop()
        if ".".join(unit.path) in names:
            names = names - {".".join(unit.path)}
            found.append(unit)
        else:
            stack += unit.children
    if names:
        raise ValueError(f"fold: no parameter in this graph belongs to {', '.join(sorted(map(repr, names)))}")
    return found


def _at_depth(tree: Unit, depth: int) -> list[Unit]:
    level = [tree]
    for _ in range(depth):
        level = [child for unit in level for child in (unit.children or [unit])]
    return [unit for unit in level if unit.path]


def _automatic(scene: Scene, tree: Unit, opened: set[str], frames: list[Unit]) -> list[Unit]:
    """Top-level modules, the largest opened until there is enough to see; equal neighbours are one."""
    units = _merged(tree.children)
    done = {number for unit in units for number in unit.nodes}
    visible = len(units) + sum(op.node.id not in done for op in scene.ops) + len(scene.snapshot.roots)
    closed: list[Unit] = []
    while units:
        unit = max(units, key=lambda u: (".".join(u.path) in opened, not u.rest, len(u.nodes) / u.times, -len(u.path)))
        forced = ".".join(unit.path) in opened
        units.remove(unit)
        inside = _open(unit)
        grows = len(inside) - 1 + _loose(unit, inside)
        enough = visible >= GOAL or (visible >= FEW and (unit.rest or visible + grows > GOAL))
        if not forced and (enough or visible + grows > MANY):
            closed.append(unit)
            if not opened or not any(".".join(u.path) in opened for u in units):
                break
            continue
        if not inside and not forced:
            closed.append(unit)
            continue
        units += inside
        visible += grows
        if unit.times == 1:
            frames.append(unit)
    return _apart(closed + units)


def _apart(units: list[Unit]) -> list[Unit]:
    """No operation in two units: loops that take turns would both claim what is between their blocks."""
    seen: set[int] = set()
    for unit in units:
        unit.nodes = [number for number in unit.nodes if number not in seen]
        seen.update(unit.nodes)
    return units


def _open(unit: Unit) -> list[Unit]:
    """What is seen when a unit is opened: its children, or the first of several equal ones and the rest."""
    if unit.times > 1:
        first, *rest = unit.children
        again = _merged(rest)
        again[0].rest = True
        return [first, *again]
    return _merged(unit.children)


def _loose(unit: Unit, inside: list[Unit]) -> int:
    return len(unit.nodes) - sum(len(child.nodes) for child in inside)


def _merged(siblings: list[Unit]) -> list[Unit]:
    """Equal neighbours as one unit with `times`; their own list is kept as its children."""
    merged: list[Unit] = []
    signature: Any = None
    for unit in siblings:
        if merged and unit.path[-1].isdigit() and unit.signature == signature and len(unit.signature) > 2:
            run = merged[-1]
            if run.times == 1:
                run = merged[-1] = Unit(run.path, list(run.nodes), [run], 1, run.path, loose=run.loose)
            run.nodes += unit.nodes
            run.children.append(unit)
            run.times, run.last = run.times + 1, unit.path
        else:
            merged.append(unit)
        signature = unit.signature
    for run in merged:
        if run.times > 1:
            run.nodes += _between(run)
    return merged


def _between(run: Unit) -> list[int]:
    """What a loop does between its blocks belongs to it: activations, residual sums."""
    first, last, around = max(run.nodes), min(run.nodes), run.path[:-1]
    return [n for n, path in run.loose.items() if last < n < first and path == around[: len(path)]]


def _stretches(scene: Scene, units: list[Unit], opened: set[str]) -> list[Unit]:
    """Repeated patterns among the operations outside modules; if that leaves too many, stretches of equal length."""
    done = {number for unit in units for number in unit.nodes}
    loose = [op.node.id for op in scene.ops if op.node.id not in done]
    if len(loose) <= TALL:
        return []
    worth = 2 if len(loose) + len(units) > MANY else FEW  # operations, to be hidden behind a name
    ops = [scene.snapshot.nodes[number].op for number in loose]
    found: list[Unit] = []
    rest = 0
    for start, period, times in repeats(ops):
        shown = period if times > 2 and period <= FEW else 0  # the first time through is drawn in full
        if times < 2 or period * times - shown < worth:
            rest += period * times
            continue
        pattern = " → ".join(reversed(ops[start : start + min(period, 4)])) + (" → …" if period > 4 else "")
        inside = loose[start + shown : start + period * times]
        found += _closed(f"{pattern}  ×{times - bool(shown):,}", inside, opened)
        rest += shown
    if rest + len(found) <= MANY:
        return found
    return _parts(loose, opened)


def _closed(title: str, nodes: list[int], opened: set[str]) -> list[Unit]:
    """The stretch as one box; none where it was opened, or its parts where all of it would be too many."""
    if title not in opened:
        return [Unit((title,), nodes, pattern=True)]
    return [] if len(nodes) <= MANY else _parts(nodes, opened)


def _parts(nodes: list[int], opened: set[str]) -> list[Unit]:
    size = math.ceil(len(nodes) / GOAL)
    chunks = [nodes[start : start + size] for start in range(0, len(nodes), size)]
    return [unit for chunk in chunks for unit in _closed(f"operations {chunk[0]} to {chunk[-1]}", chunk, opened)]


def repeats(items: Sequence[str]) -> list[tuple[int, int, int]]:
    """Cut a sequence into (start, period, times), longest repeats first come.

    >>> repeats(["Sum", "Add", "Mul", "Add", "Mul", "Add", "Mul", "Exp"])
    [(0, 1, 1), (1, 2, 3), (7, 1, 1)]
    """
    codes = {item: i for i, item in enumerate(dict.fromkeys(items))}
    word = np.array([codes[item] for item in items])
    periods, lengths = _longest_runs(word)
    cut: list[tuple[int, int, int]] = []
    start = 0
    while start < len(word):
        period = int(periods[start])
        times = int(lengths[start]) // period if period else 0
        if times >= 2 and period * times >= 4:
            cut.append((start, period, times))
            start += period * times
        else:
            cut.append((start, 1, 1))
            start += 1
    return cut


def _longest_runs(word: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each place the period and length of the longest periodic stretch that begins there, short periods first."""
    size = len(word)
    periods, lengths = np.zeros(size, int), np.zeros(size, int)
    for period in range(1, min(LONGEST_PERIOD, size // 2) + 1):
        places = np.arange(size - period)
        differs = np.where(word[:-period] == word[period:], size - period, places)
        equal = np.minimum.accumulate(differs[::-1])[::-1] - places
        better = (equal >= period) & (equal + period > lengths[:-period] + periods[:-period])
        periods[:-period][better] = period
        lengths[:-period][better] = equal[better] + period
    return periods, lengths


def _replace(scene: Scene, units: list[Unit]) -> Scene:
    snapshot = scene.snapshot
    group_of: dict[int, str] = {}
    notes = {op.node.id: op.note for op in scene.ops if op.note}
    groups = []
    for number, unit in enumerate(units):
        key = f"g{number}"
        group_of |= dict.fromkeys(unit.nodes, key)
        note = "; ".join(notes[node] for node in unit.nodes if node in notes) or None
        groups.append(Group(key, unit.title, _lines(snapshot, unit), ".".join(unit.path), list(unit.nodes), note))
    patterns = {group.key for group, unit in zip(groups, units, strict=True) if unit.pattern}
    moved = {f"n{node}": key for node, key in group_of.items()} | _absorbed(scene, group_of, patterns)
    folded = Scene(snapshot, flow=scene.flow, notes=list(scene.notes), groups=groups)
    folded.cards = [card for card in scene.cards if card.key not in moved]
    folded.ops = [op for op in scene.ops if op.key not in moved]
    together: dict[tuple[str, str, str | bool], Arrow] = {}
    for arrow in scene.arrows:
        tail, head = moved.get(arrow.tail, arrow.tail), moved.get(arrow.head, arrow.head)
        if tail == head:
            continue
        if tail == arrow.tail and head == arrow.head:
            folded.arrows.append(arrow)
            continue
        bundle = (tail, head, arrow.note or arrow.constant)
        if bundle in together:
            together[bundle].many += 1
        else:
            together[bundle] = Arrow(tail, head, arrow.edge, None, arrow.constant, note=arrow.note)
            folded.arrows.append(together[bundle])
    return folded


def _clusters(scene: Scene, units: list[Unit], frames: list[Unit]) -> list[Cluster]:
    """A frame for each opened module, around its groups and loose operations."""
    frames = sorted(frames, key=lambda frame: len(frame.path))
    clusters = {frame.path: Cluster(".".join(frame.path), _home(frame.path, frames)) for frame in frames}
    innermost = {number: frame.path for frame in frames for number in frame.nodes}
    for op in scene.ops:
        if op.node.id in innermost:
            clusters[innermost[op.node.id]].keys.append(op.key)
    for number, unit in enumerate(units):
        home = innermost.get(unit.nodes[0])
        if home is not None:
            clusters[home].keys.append(f"g{number}")
            short = unit.title.removeprefix(".".join(home) + ".")
            scene.groups[number].title = unit.title if short[0].isdigit() else short
    return list(clusters.values())


def _home(path: Path, frames: list[Unit]) -> str | None:
    homes = [frame.path for frame in frames if len(frame.path) < len(path) and path[: len(frame.path)] == frame.path]
    return ".".join(homes[-1]) if homes else None


def _absorbed(scene: Scene, group_of: dict[int, str], patterns: set[str]) -> dict[str, str]:
    """Parameters and constants that only one group uses go into it; a pattern keeps a few of its own in sight."""
    users: dict[str, set[str]] = {}
    for arrow in scene.arrows:
        if arrow.tail.startswith("n"):
            users.setdefault(arrow.head, set()).add(group_of.get(int(arrow.tail[1:]), arrow.tail))
    absorbed: dict[str, list[str]] = {}
    groups = set(group_of.values())
    for card in scene.cards:
        homes = users.get(card.key, set())
        inside = card.kind in ("parameter", "constant", "leaf") and card.tensor.id not in scene.snapshot.roots
        if inside and not card.note and len(homes) == 1 and (home := next(iter(homes))) in groups:
            absorbed.setdefault(home, []).append(card.key)
    many = {home: keys for home, keys in absorbed.items() if home not in patterns or len(keys) > FEW}
    return {key: home for home, keys in many.items() for key in keys}


def _lines(snapshot: Snapshot, unit: Unit) -> list[str]:
    nodes = [snapshot.nodes[number] for number in unit.nodes]
    names = list(dict.fromkeys(node.op for node in nodes if node.slots)) or list(dict.fromkeys(n.op for n in nodes))
    few = len(nodes) <= 3 and unit.times == 1
    what = [" · ".join(names) if few else numbers.count(len(nodes), "operation")]
    parameters = _parameters(snapshot, set(unit.nodes))
    if parameters:
        what.append(numbers.count(parameters, "parameter"))
    return [" · ".join(what), *saved_line(nodes)]


def saved_line(nodes: Iterable[NodeRecord]) -> list[str]:
    states = Counter(slot.state for node in nodes for slot in node.slots if slot.state != NEVER)
    parts = [f"{'■ ' if state == HELD else '□ ' if state == FREED else ''}{n:,} {state}" for state, n in states.items()]
    return ["saved: " + ", ".join(parts)] if parts else []


def _parameters(snapshot: Snapshot, nodes: set[int]) -> int:
    ends = {edge.target for edge in snapshot.edges if edge.source in nodes and edge.target is not None}
    leaves = {snapshot.nodes[end].tensor for end in ends}
    tensors = [snapshot.tensors[leaf] for leaf in leaves if leaf is not None]
    return sum(math.prod(tensor.shape) for tensor in tensors if tensor.is_parameter)
