"""Whose file is which: folders, zips, LMS downloads, and what in them is no notebook."""

import io
import os
import stat
import subprocess
import sys
import zipfile

import pytest

from gradlab.grading.notebooks import MAX_NOTEBOOK
from gradlab.grading.submissions import look_through, read_submissions


def put(folder, *names, content=b"{}", time=None):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        if time is not None:
            os.utime(path, (time, time))


def students(folder, **options):
    return {s.name: [str(file.place) for file in s.files] for s in read_submissions(folder, **options)}


def zipped(path, **members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_a_flat_folder_names_students_by_file(tmp_path):
    put(
        tmp_path,
        "ada.ipynb",
        "bob with spaces and ümläuts.ipynb",
        "notes.txt",
        ".ipynb_checkpoints/ada-checkpoint.ipynb",
    )
    assert list(students(tmp_path)) == ["ada", "bob with spaces and ümläuts"]


def test_nested_folders_name_students_by_the_first_folder(tmp_path):
    put(tmp_path, "ada/ps1/one.ipynb", "bob/one.ipynb")
    assert students(tmp_path) == {"ada": ["ada/ps1/one.ipynb"], "bob": ["bob/one.ipynb"]}


def test_lms_downloads(tmp_path):
    put(tmp_path, "Ada Lovelace_1234_assignsubmission_file_/06.ipynb", "hopperg_LATE_5678_91011_06-1.ipynb")
    put(tmp_path, "Assignment 1_ab12cd_attempt_2026-01-02-03-04-05_06.ipynb")
    assert list(students(tmp_path)) == ["Ada Lovelace (1234)", "ab12cd", "hopperg (5678)"]


def test_a_roster_says_whom_a_path_means(tmp_path):
    put(tmp_path, "06/ada.ipynb", "06/06_graph_5678.ipynb")
    known = {"ada": "Ada Lovelace", "5678": "Grace Hopper"}
    assert list(students(tmp_path, students=known)) == ["Ada Lovelace", "Grace Hopper"]
    assert list(students(tmp_path)) == ["06"]


def test_the_newest_file_comes_first(tmp_path):
    put(tmp_path, "ada/a.ipynb", time=100)
    put(tmp_path, "ada/b.ipynb", time=200)
    put(tmp_path, "bob.ipynb", "bob (1).ipynb", time=100)
    put(tmp_path, "work (1).ipynb", "work (2).ipynb")
    found = students(tmp_path)
    assert found["ada"] == ["ada/b.ipynb", "ada/a.ipynb"]
    assert found["bob"] == ["bob (1).ipynb", "bob.ipynb"]
    assert "work (1)" in found and "work (2)" in found


def test_one_of_each_lesson_is_one_persons_work(tmp_path):
    put(tmp_path, "01_three_attributes.ipynb", "06_retain_graph.ipynb")
    assert list(students(tmp_path)) == [tmp_path.name]
    put(tmp_path, "06_bob.ipynb")
    assert len(students(tmp_path)) == 3


def test_links_are_not_followed(tmp_path):
    put(tmp_path, "secret.json", content=b"the exam")
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "eve.ipynb").symlink_to(tmp_path / "secret.json")
    (tmp_path / "class" / "mallory").symlink_to(tmp_path)
    (tmp_path / "class" / "pipe.ipynb").mkdir()
    (tmp_path / "class" / "loop").symlink_to("loop")
    (student,) = read_submissions(tmp_path / "class")
    (notebook,) = student.submission().notebooks
    assert notebook.content == b"" and "link" in notebook.problem


def test_zips_are_read_without_unpacking(tmp_path):
    inner = io.BytesIO()
    zipped(inner, **{"work/06.ipynb": b"{}"})
    zipped(tmp_path / "class.zip", **{
        "class/ada.ipynb": b"{}", "class/../../../etc/eve.ipynb": b"{}", "/root/mallory.ipynb": b"{}",
        "class/bob.zip": inner.getvalue(), "__MACOSX/._ada.ipynb": b"x", "class/con\x07trol.ipynb": b"{}",
    })  # fmt: skip
    found = students(tmp_path / "class.zip")
    assert {"ada", "bob", "etc", "root", "con\N{REPLACEMENT CHARACTER}trol"} == set(found)
    assert sorted(os.listdir(tmp_path)) == ["class.zip"]


def test_a_zip_for_each_student(tmp_path):
    zipped(tmp_path / "ada.zip", **{"deep/06.ipynb": b"1"})
    (student,) = read_submissions(tmp_path)
    assert student.name == "ada" and student.submission().notebooks[0].content == b"1"


def test_a_zip_bomb_is_not_unpacked(tmp_path):
    with (
        zipfile.ZipFile(tmp_path / "eve.zip", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("06.ipynb", "w") as file,
    ):
        for _ in range(101):
            file.write(bytes(1 << 20))
    (student,) = read_submissions(tmp_path)
    assert "larger" in student.submission().notebooks[0].problem


def test_a_zip_that_lies_about_its_sizes_is_read_no_further_than_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("gradlab.grading.submissions.MAX_NOTEBOOK", 1000)
    zipped(tmp_path / "eve.zip", **{"06.ipynb": bytes(5000)})
    raw = bytearray((tmp_path / "eve.zip").read_bytes())
    start = raw.index(b"PK\x01\x02") + 24
    raw[start : start + 4] = (10).to_bytes(4, "little")
    (tmp_path / "eve.zip").write_bytes(raw)
    (student,) = read_submissions(tmp_path)
    assert len(student.submission().notebooks[0].content) <= 1001
    assert MAX_NOTEBOOK > 1001


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"no zip at all"])
def test_a_broken_zip_is_one_students_problem(tmp_path, content):
    put(tmp_path, "ada.ipynb")
    put(tmp_path, "eve.zip", content=content)
    found = {s.name: s for s in read_submissions(tmp_path)}
    assert found["eve"].submission().notebooks[0].problem.startswith("the zip")
    assert "ada" in found


def test_the_results_folder_is_no_submission(tmp_path):
    put(tmp_path, "ada.ipynb", "out/copy.ipynb")
    assert list(students(tmp_path, skip=[tmp_path / "out"])) == ["ada"]


def test_a_place_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        read_submissions(tmp_path / "nowhere")


def problems(folder):
    """What is wrong with each student's first file, "" for nothing."""
    return {s.name: s.submission().notebooks[0].problem for s in read_submissions(folder)}


def test_who_handed_in_something_else_is_told_so(tmp_path):
    put(tmp_path, "ada.ipynb", "bob.py", "eve.pdf", "max.tar.gz", "notes.txt", "class.csv", ".DS_Store")
    found = problems(tmp_path)
    assert list(found) == ["ada", "bob", "eve", "max"]
    assert found["ada"] == "" and "a Python file" in found["bob"] and "a PDF" in found["eve"]
    assert "ask for a zip" in found["max"]
    assert look_through(tmp_path).aside == ["class.csv, notes.txt: no notebooks"]


def test_a_folder_without_a_notebook_is_a_student_where_folders_are(tmp_path):
    put(tmp_path, "ada/06.ipynb", "ada/plot.png", "ada/helper.py", "bob/README.md", "bob/hw.py", "grades.xlsx")
    put(tmp_path, "max/.ipynb_checkpoints/06-checkpoint.ipynb")
    (tmp_path / "zoe").mkdir()
    put(tmp_path, "pit/.DS_Store", "__pycache__/x.pyc")
    found = {student.name: student for student in read_submissions(tmp_path)}
    assert list(found) == ["ada", "bob", "max", "pit", "zoe"]
    assert [str(file.place) for file in found["ada"].files] == ["ada/06.ipynb"]
    assert found["ada"].notes == ("Not graded, since only notebooks are: ada/helper.py.",)
    assert [str(file.place) for file in found["bob"].files] == ["bob/hw.py", "bob/README.md"]
    assert "Jupyter's own copy" in found["max"].files[0].problem
    assert {found[name].files[0].problem for name in ("pit", "zoe")} == {
        "the folder is empty, or has only hidden files in it"
    }
    assert [name for name in found if found[name].without_notebook] == ["bob", "max", "pit", "zoe"]
    assert look_through(tmp_path).aside == ["grades.xlsx: no notebook", "ada/plot.png: no notebook"]


def test_a_helper_beside_one_persons_lessons_is_nobody(tmp_path):
    put(tmp_path, "01_three_attributes.ipynb", "06_retain_graph.ipynb", "helper.py")
    assert list(students(tmp_path)) == [tmp_path.name]
    assert look_through(tmp_path).aside == ["helper.py: no notebook"]


def test_a_folder_of_other_files_beside_notebooks_is_nobody(tmp_path):
    put(tmp_path, "ada.ipynb", "data/a.csv", "data/b.csv", "node_modules/x.py", "env/pyvenv.cfg", "env/lib/y.py")
    found = look_through(tmp_path)
    assert [student.name for student in found.students] == ["ada"]
    assert found.aside == ["data/a.csv, data/b.csv: no notebooks"]


def test_an_lms_says_whose_a_file_of_another_kind_is(tmp_path):
    put(tmp_path, "hopperg_1234_5678_06.ipynb", "turinga_777_888_notes.txt")
    put(tmp_path, "Ada_99_assignsubmission_onlinetext_/onlinetext.html")
    assert list(students(tmp_path)) == ["Ada (99)", "hopperg (1234)", "turinga (777)"]


@pytest.mark.parametrize(
    "name", ["ada.ipynb.txt", "ada.ipynb.json", "ada.ipynb (1)", "ada.json", "ada.txt", "ada", "ada.zip"]
)
def test_a_notebook_that_lost_its_ending_is_one(tmp_path, name):
    content = b'{"cells": [], "nbformat": 4}'
    put(tmp_path / "flat", name, content=content)
    zipped(tmp_path / "class.zip", **{name: content})
    for place in (tmp_path / "flat", tmp_path / "class.zip"):
        (student,) = read_submissions(place)
        assert student.name.startswith("ada") and student.submission().notebooks[0].content == content


def test_a_zip_of_too_many_notebooks_says_so_and_costs_nobody_else(tmp_path, monkeypatch):
    monkeypatch.setattr("gradlab.grading.submissions.MAX_MEMBERS", 10)
    zipped(tmp_path / "many.zip", **{f"{i}.ipynb": b"" for i in range(11)})
    zipped(tmp_path / "repository.zip", **{f"data/{i}.txt": b"" for i in range(30)}, **{"06.ipynb": b"{}"})
    put(tmp_path, "ada.ipynb")
    found = problems(tmp_path)
    assert found.pop("many") == "the zip has 11 notebooks in it, and 10 are read. Unpack it and grade the folder"
    assert found == {"ada": "", "repository": ""}
    monkeypatch.setattr("gradlab.grading.submissions.MAX_LISTED", 20)
    assert "31 files in it, and 20 are read" in problems(tmp_path)["repository"]


def test_every_trouble_with_a_zip_is_one_students(tmp_path):
    zipped(tmp_path / "empty.zip")
    put(tmp_path, "rar.zip", content=b"Rar!...")
    for name, start in (("damaged", 60), ("password", 0)):
        path = tmp_path / f"{name}.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("06.ipynb", os.urandom(50).hex() * 40)
        raw = bytearray(path.read_bytes())
        if start:
            raw[start : start + 20] = bytes(20)
        else:
            raw[6] |= 1
            raw[raw.index(b"PK\x01\x02") + 8] |= 1
        path.write_bytes(raw)
    link = zipfile.ZipInfo("06.ipynb")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as archive:
        archive.writestr(link, "../../secret")
    deep = b"{}"
    for name in ("06.ipynb", "a.zip", "b.zip", "c.zip"):
        inner = io.BytesIO()
        zipped(inner, **{name: deep})
        deep = inner.getvalue()
    put(tmp_path, "deep.zip", content=deep)
    put(tmp_path, "ada.ipynb")
    found = problems(tmp_path)
    words = {
        "empty": "is empty",
        "rar": "a RAR archive",
        "damaged": "damaged",
        "password": "password",
        "link": "a link",
    }
    assert found.pop("ada") == ""
    assert {name: words[name] for name in words if words[name] not in found[name]} == {}
    assert "a zip in a zip" in found["deep"]


def test_what_may_not_be_read_is_said(tmp_path):
    put(tmp_path, "class/ada/06.ipynb", "class/bob/06.ipynb", "class/eve/06.ipynb", "class/max/06.ipynb")
    (tmp_path / "class/bob/06.ipynb").chmod(0)
    (tmp_path / "class/eve").chmod(0)
    (tmp_path / "class/max").chmod(0o644)
    source = (
        "import sys, os; from gradlab.grading.submissions import read_submissions as r\n"
        "if hasattr(os, 'setuid') and os.getuid() == 0: os.setuid(65534)\n"
        "print(*(f'{s.name}:{s.submission().notebooks[0].problem}' for s in r(sys.argv[1])), sep='\\n')"
    )
    above = [folder for folder in tmp_path.parents if folder.name.startswith(("pytest-", "popen-"))]
    for folder in (tmp_path / "class", tmp_path, *above):
        folder.chmod(0o755)
    command = [sys.executable, "-c", source, str(tmp_path / "class")]
    done = subprocess.run(command, capture_output=True, text=True)
    (tmp_path / "class/eve").chmod(0o755)
    (tmp_path / "class/max").chmod(0o755)
    assert done.returncode == 0, done.stderr
    found = dict(line.split(":", 1) for line in done.stdout.splitlines())
    assert found.pop("ada") == "" and sorted(found) == ["bob", "eve", "max"]
    assert all("chmod" in words for words in found.values())


def test_a_class_in_one_folder_more_is_said_to_be_one_student(tmp_path):
    put(tmp_path, "class/ada/06.ipynb", "class/bob/06.ipynb")
    (words,) = look_through(tmp_path).warnings
    assert words.endswith(f"grade {tmp_path / 'class'}")
    assert look_through(tmp_path / "class").warnings == []


def test_a_zip_is_opened_once_for_all_that_is_in_it(tmp_path, monkeypatch):
    zipped(tmp_path / "class.zip", **{f"s{i}.ipynb": b"{}" for i in range(50)})
    opened = []
    real = zipfile.ZipFile
    monkeypatch.setattr(zipfile, "ZipFile", lambda *a, **k: opened.append(a) or real(*a, **k))
    assert all(student.submission().notebooks[0].content for student in read_submissions(tmp_path / "class.zip"))
    assert len(opened) <= 2


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux alone")
def test_names_that_are_no_utf_8_stay_apart(tmp_path):
    for name in (b"m\xfcller.ipynb", b"m\xf6ller.ipynb"):
        (tmp_path / os.fsdecode(name)).write_bytes(b"{}")
    assert list(students(tmp_path)) == ["möller", "müller"]
