"""Contrast, by WCAG 2.1's formula."""

from dataclasses import astuple

import pytest

from gradlab.drawing.themes import DARK, LIGHT


def luminance(color):
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_formula_itself():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_has_aa_contrast_on_everything_it_stands_on(theme):
    fills = ["paper", "leaf_fill", "constant_fill", "inner_fill", "op_fill", "out_fill", "now", "group_fill"]
    pairs = [(ink, fill) for ink in ("ink", "soft", "grad") for fill in fills]
    pairs += [("leaf", "leaf_fill"), ("constant", "constant_fill"), ("inner", "inner_fill"), ("out", "out_fill")]
    pairs += [("saved_ink", "saved"), ("freed", "op_fill"), ("freed", "now"), ("saved", "paper"), ("leaf", "now")]
    pairs += [
        ("alarm", "alarm_fill"),
        ("alarm", "paper"),
        ("group", "paper"),
        ("paper", "leaf"),
        ("freed", "group_fill"),
    ]
    low = [(a, b, round(contrast(getattr(theme, a), getattr(theme, b)), 2)) for a, b in pairs]
    assert [found for found in low if found[2] < 4.5] == []


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_no_two_colours_are_equal(theme):
    assert len(set(astuple(theme))) == len(astuple(theme))
    assert not any(color.startswith("#01") for color in astuple(theme))  # these mark parts of a picture
