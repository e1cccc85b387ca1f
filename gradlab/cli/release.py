"""gradlab release: notebooks to hand out."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "release",
        help="write notebooks to hand out",
        description="Write student notebooks, the teacher's solved copies, or what nbgrader and Gradescope take.",
    )
    parser.add_argument("lessons", nargs="*", metavar="LESSON", help="lessons, such as 01 06")
    parser.add_argument("--to", type=Path, required=True, metavar="DIR", help="where the files go")
    parser.add_argument("--format", default="plain", choices=["plain", "nbgrader", "gradescope"])
    parser.add_argument("--solved", action="store_true", help="the teacher's copies, every solution filled in")
    parser.add_argument(
        "--exercises", type=Path, metavar="FILE", help="make a notebook of an exercise file of your own"
    )
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Write the files and name them; 1 when there is no such lesson or file."""
    from gradlab.cli._lessons import LessonsError, lesson_name, lessons_folder
    from gradlab.grading.formats import release

    try:
        folder = lessons_folder() if args.lessons else Path()
        notebooks = [folder / lesson_name(folder, lesson) for lesson in args.lessons]
        written = release(notebooks, args.to, args.format, args.solved, args.exercises)
    except (LessonsError, ValueError, OSError) as error:
        print(f"gradlab release: {error}", file=sys.stderr)
        return 1
    for path in written:
        print(path)
    return 0
