"""Ruff and the type checker are content with the tree."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("command", [["ruff", "check", "."], ["mypy", "--no-error-summary"]], ids=["ruff", "mypy"])
def test_clean(command):
    pytest.importorskip(command[0])
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=ROOT, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
