"""Peak memory of the backward of a deep graph, beside torch's for the same program, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import resource, sys
    lib = __import__(sys.argv[1])
    if sys.argv[1] == "torch":
        lib.set_num_threads(1)
    def chain(shape, steps, step):
        x = lib.full(shape, 0.5, requires_grad=True)
        y = x
        for i in range(steps):
            y = step(lib, x, y, i)
        y.sum().backward()
        return x.grad
    step = eval(sys.argv[2])
    chain((4, 4), 3, step)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    chain(eval(sys.argv[3]), int(sys.argv[4]), step)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
GRAPHS = {
    "elementwise": ("lambda lib, x, y, i: (y * 1.0001).tanh() if i % 2 else y + 0.1", "(1000, 1000)", 60),
    "tanh": ("lambda lib, x, y, i: y.tanh()", "(1000, 1000)", 60),
    "products": ("lambda lib, x, y, i: y * x", "(1000, 1000)", 60),
    "matmul": ("lambda lib, x, y, i: (y @ x) * 0.005", "(400, 400)", 60),
    "residual": ("lambda lib, x, y, i: y + lib.softmax(y, -1).sigmoid()", "(400, 400)", 60),
    "small and very deep": ("lambda lib, x, y, i: (y * 1.0001).tanh()", "(10,)", 30_000),
}


def peak(library, graph):
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), library, *map(str, GRAPHS[graph])]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_deep_backward_needs_at_most_a_tenth_more_memory_than_torchs(graph):
    assert peak("gradlab", graph) <= 1.1 * peak("torch", graph)
