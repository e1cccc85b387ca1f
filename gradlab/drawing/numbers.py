"""Numbers as a person reads them."""

from __future__ import annotations

import math
from typing import Any

from gradlab.graphs.records import Values


def number(value: Any) -> str:
    """Four digits at most; a float always looks like one.

    >>> number(12.0), number(0.123456), number(3), number(float("nan")), number(1e-9), number("(0.123456-2j)")
    ('12.0', '0.1235', '3', 'nan', '1e-09', '0.1235-2j')
    """
    if isinstance(value, str):  # a complex number
        return f"{complex(value):.4g}"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return str(value) if abs(value) < 10**9 else f"{value:.4g}"
    if not math.isfinite(value):
        return str(value)
    text = f"{value:.4g}"
    return text if any(mark in text for mark in ".e") else text + ".0"


def shape(size: tuple[int, ...] | None) -> str:
    """
    >>> shape(()), shape((3,)), shape((3, 4))
    ('()', '(3,)', '(3, 4)')
    """
    if size is None:
        return "?"
    return "(" + ", ".join(map(str, size)) + ("," if len(size) == 1 else "") + ")"


def lines(values: Values | None, limit: int = 16) -> list[str] | None:
    """The numbers as lines of text, one for each row; None when they are unknown or too many to show.

    >>> lines(Values((2, 2), "float32", [[1.0, 2.0], [3.0, 4.5]]))
    ['[[1.0, 2.0],', ' [3.0, 4.5]]']
    """
    if values is None or values.numbers is None:
        return None
    if not values.shape:
        return [number(values.numbers)]
    if math.prod(values.shape) > limit or len(values.shape) > 2 or values.shape[-1] > 8:
        return None
    if len(values.shape) == 1:
        return [row(values.numbers)]
    if not values.numbers:
        return ["[]"]
    rows = [row(numbers) for numbers in values.numbers]
    middle = [(" " if i else "[") + text + ("," if i + 1 < len(rows) else "]") for i, text in enumerate(rows)]
    return middle


def row(numbers: list[Any]) -> str:
    return "[" + ", ".join(map(number, numbers)) + "]"


def brief(values: Values | None) -> str:
    """One line: the number, the short vector, or else the shape.

    >>> brief(Values((), "float32", 4.0)), brief(Values((100,), "float32")), brief(None)
    ('4.0', '(100,)', 'None')
    """
    if values is None:
        return "None"
    shown = lines(values, limit=6)
    return shown[0] if shown is not None and len(shown) == 1 else shape(values.shape)


def count(n: int, thing: str) -> str:
    """
    >>> count(1, "operation"), count(1200, "operation")
    ('1 operation', '1,200 operations')
    """
    return f"{n:,} {thing}" + ("" if n == 1 else "s")
