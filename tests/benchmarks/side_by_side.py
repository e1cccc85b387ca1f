"""CPU time of gradlab beside torch on a lesson's graphs, in one process and one thread.

    python tests/benchmarks/side_by_side.py              # every workload
    python tests/benchmarks/side_by_side.py chain rnn --rounds 9

The same step function runs in both libraries. Each round times both, in random order; the table shows the median of each and
their ratio (below 1: gradlab is faster). The first losses must agree, else the workload has no ratio and the command fails.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np

LIMITS = {"chain": 1.1, "mlp_small": 1.0, "mlp_big": 1.1, "rnn": 1.1, "second_order": 1.2, "attention": 1.5, "convnet": 2.0}


def normal(seed: int, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def chain(lib: Any) -> Callable:
    """A thousand operations on one number: what an operation costs."""
    x, w, b = (lib.tensor([v], requires_grad=True) for v in (0.3, 1.1, 0.05))

    def step() -> float:
        x.grad = w.grad = b.grad = None
        y = x
        for _ in range(333):
            y = (y * w + b).tanh()
        y.backward()
        return float(w.grad)

    return step


def trained(lib: Any, net: Any, optimizer: Callable, inputs: np.ndarray, classes: np.ndarray) -> Callable:
    """One training step of a classifier whose parameters are drawn here, the same for both libraries."""
    with lib.no_grad():
        for n, p in enumerate(net.parameters()):
            p.copy_(lib.tensor(normal(n, *p.shape, scale=p.shape[-1] ** -0.5 if p.ndim > 1 else 0.0)))
    optimizer = optimizer(net.parameters())
    x, y = lib.tensor(inputs), lib.tensor(classes)

    def step() -> float:
        optimizer.zero_grad()
        loss = lib.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def mlp(width: tuple[int, ...], batch: int) -> Callable:
    def make(lib: Any) -> Callable:
        nn, layers = lib.nn, []
        for n, (a, b) in enumerate(zip(width, width[1:], strict=False)):
            layers += [nn.Linear(a, b), nn.ReLU()] if n < len(width) - 2 else [nn.Linear(a, b)]
        classes = np.random.default_rng(1).integers(0, width[-1], batch)
        net = nn.Sequential(*layers)
        return trained(lib, net, lambda p: lib.optim.SGD(p, lr=0.1), normal(0, batch, width[0]), classes)

    return make


def convnet(lib: Any) -> Callable:
    nn = lib.nn
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(784, 10),
    )  # fmt: skip
    classes = np.random.default_rng(1).integers(0, 10, 32)
    return trained(lib, net, lambda p: lib.optim.Adam(p, lr=1e-3), normal(0, 32, 1, 28, 28), classes)


def attention(lib: Any) -> Callable:
    """One block of a small transformer, written out."""
    batch, length, width, heads = 8, 32, 64, 4
    x, F = lib.tensor(normal(0, batch, length, width)), lib.nn.functional
    shapes = ((width, 3 * width), (width, width), (width, 4 * width), (4 * width, width))
    weights = [lib.tensor(normal(n, *s, scale=0.1), requires_grad=True) for n, s in enumerate(shapes)]

    def step() -> float:
        for w in weights:
            w.grad = None
        q, k, v = (x @ weights[0]).reshape(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4).unbind(0)
        seen = F.softmax(q @ k.transpose(-2, -1) / (width // heads) ** 0.5, dim=-1) @ v
        h = F.layer_norm(x + seen.transpose(1, 2).reshape(batch, length, width) @ weights[1], (width,))
        h = h + F.gelu(h @ weights[2]) @ weights[3]
        loss = (h * h).mean()
        loss.backward()
        return loss.item()

    return step


def rnn(lib: Any) -> Callable:
    """A hundred steps of a recurrent network, written out."""
    xs = lib.tensor(normal(0, 100, 16, 32))
    wx, wh, b = (lib.tensor(normal(n, *s, scale=0.1), requires_grad=True) for n, s in enumerate(((32, 64), (64, 64), (64,))))

    def step() -> float:
        wx.grad = wh.grad = b.grad = None
        h = lib.zeros(16, 64)
        for t in range(100):
            h = (xs[t] @ wx + h @ wh + b).tanh()
        loss = h.pow(2).mean()
        loss.backward()
        return loss.item()

    return step


def second_order(lib: Any) -> Callable:
    """A gradient penalty: backward through a recorded backward."""
    w, x = lib.tensor(normal(0, 64, 64, scale=0.1), requires_grad=True), lib.tensor(normal(1, 32, 64))

    def step() -> float:
        w.grad = None
        (g,) = lib.autograd.grad((x @ w).tanh().pow(2).sum(), w, create_graph=True)
        g.pow(2).sum().backward()
        return float(w.grad.sum())

    return step


WORKLOADS: dict[str, Callable] = {
    "chain": chain,
    "mlp_small": mlp((784, 128, 64, 10), 64),
    "mlp_big": mlp((784, 512, 512, 10), 512),
    "convnet": convnet,
    "attention": attention,
    "rnn": rnn,
    "second_order": second_order,
}


def seconds(step: Callable, times: int) -> float:
    """The median CPU time of so many runs."""
    found = []
    for _ in range(times):
        start = time.process_time()
        step()
        found.append(time.process_time() - start)
    return statistics.median(found)


def compare(name: str, rounds: int) -> float | None:
    """Print one line; the ratio, or None where the losses differ."""
    import torch

    import gradlab

    torch.set_num_threads(1)
    steps = {"gradlab": WORKLOADS[name](gradlab), "torch": WORKLOADS[name](torch)}
    first = {who: [step() for _ in range(5)] for who, step in steps.items()}
    if not np.allclose(first["gradlab"], first["torch"], rtol=2e-3, atol=1e-5):
        print(f"{name:13s} the losses differ: {first}")
        return None
    times: dict[str, list[float]] = {who: [] for who in steps}
    inner = max(1, min(50, int(0.05 / max(seconds(steps["torch"], 1), 1e-5))))
    for _ in range(rounds):
        for who, step in random.sample(list(steps.items()), len(steps)):
            times[who].append(seconds(step, inner))
    ours, theirs = statistics.median(times["gradlab"]), statistics.median(times["torch"])
    ratio = ours / theirs
    print(
        f"{name:13s} gradlab {1e3 * ours:8.3f} ms   torch {1e3 * theirs:8.3f} ms   "
        f"ratio {ratio:.2f}  (wanted {LIMITS[name]})"
    )
    return ratio


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", choices=[[], *WORKLOADS], default=[], metavar="workload")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    return int(None in [compare(name, given.rounds) for name in given.workloads or WORKLOADS])


if __name__ == "__main__":
    sys.exit(main())
