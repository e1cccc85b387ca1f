"""The same program leaves the same graph behind in gradlab and in torch, but for the table in lessons/differences.md."""

import contextlib
import functools
import io
import re
import runpy
import tempfile
from pathlib import Path

import numpy as np
import pytest

import gradlab
from gradlab.graphs import snapshot
from gradlab.graphs.engines import is_tensor
from tests.graphs.programs import EXPRESSIONS, PROGRAMS, data, gradient_of_a_gradient
from tests.graphs.sameness import allowed, differences, unexpected

torch = pytest.importorskip("torch")
from tests.operators.samples import ToGradlab, ToTorch, forms, id_of, operators, sample_inputs, tensors_in  # noqa: E402

SAMPLES = 6
OPERATORS = {id_of(op): op for op in operators()}
LESSONS = Path(__file__).parents[2] / "lessons"
SOURCES = sorted(path for path in (LESSONS / "source").glob("*.md") if path.stem != "05_build_the_engine")


def graph_of(T, expression):
    names = data(T)
    leaves = {name: names[name] for name in "xyvmnscikbt"}
    result = eval(expression, names)
    return snapshot(result, params=leaves) if result.requires_grad else None


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression):
    here, there = graph_of(gradlab, expression), graph_of(torch, expression)
    assert (here is None) == (there is None)
    if here is not None:
        assert unexpected(differences(here, there)) == []


def graph_of_sample(T, operator, sample):
    convert = ToTorch() if T is torch else ToGradlab()
    arguments = [convert(sample.input), *map(convert, sample.args)]
    out = operator(*arguments, **{name: convert(value) for name, value in sample.kwargs.items()})
    roots = [tensor for tensor in tensors_in(T, out) if tensor.requires_grad]
    return snapshot(roots, params={f"p{i}": leaf for i, leaf in enumerate(convert.inputs)}) if roots else None


@functools.cache
def differences_of(name):
    """What differs over an operator's first samples."""
    op = OPERATORS[name]
    _, theirs, ours = next(forms(op))
    found, compared = [], 0
    for sample in sample_inputs(op, torch.float64, SAMPLES):
        there = graph_of_sample(torch, theirs, sample)
        try:
            here = graph_of_sample(gradlab, ours, sample)
        except NotImplementedError:
            continue
        compared += 1
        assert (here is None) == (there is None)
        if here is not None:
            found += differences(here, there, name)
    assert compared
    return found


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name):
    assert unexpected(differences_of(name)) == []


def with_equal_random_numbers(T, monkeypatch):
    """Each engine has its own random numbers; here both get numpy's."""
    rng = np.random.default_rng(0)

    def filled(layer):
        for parameter in layer.parameters():
            parameter.data = T.tensor(rng.uniform(-1, 1, tuple(parameter.shape)).astype("float32").tolist())

    monkeypatch.setattr(T, "randn", lambda *size, **options: T.tensor(rng.standard_normal(size).tolist(), **options))
    monkeypatch.setattr(T.nn.Linear, "reset_parameters", filled)


def graphs_of_lesson(source, engine):
    """(cell, variable) -> the graph behind it, after each code cell of a lesson; and how each cell ended."""
    parse = runpy.run_path(str(LESSONS / "build.py"))["parse"]
    names, graphs, ends = {"__name__": "lesson"}, {}, {}
    for number, (kind, code) in enumerate(parse(source.read_text(encoding="utf-8"))):
        if kind != "code" or "needs torch itself" in code:
            continue
        if engine is gradlab:
            code = re.sub(r"import torch$", "import gradlab as torch", code, count=1, flags=re.M)
            code = code.replace("from torch.", "from gradlab.")
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(code, f"{source.stem}, cell {number}", "exec"), names)
        except Exception as error:
            ends[number] = type(error).__name__
        for name, value in names.items():
            if is_tensor(value) and value.grad_fn is not None and not name.startswith("_"):
                graphs[number, name] = snapshot(value)
    return graphs, ends


@functools.cache
def differences_of_lesson(source):
    found = []
    for T in (gradlab, torch):
        with pytest.MonkeyPatch.context() as monkeypatch, tempfile.TemporaryDirectory() as folder:
            monkeypatch.chdir(folder)
            monkeypatch.setenv("HOME", folder)
            with_equal_random_numbers(T, monkeypatch)
            found.append(graphs_of_lesson(source, T))
    (here, ended), (there, wanted) = found
    assert (here.keys(), ended) == (there.keys(), wanted)
    assert here
    return [found for at in here for found in differences(here[at], there[at], f"{source.stem}: {at[1]}")]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_every_graph_of_the_lessons(source):
    assert unexpected(differences_of_lesson(source)) == []


def test_every_exception_is_needed():
    found = [one for name in OPERATORS for one in differences_of(name)]
    found += [one for source in SOURCES for one in differences_of_lesson(source)]
    needed = {(name, kind) for program, node, kind, _ in found for name in (program, node)}
    assert allowed() - needed == set()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(program):
    found = []
    for T in (gradlab, torch):
        result, names = program(T)
        found.append(snapshot(result, params=names))
    assert unexpected(differences(*found)) == []


def test_the_graph_of_a_gradient_has_the_same_operations():
    """Not their order: a formula's two products may be computed in either."""
    here, there = (snapshot(gradient_of_a_gradient(T)[0]) for T in (gradlab, torch))
    assert sorted(node.name for node in here.nodes) == sorted(node.name for node in there.nodes)
