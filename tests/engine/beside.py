"""Run one program in torch and in gradlab, and hold what they do side by side."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch as the_torch

import gradlab

the_torch.set_num_threads(1)


def beside_torch(program: Callable[[Any], Iterator[Any]]) -> Callable[[], None]:
    """A test from a generator: what ``program(gradlab)`` yields is, one thing after another, what ``program(torch)`` yields."""

    @functools.wraps(program)
    def test() -> None:
        expected = list(map(plain, program(the_torch)))
        found = list(map(plain, program(gradlab)))
        for number, (ours, theirs) in enumerate(zip(found, expected, strict=False)):
            assert ours == theirs, f"observation {number}: gradlab {ours}, torch {theirs}"
        assert len(found) == len(expected)

    del test.__wrapped__  # else pytest takes the program's parameter for a fixture
    return test


def attempt(action: Callable[[], Any]) -> Any:
    """What the action returns, or the name of the type of exception it raises."""
    try:
        return action()
    except Exception as error:
        return "RuntimeError" if isinstance(error, RuntimeError) else type(error).__name__


def warned(action: Callable[[], Any]) -> list[str]:
    """The categories of the warnings that the action gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return [w.category.__name__ for w in caught]


def graph(node: Any) -> Any:
    """A node's name and, nested, those of the nodes it leads to."""
    return node and (type(node).__name__, [graph(n) for n, _ in node.next_functions])


def plain(thing: Any) -> Any:
    """Tensors as dtype and nested lists, the same for both libraries; containers item by item."""
    if isinstance(thing, gradlab.Tensor | the_torch.Tensor):
        return str(thing.dtype).split(".")[1], thing.requires_grad, thing.detach().tolist()
    if isinstance(thing, dict):
        return {key: plain(value) for key, value in thing.items()}
    return [plain(item) for item in thing] if isinstance(thing, list | tuple) else thing
