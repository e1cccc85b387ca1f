"""Diagnosis: one answer, as text, as HTML and as a picture."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gradlab.diagnosis.causes import CAUSES, HEADLINES
from gradlab.diagnosis.places import Place, code_at, shown
from gradlab.graphs.records import Snapshot

GOOD, BAD, CALM = "good", "bad", "calm"
_TONES = {"has-grad": GOOD, "no-backward-yet": CALM, "unknown": CALM, "not-required": CALM, "non-leaf": CALM}

STYLE = """<style>
.gradlab-why{border:1px solid rgba(128,128,128,.35);border-left:4px solid var(--gw);border-radius:6px;
padding:.55em .95em .65em;margin:.3em 0;max-width:62em;line-height:1.5;
font-family:var(--jp-content-font-family,system-ui,sans-serif);
font-size:var(--jp-content-font-size1,14px);color:var(--jp-content-font-color1,inherit)}
.gradlab-why p{margin:.4em 0}.gradlab-why .gw-cause{display:inline-block;background:var(--gw);color:#fff;
border-radius:4px;padding:.02em .55em;font-weight:600;margin-right:.6em;white-space:nowrap}
.gradlab-why .gw-head{font-weight:600}
.gradlab-why code,.gradlab-why pre{background:rgba(128,128,128,.16);border-radius:3px;color:inherit;font-size:.93em}
.gradlab-why code{padding:.05em .3em}.gradlab-why pre{margin:.3em 0;padding:.4em .6em;
white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere}
.gradlab-why dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.25em .9em;margin:.5em 0 0}
.gradlab-why dt{opacity:.75}.gradlab-why dd{margin:0;min-width:0;overflow-wrap:anywhere}
.gradlab-why table{border-collapse:collapse;font-size:.95em;margin:.4em 0;table-layout:auto}
.gradlab-why td,.gradlab-why th{border:1px solid rgba(128,128,128,.35);padding:.25em .7em;text-align:left;
vertical-align:top;background:none;white-space:normal}
.gradlab-why svg{max-width:100%;height:auto}
</style>"""
_ACCENTS = {GOOD: "#1a7f4b", BAD: "#a8324a", CALM: "#5f6b7a"}


@dataclass
class Diagnosis:
    """Why a tensor's `.grad` is what it is.

    `cause` is one of `gradlab.diagnosis.CAUSES`; `explanation` says it in words; `evidence` is the path it was seen on;
    `where` is (file, line) or None; `remedy` is code to change, empty where nothing is wrong.
    """

    cause: str
    explanation: str
    evidence: list[str] = field(default_factory=list)
    where: Place | None = None
    remedy: str = ""
    name: str | None = None
    shape: tuple[int, ...] = ()
    dtype: str = ""
    snapshot: Snapshot | None = field(default=None, repr=False)
    tensor: int | None = field(default=None, repr=False)  # its record in the snapshot
    taker: str = field(default="", repr=False)  # the recorded call that took the value after it was cut off

    def __post_init__(self) -> None:
        assert self.cause in CAUSES, self.cause

    @property
    def headline(self) -> str:
        """The cause in a few words."""
        return HEADLINES[self.cause]

    @property
    def tone(self) -> str:
        return _TONES.get(self.cause, BAD)

    def _subject(self) -> str:
        return f"{self.name or 'tensor'} ({self.dtype}, shape {tuple(self.shape)})"

    def text(self) -> str:
        """The whole answer as plain text."""
        lines = [f"{self._subject()}: {self.headline}  [{self.cause}]", _indent(self.explanation)]
        if self.where is not None:
            lines.append(f"  where: {shown(self.where)}" + (f":  {code}" if (code := code_at(self.where)) else ""))
        if self.evidence:
            lines.append("  seen:  " + " -> ".join(self.evidence))
        if self.remedy:
            first, *more = self.remedy.split("\n")
            lines += ["  do:    " + first, *("         " + line for line in more)]
        return "\n".join(lines)

    __str__ = text

    def __repr__(self) -> str:
        return self.text()

    def html(self) -> str:
        """The answer as a box of HTML with its own style."""
        rows = []
        if self.where is not None:
            code = code_at(self.where)
            rows.append(("where", html.escape(shown(self.where)) + (f"<pre>{html.escape(code)}</pre>" if code else "")))
        if self.evidence:
            rows.append(("seen", " → ".join(f"<code>{html.escape(step)}</code>" for step in self.evidence)))
        if self.remedy:
            rows.append(("do", f"<pre>{html.escape(self.remedy)}</pre>"))
        listing = "".join(f"<dt>{key}</dt><dd>{value}</dd>" for key, value in rows)
        head = (
            f'<span class="gw-cause">{self.cause}</span><span class="gw-head">'
            f"<code>{html.escape(self.name or 'tensor')}</code> {html.escape(self.headline)}</span>"
        )
        return _box(self.tone, f"<div>{head}</div><p>{inline(self.explanation)}</p><dl>{listing}</dl>")

    def picture(self) -> Any:
        """The graph with the break marked, a Drawing; None when there is no graph to show."""
        from gradlab.diagnosis.picture import drawing

        return drawing(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from gradlab.diagnosis.picture import embedded

        return {"text/plain": self.text(), "text/html": self.html() + embedded(self)}


class Diagnoses(list[Diagnosis]):
    """Several answers, one a parameter, shown as a table.

    `lacking` are names of leaves that the loss trains and the optimizer does not hold (for `why(optimizer, loss)`).
    """

    def __init__(self, items: Iterable[Diagnosis] = (), subject: str = "", lacking: Iterable[str] = ()):
        super().__init__(items)
        self.subject = subject
        self.lacking = list(lacking)

    @property
    def without_grad(self) -> list[Diagnosis]:
        """Those that have no usable gradient."""
        return [each for each in self if each.cause != "has-grad"]

    def _summary(self) -> str:
        bad = self.without_grad
        if not bad:
            return f"all {len(self)} parameters have a gradient"
        return f"{len(bad)} of {len(self)} parameters have no usable gradient"

    def text(self, brief: bool = False) -> str:
        """A table of names and causes, then each different answer once; `brief` leaves out those with a gradient."""
        width = max([len(each.name or "tensor") for each in self] + [4])
        lines = [f"{self.subject}: {self._summary()}" if self.subject else self._summary()]
        for each in self.without_grad if brief else self:
            place = f"  {shown(each.where)}" if each.where else ""
            lines.append(f"  {each.name or 'tensor':<{width}}  {each.cause:<24}{place}".rstrip())
        if self.lacking:
            lines.append(
                f"  the optimizer lacks: {', '.join(self.lacking)} (the loss reaches them, no step will change them)"
            )
        for group in _grouped(self.without_grad):
            lines.append("")
            lines.append(group[0].text())
            if len(group) > 1:
                lines.append(f"  the same: {', '.join(each.name or 'tensor' for each in group[1:])}")
        return "\n".join(lines)

    __str__ = text

    def __repr__(self) -> str:
        return self.text()

    def html(self) -> str:
        """The table as HTML."""
        rows = "".join(
            f"<tr><td><code>{html.escape(each.name or 'tensor')}</code></td><td>{tuple(each.shape)}</td>"
            f'<td><span class="gw-cause" style="--gw:{_ACCENTS[each.tone]}">{each.cause}</span></td>'
            f"<td>{inline(each.explanation)}</td>"
            f"<td>{html.escape(shown(each.where)) if each.where else ''}"
            f"{f'<pre>{html.escape(each.remedy)}</pre>' if each.remedy else ''}</td></tr>"
            for each in self
        )
        head = "<tr><th>parameter</th><th>shape</th><th>cause</th><th>why</th><th>where, and what to do</th></tr>"
        lacks = ", ".join(f"<code>{html.escape(name)}</code>" for name in self.lacking)
        note = f"<p>The optimizer lacks {lacks}: the loss reaches them, no step will change them.</p>" if lacks else ""
        title = html.escape(f"{self.subject}: {self._summary()}" if self.subject else self._summary())
        tone = BAD if any(each.tone == BAD for each in self) or self.lacking else CALM if self.without_grad else GOOD
        return _box(tone, f'<div class="gw-head">{title}</div>{note}<table>{head}{rows}</table>')

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.text(), "text/html": self.html()}


def _grouped(items: list[Diagnosis]) -> list[list[Diagnosis]]:
    groups: dict[tuple, list[Diagnosis]] = {}
    for each in items:
        groups.setdefault((each.cause, each.where), []).append(each)
    return list(groups.values())


def _box(tone: str, body: str) -> str:
    return f'{STYLE}<div class="gradlab-why" role="note" style="--gw:{_ACCENTS[tone]}">{body}</div>'


def inline(text: str) -> str:
    """Backticks as code, everything else escaped.

    >>> inline("`a<b` & c")
    '<code>a&lt;b</code> &amp; c'
    """
    parts = html.escape(text, quote=False).split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))


def _indent(text: str) -> str:
    import textwrap

    return textwrap.fill(text, width=110, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
