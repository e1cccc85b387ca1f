"""Whose file is which: folders, zips, LMS downloads, and what in them is no notebook."""

import io
import os
import zipfile

import pytest

from gradlab.grading.notebooks import MAX_NOTEBOOK
from gradlab.grading.submissions import read_submissions


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
    assert found["eve"].submission().notebooks[0].problem == "the zip cannot be read"
    assert "ada" in found


def test_the_results_folder_is_no_submission(tmp_path):
    put(tmp_path, "ada.ipynb", "out/copy.ipynb")
    assert list(students(tmp_path, skip=[tmp_path / "out"])) == ["ada"]


def test_a_place_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        read_submissions(tmp_path / "nowhere")
