"""How a tensor shows itself: torch's format, four digits, long ones shortened."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradlab import dtypes


@dataclass
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


options = _Options()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    sci_mode: bool | None = None,
) -> None:
    """How tensors are printed: digits, the size from which they are shortened, what is kept at the edges, the line's width.

    >>> import gradlab
    >>> gradlab.set_printoptions(precision=2)
    >>> gradlab.tensor(1.23456)
    tensor(1.23)
    >>> gradlab.set_printoptions(precision=4)
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in given.items():
        if value is not None:
            setattr(options, name, value)
    options.sci_mode = sci_mode


class _Format:
    """One way of writing for all elements: whole floats as "1.", a wide range in powers of ten, all of one width."""

    def __init__(self, array: np.ndarray) -> None:
        self.floating = array.dtype.kind == "f"
        flat = array.ravel()
        self.whole = self.scientific = False
        if self.floating:
            finite = np.abs(flat[np.isfinite(flat) & (flat != 0)].astype(np.float64))
            self.whole = bool((finite == np.ceil(finite)).all())
            if finite.size:
                low, high = finite.min(), finite.max()
                self.scientific = bool(high / low > 1000 or high > 1e8 or (not self.whole and low < 1e-4))
            self.scientific = self.scientific if options.sci_mode is None else options.sci_mode
        if self.floating:
            flat = flat[np.isfinite(flat) & (flat != 0)]  # as in torch, where -0. may stand out
        self.width = max([len(self._plain(v)) for v in flat.tolist()], default=0)

    def _plain(self, value: Any) -> str:
        if not self.floating:
            return str(value)
        if self.scientific:
            return f"{value:.{options.precision}e}"
        if self.whole:
            return f"{value:.0f}" + ("" if math.isinf(value) or math.isnan(value) else ".")
        return f"{value:.{options.precision}f}"

    def __call__(self, value: Any) -> str:
        return self._plain(value).rjust(self.width)


def _edges(array: np.ndarray) -> np.ndarray:
    """The first and last few along every long dim: what a shortened print shows."""
    for dim, size in enumerate(array.shape):
        if size > 2 * options.edgeitems:
            array = np.take(array, [*range(options.edgeitems), *range(size - options.edgeitems, size)], dim)
    return array


def _row(array: np.ndarray, indent: int, short: bool, form: _Format) -> str:
    per_line = max(1, (options.linewidth - indent) // (form.width + 2))
    if short and array.size > 2 * options.edgeitems:
        words = (
            [form(v) for v in array[: options.edgeitems].tolist()]
            + [" ..."]
            + [form(v) for v in array[-options.edgeitems :].tolist()]
        )
    else:
        words = [form(v) for v in array.tolist()]
    lines = [", ".join(words[n : n + per_line]) for n in range(0, len(words), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested(array: np.ndarray, indent: int, short: bool, form: _Format) -> str:
    if array.ndim == 0:
        return form(array.item())
    if array.ndim == 1:
        return _row(array, indent, short, form)
    parts: list[str] = []
    if short and array.shape[0] > 2 * options.edgeitems:
        parts = [_nested(a, indent + 1, short, form) for a in array[:options.edgeitems]] + ["..."]
        parts += [_nested(a, indent + 1, short, form) for a in array[-options.edgeitems:]]
    else:
        parts = [_nested(a, indent + 1, short, form) for a in array]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def tensor_text(tensor: Any) -> str:
    """The text of `repr(tensor)`: values, then dtype, grad_fn or requires_grad where they are not the usual ones."""
    array, prefix = tensor._array, "tensor("
    usual: tuple = (dtypes.get_default_dtype(), dtypes.int64, dtypes.bool)
    notes = []
    if array.size == 0:
        body = "[]"
        if array.ndim != 1:
            notes.append(f"size={tuple(array.shape)}")
        usual = usual[:1]
    else:
        short = array.size > options.threshold
        body = _nested(array, len(prefix), short, _Format(_edges(array) if short else array))
    if tensor.dtype not in usual:
        notes.append(f"dtype={tensor.dtype}")
    if tensor.grad_fn is not None:
        notes.append(f"grad_fn=<{tensor.grad_fn.name().split('::')[-1]}>")
    elif tensor.requires_grad:
        notes.append("requires_grad=True")
    return _closed(prefix + body, notes)


def _closed(text: str, notes: list[str]) -> str:
    """The notes put behind the values, on a new line where they would be too long for this one."""
    last = len(text) - text.rfind("\n") + 1
    for note in notes:
        if last + len(note) + 2 > options.linewidth:
            text += ",\n" + " " * len("tensor(") + note
            last = len("tensor(") + len(note)
        else:
            text += ", " + note
            last += len(note) + 2
    return text + ")"
