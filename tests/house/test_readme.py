"""What the pages of the top level promise is there, and their commands and examples work."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gradlab.cli import COMMANDS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]


def test_there_are_two_commands_and_ci_runs_these():
    commands = re.findall(r"^python3 -m venv .*$", README, re.M)
    assert [command.split("&&")[-1].strip() for command in commands] == [".venv/bin/gradlab lab", ".venv/bin/pytest -n auto"]
    assert "grep '^python3 -m venv' README.md" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("page", PAGES)
def test_local_links_and_pictures_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)|src=\"([^\"]+)", text)
    targets = [link or picture for link, picture in targets if "://" not in link]
    assert [target for target in targets if not (ROOT / target).is_file()] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_gradlab_command_named_in_a_page_exists(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert set(re.findall(r"(?:`|bin/)gradlab ([a-z]+)", text)) <= set(COMMANDS)


def test_the_example_runs(tmp_path):
    pytest.importorskip("torch")
    [example] = re.findall(r"^```python\n(.*?)^```", README, re.M | re.S)
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr


def test_every_word_of_the_table_is_public():
    import gradlab

    words = re.findall(r"^\| `(\w+)\(", README, re.M)
    assert len(words) >= 6
    assert [word for word in words if not callable(getattr(gradlab, word, None))] == []


def test_the_top_level_is_the_houses():
    """Nothing lies beside the rooms without a reason."""
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT)
    if listed.returncode:
        pytest.skip("not a git clone")
    top = {line.split("/")[0] for line in listed.stdout.splitlines()}
    house = {"README.md", "environment.yml", "pyproject.toml", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md"}
    house |= {"lessons", "gradlab", "tests", "binder"}
    assert {name for name in top if not name.startswith(".")} == house
