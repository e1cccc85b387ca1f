"""The table of small programs: right cause, right line, nothing changed by looking."""

import contextlib
import importlib
import warnings

import numpy as np
import pytest

from gradlab.diagnosis import CAUSES, watch, why
from gradlab.diagnosis.causes import FROM_GRAPH
from tests.diagnosis.further import FURTHER
from tests.diagnosis.programs import PROGRAMS as TABLE

PROGRAMS = TABLE + FURTHER
CASES = [(engine, program) for program in PROGRAMS for engine in program.engines]


def run(program, engine, folder):
    """The diagnosis of one program, run from a file of its own so that it has source lines."""
    library = importlib.import_module(engine)
    file = folder / "program.py"
    file.write_text(program.code + f"answer = {program.ask}\n")
    scope = {"T": library, "np": np, "why": why, "__name__": "program"}
    scene = watch(nan=program.nan) if program.watched else contextlib.nullcontext()
    with scene as scope["w"]:
        exec(compile(file.read_text(), str(file), "exec"), scope)
    return scope["answer"], str(file)


def blamed(program):
    lines = [number for number, line in enumerate(program.code.splitlines(), 1) if line.endswith("#!")]
    return lines[0] if lines else None


NAMES = [f"{engine}-{program.name}{'-watched' * program.watched}" for engine, program in CASES]


@pytest.mark.parametrize("engine, program", CASES, ids=NAMES)
def test_cause_and_line(engine, program, tmp_path):
    pytest.importorskip(engine)
    found, file = run(program, engine, tmp_path)
    assert found.cause == program.cause, found.text()
    if program.watched and blamed(program) is not None:
        assert found.where == (file, blamed(program)), found.text()
    assert found.cause == "has-grad" or found.remedy


def test_every_cause_has_several_programs():
    for cause in CAUSES:
        programs = {program.name for program in PROGRAMS if program.cause == cause}
        assert len(programs) >= 2, cause
    assert len({program.name for program in PROGRAMS}) >= 60


def test_the_graph_alone_gives_no_answer_that_needs_a_watch():
    told_by_flags = {"frozen-after-forward", "inference-mode"}
    for program in PROGRAMS:
        if not program.watched:
            assert program.cause in {*FROM_GRAPH, *told_by_flags}


@pytest.mark.parametrize("program", [p for p in PROGRAMS if not p.watched], ids=lambda program: program.name)
def test_looking_raises_no_warning(program, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(program, "torch", tmp_path)
