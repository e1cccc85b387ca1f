"""What a run leaves behind for people: results.json, grades.csv, index.html and a page of feedback per student.

All of it is made from results alone, after the run; every word that came from a student is escaped.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gradlab.grading.executors import file_name, write_whole
from gradlab.grading.records import STATUSES, Outcome, Result
from gradlab.grading.roster import Roster, defused

# The sign says it where colour cannot.
SIGNS = {
    "passed": "✓",
    "failed": "✗",
    "not-yet": "○",
    "error": "!",
    "missing": "–",
    "forbidden": "⊘",
    "timeout": "∞",
    "killed": "†",
}
WORDS = {
    "passed": "passed",
    "failed": "not right",
    "not-yet": "not yet answered",
    "error": "error, or not readable",
    "missing": "no answer found",
    "forbidden": "uses what is not allowed",
    "timeout": "did not end",
    "killed": "ended its process",
}


def write_reports(
    results: Sequence[Result],
    catalog: Sequence[dict[str, Any]],
    out: Path,
    seed: int,
    roster: Roster | None = None,
    exports: Sequence[str] = (),
    aside: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> None:
    """Write every report of a run into `out`. `aside` says what was not read, `warnings` what the teacher should know."""
    feedback = out / "feedback"
    feedback.mkdir(parents=True, exist_ok=True)
    shown = [entry for entry in catalog if any(o.id == entry["id"] for result in results for o in result.exercises)]
    absent = [name for name in (roster.names() if roster else []) if name not in {r.student for r in results}]
    whole = json.dumps([result.as_dict() for result in results], indent=1, ensure_ascii=False)
    write_whole(out / "results.json", whole + "\n")
    write_whole(out / "grades.csv", grades_csv(results, absent))
    problems = [*(roster.problems if roster else []), *warnings]
    write_whole(out / "index.html", index_page(results, shown, seed, absent, problems, aside))
    pages = {f"{file_name(result.student)}.html" for result in results}
    for old in feedback.glob("*.html"):
        if old.name not in pages:
            old.unlink()
    render = _environment().get_template("feedback.html.j2").render
    entries = {entry["id"]: entry for entry in catalog}
    for result in results:
        page = render(result=result, exercises=[(o, entries[o.id]) for o in result.exercises], signs=SIGNS, words=WORDS)
        write_whole(feedback / f"{file_name(result.student)}.html", page)
    if roster is not None:
        write_whole(out / "roster.csv", roster.filled(list(results)))
    if "gradescope" in exports:
        folder = out / "gradescope"
        folder.mkdir(exist_ok=True)
        for result in results:
            write_whole(folder / f"{file_name(result.student)}.json", json.dumps(gradescope(result, entries), indent=1))


def grades_csv(results: Sequence[Result], absent: Sequence[str] = ()) -> str:
    """One row a student, one column an exercise; cells that a spreadsheet would run are defused."""
    ids = [outcome.id for outcome in results[0].exercises] if results else []
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(["student", "submission", "score", "max_score", "isolation", *ids, "notes"])
    for result in results:
        scores = [outcome.score for outcome in result.exercises]
        head = [defused(result.student), defused(result.submission), result.score, result.max_score, result.isolation]
        writer.writerow([*head, *scores, defused("; ".join(result.notes))])
    for name in absent:
        writer.writerow([defused(name), "", "", "", "", *([""] * len(ids)), "nothing handed in"])
    return out.getvalue()


def index_page(
    results: Sequence[Result],
    catalog: Sequence[dict[str, Any]],
    seed: int,
    absent: Sequence[str] = (),
    problems: Sequence[str] = (),
    aside: Sequence[str] = (),
) -> str:
    """The teacher's page: who did what, where the class stumbles, and over what."""
    columns = [(entry, Counter(_outcome(result, entry["id"]).status for result in results)) for entry in catalog]
    stumbles: Counter[tuple[str, str]] = Counter(
        (outcome.id, outcome.misconception)
        for result in results
        for outcome in result.exercises
        if outcome.misconception
    )
    return (
        _environment()
        .get_template("index.html.j2")
        .render(
            results=results,
            columns=columns,
            misconceptions=_by_misconception(stumbles, {entry["id"]: entry["misconceptions"] for entry in catalog}),
            statuses=STATUSES,
            signs=SIGNS,
            words=WORDS,
            seed=seed,
            absent=absent,
            problems=problems,
            aside=aside,
            levels=sorted({result.isolation for result in results}),
            page=file_name,
            mean=sum(r.score for r in results) / len(results) if results else 0.0,
        )
    )


def _by_misconception(
    stumbles: Counter[tuple[str, str]], words: dict[str, dict[str, str]]
) -> list[tuple[str, str, str, int]]:
    """Exercise, misconception, its message, how many; the commonest first."""
    ordered = sorted(stumbles.items(), key=lambda item: (-item[1], item[0]))
    return [(id, name, words.get(id, {}).get(name, ""), count) for (id, name), count in ordered]


def gradescope(result: Result, entries: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A Gradescope results.json: scores and feedback, no hidden input, no expected value."""
    tests = [
        {
            "name": f"{outcome.id} {entries[outcome.id]['title']}",
            "score": outcome.score,
            "max_score": outcome.max_score,
            "status": "passed" if outcome.status == "passed" else "failed",
            "output": outcome.message,
            "visibility": "visible",
        }
        for outcome in result.exercises
    ]
    words = "; ".join((f"isolation: {result.isolation}", *result.notes))
    return {"score": result.score, "output": words, "execution_time": result.seconds, "tests": tests}


def _outcome(result: Result, id: str) -> Outcome:
    return next((o for o in result.exercises if o.id == id), Outcome(id, "missing", 0.0, 0.0))


def _environment() -> Any:
    import jinja2
    from markupsafe import Markup

    from gradlab.exercises._cards import inline

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["prose"] = lambda text: Markup(inline(text))
    environment.filters["points"] = lambda value: f"{value:g}"
    return environment
