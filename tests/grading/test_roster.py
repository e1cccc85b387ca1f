"""The LMS's class list, in and out."""

import csv
import io

import pytest

from gradlab.grading import Result
from gradlab.grading.roster import Roster, RosterError, defused


def result(student, score, most=10.0):
    return Result("x.ipynb", student, score, most, "full", 0.0, ())


def read(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "roster.csv"
    path.write_bytes(text.encode(encoding))
    return Roster.read(path)


def rows(text, delimiter=","):
    return list(csv.reader(io.StringIO(text.lstrip("\ufeff")), delimiter=delimiter))


CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Lesson 06 (777)\r\n"
    "    Points Possible,,,,,20\r\n"
    '"Lovelace, Ada",1234,s1,ada,A,\r\n"Hopper, Grace",5678,s2,grace,A,3\r\n'
)
MOODLE = (
    "Identifier;Full name;Email address;Status;Grade;Maximum Grade\r\n"
    "Participant 1234;Ada Lovelace;ada@x.org;Submitted;;100,00\r\n"
)


def test_canvas(tmp_path):
    roster = read(tmp_path, CANVAS)
    known = roster.aliases()
    assert known["1234"] == known["ada"] == known["s1"] == known["lovelaceada"] == "Lovelace, Ada"
    out = rows(roster.filled([result("Lovelace, Ada", 5.0)]))
    assert out[2] == ["Lovelace, Ada", "1234", "s1", "ada", "A", "10"]
    assert out[1][5] == "20" and out[3][5] == "3"


def test_moodle_with_bom_and_semicolons(tmp_path):
    roster = read(tmp_path, MOODLE, "utf-8-sig")
    assert roster.aliases()["1234"] == roster.aliases()["ada"] == "Ada Lovelace"
    text = roster.filled([result("Ada Lovelace", 7.0)])
    assert text.startswith("\ufeff")
    assert rows(text, ";")[1][4] == "70"


def test_a_plain_list_gets_a_new_column(tmp_path):
    roster = read(tmp_path, "name\tid\nAda\t1\nBob\t2\n")
    assert rows(roster.filled([result("Bob", 2.5)]), "\t") == [
        ["name", "id", "gradlab"],
        ["Ada", "1", ""],
        ["Bob", "2", "2.5"],
    ]


def test_an_id_that_two_students_have_decides_nothing(tmp_path):
    roster = read(tmp_path, "name,id\nAda,1\nBob,1\nEve,3\n")
    assert "1" not in roster.aliases() and roster.aliases()["3"] == "Eve"
    assert "1 twice" in roster.problems[0]
    assert rows(roster.filled([result("Bob", 2.0)]))[1:3] == [["Ada", "1", ""], ["Bob", "1", "2"]]


def test_two_students_of_one_name_are_told_apart_by_id(tmp_path):
    roster = read(tmp_path, "name,id\nAda,1\nAda,2\n")
    assert roster.names() == ["Ada (1)", "Ada (2)"]
    assert rows(roster.filled([result("Ada (2)", 2.0)]))[2] == ["Ada", "2", "2"]


def test_formulas_are_defused(tmp_path):
    assert defused("=1+1") == "'=1+1" and defused("@x") == "'@x" and defused("+x") == "'+x" and defused(" =x") == "' =x"
    assert defused("-1.5") == "-1.5" and defused("ada") == "ada"
    roster = read(tmp_path, 'name,id\n"=HYPERLINK(""http://x"")",1\n')
    assert rows(roster.filled([]))[1][0].startswith("'=")


def test_what_is_no_class_list_is_refused(tmp_path):
    with pytest.raises(RosterError, match="first line should name the columns"):
        read(tmp_path, "hello\nworld\n")
