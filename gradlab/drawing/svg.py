"""What is done to the SVG of a layout engine: fonts, size, a text alternative, and the dark theme."""

from __future__ import annotations

import html
import re
import urllib.parse

from gradlab.drawing.themes import auto_rules

FONTS = "Helvetica,Arial,Liberation Sans,Noto Sans CJK SC,sans-serif"


def finish(drawn: str, theme: str, words: str) -> str:
    """The picture as one <svg> element: small, never wider than its place, with its text as description."""
    drawn = compact(drawn)
    head = re.match(r'<svg width="([\d.]+)pt" height="([\d.]+)pt"', drawn)
    if head is not None:
        size = f'<svg width="{head[1]}" height="{head[2]}" role="img" style="max-width:100%;height:auto"'
        named = ' class="gl-auto"' if theme == "auto" else ""
        drawn = f'{size}{named} font-family="{FONTS}"' + drawn[head.end() :]
    description = f"<title>{html.escape(words.partition(chr(10))[0])}</title><desc>{html.escape(words)}</desc>"
    rules = f"<style>{auto_rules()}</style>" if theme == "auto" else ""
    body = drawn.index(">") + 1
    return drawn[:body] + description + rules + drawn[body:]


def sized(picture: str, width: int, height: int) -> str:
    """The same picture, shown in another size."""
    return re.sub(r'<svg width="[\d.]+" height="[\d.]+"', f'<svg width="{width}" height="{height}"', picture, count=1)


def image(picture: str, words: str) -> str:
    """The picture as an <img>: a notebook that is not trusted would take an <svg> apart and leave its words."""
    source = urllib.parse.quote(picture, safe=" !$()*,/:;=?@[]-_.~")
    return f'<img style="max-width:100%;height:auto" alt="{html.escape(words)}" src="data:image/svg+xml,{source}">'


def compact(drawn: str) -> str:
    """A layout engine's SVG without its XML head, hover texts and comments, and with short shapes."""
    drawn = drawn[drawn.index("<svg") :].strip()
    drawn = re.sub(
        r'<title>[^<]*</title>\n?|<!--.*?-->\n?| font-family="[^"]*"| xml:space="preserve"', "", drawn, flags=re.S
    )
    drawn = re.sub(r' (?:d|points|x|y|viewBox)="[^"<>]*"', _shortened, drawn)
    drawn = re.sub(r'<path ((?:(?!d=)[^>])*?) d="(M[\d., -]*C[\d., -]*)"/>', _rectangle, drawn)
    return re.sub(r"(?<=>)\n", "", _joined(drawn))


def _shortened(found: re.Match[str]) -> str:
    return re.sub(r"(\d\.\d)\d+", r"\1", found[0])


def _rectangle(found: re.Match[str]) -> str:
    """A box with round corners as <rect>; any other path as it is."""
    points = [tuple(map(float, pair.split(","))) for pair in re.findall(r"-?[\d.]+,-?[\d.]+", found[2])]
    if len(points) != 25 or points[0] != points[-1]:
        return found[0]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    corner = points[0][0] - min(xs)
    width, height = max(xs) - min(xs), max(ys) - min(ys)
    place = f'x="{min(xs):g}" y="{min(ys):g}" width="{width:.4g}" height="{height:.4g}" rx="{corner:.3g}"'
    return f"<rect {found[1]} {place}/>"


_FILLED = r'<rect ([^>]*?)fill="([^"]*)" stroke="(?:none|transparent)" (x=[^>]*)/>'


def _joined(drawn: str) -> str:
    """A box's fill and its border, which layout engines draw one by one, as one shape."""
    pieces = re.split(r"(?=<g )", drawn)
    return "".join(map(_joined_piece, pieces))


def _joined_piece(piece: str) -> str:
    for filled in re.finditer(_FILLED, piece):
        border = re.search(rf'<rect fill="none" ([^>]*?) {re.escape(filled[3])}/>\n?', piece)
        if border is not None:
            one = f'<rect {filled[1]}fill="{filled[2]}" {border[1]} {filled[3]}/>'
            piece = piece.replace(border[0], "", 1).replace(filled[0], one, 1)
    return piece


def page(picture: str, theme: str) -> str:
    """A page of its own around the picture."""
    scheme = "light dark" if theme == "auto" else theme
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<title>gradlab</title><meta name="color-scheme" content="{scheme}"></head>'
        f'<body style="margin:1rem">{picture}</body></html>\n'
    )
