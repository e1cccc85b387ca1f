# ruff: noqa: E501  (captions are sentences)
"""The still pictures of the lessons, as SVG files: `python lessons/images/make.py` writes them next to this file.

Each has its own light ground, so that it reads the same in a light and in a dark notebook, and a title for screen readers.
"""

from __future__ import annotations

import html
from pathlib import Path

INK, FAINT, GROUND = "#1d2733", "#5d6875", "#fbfcfd"
LEAF, OUTPUT, GRADIENT, SAVED, STOP = "#0b63a5", "#0a7a4a", "#b35309", "#6b4c9a", "#a8324a"
FILL = {
    LEAF: "#e8f2fa",
    OUTPUT: "#e6f4ec",
    GRADIENT: "#fdf0e3",
    SAVED: "#efe9f6",
    STOP: "#fbe9ec",
    FAINT: "#f1f3f5",
    INK: "#ffffff",
}


class Sheet:
    """One picture under construction."""

    def __init__(self, width: int, height: int, title: str):
        self.size, self.title, self.parts = (width, height), title, []

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: float = 14,
        color: str = INK,
        anchor: str = "start",
        bold: bool = False,
        mono: bool = False,
    ) -> None:
        family = "DejaVu Sans Mono, Consolas, monospace" if mono else "DejaVu Sans, Helvetica, Arial, sans-serif"
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text x="{x}" y="{y}" font-size="{size}" fill="{color}" text-anchor="{anchor}" font-family="{family}"{weight}>{html.escape(words)}</text>'
        )

    def box(
        self, x: float, y: float, w: float, h: float, color: str = INK, dashed: bool = False, fill: str | None = None
    ) -> None:
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="8" fill="{fill or FILL.get(color, "none")}" stroke="{color}" stroke-width="1.6"{dash}/>'
        )

    def arrow(
        self, x1: float, y1: float, x2: float, y2: float, color: str = FAINT, dashed: bool = False, head: bool = True
    ) -> None:
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        end = f' marker-end="url(#tip{color[1:]})"' if head else ""
        self.parts.append(
            f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{color}" stroke-width="1.8"{dash}{end}/>'
        )

    def card(self, x: float, y: float, w: float, name: str, role: str, rows: list[tuple[str, str]], color: str) -> None:
        """A tensor: its name, what it is, and rows of attribute and value."""
        self.box(x, y, w, 34 + 22 * len(rows), color)
        self.text(x + 10, y + 21, name, 15, bold=True)
        self.text(x + w - 10, y + 20, role, 11.5, color, "end")
        for i, (key, value) in enumerate(rows):
            self.text(x + 10, y + 44 + 22 * i, key, 12.5, FAINT, mono=True)
            none = value.startswith("None")
            self.text(x + w - 10, y + 44 + 22 * i, value, 12.5, FAINT if none else INK, "end", bold=not none, mono=True)

    def save(self, name: str) -> None:
        width, height = self.size
        tips = "".join(
            f'<marker id="tip{c[1:]}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="{c}"/></marker>'
            for c in (FAINT, GRADIENT, LEAF, OUTPUT, SAVED, STOP, INK)
        )
        body = "\n".join(self.parts)
        text = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" aria-label="{html.escape(self.title)}">\n'
            f'<title>{html.escape(self.title)}</title>\n<defs>{tips}</defs>\n<rect width="{width}" height="{height}" rx="10" fill="{GROUND}"/>\n{body}\n</svg>\n'
        )
        (Path(__file__).parent / f"{name}.svg").write_text(text, encoding="utf-8")


def wrapper() -> None:
    """Lesson 00: the wrapper of torch 0.3 beside today's tensor."""
    sheet = Sheet(
        860,
        230,
        "torch 0.3: a Variable wraps a Tensor; its pockets are data (the Tensor), grad and grad_fn. Today: one Tensor with data, grad and grad_fn.",
    )
    sheet.text(24, 34, "torch 0.3", 14, FAINT, bold=True)
    sheet.box(24, 48, 380, 150, FAINT, dashed=True)
    sheet.text(38, 72, "Variable (the wrapper)", 14, bold=True)
    sheet.card(38, 90, 150, "Tensor", "in .data", [("numbers", "1 1 1")], LEAF)
    sheet.box(206, 90, 184, 40, GRADIENT)
    sheet.text(220, 115, ".grad", 13, mono=True)
    sheet.box(206, 140, 184, 40, SAVED)
    sheet.text(220, 165, ".grad_fn", 13, mono=True)
    sheet.arrow(416, 122, 452, 122, INK)
    sheet.text(434, 112, "2018", 11.5, FAINT, "middle")
    sheet.text(464, 34, "since torch 0.4", 14, FAINT, bold=True)
    sheet.card(
        464,
        66,
        360,
        "Tensor",
        "all in one",
        [(".data", "its own numbers"), (".grad", "None"), (".grad_fn", "None"), (".requires_grad", "True")],
        LEAF,
    )
    sheet.save("00-wrapper")


def strip() -> None:
    """Lesson 01: three attributes of three tensors at three moments."""
    sheet = Sheet(
        860,
        372,
        "The attributes data, grad and grad_fn of x, h and y after the forward lines and after y.backward(): only x.grad changes, from None to 12.",
    )
    moments = (("after the three lines", ("None", "None", "None")), ("after y.backward()", ("12.0", "None", "None")))
    tensors = (
        ("x", "leaf: you made it", "2.0", "None", LEAF),
        ("h", "made by x * x", "4.0", "MulBackward0", FAINT),
        ("y", "made by h * 3", "12.0", "MulBackward0", OUTPUT),
    )
    for row, (moment, grads) in enumerate(moments):
        top = 44 + 160 * row
        sheet.text(24, top - 14, moment, 14, FAINT, bold=True)
        for column, (name, role, data, fn, color) in enumerate(tensors):
            x = 24 + 276 * column
            sheet.card(x, top, 250, name, role, [(".data", data), (".grad", grads[column]), (".grad_fn", fn)], color)
            if grads[column] != "None":
                sheet.box(x + 4, top + 49, 242, 22, GRADIENT, fill="none")
    sheet.text(
        24, 346, "None is not zero: nothing was ever stored there. Leaves get a .grad; results get a .grad_fn.", 13.5
    )
    sheet.save("01-strip")


def decide() -> None:
    """Lesson 06: what to do about the second-time error."""
    sheet = Sheet(
        860,
        330,
        "Decision card: second-time error. Did the data change? Run forward again. Several losses on one forward? Add them up. Does a state run from step to step? detach it. Only if one graph is really walked several times: retain_graph=True on every call but the last.",
    )
    sheet.box(24, 24, 250, 50, STOP)
    sheet.text(149, 46, "RuntimeError", 13, STOP, "middle", bold=True)
    sheet.text(149, 63, "... a second time", 12.5, INK, "middle")
    steps = (
        ("A new step, new data?", "run the forward again: a new graph", OUTPUT),
        ("Several losses on one forward?", "(a + b).backward()", OUTPUT),
        ("A state carried from step to step?", "h = h.detach()", OUTPUT),
        ("One graph, walked several times on purpose?", "retain_graph=True, on every call but the last", SAVED),
    )
    for i, (question, answer, color) in enumerate(steps):
        y = 96 + 58 * i
        sheet.box(24, y, 370, 40, FAINT)
        sheet.text(38, y + 25, question, 13.5)
        sheet.arrow(396, y + 20, 452, y + 20, color)
        sheet.text(423, y + 13, "yes", 11.5, FAINT, "middle")
        sheet.box(456, y, 380, 40, color)
        sheet.text(470, y + 25, answer, 13.5, bold=True)
        sheet.arrow(149, y - 22 if i == 0 else y - 18, 149, y - 2)
        if i:
            sheet.text(158, y - 5, "no", 11.5, FAINT)
    sheet.save("06-decide")


def regimes() -> None:
    """Lesson 04: .grad over five steps, never zeroed, zeroed each step, zeroed every second step."""
    sheet = Sheet(
        860,
        250,
        "x.grad over five steps. Never zeroed: 6, 12, 18, 24, 30. Zeroed every step: 6 each time. Zeroed every second step: 6, 12, 6, 12, 6.",
    )
    rows = (
        ("never zeroed", (6, 12, 18, 24, 30), STOP, "grows: forgotten zero_grad()"),
        ("zeroed every step", (6, 6, 6, 6, 6), OUTPUT, "the usual loop"),
        ("zeroed every second step", (6, 12, 6, 12, 6), LEAF, "accumulation on purpose"),
    )
    for column, (name, heights, color, remark) in enumerate(rows):
        left = 24 + 280 * column
        sheet.text(left, 34, name, 14, color, bold=True)
        for i, height in enumerate(heights):
            sheet.box(left + 46 * i, 200 - 4.4 * height, 36, 4.4 * height, color)
            sheet.text(left + 46 * i + 18, 193 - 4.4 * height, str(height), 12.5, INK, "middle")
        sheet.arrow(left - 6, 201, left + 236, 201, FAINT, head=False)
        sheet.text(left, 224, remark, 13, FAINT)
    sheet.save("04-regimes")


def scissors() -> None:
    """Lesson 07: one of two edges is cut."""
    sheet = Sheet(
        860,
        210,
        "y = p.detach() * p. From Mul two edges lead towards p. The one through detach is cut by scissors; along the other one a gradient of 2 arrives.",
    )
    sheet.card(24, 60, 130, "y", "output", [(".data", "4.0")], OUTPUT)
    sheet.arrow(156, 88, 226, 88, GRADIENT)
    sheet.text(191, 80, "1", 12.5, GRADIENT, "middle")
    sheet.box(230, 64, 110, 48, INK)
    sheet.text(285, 94, "Mul", 15, INK, "middle", bold=True)
    sheet.arrow(342, 78, 632, 66, GRADIENT)
    sheet.text(487, 62, "the way to p: 1 · 2 = 2", 13, GRADIENT, "middle")
    sheet.arrow(342, 102, 430, 136, FAINT, dashed=True, head=False)
    sheet.text(448, 150, "✂", 26, STOP, "middle")
    sheet.text(470, 148, "p.detach(): the number 2, no history", 13, FAINT)
    sheet.card(636, 36, 200, "p", "leaf", [(".data", "2.0"), (".grad", "2.0")], LEAF)
    sheet.save("07-scissors")


def counter() -> None:
    """Lesson 08: the counter at the save and at backward."""
    sheet = Sheet(
        860,
        190,
        "exp notes version 0 when it saves h. The edit h += 1 makes it version 1. At backward exp compares 0 with 1 and refuses.",
    )
    steps = (
        ("h = w.exp()", "Exp saves h", "version 0 noted", SAVED),
        ("h += 1", "the memory is written", "version is now 1", GRADIENT),
        ("h.sum().backward()", "Exp looks at h", "0 noted, 1 found: refuse", STOP),
    )
    for i, (line, what, count, color) in enumerate(steps):
        x = 24 + 280 * i
        sheet.text(x, 40, line, 14, INK, mono=True)
        sheet.box(x, 58, 240, 92, color)
        sheet.text(x + 16, 92, what, 14, INK)
        sheet.text(x + 16, 124, count, 14, color, bold=True)
        if i:
            sheet.arrow(x - 38, 104, x - 4, 104, INK)
    sheet.save("08-counter")


def fan() -> None:
    """Lesson 09: stretched forward, summed back."""
    sheet = Sheet(
        860,
        250,
        "Forward: w of shape (3,) fans out into two rows of a (2, 3) tensor. Backward: the two rows of the gradient, 1 1 1 and 1 1 1, are summed into 2 2 2.",
    )

    def cells(x: float, y: float, numbers: tuple[str, ...], color: str) -> None:
        for i, number in enumerate(numbers):
            sheet.box(x + 52 * i, y, 46, 36, color)
            sheet.text(x + 52 * i + 23, y + 24, number, 14, INK, "middle")

    sheet.text(24, 32, "forward: one w, used in two rows", 14, FAINT, bold=True)
    cells(24, 96, ("10", "20", "30"), LEAF)
    sheet.text(24, 152, "w (3,)", 12.5, FAINT)
    for y in (62, 130):
        cells(232, y, ("10", "20", "30"), INK)
        sheet.arrow(184, 114, 228, y + 18, LEAF)
    sheet.text(232, 190, "stretched (2, 3)", 12.5, FAINT)
    sheet.text(464, 32, "backward: two gradients, summed", 14, FAINT, bold=True)
    for y in (62, 130):
        cells(672, y, ("1", "1", "1"), GRADIENT)
        sheet.arrow(668, y + 18, 626, 114, GRADIENT)
    cells(464, 96, ("2", "2", "2"), GRADIENT)
    sheet.text(464, 152, "w.grad (3,)", 12.5, FAINT)
    sheet.text(672, 190, "arrives (2, 3)", 12.5, FAINT)
    sheet.text(24, 228, "Fan out on the way there, fan in on the way back.", 13.5)
    sheet.save("09-fan")


def tree() -> None:
    """Lesson 10: why is a grad None?"""
    sheet = Sheet(
        860,
        362,
        "Why is t.grad None? Not a floating point tensor: it cannot have one. Does not require a gradient: ask for it. Not a leaf: retain_grad, or hold the leaf. No way from the loss to it: it is unused, or the graph was cut. Otherwise backward has not run yet, or the grad was cleared.",
    )
    questions = (
        ("a floating point tensor?", "wrong dtype: convert first"),
        ("t.requires_grad?", "not required: requires_grad_()"),
        ("t.is_leaf?", "a result: retain_grad(), or hold the leaf"),
        ("a way from loss to t?", "not reached: unused, or cut on the way"),
        ("backward called since?", "not yet (or cleared again)"),
    )
    sheet.text(24, 34, "t.grad is None. Why?", 15, INK, bold=True)
    for i, (question, cause) in enumerate(questions):
        y = 52 + 60 * i
        sheet.box(24, y, 300, 40, LEAF)
        sheet.text(38, y + 25, question, 14)
        sheet.arrow(326, y + 20, 414, y + 20, STOP)
        sheet.text(368, y + 13, "no", 12, FAINT, "middle")
        sheet.box(418, y, 416, 40, STOP)
        sheet.text(432, y + 25, cause, 14, bold=True)
        if i:
            sheet.arrow(174, y - 18, 174, y - 2, LEAF)
            sheet.text(184, y - 5, "yes", 12, FAINT)
    sheet.save("10-tree")


def course_map() -> None:
    """lessons/README.md: the thirteen lessons and what they need."""
    sheet = Sheet(860, 452, "Map of the course. Short path: 01 three attributes, 04 the life of .grad, 06 retain_graph. 00 is for those with an old tutorial in hand. 01 leads to 02 leaves, 03 backward with numbers and 04; 03 leads to 05 build the engine and 09 shapes; 06 leads to 07 cutting, 08 in-place and 11 your own operator; 02 and 03 lead to 10 hooks; 12 train comes last.")

    def stop(x: float, y: float, number: str, title: str, minutes: str, short: bool = False) -> None:
        color = OUTPUT if short else LEAF
        sheet.box(x, y, 178, 58, color)
        sheet.text(x + 12, y + 24, number, 16, color, bold=True)
        sheet.text(x + 42, y + 24, title, 13, INK, bold=True)
        sheet.text(x + 42, y + 45, minutes, 12, FAINT)

    stop(24, 40, "00", "Old tutorial", "25 min, optional")
    stop(24, 150, "01", "Three attributes", "25 min", short=True)
    stop(240, 40, "02", "Leaves, graph", "30 min")
    stop(240, 150, "04", "The life of .grad", "25 min", short=True)
    stop(240, 260, "03", "Numbers", "35 min")
    stop(456, 150, "06", "retain_graph", "60 min", short=True)
    stop(456, 40, "10", "Hooks, None", "40 min")
    stop(456, 260, "05", "Build the engine", "90 min")
    stop(456, 340, "09", "Shapes", "40 min")
    stop(660, 90, "07", "Cutting", "35 min")
    stop(660, 160, "08", "In-place", "30 min")
    stop(660, 230, "11", "Your operator", "50 min")
    stop(660, 340, "12", "Train", "60 min")
    for x1, y1, x2, y2, color in (
        (113, 100, 113, 148, FAINT), (204, 168, 238, 84, LEAF), (204, 179, 238, 179, OUTPUT), (204, 190, 238, 284, LEAF), (420, 179, 454, 179, OUTPUT),
        (420, 69, 454, 69, LEAF), (420, 289, 454, 289, LEAF), (420, 300, 454, 362, LEAF), (636, 170, 658, 124, LEAF), (636, 181, 658, 188, LEAF), (636, 192, 658, 252, LEAF), (749, 290, 749, 338, LEAF),
    ):
        sheet.arrow(x1, y1, x2, y2, color)
    sheet.text(24, 434, "green: the short path, 110 minutes", 13, OUTPUT, bold=True)
    sheet.text(300, 434, "an arrow means: read before", 13, FAINT)
    sheet.save("map")


if __name__ == "__main__":
    course_map()
    wrapper()
    strip()
    regimes()
    decide()
    scissors()
    counter()
    fan()
    tree()
