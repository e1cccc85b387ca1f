"""What is done to the SVG of a layout engine: fonts, size, a text alternative, and the dark theme."""

from __future__ import annotations

import html
import re

from gradlab.drawing.themes import dark_rules

FONTS = "Helvetica,Arial,Liberation Sans,Noto Sans CJK SC,sans-serif"


def finish(drawn: str, theme: str, words: str) -> str:
    """The picture as one <svg> element: no XML head, never wider than its place, with its text as description."""
    drawn = drawn[drawn.index("<svg") :].strip()
    drawn = re.sub(r'font-family="[^"]*"', f'font-family="{FONTS}"', drawn)
    drawn = re.sub(r"<title>[^<]*</title>\n?", "", drawn)  # hover texts with internal ids
    drawn = re.sub(r"<!--.*?-->\n?", "", drawn, flags=re.S)
    head = re.match(r'<svg width="([\d.]+)pt" height="([\d.]+)pt"', drawn)
    if head is not None:
        size = f'<svg width="{head[1]}" height="{head[2]}" role="img" style="max-width:100%;height:auto"'
        drawn = size + drawn[head.end() :]
    description = f"<title>{html.escape(words.partition(chr(10))[0])}</title><desc>{html.escape(words)}</desc>"
    rules = f"<style>@media (prefers-color-scheme:dark){{{dark_rules()}}}</style>" if theme == "auto" else ""
    body = drawn.index(">") + 1
    return drawn[:body] + description + rules + drawn[body:]


def page(picture: str, theme: str) -> str:
    """A page of its own around the picture."""
    scheme = "light dark" if theme == "auto" else theme
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<title>gradlab</title><meta name="color-scheme" content="{scheme}"></head>'
        f'<body style="margin:1rem">{picture}</body></html>\n'
    )
