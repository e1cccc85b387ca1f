"""gradlab grade: a folder of submissions in, scores and feedback out."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradlab.grading.records import Bundle, Result
    from gradlab.grading.roster import Roster
    from gradlab.grading.submissions import Found, Student

_POOLS_THAT_MAY_BREAK = 5


def add_parser(subparsers: Any) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "grade",
        help="grade a folder of notebooks",
        description="Grade notebooks: each answer is run in a sandbox and judged outside it.",
    )
    parser.add_argument("submissions", type=Path, help="a folder, nested folders, a zip, or an LMS download")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where results and reports go")
    parser.add_argument(
        "--lesson", nargs="+", default=[], metavar="06", help="lessons to grade (default: those handed in)"
    )
    parser.add_argument("--exercises", type=Path, metavar="FILE", help="an exercise file outside the package")
    parser.add_argument(
        "--roster", type=Path, metavar="FILE", help="the LMS's class list; DIR/roster.csv has the scores"
    )
    parser.add_argument("--workers", type=_positive, metavar="N", help="worker processes (default: one a core)")
    parser.add_argument("--dask", metavar="ADDRESS", help="use the workers of this Dask scheduler instead")
    parser.add_argument(
        "--timeout", type=_seconds, default=10.0, metavar="S", help="seconds a cell or a check may take"
    )
    parser.add_argument("--memory", type=_positive, default=1024, metavar="MB", help="memory of a submission")
    parser.add_argument(
        "--seed", type=int, metavar="N", help="of the hidden inputs (default: random, kept in DIR/run.json)"
    )
    parser.add_argument("--require-sandbox", action="store_true", help="refuse to grade with less than full isolation")
    parser.add_argument(
        "--export", action="append", default=[], choices=["gradescope"], help="write this format as well"
    )
    parser.add_argument("--fresh", action="store_true", help="grade everything again")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Grade, and say where the reports are. 1 when grading was not possible, 130 when it was interrupted."""
    from gradlab.grading.roster import Roster, RosterError
    from gradlab.grading.sandbox import SandboxError

    try:
        roster = Roster.read(args.roster) if args.roster else None
        return _grade(args, roster)
    except (FileNotFoundError, ValueError, RosterError, SandboxError, RuntimeError, OSError) as error:
        print(f"gradlab grade: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted. What is done is kept; the same command goes on from here.", file=sys.stderr)
        return 130


def _grade(args: argparse.Namespace, roster: Roster | None) -> int:
    from gradlab.grading.judge import judge_for
    from gradlab.grading.records import Bundle
    from gradlab.grading.reports import write_reports
    from gradlab.grading.sandbox import Sandbox
    from gradlab.grading.submissions import look_through

    found = look_through(args.submissions, skip=[args.out], students=roster.aliases() if roster else None)
    students = found.students
    if args.require_sandbox:
        Sandbox(args.memory, blocked=["torch"], level="full").close()  # without torch it is up at once
    lessons = args.lesson or ([] if args.exercises else _lessons_in(students))
    bundle = Bundle.of(
        lessons,
        args.exercises,
        _seed(args),
        timeout=args.timeout,
        memory_mb=args.memory,
        level="full" if args.require_sandbox else "best",
        secrets=(str(args.submissions.resolve()), str(args.out.resolve())),
    )
    args.out.mkdir(parents=True, exist_ok=True)
    about = {"seed": bundle.seed, "exercises": list(bundle.exercises), "timeout": bundle.timeout, "memory": args.memory}
    (args.out / "run.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    results = _with_pools(args, bundle, students)
    catalog = judge_for(bundle.course).catalog()
    write_reports(results, catalog, args.out, bundle.seed, roster, args.export, found.aside, found.warnings)
    _say(results, args.out, roster, found)
    return 0


def _with_pools(args: argparse.Namespace, bundle: Bundle, students: list[Student]) -> list[Result]:
    """Grade with a pool; when a worker of it is killed from outside, go on with a new one."""
    import os
    from concurrent.futures import BrokenExecutor

    from gradlab.grading.executors import dask_pool, grade_all, process_pool

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = min(args.workers or cores, max(1, len(students)))
    fresh = args.fresh
    for attempt in range(_POOLS_THAT_MAY_BREAK):
        executor = dask_pool(args.dask) if args.dask else process_pool(workers) if workers > 1 else None
        width = 64 if args.dask else 2 * workers
        try:
            with _Bar(len(students)) as bar:
                results = grade_all(bundle, students, args.out, executor, width, fresh, bar)
            if executor is not None:
                executor.shutdown()
            return results
        except BrokenExecutor:
            fresh = False
            if attempt == _POOLS_THAT_MAY_BREAK - 1:
                raise RuntimeError("worker processes keep being killed; is there enough memory?") from None
        finally:
            if executor is not None:
                _stop(executor)
    raise AssertionError("unreachable")


def _stop(executor: Any) -> None:
    """Without waiting for what was not begun."""
    try:
        executor.shutdown(wait=False, cancel_futures=True)
    except TypeError:  # Dask's
        executor.shutdown(wait=False)


class _Bar:
    """A progress bar with rate and time left."""

    def __init__(self, total: int) -> None:
        from tqdm import tqdm

        self._bar = tqdm(total=total, unit="submission", disable=None if total > 1 else True)

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def __call__(self, result: Result) -> None:
        self._bar.update()


def _lessons_in(students: Iterable[Student]) -> list[str]:
    """The lessons whose exercises the notebooks' metadata name; none found: all."""
    found = set()
    for student in students:
        for notebook in student.submission().notebooks:
            found.update(re.findall(rb'"exercise"\s*:\s*"(\d\d)-\d+"', notebook.content))
    known = {id.split("-")[0] for id in _course_ids()}
    return sorted({lesson.decode() for lesson in found} & known)


def _course_ids() -> Iterator[str]:
    from gradlab.grading.judge import judge_for

    return (entry["id"] for entry in judge_for("").catalog())


def _seed(args: argparse.Namespace) -> int | None:
    """The seed asked for; else that of the run which this one continues; else None for a fresh one."""
    if args.seed is not None or args.fresh:
        return args.seed
    try:
        return int(json.loads((args.out / "run.json").read_text(encoding="utf-8"))["seed"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _say(results: list[Result], out: Path, roster: Roster | None, found: Found) -> None:
    levels = sorted({result.isolation for result in results})
    if not results:
        print(
            "No notebook was found: give the folder in which the notebooks are, or in which each student's folder is."
        )
    for problem in [*(roster.problems if roster else []), *found.warnings]:
        print(f"Note: {problem}.", file=sys.stderr)
    without = [f"{student.name} ({student.files[0].place})" for student in found.students if student.without_notebook]
    if without:
        print(f"WARNING: no notebook, so no points: {', '.join(without)}. Ask for the .ipynb file.", file=sys.stderr)
    if found.aside:
        more = f"; {len(found.aside) - 1} more such lines are in the report" if len(found.aside) > 1 else ""
        print(f"Not read: {found.aside[0]}{more}.", file=sys.stderr)
    if set(levels) - {"full"}:
        from gradlab.grading.sandbox import isolation

        print(f"Isolation: {', '.join(levels)}. It is not full: {isolation()[1]}", file=sys.stderr)
        if "process" in levels:
            print(
                "WARNING: at level process a submission runs as you, with your files in reach where the system has no "
                "landlock. Grade only what you trust, or use --require-sandbox.",
                file=sys.stderr,
            )
    odd = sum(1 for result in results if result.notes)
    if odd:
        print(f"{odd} with notes, such as a second file or one that could not be read; the report lists them.")
    print(f"{len(results)} graded: {out / 'index.html'}")


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 0.1 to 3600")
    return seconds
