"""``gradlab verify [LESSON...]``: run lessons unsolved and solved, and every known-wrong answer; report faults."""

import argparse
import sys
import time
from pathlib import Path

from gradlab.cli._lessons import LessonsError, lesson_name, lessons_folder


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "verify",
        help="check that lessons and exercises do what they promise",
        description="Run lessons unsolved and solved, try every known-wrong answer, and look at the files: built in "
        "sync, nothing stored in them, every cell run, terms as in the glossary. Exits with 1 when something is wrong.",
    )
    parser.add_argument("lessons", nargs="*", metavar="LESSON", help="a lesson's number (default: all of them)")
    parser.add_argument("--quick", action="store_true", help="do not run the notebooks: files and answers only")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    import torch  # noqa: F401  (the lessons show what torch does; main says how to install it)
    from tqdm import tqdm

    try:
        folder = lessons_folder()
        names = [lesson_name(folder, lesson).removesuffix(".ipynb") for lesson in args.lessons]
    except LessonsError as error:
        print(error, file=sys.stderr)
        return 1
    names = names or sorted(path.stem for path in folder.glob("[0-9][0-9]_*.ipynb"))
    faults, lines, started = [], [], time.monotonic()
    with tqdm(total=len(names) * (2 if args.quick else 4), unit="step", disable=None) as bar:
        for name in names:
            found, line = verify_lesson(folder, name, args.quick, bar)
            faults += found
            lines.append(line)
    print("\n".join(lines))
    for fault in faults:
        print(f"!! {fault}")
    print(f"{len(names)} lessons, {len(faults)} faults, {time.monotonic() - started:.0f} s")
    return 1 if faults else 0


def verify_lesson(folder: Path, name: str, quick: bool, bar: object) -> tuple[list, str]:
    """All faults of one lesson, and a line about it."""
    from gradlab import exercises
    from gradlab.exercises import _verifying as look

    def step(what: str) -> None:
        bar.set_description(f"{name[:2]} {what}")  # type: ignore[attr-defined]
        bar.update()  # type: ignore[attr-defined]

    notebook = look.read_notebook(folder / f"{name}.ipynb")
    page = folder / "glossary.md"
    terms, avoid = look.glossary(page.read_text(encoding="utf-8") if page.is_file() else "")
    faults = look.faults_of_build(folder, name)
    faults += [*look.faults_of_file(notebook, name), *look.faults_of_terms(notebook, name, terms, avoid)]
    step("file")
    own = [exercise for exercise in exercises.all() if exercise.lesson == name[:2]]
    for exercise in own:
        faults += look.faults_of_answers(exercise)
    step("answers")
    seconds = []
    for is_solved in () if quick else (False, True):
        ran, took = look.run_notebook(look.solved(notebook) if is_solved else notebook, folder)
        faults += look.faults_of_run(ran, name, is_solved)
        seconds.append(took)
        step("solved" if is_solved else "unsolved")
    wrong = sum(len(exercise.wrong) for exercise in own)
    times = f", run in {seconds[0]:.0f} s and solved in {seconds[1]:.0f} s" if seconds else ""
    return faults, f"{'!!' if faults else 'ok'} {name}: {len(own)} exercises, {wrong} wrong answers{times}"
