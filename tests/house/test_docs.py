"""Every public name explains itself: a sentence, and an example that runs and prints what torch prints."""

import doctest
import importlib
import inspect

import pytest

import gradlab
from gradlab import operators
from gradlab.operators._docs import DOCS

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
OWN_RANDOM_STATE = {"get_rng_state", "set_rng_state"}  # torch's state is a tensor, gradlab's is numpy's


def functions(room):
    """The public functions and classes that a room defines."""
    found = {name: thing for name, thing in vars(room).items() if not name.startswith("_") and callable(thing)}
    return {n: f for n, f in found.items() if (getattr(f, "__module__", None) or "").startswith(room.__name__.rsplit(".", 1)[0])}


def public():
    """name as a user writes it -> function or class."""
    found = {f"gradlab.{n}": getattr(gradlab, n) for n in gradlab.__all__}
    for room, table in (("linalg", operators.LINALG), ("special", operators.SPECIAL)):
        found |= {f"gradlab.{room}.{n}": getattr(getattr(gradlab, room), n) for n in table}
    for room in ("nn", "optim", "autograd", "autograd.graph", "autograd.function"):
        module = importlib.import_module(f"gradlab.{room}")
        found |= {f"gradlab.{room}.{n}": getattr(module, n) for n in getattr(module, "__all__", functions(module))}
    for room in ("nn.functional", "nn.init", "nn.utils"):
        module = importlib.import_module(f"gradlab.{room}")
        found |= {f"gradlab.{room}.{n}": f for n, f in functions(module).items() if inspect.isfunction(f)}
    return {
        name: thing
        for name, thing in found.items()
        if callable(thing) and (isinstance(thing, type) or hasattr(thing, "__name__"))
    }


def failures(text, name):
    """What running the examples of a docstring found wrong."""
    said = []
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=said.append)
    return "".join(said)


PUBLIC = public()
METHODS = {n: getattr(gradlab.Tensor, n) for n in dir(gradlab.Tensor) if not n.startswith("_")}


def test_every_public_name_has_a_docstring_with_an_example():
    assert [name for name, thing in PUBLIC.items() if ">>>" not in (inspect.getdoc(thing) or "")] == []


def test_every_method_of_a_tensor_has_a_docstring():
    assert [n for n, f in METHODS.items() if (callable(f) or isinstance(f, property)) and not f.__doc__] == []


@pytest.mark.parametrize("name", DOCS)
def test_examples_of_operators_run(name):
    """Those with a `def` are found by pytest --doctest-modules."""
    assert failures(DOCS[name], name) == ""


def test_no_docstring_in_the_table_hides_one_in_the_code():
    assert [n for n in DOCS if getattr(gradlab, n).__doc__ != DOCS[n]] == []


ROOMS = ("nn", "linalg", "special")
MIRRORED = {n: f for n, f in PUBLIC.items() if n.split(".")[1] in ROOMS or n[8:] in operators.PUBLIC | operators.CREATION}
MIRRORED |= {f"gradlab.Tensor.{n}": f for n, f in METHODS.items() if n not in operators.PUBLIC and ">>>" in (f.__doc__ or "")}


@pytest.mark.parametrize("name", [n for n in MIRRORED if n.rpartition(".")[2] not in OWN_RANDOM_STATE])
def test_examples_print_what_torch_prints(name):
    """The same example with torch for gradlab."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    assert failures(inspect.getdoc(MIRRORED[name]).replace("gradlab", "torch"), name) == ""


def test_dir_shows_the_public_names_and_nothing_else():
    assert {n for n in dir(gradlab) if not n.startswith("__")} == set(gradlab.__all__)
