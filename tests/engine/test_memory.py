"""Peak memory of the backward of a deep graph, beside torch's for the same program, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap

PROGRAM = """
    import resource, sys
    lib = __import__(sys.argv[1])
    if sys.argv[1] == "torch":
        lib.set_num_threads(1)
    def chain(size, steps):
        x = lib.ones(size, requires_grad=True)
        y = x
        for i in range(steps):
            y = (y * 1.0001).tanh() if i % 2 else y + 0.1
        y.sum().backward()
        return x.grad
    chain(10, 3)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    chain(1_000_000, 60)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def peak(library):
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), library]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_a_deep_backward_needs_at_most_a_tenth_more_memory_than_torchs():
    assert peak("gradlab") <= 1.1 * peak("torch")
