"""Build the lesson notebooks from their one readable source.

    python lessons/build.py            write lessons/NN_slug.ipynb from lessons/source/NN_slug.md
    python lessons/build.py --check    exit 1 when a notebook is not what its source builds

A source is Markdown. A fence marked `python` is a code cell, text between code cells is a text cell, and a `## heading`
starts a new one. The line `<!-- exercise 06-3 -->` becomes three cells: the question, the stub and its check, taken
from gradlab/exercises/lesson_06.py. Cell ids come from headings and exercise ids, so they are stable.
A translation is a second folder with the same code fences and markers; only its text differs.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "source"
MARKER = re.compile(r"^<!-- exercise (\S+) -->$")
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def parse(text: str) -> list[tuple[str, str]]:
    """The parts of a source in order: ("text" | "code" | "exercise", content)."""
    parts: list[tuple[str, str]] = []
    lines: list[str] = []
    in_code = False

    def close(kind: str) -> None:
        content = "\n".join(lines).strip("\n")
        if content.strip():
            parts.append((kind, content))
        lines.clear()

    for line in text.splitlines():
        marker = MARKER.match(line)
        if in_code:
            if line.startswith("```"):
                close("code")
                in_code = False
            else:
                lines.append(line)
        elif line.strip() == "```python":
            close("text")
            in_code = True
        elif marker:
            close("text")
            parts.append(("exercise", marker[1]))
        else:
            if line.startswith("## "):
                close("text")
            lines.append(line)
    if in_code:
        raise ValueError("a ```python fence is not closed")
    close("text")
    return parts


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40] or "text"


def _cell(kind: str, id: str, source: str, about: dict[str, str] | None = None) -> dict[str, Any]:
    cell: dict[str, Any] = {
        "cell_type": kind,
        "id": id,
        "metadata": {"gradlab": about} if about else {},
        "source": source,
    }
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell


def _exercise_cells(id: str) -> list[dict[str, Any]]:
    from gradlab import exercises

    exercise = exercises.get(id)
    level = "" if exercise.core else " · *stretch*"
    question = f"### Exercise {id} · {exercise.title}{level}\n\n{exercise.question.strip()}"
    return [
        _cell("markdown", f"question-{id}", question),
        _cell("code", f"exercise-{id}", exercise.stub.strip(), {"exercise": id}),
        _cell("code", f"check-{id}", f'check("{id}")', {"check": id}),
    ]


def build(source: Path) -> str:
    """The notebook of one source, as the text of its file."""
    cells: list[dict[str, Any]] = []
    section, used = "top", set()

    def fresh(id: str) -> str:
        number, candidate = 1, id
        while candidate in used:
            number += 1
            candidate = f"{id}-{number}"
        used.add(candidate)
        return candidate

    for kind, content in parse(source.read_text(encoding="utf-8")):
        if kind == "exercise":
            cells.extend(_exercise_cells(content))
        elif kind == "text":
            heading = re.match(r"#+ (.+)", content)
            section = _slug(heading[1]) if heading else section
            cells.append(_cell("markdown", fresh(f"text-{section}"), content))
        else:
            asked = re.search(r'(predict|reveal)\("(\d\d[A-Z])"', content)
            id = f"{asked[1]}-{asked[2]}" if asked else f"code-{section}"
            about = {asked[1]: asked[2]} if asked else None
            cells.append(_cell("code", fresh(id), content, about))
    notebook = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def outdated(folder: Path = HERE) -> list[str]:
    """The names of the notebooks that are missing or not what their sources build."""
    wrong = []
    for source in sorted((folder / "source").glob("*.md")):
        notebook = folder / f"{source.stem}.ipynb"
        if not notebook.is_file() or notebook.read_text(encoding="utf-8") != build(source):
            wrong.append(notebook.name)
    return wrong


def main(argv: list[str] | None = None) -> int:
    """Build or check; the exit status."""
    parser = argparse.ArgumentParser(description="Build the lesson notebooks from lessons/source.")
    parser.add_argument(
        "--check", action="store_true", help="only say which notebooks are out of date; exit 1 if any is"
    )
    arguments = parser.parse_args(argv)
    if arguments.check:
        wrong = outdated()
        for name in wrong:
            print(f"{name} is not what its source builds; run: python lessons/build.py")
        return 1 if wrong else 0
    for source in sorted(SOURCE.glob("*.md")):
        (HERE / f"{source.stem}.ipynb").write_text(build(source), encoding="utf-8")
        print(f"built {source.stem}.ipynb")
    return 0


if __name__ == "__main__":
    sys.exit(main())
