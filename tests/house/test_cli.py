"""`gradlab lab` and `gradlab doctor`, as typed in a terminal."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gradlab.cli import main
from gradlab.cli._lessons import LessonsError, lesson_name, lessons_folder, working_copy

ROOT = Path(__file__).parents[2]


def gradlab(*arguments: str, seconds: float = 300, **environment: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from gradlab.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, *arguments]
    environ = os.environ | environment
    return subprocess.run(
        command, capture_output=True, text=True, timeout=seconds, env=environ, stdin=subprocess.DEVNULL
    )


@pytest.fixture
def course(tmp_path):
    """A small course: two lessons, a page, a picture, and what learners do not need."""
    folder = tmp_path / "course"
    (folder / "images").mkdir(parents=True)
    (folder / "source").mkdir()
    for name in ("01_one.ipynb", "06_six.ipynb", "README.md", "build.py", "images/a.svg", "source/01_one.md"):
        (folder / name).write_text(f"first edition of {name}")
    return folder


class TestWorkingCopy:
    def test_holds_notebooks_pages_and_pictures(self, course, tmp_path):
        folder = tmp_path / "mine"
        assert working_copy(course, folder).new == ["01_one.ipynb", "06_six.ipynb", "README.md", "images/a.svg"]
        assert (folder / "06_six.ipynb").read_text() == "first edition of 06_six.ipynb"
        assert not (folder / "build.py").exists() and not (folder / "source").exists()

    def test_never_overwrites_what_the_learner_changed(self, course, tmp_path):
        folder = tmp_path / "mine"
        working_copy(course, folder)
        (folder / "01_one.ipynb").write_text("my answers")
        assert working_copy(course, folder).kept == []  # there is no newer edition to speak of
        (course / "01_one.ipynb").write_text("second edition")
        for _ in range(2):
            assert working_copy(course, folder).kept == ["01_one.ipynb"]
            assert (folder / "01_one.ipynb").read_text() == "my answers"

    def test_brings_an_untouched_lesson_up_to_date(self, course, tmp_path):
        folder = tmp_path / "mine"
        working_copy(course, folder)
        (course / "06_six.ipynb").write_text("second edition")
        done = working_copy(course, folder)
        assert (done.updated, done.kept, done.new) == (["06_six.ipynb"], [], [])
        assert (folder / "06_six.ipynb").read_text() == "second edition"

    def test_never_overwrites_a_file_that_it_did_not_hand_out(self, course, tmp_path):
        folder = tmp_path / "mine"
        folder.mkdir()
        (folder / "01_one.ipynb").write_text("was here before")
        assert working_copy(course, folder).kept == ["01_one.ipynb"]
        assert (folder / "01_one.ipynb").read_text() == "was here before"

    def test_a_deleted_lesson_comes_back_fresh(self, course, tmp_path):
        folder = tmp_path / "mine"
        working_copy(course, folder)
        (folder / "01_one.ipynb").unlink()
        assert working_copy(course, folder).new == ["01_one.ipynb"]

    def test_a_damaged_record_is_no_licence_to_overwrite(self, course, tmp_path):
        folder = tmp_path / "mine"
        working_copy(course, folder)
        (folder / "01_one.ipynb").write_text("my answers")
        (folder / ".gradlab-lessons.json").write_text("{ not json")
        with pytest.raises(LessonsError, match="--folder"):
            working_copy(course, folder)
        assert (folder / "01_one.ipynb").read_text() == "my answers"

    def test_a_file_in_the_way_is_a_message(self, course, tmp_path):
        (tmp_path / "mine").write_text("a file")
        with pytest.raises(LessonsError, match="--folder"):
            working_copy(course, tmp_path / "mine")


class TestLessonNames:
    @pytest.mark.parametrize("typed", ["6", "06", "006", "06_six", "06_six.ipynb"])
    def test_a_lesson_is_found_by_number_or_name(self, course, typed):
        assert lesson_name(course, typed) == "06_six.ipynb"

    @pytest.mark.parametrize("typed", ["7", "six", "", "-1", "../06_six", "٦a"])
    def test_another_word_names_the_lessons_there_are(self, course, typed):
        with pytest.raises(LessonsError, match="The lessons are 01, 06"):
            lesson_name(course, typed)

    def test_another_notebook_is_found_by_its_name(self, course):
        (course / "gallery.ipynb").write_text("pictures")
        assert lesson_name(course, "gallery") == "gallery.ipynb"

    def test_the_course_of_this_installation_is_found(self):
        assert lesson_name(lessons_folder(), "1") == "01_three_attributes.ipynb"


class TestBadInput:
    def test_a_port_in_use_is_one_clear_message(self, tmp_path):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            done = gradlab("lab", "--port", str(port), "--no-browser", "--folder", str(tmp_path))
        assert done.returncode == 1
        assert f"Port {port}" in done.stderr and "Leave --port out" in done.stderr
        assert "Traceback" not in done.stderr
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("port", ["0", "65536", "http", "-3"])
    def test_a_number_that_is_no_port(self, port):
        done = gradlab("lab", "--port", port)
        assert done.returncode == 2
        assert "port" in done.stderr

    def test_an_unknown_lesson(self, tmp_path):
        done = gradlab("lab", "77", "--folder", str(tmp_path))
        assert done.returncode == 1
        assert "There is no lesson '77'" in done.stderr and "01" in done.stderr

    def test_no_command_shows_the_commands(self):
        done = gradlab()
        assert done.returncode == 2
        assert "COMMAND" in done.stderr


@pytest.mark.parametrize("command", ["lab", "doctor", "why", "verify", "grade", "release"])
def test_every_command_explains_itself(command):
    done = gradlab(command, "--help")
    assert done.returncode == 0
    assert f"usage: gradlab {command}" in done.stdout


def test_help_needs_only_the_standard_library():
    heavy = {"torch", "jinja2", "IPython", "jupyterlab", "tqdm", "nbformat"}
    code = f"import sys; from gradlab.cli import parser; parser(); print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "set()", done.stderr


def test_the_server_comes_up_and_the_lesson_runs_in_it():
    done = gradlab("lab", "6", "--check", seconds=500)
    assert done.returncode == 0, done.stderr
    assert re.search(r"06_\w+\.ipynb: \d+ code cells ran in \d+ s without an error", done.stdout)


def test_check_says_which_cell_raised(course, tmp_path, monkeypatch, capsys):
    cells = ["x = 1", "1 / 0"]
    notebook = {
        "cells": [
            {"cell_type": "code", "id": f"c{n}", "metadata": {}, "source": s, "outputs": [], "execution_count": None}
            for n, s in enumerate(cells)
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (course / "01_one.ipynb").write_text(json.dumps(notebook))
    monkeypatch.setattr("gradlab.cli._lab_check.lessons_folder", lambda: course)
    assert main(["lab", "1", "--check"]) == 1
    assert "01_one.ipynb, code cell 2 raised ZeroDivisionError: division by zero" in capsys.readouterr().err


class TestDoctor:
    def test_says_what_is_installed_and_in_use(self):
        done = gradlab("doctor")
        assert done.returncode == 0, done.stdout + done.stderr
        for word in ("numpy", "torch", "jupyterlab", "Lessons", "Layout engine", "Isolation", "gradlab why"):
            assert word in done.stdout

    def test_without_dot_the_embedded_layout_engine_is_named(self):
        done = gradlab("doctor", PATH="/nowhere")
        assert "graphviz-pure" in done.stdout.partition("Layout engine")[2].partition("\n")[0]

    def test_a_wrong_layout_engine_is_said_with_its_remedy(self):
        done = gradlab("doctor", GRADLAB_DOT="/no/such/dot")
        assert done.returncode == 1
        assert "!!  Layout engine" in done.stdout and "GRADLAB_DOT" in done.stdout
        assert "Not ready for the lessons: Layout engine" in done.stdout

    def test_a_missing_package_is_said_with_the_line_that_installs_it(self, monkeypatch, capsys):
        monkeypatch.setattr("importlib.metadata.requires", lambda name: ['no-such-package>=1 ; extra == "lab"'])
        assert main(["doctor"]) == 1
        said = capsys.readouterr().out
        assert "!!  no-such-package" in said and 'pip install "no-such-package>=1"' in said

    def test_a_command_without_its_packages_says_the_line_that_installs_them(self, monkeypatch, capsys):
        def run(args):
            raise ModuleNotFoundError("No module named 'nosuch'", name="nosuch")

        monkeypatch.setattr("importlib.metadata.requires", lambda name: ['nosuch>=1 ; extra == "lab"'])
        monkeypatch.setattr("gradlab.cli.doctor.run", run)
        assert main(["doctor"]) == 1
        assert "gradlab doctor also needs nosuch. Install it with:" in capsys.readouterr().err

    def test_a_version_outside_the_tested_range_is_said(self, monkeypatch, capsys):
        monkeypatch.setattr("importlib.metadata.requires", lambda name: ["numpy<1"])
        main(["doctor"])
        assert re.search(r"!!  numpy .*tested with <1", capsys.readouterr().out)
