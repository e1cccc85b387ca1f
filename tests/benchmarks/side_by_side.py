"""CPU time of gradlab beside torch, hand-written numpy and HIPS autograd on a lesson's graphs, in one process and one thread.

    python tests/benchmarks/side_by_side.py              # every workload, and how a long chain grows
    python tests/benchmarks/side_by_side.py chain rnn --rounds 9

The same step function runs in gradlab and in torch; numpy's and HIPS autograd's (where it is installed) do the same work.
Each round times them in random order; the table shows gradlab's median and its ratio to the others' (below 1: gradlab is
faster), with the ratio that is wanted. The first losses must agree with torch's, else the command fails. ``growth`` runs
chains of 1,000 to 1,000,000 operations: ten times as many may take twelve times as long, and as much memory, at most.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np

LIMITS = {  # the most that gradlab may take, in times what the other takes
    "torch": {"chain": 1.1, "mlp_small": 1.0, "mlp_big": 1.1, "rnn": 1.1, "second_order": 1.2, "attention": 1.5, "convnet": 2.0},
    "numpy": {"mlp_small": 1.5},
    "hips": {"chain": 0.33},
}
GROWTH = 12  # for ten times the operations
GROWTH_ROUNDS = {1_000: 25, 10_000: 11, 100_000: 3}  # of each length between two of a tenth: the machine's own speed changes


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


# -- by hand, and with HIPS autograd -----------------------------------------------------------------------------------


def numpy_chain() -> Callable:
    x, w, b = (np.array([v], np.float32) for v in (0.3, 1.1, 0.05))

    def step() -> float:
        ys, y = [], x
        for _ in range(333):
            product = y * w
            out = np.tanh(product + b)
            ys.append((y, out))
            y = out
        g, gw, gb = np.ones_like(x), np.zeros_like(x), np.zeros_like(x)
        for before, after in reversed(ys):
            g = g * (1 - after * after)
            gb += g
            gw += g * before
            g = g * w
        return float(gw[0])

    return step


def numpy_mlp(width: tuple[int, ...], batch: int) -> Callable:
    ws = [normal(n, a, b, scale=a**-0.5) for n, (a, b) in enumerate(zip(width, width[1:], strict=False))]
    bs = [np.zeros(w.shape[1], np.float32) for w in ws]
    x, rows = normal(0, batch, width[0]), np.arange(batch)
    y = np.random.default_rng(1).integers(0, width[-1], batch)

    def step() -> float:
        hs = [x]
        for n, (w, b) in enumerate(zip(ws, bs, strict=True)):
            h = hs[-1] @ w
            h += b
            hs.append(np.maximum(h, 0, out=h) if n < len(ws) - 1 else h)
        z = h - h.max(1, keepdims=True)
        e = np.exp(z)
        total = e.sum(1, keepdims=True)
        loss = float((np.log(total[:, 0]) - z[rows, y]).mean())
        g = e / total
        g[rows, y] -= 1
        g /= np.float32(batch)
        for n in reversed(range(len(ws))):
            steps = [(ws[n], hs[n].T @ g), (bs[n], g.sum(0))]
            g = (g @ ws[n].T) * (hs[n] > 0) if n else g
            for parameter, gradient in steps:
                gradient *= np.float32(0.1)
                parameter -= gradient
        return loss

    return step


def hips_chain() -> Callable:
    import autograd.numpy as anp
    from autograd import grad

    def chained(x: Any, w: Any, b: Any) -> Any:
        y = x
        for _ in range(333):
            y = anp.tanh(y * w + b)
        return y[0]

    gradient, given = grad(chained, (0, 1, 2)), [np.array([v], np.float32) for v in (0.3, 1.1, 0.05)]
    return lambda: float(gradient(*given)[1][0])


SMALL, BIG = ((784, 128, 64, 10), 64), ((784, 512, 512, 10), 512)
WORKLOADS: dict[str, Callable] = {
    "chain": chain,
    "mlp_small": mlp(*SMALL),
    "mlp_big": mlp(*BIG),
    "convnet": convnet,
    "attention": attention,
    "rnn": rnn,
    "second_order": second_order,
}
OTHERS: dict[str, dict[str, Callable]] = {
    "chain": {"numpy": numpy_chain, "hips": hips_chain},
    "mlp_small": {"numpy": lambda: numpy_mlp(*SMALL)},
    "mlp_big": {"numpy": lambda: numpy_mlp(*BIG)},
}


def seconds(step: Callable, times: int) -> float:
    """The median CPU time of so many runs."""
    found = []
    for _ in range(times):
        start = time.process_time()
        step()
        found.append(time.process_time() - start)
    return statistics.median(found)


def compare(name: str, rounds: int) -> bool:
    """Print one line; whether the losses agree."""
    import torch

    import gradlab

    torch.set_num_threads(1)
    steps = {"gradlab": WORKLOADS[name](gradlab), "torch": WORKLOADS[name](torch)}
    first = {who: [step() for _ in range(5)] for who, step in steps.items()}
    if not np.allclose(first["gradlab"], first["torch"], rtol=2e-3, atol=1e-5):
        print(f"{name:13s} the losses differ: {first}")
        return False
    for who, make in OTHERS.get(name, {}).items():
        if who != "hips" or importlib.util.find_spec("autograd"):
            steps[who] = make()
    times: dict[str, list[float]] = {who: [] for who in steps}
    inner = {who: max(1, min(50, int(0.05 / max(seconds(step, 3), 1e-5)))) for who, step in steps.items()}
    for _ in range(rounds):
        for who, step in random.sample(list(steps.items()), len(steps)):
            times[who].append(seconds(step, inner[who]))
    ours = statistics.median(times.pop("gradlab"))
    cells = [f"{who} {ours / statistics.median(t):.2f}x{_wanted(who, name)}" for who, t in times.items()]
    print(f"{name:13s} gradlab {1e3 * ours:8.3f} ms   {'   '.join(cells)}", flush=True)
    return True


def _wanted(who: str, name: str) -> str:
    limit = LIMITS[who].get(name)
    return "" if limit is None else f" (wanted {limit})"


def long_chain(length: int) -> None:
    import gradlab

    w = gradlab.tensor([1.001], requires_grad=True)
    y = w
    for n in range(length):
        y = y * w if n % 2 else (y + w).tanh()
    y.backward()


def peak(length: int) -> int:
    """The most memory that a chain of so many operations holds, in bytes."""
    tracemalloc.start()
    long_chain(length)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def growth() -> bool:
    """Print how time and memory grow with the length of a chain; whether they are linear."""
    slower = [statistics.median([_slower(n) for _ in range(rounds)]) for n, rounds in GROWTH_ROUNDS.items()]
    larger = [peak(100_000) / peak(10_000)]  # below, Python's own spare lists hold a part
    lengths = ", ".join(f"{n:,}" for n in GROWTH_ROUNDS)
    print(f"growth        ten times as many as {lengths}: time {_ratios(slower)}, memory {_ratios(larger)} (wanted {GROWTH})")
    return max(*slower, *larger) <= GROWTH


def _slower(length: int) -> float:
    """How much longer ten times the length takes, beside the mean of the length itself before and after."""
    short, long = (seconds(lambda n=n: long_chain(n), max(1, 30_000 // n)) for n in (length, 10 * length))
    return 2 * long / (short + seconds(lambda: long_chain(length), max(1, 30_000 // length)))


def _ratios(found: list[float]) -> str:
    return " ".join(f"{ratio:.1f}x" for ratio in found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", choices=[[], *WORKLOADS, "growth"], default=[], metavar="workload")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    fine = [growth() if name == "growth" else compare(name, given.rounds) for name in given.workloads or [*WORKLOADS, "growth"]]
    return int(not all(fine))


if __name__ == "__main__":
    sys.exit(main())
