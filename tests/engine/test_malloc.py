"""A loop over arrays of some hundred KB gets the memory that it freed, and not new pages from the system."""

import subprocess
import sys
import textwrap

PROGRAM = """
    import resource
    import gradlab
    x, w = gradlab.randn(60_000), gradlab.randn(60_000, requires_grad=True)
    def turn():
        h = x
        for _ in range(5):
            h = (h * w).sin()
        h.mean().backward()
    def faults():
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    turn()
    before = faults()
    for _ in range(10):
        turn()
    print(faults() - before)
"""


def test_no_new_pages_at_each_turn():
    """A turn makes some 25 arrays of 59 pages; without the large chunk that is freed first, each is fetched anew."""
    out = subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM)], capture_output=True, text=True, check=True)
    assert int(out.stdout) < 1_000
