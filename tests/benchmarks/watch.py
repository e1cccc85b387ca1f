"""What watching costs: one torch training step of an MLP (784-128-64-10, 64 rows), with and without `gradlab.watch()`.

    python tests/benchmarks/watch.py            # time, plain and with nan=True, and memory over 6,000 steps
    python tests/benchmarks/watch.py --quick    # fails (exit status 1) above 3x

CPU time of a step over interleaved rounds. On a busy machine the undisturbed steps (the fastest tenth) say more than the
median.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch

from gradlab.diagnosis import watch

LIMIT = 3.0


def make_step():
    """The training step that is measured."""
    torch.manual_seed(0)
    layers = [
        torch.nn.Linear(784, 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 10),
    ]
    net = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(64, 784), torch.randint(0, 10, (64,))

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def seconds(step, repeat=40):
    """CPU seconds of each of several steps."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        step()
        times.append(time.process_time() - start)
    return times


def measure(rounds):
    """Seconds of a step, bare, watched and watched for NaN: (a tenth of the steps are faster, median)."""
    step = make_step()
    seconds(step)
    found = {"bare": [], "watch": [], "watch(nan=True)": []}
    for _ in range(rounds):
        found["bare"] += seconds(step)
        with watch():
            found["watch"] += seconds(step)
        with watch(nan=True):
            found["watch(nan=True)"] += seconds(step, 10)
    return {name: (statistics.quantiles(times, n=10)[0], statistics.median(times)) for name, times in found.items()}


def memory(steps):
    """Growth of the process, in MiB, between half of the steps and all of them under one watch."""
    import resource

    step = make_step()
    with watch() as w:
        for _ in range(steps // 2):
            step()
        gc.collect()
        half = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(steps // 2):
            step()
        gc.collect()
    assert len(w.log.events) > 0
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - half) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    times = measure(3 if quick else 9)
    for name, (low, median) in times.items():
        ratios = low / times["bare"][0], median / times["bare"][1]
        print(
            f"{name:16s} median {1e3 * median:7.3f} ms  {ratios[1]:.2f}x   undisturbed {1e3 * low:7.3f} ms  {ratios[0]:.2f}x"
        )
    if not quick:
        print(f"growth of memory over the second half of 6,000 steps: {memory(6_000):.1f} MiB")
    return int(times["watch"][0] > LIMIT * times["bare"][0])


if __name__ == "__main__":
    sys.exit(main())
