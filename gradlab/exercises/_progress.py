"""What a learner has predicted and solved so far: one small file next to the notebooks, safe to delete."""

from __future__ import annotations

import base64
import contextlib
import json
import os
from pathlib import Path
from typing import Any

from gradlab.exercises._cards import Card, show
from gradlab.exercises._registry import all_exercises, all_predictions

FILE = "gradlab-progress.json"
_memory: dict[str, dict[str, Any]] = {}


def read() -> dict[str, dict[str, Any]]:
    """Predictions by id and solved exercises by id; empty where there is no file or no readable one."""
    path = Path.cwd() / FILE
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(found, dict):
            return {
                key: dict(found[key]) if isinstance(found.get(key), dict) else {} for key in ("predictions", "solved")
            }
    return {key: dict(_memory.get(key, {})) for key in ("predictions", "solved")}


def write(state: dict[str, dict[str, Any]]) -> None:
    """Keep the state; in a folder that cannot be written it lives as long as the kernel."""
    _memory.update(state)
    path = Path.cwd() / FILE
    with contextlib.suppress(OSError):
        new = path.with_suffix(f".{os.getpid()}.tmp")
        new.write_text(json.dumps(state, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        new.replace(path)


def first_guess(id: str) -> str | None:
    """The first guess made for a prediction, None before there is one."""
    guess = read()["predictions"].get(id)
    return guess if isinstance(guess, str) else None


def keep_guess(id: str, choice: str) -> str:
    """Store a guess unless there is one; return the one that counts."""
    state = read()
    first = state["predictions"].setdefault(id, choice)
    write(state)
    return str(first)


def keep_solved(id: str) -> None:
    """Store that an exercise has been solved."""
    state = read()
    if not state["solved"].get(id):
        state["solved"][id] = True
        write(state)


def progress() -> None:
    """Show what has been predicted and solved so far, lesson by lesson, with the file to download.

    The file `gradlab-progress.json` lies next to the notebooks. To go on elsewhere, download it and
    upload it next to the notebooks there.

    >>> import gradlab
    >>> gradlab.progress()  # doctest: +SKIP
    lesson 01: 2 of 4 predictions, 1 of 3 exercises; core exercises left: 01-2
    """
    state = read()
    rows, lines, untouched = [], [], []
    for lesson in sorted({e.lesson for e in all_exercises()}):
        exercises = [e for e in all_exercises() if e.lesson == lesson]
        guesses = [p.id for p in all_predictions() if p.id.startswith(lesson)]
        solved = [e.id for e in exercises if state["solved"].get(e.id)]
        made = sum(1 for id in guesses if id in state["predictions"])
        if not solved and not made:
            untouched.append(lesson)
            continue
        left = ", ".join(e.id for e in exercises if e.core and e.id not in solved) or "none"
        cells = (lesson, f"{made} of {len(guesses)}", f"{len(solved)} of {len(exercises)}", left)
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        lines.append("lesson {}: {} predictions, {} exercises; core exercises left: {}".format(*cells))
    rest = f"Not begun: {', '.join(untouched)}." if untouched else "Every lesson has been begun."
    data = base64.b64encode(json.dumps(state, indent=1, sort_keys=True).encode()).decode()
    link = f'<a download="{FILE}" href="data:application/json;base64,{data}">Download {FILE}</a>'
    words = "To go on elsewhere, upload it next to the notebooks there (Binder forgets its disk when it stops)."
    head = "<tr><th>lesson</th><th>predictions made</th><th>exercises solved</th><th>core exercises left</th></tr>"
    table = f"<table>{head}{''.join(rows)}</table>" if rows else ""
    head = "<tr><th>lesson</th><th>predictions made</th><th>exercises solved</th><th>core exercises left</th></tr>"
    table = f"<table>{head}{''.join(rows)}</table>" if rows else ""
    body = f"{table}<p>{rest}</p><p>{link}. {words}</p>"
    text = "\n".join([*lines, rest, f"Kept in {FILE}. {words}"])
    show(Card("progress", "progress", "So far", body, text, {"progress": True}))
