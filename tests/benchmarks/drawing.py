"""Drawing beside torchviz, on a ResNet-50 and a 12-layer transformer: `python tests/benchmarks/drawing.py`.

Ratios in one run: each figure is the best of several runs, the two taken in turn. Needs torchviz (pip install torchviz).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch
from torchviz import make_dot

from gradlab.drawing import draw, player, record
from gradlab.graphs import snapshot
from tests.drawing.models import ResNet, Transformer

TURNS = 7


def best(*tasks: Callable[[], Any]) -> list[float]:
    """The best time of each task in seconds, the tasks taken in turn."""
    times: list[list[float]] = [[] for _ in tasks]
    for _ in range(TURNS):
        for task, found in zip(tasks, times, strict=True):
            start = time.perf_counter()
            task()
            found.append(time.perf_counter() - start)
    return [min(found) for found in times]


def graphs() -> list[tuple[str, Any, Any]]:
    torch.manual_seed(0)
    resnet, transformer = ResNet((3, 4, 6, 3)), Transformer(layers=12)
    return [
        ("ResNet-50", resnet, resnet(torch.randn(2, 3, 32, 32)).square().mean()),
        ("transformer, 12 layers", transformer, transformer(torch.randint(0, 50, (2, 8))).square().mean()),
    ]


def beside_torchviz(name: str, model: Any, loss: Any) -> None:
    named = dict(model.named_parameters())
    theirs, ours, folded = best(
        lambda: make_dot(loss, params=named, show_attrs=True, show_saved=True).source,
        lambda: draw(loss, params=model, fold=False).source,
        lambda: draw(loss, params=model).svg(),
    )
    graph, drawing = snapshot(loss, params=model), draw(loss, params=model)
    slots = sum(len(node.slots) for node in graph.nodes)
    width, height = drawing.size()
    print(f"{name}: {len(graph.nodes)} nodes, {slots} saved slots")
    print(f"  snapshot + DOT {1000 * ours:.0f} ms, torchviz {1000 * theirs:.0f} ms: ratio {ours / theirs:.2f} (<= 1.5)")
    print(
        f"  folded, drawn {1000 * folded:.0f} ms (< 400); {drawing.scene.size} boxes, {width:.0f} x {height:.0f} points"
    )
    start = time.perf_counter()
    whole = draw(loss, params=model, fold=False)
    size = len(whole.svg()) / 1e6
    print(f"  unfolded: {whole.scene.size} boxes in {time.perf_counter() - start:.1f} s, {size:.1f} MB of SVG")


def main() -> None:
    torch.set_num_threads(1)
    for name, model, loss in graphs():
        beside_torchviz(name, model, loss)
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(50_000):
        y = y * 1.0001 + 0.1
    start = time.perf_counter()
    size = draw(y).scene.size
    print(f"100,000 operations in a chain: {size} boxes, {time.perf_counter() - start:.1f} s")
    z = x
    for _ in range(48):
        z = z.sin() * 1.01
    recording = record(z)
    data, _ = recording.draw(fold=False).bundle(0.35e6)
    kept = sum(len(value) * (4 / 3 if isinstance(value, bytes) else 1) for value in data.values())
    sent = len(json.dumps(player.of_recording(recording, fold=False)))
    print(
        f"explore, 100 nodes: {kept / 1000:.0f} KB in the notebook (<= 250), {sent / 1000:.0f} KB sent to the browser"
    )
    print(f"the player's module: {len(player.script().encode()) / 1000:.0f} KB (<= 60)")


if __name__ == "__main__":
    main()
