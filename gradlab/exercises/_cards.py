"""The boxes that check, hint, predict and reveal show: HTML for a notebook, plain text elsewhere, light and dark."""

from __future__ import annotations

import html
import re
import sys
from dataclasses import dataclass, field
from typing import Any

STYLE = """<style>
.gradlab-card{border:1px solid rgba(128,128,128,.35);border-left:4px solid var(--gl);border-radius:6px;
padding:.55em .95em .65em;margin:.3em 0;max-width:58em;line-height:1.5;
font-family:var(--jp-content-font-family,system-ui,sans-serif);
font-size:var(--jp-content-font-size1,14px);color:var(--jp-content-font-color1,inherit)}
.gradlab-card p{margin:.35em 0}
.gradlab-card pre{margin:.35em 0;white-space:pre-wrap;word-break:normal;overflow-wrap:break-word;
background:none;color:inherit;font-size:.93em}
.gradlab-card code{background:rgba(128,128,128,.16);padding:.05em .3em;border-radius:3px;color:inherit;font-size:.93em}
.gradlab-card pre code{background:none;padding:0}
.gradlab-card .gl-word{display:inline-block;background:var(--gl);color:#fff;border-radius:4px;padding:.02em .55em;
font-weight:600;margin-right:.6em}
.gradlab-card .gl-title{font-weight:600}
.gradlab-card summary{cursor:pointer;margin-top:.35em}
.gradlab-card .gl-sides{display:flex;gap:1.6em;flex-wrap:wrap;margin-top:.3em}
.gradlab-card .gl-sides>div{flex:1 1 15em;min-width:0}
.gradlab-card .gl-label{opacity:.75;font-size:.9em}
.gradlab-card table{border-collapse:collapse;margin:.5em 0;font-size:.95em;color:inherit}
.gradlab-card td,.gradlab-card th{border:1px solid rgba(128,128,128,.35);padding:.2em .7em;
text-align:left;background:none}
.gradlab-card ol{margin:.3em 0 .3em 1.6em;padding:0}
.gradlab-card svg{max-width:100%;height:auto}
</style>"""

ACCENTS = {
    "passed": "#1a7f4b",
    "failed": "#b4540a",
    "not-yet": "#5f6b7a",
    "error": "#a8324a",
    "predict": "#1b6ca8",
    "reveal": "#7a55b0",
    "hint": "#8a6d00",
    "progress": "#1b6ca8",
}


def inline(text: str) -> str:
    """Backticks, bold and blank lines of a message as HTML, everything else escaped.

    >>> inline("is `None` < 0")
    'is <code>None</code> &lt; 0'
    """
    parts = re.split(r"(```(?:python)?\n.*?```|`[^`\n]+`)", text, flags=re.S)
    return "".join(_code(part) if i % 2 else _prose(part) for i, part in enumerate(parts))


def _code(part: str) -> str:
    if part.startswith("```"):
        code = re.sub(r"^```(?:python)?\n", "", part)[:-3]
        return f"<pre><code>{html.escape(code, quote=False)}</code></pre>"
    return f"<code>{html.escape(part[1:-1], quote=False)}</code>"


def _prose(part: str) -> str:
    safe = re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", html.escape(part, quote=False))
    safe = re.sub(r"\*([^*\n]+)\*", r"<em>\1</em>", safe)
    return safe.replace("\n\n", "<br><br>")


@dataclass
class Card:
    """One box: an accent (see ACCENTS), the word on its label, a title, the body as HTML and the whole as text."""

    accent: str
    word: str
    title: str
    body: str
    text: str
    facts: dict[str, Any] = field(default_factory=dict)

    def html(self) -> str:
        """The box as HTML with its own style."""
        head = (
            f'<span class="gl-word">{html.escape(self.word)}</span><span class="gl-title">{inline(self.title)}</span>'
        )
        return (
            f'{STYLE}<div class="gradlab-card" role="note" style="--gl:{ACCENTS[self.accent]}">'
            f"<div>{head}</div>{self.body}</div>"
        )


def show(card: Card) -> None:
    """Display the box in a notebook, print its text elsewhere."""
    shell = notebook_shell()
    if shell is None:
        print(card.text)
        return
    from IPython.display import display

    display({"text/html": card.html(), "text/plain": card.text}, raw=True, metadata={"gradlab": card.facts})


def notebook_shell() -> Any:
    """The running IPython shell, or None; never imports IPython by itself."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None
