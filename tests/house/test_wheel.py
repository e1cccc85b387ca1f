"""The wheel alone, away from the clone, is the whole course."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", f"-w{folder}", str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))


def test_the_wheel_carries_every_lesson_and_nothing_that_builds_them(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    lessons = {path.name for path in (ROOT / "lessons").glob("*.ipynb")}
    assert lessons and lessons == {Path(name).name for name in names if name.endswith(".ipynb")}
    assert "gradlab/py.typed" in names
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert not [name for name in names if "/_lessons/" in name and (name.endswith(".py") or "/source/" in name)]
    assert {name.split("/")[0].split("-")[0] for name in names} == {"gradlab"}


def test_gradlab_lab_starts_from_the_wheel_outside_the_clone(wheel, tmp_path):
    """A new environment with the wheel in it; jupyterlab and torch are lent by this one, the clone is not."""
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=False)
    python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    site = subprocess.check_output([python, "-c", "import site; print(site.getsitepackages()[0])"], text=True).strip()
    zipfile.ZipFile(wheel).extractall(site)
    lent = [entry for entry in sys.path if entry.endswith("site-packages")]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "JUPYTER"))}
    clean |= {"PYTHONPATH": os.pathsep.join([site, *lent]), "HOME": str(tmp_path)}
    clean |= {"JUPYTER_PATH": f"{sys.prefix}/share/jupyter"}

    def run(code: str) -> str:
        done = subprocess.run(
            [python, "-c", code],
            capture_output=True,
            text=True,
            env=clean,
            cwd=tmp_path,
            timeout=400,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert Path(run("import gradlab; print(gradlab.__file__)").strip()).is_relative_to(environment)
    said = run("import sys; from gradlab.cli import main; sys.exit(main(['lab', '--check']))")
    assert "01_three_attributes.ipynb" in said
