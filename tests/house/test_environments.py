"""pyproject.toml, environment.yml and binder/ name the same packages with the same bounds."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONDA_NAMES = {"torch": "pytorch-cpu", "graphviz": "python-graphviz"}
NOT_IN_CONDA = {"graphviz-pure"}  # python-graphviz brings `dot`
ONLY_IN_CONDA = {"python", "pip"}


def in_pyproject() -> dict[str, str]:
    """name in conda -> bounds, for the core and the extra `lab`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = project["dependencies"] + project["optional-dependencies"]["lab"]
    pairs = [re.fullmatch(r"([\w.-]+?)\s*([<>=!~].*)?", line).groups() for line in lines]
    return {CONDA_NAMES.get(name, name): bounds or "" for name, bounds in pairs if name not in NOT_IN_CONDA}


def in_environment() -> dict[str, str]:
    """The same from environment.yml; conda's `=2.13.*` is pip's `==2.13.*`."""
    text = (ROOT / "environment.yml").read_text()
    lines = re.findall(r"^  - ([^#\n]+?)\s*(?:#.*)?$", text.partition("dependencies:")[2], re.M)
    pairs = [re.fullmatch(r"([\w-]+?)([<>=].*)?", line).groups() for line in lines]
    return {name: re.sub(r"^=(?!=)", "==", bounds or "") for name, bounds in pairs if name not in ONLY_IN_CONDA}


def test_conda_and_pip_agree_on_names_and_bounds():
    assert in_environment() == in_pyproject()


def test_binder_has_the_same_environment():
    assert (ROOT / "binder" / "environment.yml").read_bytes() == (ROOT / "environment.yml").read_bytes()


def test_the_environment_installs_nothing_local():
    """A local pip line would make Binder rebuild the environment at every commit; postBuild installs gradlab."""
    text = (ROOT / "environment.yml").read_text()
    assert "pip:" not in text
    assert "- python=3.12\n" in text
    assert (ROOT / "binder" / "postBuild").read_text() == "#!/bin/bash\nset -e\npip install --no-deps -e .\n"
    assert os.access(ROOT / "binder" / "postBuild", os.X_OK)


def test_repo2docker_builds_the_lessons_environment(tmp_path):
    pytest.importorskip("repo2docker")
    for name in ("binder", "environment.yml", "pyproject.toml"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copyfile)(source, tmp_path / name)
    command = [sys.executable, "-m", "repo2docker", "--no-build", "--debug", "."]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    dockerfile = done.stdout + done.stderr
    assert "binder/environment.yml" in dockerfile
    assert re.search(r"env update .*binder/environment\.yml", dockerfile)
    assert "./binder/postBuild" in dockerfile
    assert "Building conda environment for python=3.12" in dockerfile  # the pin is understood
