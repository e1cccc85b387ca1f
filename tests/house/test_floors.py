"""The rooms stand on their floors, and importing gradlab stays cheap."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEACHING_NAMES = {"snapshot", "record", "draw", "explore", "why", "watch", "compare"}
TEACHING_NAMES |= {"predict", "reveal", "check", "hint", "progress"}


BETWEEN_STATEMENTS = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def python(code: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_imports_upwards_and_the_engine_never_imports_torch():
    pytest.importorskip("importlinter")
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    done = subprocess.run([*command, "--no-cache"], capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_import_gradlab_loads_neither_torch_nor_ipython_nor_ipywidgets():
    loaded = json.loads(python("import json, sys, gradlab; print(json.dumps(sorted(sys.modules)))"))
    assert not {"torch", "IPython", "ipywidgets", "anywidget", "jupyterlab", "graphviz"} & set(loaded)


def test_the_engine_imports_torch_by_no_means():
    """Not by a late import or importlib either."""
    rooms = [ROOT / "gradlab" / room for room in ("engine", "operators", "autograd", "nn", "optim", "utils")]
    files = [ROOT / "gradlab" / "_tensor.py"] + [path for room in rooms for path in room.rglob("*.py")]
    importing = re.compile(r"""^\s*(import|from)\s+torch\b|import(_module|__)\(\s*["']torch""", re.M)
    assert [path.name for path in files if importing.search(path.read_text(encoding="utf-8"))] == []


def test_importing_gradlab_loads_little_besides_numpy():
    """What the import costs, as a list that no busy machine changes; the seconds are tests/benchmarks/importing.py's."""
    listing = "import json, sys, {0}; print(json.dumps(sorted(sys.modules)))"
    numpys, ours = (set(json.loads(python(listing.format(name)))) for name in ("numpy", "gradlab"))
    extra = {name for name in ours - numpys if not name.startswith("gradlab")}
    assert extra <= {"__future__", "copy", "dataclasses", "gc", "threading"}
    assert len([name for name in ours if name.startswith("gradlab")]) <= 36, sorted(ours - numpys)


def code_lines(path: Path) -> int:
    """Lines that hold code: no blank lines, comments or docstrings."""
    lines: set[int] = set()
    with path.open("rb") as file:
        previous = tokenize.NEWLINE
        for token in tokenize.tokenize(file.readline):
            if token.type in (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING):
                continue
            docstring = token.type == tokenize.STRING and previous in BETWEEN_STATEMENTS
            previous = token.type
            if docstring or token.type in (*BETWEEN_STATEMENTS, tokenize.ENDMARKER):
                continue
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines)


def test_code_lines_counts_no_docstring_comment_or_blank_line(tmp_path):
    source = (
        '"""One."""\n\n# two\nx = (1,\n     2)  # three\n\n\ndef f():\n    """Four\n    lines."""\n    return "5"\n'
    )
    (tmp_path / "a.py").write_text(source)
    assert code_lines(tmp_path / "a.py") == 4  # x = (1, / 2) / def f(): / return


def test_the_engine_is_small():
    """engine/ with autograd's Function (function.py) and hooks (graph.py)."""
    autograd = ROOT / "gradlab" / "autograd"
    files = [*(ROOT / "gradlab" / "engine").glob("*.py"), autograd / "function.py", autograd / "graph.py"]
    sizes = {path.relative_to(ROOT).as_posix(): code_lines(path) for path in files}
    assert sum(sizes.values()) < 1000, sizes


def test_the_operators_do_not_sprawl():
    """They should come down to about 1,500 lines; until then they may not grow past what they are.

    _docs.py is left out: a table of docstrings.
    """
    files = [path for path in (ROOT / "gradlab" / "operators").glob("*.py") if path.name != "_docs.py"]
    sizes = {path.name: code_lines(path) for path in files}
    assert sum(sizes.values()) < 3600, sizes


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_no_teaching_name_is_torchs():
    assert TEACHING_NAMES & set(json.loads(python("import json, torch; print(json.dumps(dir(torch)))"))) == set()


def test_the_teaching_names_are_there():
    import gradlab

    assert [name for name in TEACHING_NAMES if not callable(getattr(gradlab, name, None))] == []
    assert TEACHING_NAMES <= set(dir(gradlab))
