"""What `import gradlab` costs beside `import numpy`: `python tests/benchmarks/importing.py`.

CPU time in new interpreters, the two in turn, after one run that compiles; the promise is at most 1.6 times.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TURNS = 15
CODE = "import time; start = time.process_time(); import {0}; print(time.process_time() - start)"


def cost(module: str) -> float:
    """CPU seconds of one import in a new interpreter that may store compiled modules."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", CODE.format(module)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=environment)
    return float(done.stdout)


def main() -> None:
    cost("gradlab")
    turns = [(cost("numpy"), cost("gradlab")) for _ in range(TURNS)]
    numpy, gradlab = (min(times) for times in zip(*turns, strict=True))
    ratio = statistics.median(ours / theirs for theirs, ours in turns)
    print(f"import numpy {1e3 * numpy:.0f} ms, import gradlab {1e3 * gradlab:.0f} ms: {gradlab / numpy:.2f}x by the")
    print(f"fastest of {TURNS} turns, {ratio:.2f}x by the median turn (limit 1.6x)")


if __name__ == "__main__":
    main()
