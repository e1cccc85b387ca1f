"""lessons/differences.md is true: every line of it is run."""

from __future__ import annotations

import doctest
from pathlib import Path

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
