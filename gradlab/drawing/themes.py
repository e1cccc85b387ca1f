"""Colours: one accent for each meaning, the same in light and dark, and both with AA contrast (tests compute it)."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Theme:
    """Every colour of a picture. No two of a theme are equal, so that one picture can serve both themes."""

    paper: str
    ink: str
    soft: str
    faint: str  # thin lines only, never text
    leaf: str
    leaf_fill: str
    constant: str
    constant_fill: str
    inner: str
    inner_fill: str
    op: str
    op_fill: str
    out: str
    out_fill: str
    grad: str
    saved: str
    saved_ink: str
    freed: str
    alarm: str
    alarm_fill: str
    now: str
    group: str
    group_fill: str


LIGHT = Theme(
    paper="#ffffff",
    ink="#1f2933",
    soft="#5a6672",
    faint="#a3adb8",
    leaf="#0b6ba8",
    leaf_fill="#eaf4fb",
    constant="#626d79",
    constant_fill="#f4f6f8",
    inner="#3f6170",
    inner_fill="#f1f7f8",
    op="#3d4852",
    op_fill="#fefefe",
    out="#00755a",
    out_fill="#e6f5f0",
    grad="#b34700",
    saved="#6f4f9e",
    saved_ink="#fffffe",
    freed="#6b5a85",
    alarm="#b3123f",
    alarm_fill="#fdeaef",
    now="#ffe9a8",
    group="#52606d",
    group_fill="#f7f8fa",
)

DARK = Theme(
    paper="#14181d",
    ink="#e6ebf0",
    soft="#9fb0c0",
    faint="#5d6b79",
    leaf="#6bb8f0",
    leaf_fill="#16293a",
    constant="#98a4b0",
    constant_fill="#20262d",
    inner="#9cc3d1",
    inner_fill="#18272d",
    op="#c3cdd7",
    op_fill="#1c2229",
    out="#4fd1a5",
    out_fill="#12302a",
    grad="#ffb27a",
    saved="#c4a8f0",
    saved_ink="#14181e",
    freed="#b3a4cc",
    alarm="#ff8fa8",
    alarm_fill="#3d1723",
    now="#473a0c",
    group="#aab6c2",
    group_fill="#1a1f25",
)

THEMES = {"light": LIGHT, "dark": DARK}


def theme_named(name: str) -> Theme:
    """The theme that DOT is written in; "auto" is written light and turned dark by the viewer."""
    if name not in ("auto", *THEMES):
        raise ValueError(f"theme={name!r}: it is 'auto', 'light' or 'dark'")
    return THEMES.get(name, LIGHT)


def auto_rules() -> str:
    """CSS that turns a picture drawn in LIGHT dark where its surroundings are.

    In a page it follows the page's `color-scheme`, which JupyterLab and Notebook set with their theme; alone it follows
    the reader's preference; as an image, that of the element it stands in.
    """
    rules = []
    for field in fields(Theme):
        light, dark = getattr(LIGHT, field.name), getattr(DARK, field.name)
        for part in ("fill", "stroke"):
            rules.append(f'.gl-auto [{part}="{light}"]{{{part}:light-dark({light},{dark})}}')
    return f"svg:root{{color-scheme:light dark}}@supports (color:light-dark(red,red)){{{''.join(rules)}}}"
