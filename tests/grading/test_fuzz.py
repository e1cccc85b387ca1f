"""Two thousand broken and odd notebooks: a result for each, no crash, no hang, and the grader whole afterwards."""

import copy
import json
import random
import time

import pytest

from gradlab.grading.records import STATUSES

pytestmark = pytest.mark.sandbox
ODD_VALUES = [None, True, 0, -1, 1e308, "", "x", "\ud800", "\0", [], {}, [[]], {"a": {}}, "x" * 9999, 10**30]
ODD_SOURCES = [
    "", "\n" * 1000, "\t if", "def f(:", "lambda: (yield)", "return 1", "await x", "x = = 1", "'" * 3, "\\", "☃",
    "global x; x = 1", "class A(A): pass", "del tanh_back", "import nowhere.at.all", "%%html\n<b>",
    "async def f(): [x async for x in y]", "exec('x' * 10**6)", "raise BaseException", "assert 0, object()",
    "try:\n  1/0\nexcept* ZeroDivisionError: pass", "match 1:\n  case _: pass", "type X = int", "x: int",
    "(x := 3)", "f'{1!r:>{9}}'",
    "from gradlab import *", "from torch import *", "__builtins__ = {}", "__name__ = 3", "import sys; sys.stdout = None", "...",
]  # fmt: skip


def flipped(rng, whole):
    data = bytearray(whole)
    for _ in range(rng.randint(1, 20)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def cut(rng, whole):
    return whole[: rng.randrange(len(whole))]


def spliced(rng, whole):
    a, b = sorted(rng.randrange(len(whole)) for _ in range(2))
    return whole[:a] + whole[b:] + whole[a:b]


def odd_places(rng, whole):
    book = json.loads(whole)
    for _ in range(rng.randint(1, 5)):
        target = book
        while True:
            keys = list(target) if isinstance(target, dict) else range(len(target)) if isinstance(target, list) else []
            if not keys:
                break
            key = rng.choice(list(keys))
            if rng.random() < 0.4 or not isinstance(target[key], (dict, list)):
                target[key] = copy.deepcopy(rng.choice(ODD_VALUES))
                break
            target = target[key]
    return json.dumps(book).encode()


def odd_cells(rng, whole):
    book = json.loads(whole)
    for _ in range(rng.randint(1, 6)):
        cell = {"cell_type": rng.choice(["code", "code", "markdown", "raw", None]), "source": rng.choice(ODD_SOURCES)}
        cell["metadata"] = (
            {"gradlab": {"exercise": rng.choice(["91-1", "91-2", "91-9", None, 3])}} if rng.random() < 0.5 else {}
        )
        book["cells"].insert(rng.randint(0, len(book["cells"])), cell)
    return json.dumps(book).encode()


def odd_answers(rng, whole):
    book = json.loads(whole)
    cell = rng.choice(book["cells"])
    source = cell["source"]
    place = rng.randrange(len(source) + 1)
    cell["source"] = rng.choice([source[:place], source[:place] + rng.choice(ODD_SOURCES) + source[place:], source * 2])
    return json.dumps(book).encode()


MUTATIONS = [flipped, cut, spliced, odd_places, odd_cells, odd_answers]


def fuzz(grader, tools, count, seed):
    rng = random.Random(seed)
    whole = tools.answered()
    for number in range(count):
        content = rng.choice(MUTATIONS)(rng, whole)
        started = time.monotonic()
        result = grader(content, student=f"fuzz{number}")
        assert len(result.exercises) == 4 and {outcome.status for outcome in result.exercises} <= set(STATUSES)
        json.dumps(result.as_dict(), ensure_ascii=False).encode()
        assert time.monotonic() - started < 120
    assert grader(whole).score == 9.0


def test_forty_mutated_notebooks(grader, tools):
    fuzz(grader, tools, 40, seed=0)


@pytest.mark.long
def test_two_thousand_mutated_notebooks(grader, tools, long_slice):
    fuzz(grader, tools, int(2000 * long_slice), seed=1)
