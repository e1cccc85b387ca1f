"""lessons/differences.md is true: every line of it is run."""

from __future__ import annotations

import doctest
import re
from operator import attrgetter
from pathlib import Path

import pytest
import torch

import gradlab

PAGE = Path(__file__).parents[2] / "lessons" / "differences.md"


def test_every_line_of_the_differences_page_holds():
    found = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 30
    assert found.failed == 0


def test_the_page_names_every_kind_of_refusal_in_the_code():
    """Each room that refuses something is spoken of; a new refusal needs a line here and on the page."""
    text = PAGE.read_text()
    for word in (
        "cuda",
        "complex",
        "sparse",
        "forward_ad",
        "is_grads_batched",
        "vectorize",
        "fused",
        "foreach",
        "reduce",
        "view(dtype)",
    ):
        assert word in text, word


ROOMS = "nn nn.functional nn.init nn.utils nn.Module nn.ParameterDict optim optim.Optimizer"
NOT_FOR_USERS = "Tensor Container ScalingType SwizzleType assert_int_or_pair boolean_dispatch factory_kwargs"


def names(lib, room):
    """What is callable in a room of a library, without what it imports from elsewhere."""
    place = attrgetter(room)(lib)
    found = {name: getattr(place, name) for name in dir(place) if name[0] != "_" and "torch_function" not in name}
    homes = {name: getattr(thing, "__module__", None) or "torch" for name, thing in found.items() if callable(thing)}
    return {name for name, home in homes.items() if home.startswith(("torch", "gradlab"))}


@pytest.mark.parametrize("room", ROOMS.split())
def test_the_page_names_all_that_is_not_offered_in_the_rooms_for_networks(room):
    listed = re.search(rf"^{re.escape(room)}: ((?:.+\n)(?:  .+\n)*)", PAGE.read_text(), re.MULTILINE)[1].split()
    missing = names(torch, room) - names(gradlab, room) - set(NOT_FOR_USERS.split())
    if room == "nn.ParameterDict":
        missing -= names(torch, "nn.Module") - names(gradlab, "nn.Module")
    assert listed == sorted(missing)
