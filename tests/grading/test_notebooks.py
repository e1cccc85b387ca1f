"""Odd notebooks: each gives a result, and no exercise in it loses its points to what is odd about the file."""

import json
import re

import pytest

from gradlab import exercises
from gradlab.grading import Notebook
from gradlab.grading.notebooks import Cell, Code, UnreadableError, find_answer, needed_cells, read_cells

pytestmark = pytest.mark.sandbox
ALL_PASSED = dict.fromkeys(("91-1", "91-2", "91-3", "91-4"), "passed")


def test_a_right_notebook_gets_every_point(grader, tools):
    result = grader(tools.answered())
    assert (result.score, result.max_score) == (9.0, 9.0)
    assert [outcome.status for outcome in result.exercises] == ["passed"] * 4


def test_the_stubs_are_not_yet_answered(grader, tools):
    stubs = {
        "91-1": "def tanh_back(g, x, out):\n    ...   # my notes",
        "91-2": "table = {'before': ..., 'after': 6.0}",
        "91-3": "def both(a, b):\n    a.backward()\n    b.backward()\n    return ...",
        "91-4": "total = ...",
    }
    result = grader(tools.answered(**stubs))
    assert {outcome.status for outcome in result.exercises} == {"not-yet"}
    assert result.exercises[1].message == "Still `...` in `table`: before."


def test_a_misconception_is_named_without_the_hidden_example(grader, tools):
    outcome = grader(tools.answered("def tanh_back(g, x, out):\n    return 1 - out ** 2")).exercises[0]
    assert (outcome.status, outcome.misconception) == ("failed", "forgot-incoming")
    assert outcome.message == "A local slope is multiplied by what arrives."


def test_stripped_metadata_answers_are_found_by_the_names_they_define(grader, tools):
    cells = [tools.code(tools.SETUP), *(tools.code(source) for source in tools.RIGHT.values())]
    assert grader.statuses(tools.notebook(*cells)) == ALL_PASSED


def test_of_duplicated_cells_the_last_counts(grader, tools):
    cells = [tools.code(tools.SETUP), tools.code("table = {'before': 0, 'after': 6.0}", "91-2")]
    cells += [tools.code(tools.RIGHT["91-2"], "91-2")]
    assert grader.statuses(tools.notebook(*cells))["91-2"] == "passed"
    assert grader.statuses(tools.notebook(*cells[::-1]))["91-2"] == "failed"


def test_an_answer_in_a_cell_of_ones_own_below_the_untouched_stub_counts(grader, tools):
    cells = [tools.code("table = {'before': ..., 'after': ...}", "91-2"), tools.code(tools.RIGHT["91-2"])]
    assert grader.statuses(tools.notebook(*cells))["91-2"] == "passed"


SPLIT = {
    "one function a cell": ["class Memory:\n    pass", "class Saved:\n    pass"],
    "below the given cell": [("Memory = Saved = ...",), "Memory = 1", "Saved = 2"],
    "finished in a cell below": [("Memory = Saved = []",), "Memory.append(1)"],
}


@pytest.mark.parametrize("name", SPLIT)
def test_an_answer_may_be_spread_over_the_cells_above_its_check(name, tools):
    pieces = [tools.code(piece[0], "08-4") if isinstance(piece, tuple) else tools.code(piece) for piece in SPLIT[name]]
    check = tools.code('check("08-4")', gradlab={"check": "08-4"})
    cells = read_cells(tools.notebook(*pieces, check, tools.code("Memory = 'a demonstration'")))
    place = find_answer(cells, "08-4", ("Saved", "Memory"), "Memory = Saved = ...")
    needed = needed_cells(cells, place, frozenset(), frozenset(), ("Saved", "Memory"))
    assert needed == [i for i, piece in enumerate(pieces) if piece["source"] != "Memory = Saved = ..."]


@pytest.mark.parametrize(
    "source",
    ["    total = 3\n    def f(values):\n        return 1", ">>> total = 3\n>>> def f(values):\n...     return 1"],
)
def test_an_indent_and_prompts_are_taken_off_as_ipython_does(source):
    code = Code.of(source)
    assert (code.syntax_error, code.defined) == ("", {"total", "f"})


def test_switches_in_a_cell_have_no_say_in_its_check(grader, tools):
    source = "torch.set_grad_enabled(False)\ntorch.set_default_dtype(torch.float16)\n" + tools.RIGHT["91-3"]
    assert grader.statuses(tools.answered(**{"91-3": source}))["91-3"] == "passed"


def test_a_place_left_open_inside_a_list_is_not_yet(grader, tools):
    outcome = grader(tools.answered(**{"91-2": "table = {'before': [3, ...], 'after': 6.0}"})).exercises[1]
    assert (outcome.status, outcome.message) == ("not-yet", "Still `...` in `table`: before.")


def test_check_cells_are_not_needed_and_do_nothing(grader, tools):
    check = {
        "cell_type": "code",
        "metadata": {"gradlab": {"check": "91-2"}},
        "source": "raise SystemExit",
        "outputs": [],
    }
    as_text = {"cell_type": "markdown", "metadata": {"gradlab": {"check": "91-1"}}, "source": 'check("91-1")'}
    cells = [tools.code(source, id) for id, source in tools.RIGHT.items()]
    assert grader.statuses(tools.notebook(check, as_text, *cells)) == ALL_PASSED


def test_teaching_words_in_an_answer_do_nothing(grader, tools):
    source = tools.RIGHT["91-3"] + (
        "\nimport gradlab\nfrom gradlab import check, hint, predict, reveal\npredict('06A', '?')\ncheck('91-3')\n"
        "hint('91-3', 1)\nwith reveal('06A'):\n    raise RuntimeError('announced')\ngradlab.check('91-3')\n"
    )
    assert grader.statuses(tools.answered(**{"91-3": source})) == ALL_PASSED


def test_helpers_in_other_cells_come_along(grader, tools):
    helper = "import math as m\nSCALE = m.exp(0)\ndef slope(out):\n    return SCALE * (1 - out * out)"
    answer = "def tanh_back(g, x, out):\n    return g * slope(out)"
    assert grader.statuses(tools.answered(answer, before=["1 / 0", helper])) == ALL_PASSED
    assert grader.statuses(tools.answered(answer, after=[helper])) == ALL_PASSED


def test_an_answer_that_cells_changed_behind_its_name_is_run_with_all_of_them(grader, tools):
    before = ["x = torch.tensor(3.0, requires_grad=True)\ny = x * x\nstart = x.grad", "y.backward()"]
    answer = "table = {'before': start, 'after': x.grad.item()}"
    assert grader.statuses(tools.answered(before=before, **{"91-2": answer})) == ALL_PASSED


def test_ipython_only_lines_are_left_out(grader, tools):
    answer = "%matplotlib inline\n!pip install torch\nfiles = !ls\n" + tools.RIGHT["91-1"] + "\ntanh_back?"
    assert grader.statuses(tools.answered(answer, before=["%%bash\nrm -rf /", "%%time\n1 + 1"])) == ALL_PASSED


def test_an_answer_that_fails_after_its_definition_still_counts(grader, tools):
    assert grader.statuses(tools.answered(tools.RIGHT["91-1"] + "\nassert False")) == ALL_PASSED


ODD = {
    "nbformat 4.0 without ids": lambda book: {**book, "nbformat_minor": 0},
    "ids in 4.4": lambda book: {**book, "cells": [{**cell, "id": "same"} for cell in book["cells"]]},
    "wrong kernel name": lambda book: {**book, "metadata": {"kernelspec": {"name": "julia-1.9", "language": "julia"}}},
    "widgets in outputs": lambda book: {
        **book,
        "metadata": {"widgets": {"application/vnd.jupyter.widget-state+json": {"state": {"x": None}}}},
        "cells": [{**c, "outputs": [{"output_type": "display_data", "data": {"x": [1]}}]} for c in book["cells"]],
    },
    "sources as lists": lambda book: {
        **book,
        "cells": [{**cell, "source": cell["source"].splitlines(keepends=True)} for cell in book["cells"]],
    },
    "nbformat 3": lambda book: {
        "nbformat": 3,
        "worksheets": [
            {"cells": [{"cell_type": "code", "input": c["source"], "metadata": c["metadata"]} for c in book["cells"]]}
        ],
    },
    "cells of no kind": lambda book: {**book, "cells": [None, 3, [], {}, {"cell_type": "code"}, *book["cells"], "end"]},
    "metadata of no kind": lambda book: {
        **book,
        "cells": [
            *book["cells"],
            *({"cell_type": "code", "source": "1", "metadata": m} for m in (None, [], {"gradlab": 3})),
        ],
    },
}


@pytest.mark.parametrize("name", ODD)
def test_odd_notebooks_keep_their_points(name, grader, tools):
    book = ODD[name](json.loads(tools.answered()))
    assert grader.statuses(json.dumps(book).encode()) == ALL_PASSED


def test_other_encodings_are_read(grader, tools):
    latin = tools.answered(tools.RIGHT["91-1"] + "  # für").decode().replace("\\u00fc", "ü").encode("latin-1")
    assert b"\xfc" in latin
    assert grader.statuses(latin) == ALL_PASSED
    assert grader.statuses(b"\xef\xbb\xbf" + tools.answered()) == ALL_PASSED
    assert grader.statuses(tools.answered().decode().encode("utf-16")) == ALL_PASSED


def test_a_notebook_of_50_mb_is_read(grader, tools):
    book = json.loads(tools.answered())
    book["cells"][0]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * (50 << 20)}]
    assert grader.statuses(json.dumps(book).encode()) == ALL_PASSED


BROKEN = {
    "truncated JSON": lambda whole: whole[: len(whole) // 2],
    "empty": lambda whole: b"",
    "not JSON": lambda whole: b"\x89PNG\r\n",
    "a list": lambda whole: b"[]",
    "no cells": lambda whole: b"{}",
    "nested without end": lambda whole: b"[" * 1_000_000,
    "an integer of a million digits": lambda whole: b'{"cells": ' + b"9" * 1_000_000 + b"}",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_one_students_result(name, grader, tools):
    result = grader(BROKEN[name](tools.answered()))
    assert {outcome.status for outcome in result.exercises} == {"error"}
    assert "could not be read" in result.notes[0]
    assert grader.statuses(tools.answered()) == ALL_PASSED


SAID = {
    "the file is empty": lambda whole: b" \n",
    "only zeros": lambda whole: bytes(900),
    "a web page": lambda whole: b"<!DOCTYPE html><html>",
    "a Python file": lambda whole: b"import torch\nx = 1\n",
    "Git LFS": lambda whole: b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\n",
    "a zip": lambda whole: b"PK\x03\x04....",
    "cut off": lambda whole: b"\xef\xbb\xbf" + whole[: len(whole) // 2],
    "merge conflict": lambda whole: whole.replace(b', "', b',\n<<<<<<< HEAD\n"', 1),
    "JSON is broken (line 1)": lambda whole: whole.replace(b":", b";", 1),
}


@pytest.mark.parametrize("words", SAID)
def test_what_a_file_is_that_is_no_notebook(words, tools):
    with pytest.raises(UnreadableError, match=re.escape(words)):
        read_cells(SAID[words](tools.answered()))


def test_a_number_of_any_length_may_stand_in_a_notebook(grader, tools):
    book = tools.answered().replace(b'"metadata": {}', b'"metadata": {"n": ' + b"9" * 5000 + b"}", 1)
    assert grader.statuses(book) == ALL_PASSED


def test_a_notebook_without_these_exercises_is_said_to_be_another(grader, tools):
    result = grader(tools.notebook(tools.code("1 + 1")))
    assert {outcome.status for outcome in result.exercises} == {"missing"}
    assert "is it another notebook" in result.notes[0]


def test_hostile_sources_do_not_stop_the_reader(grader, tools):
    sources = [
        "(" * 100_000,
        "-" * 100_000 + "1",
        "x" + ".a" * 100_000,
        "f" + "(f" * 90 + ")" * 90,
        "x = 1\n" * 50_000,
        "\0",
    ]
    for source in sources:
        statuses = grader.statuses(tools.answered(before=[source], **{"91-2": source}))
        assert statuses.pop("91-2") in ("error", "missing", "not-yet", "failed")
        assert set(statuses.values()) == {"passed"}


def test_of_two_files_the_newest_counts_and_the_result_says_so(grader, tools):
    old, new = tools.answered("def tanh_back(g, x, out): return g"), tools.answered()
    result = grader(Notebook("new.ipynb", new, 2.0), Notebook("old.ipynb", old, 1.0))
    assert result.score == 9.0
    assert result.notes == ("91-1, 91-2, 91-3, 91-4 in old.ipynb: not graded, a newer file has an answer.",)


def test_an_older_file_counts_for_what_the_newer_leaves_open(grader, tools):
    given = tools.notebook(*[tools.code(exercise.stub, exercise.id) for exercise in exercises.load(tools.COURSE)])
    result = grader(Notebook("given.ipynb", given, 2.0), Notebook("solved.ipynb", tools.answered(), 1.0))
    assert result.score == 9.0 and result.notes == ()
    half = tools.notebook(tools.code("def tanh_back(g, x, out): return g", "91-1"))
    result = grader(Notebook("half.ipynb", half, 2.0), Notebook("solved.ipynb", tools.answered(), 1.0))
    assert [outcome.status for outcome in result.exercises] == ["failed", "passed", "passed", "passed"]
    assert result.notes == ("91-1 in solved.ipynb: not graded, a newer file has an answer.",)


def test_names_in_another_lessons_notebook_are_no_answers():
    cells = [Cell("tanh_back = loss = 1"), Cell("x = 1", "12-1"), Cell("y = 2", "12-2")]
    assert find_answer(cells, "09-3", ["loss"], "loss = ...") is None
    assert find_answer(cells, "12-3", ["loss"], "loss = ...") == 0
    assert find_answer([Cell("loss = 1")], "09-3", ["loss"], "loss = ...") == 0


def test_two_files_with_different_exercises_both_count(grader, tools):
    first = tools.notebook(tools.code(tools.RIGHT["91-1"], "91-1"))
    second = tools.notebook(tools.code(tools.RIGHT["91-2"], "91-2"))
    result = grader(first, second)
    assert result.score == 5.0 and result.notes == ()
    assert [outcome.status for outcome in result.exercises] == ["passed", "passed", "missing", "missing"]


def test_only_what_an_answer_needs_is_run():
    cells = [
        Cell("import numpy as np"),
        Cell("a = 1"),
        Cell("b = a"),
        Cell("evil = 1"),
        Cell("a += 1"),
        Cell("c = np.abs(b)"),
    ]
    assert needed_cells(cells, 5, frozenset({"np"}), frozenset()) == [1, 2, 5]
    assert needed_cells(cells, 4, frozenset(), frozenset()) == [1, 4]


def test_globals_used_inside_functions_are_found():
    code = Code.of("def f():\n    global g\n    g = h\n    local = 1\n    return [local for local in k]")
    assert code.defined == {"f", "g"} and code.used == {"h", "k"}
