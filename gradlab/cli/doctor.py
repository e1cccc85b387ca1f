"""``gradlab doctor``: what is installed, which layout engine and isolation level are in use, what is missing."""

import argparse
import platform
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import gradlab
from gradlab.cli._needs import Need, install_line, needs


@dataclass(frozen=True)
class Finding:
    """One line of the report. `remedy` is what to do when it is not well; `needed`: lessons do not work without it."""

    title: str
    text: str
    well: bool = True
    remedy: str = ""
    needed: bool = False


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "doctor",
        help="say what is installed and what to do about what is missing",
        description="Say what is installed, which layout engine draws and how well the autograder can isolate "
        "submissions. Exits with 1 when something that the lessons need is missing.",
    )
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    findings = list(examine())
    width = max(len(finding.title) for finding in findings)
    for finding in findings:
        print(f"{'ok' if finding.well else '!!'}  {finding.title:<{width}}  {finding.text}")
        if finding.remedy:
            print(f"    {'':<{width}}  -> {finding.remedy}")
    missing = [finding.title for finding in findings if finding.needed and not finding.well]
    print()
    if missing:
        print(f"Not ready for the lessons: {', '.join(missing)}.")
        if packages := [need for need in needs() + needs("lab") if need.installed is None]:
            print(f"Install what is missing with: {install_line(packages)}")
        return 1
    print("Ready for the lessons: gradlab lab")
    return 0


def examine() -> Iterator[Finding]:
    """Look at this installation, part by part."""
    yield Finding("gradlab", f"{gradlab.__version__} in {Path(gradlab.__file__).parent}")
    yield Finding("Python", f"{platform.python_version()} ({sys.executable})")
    yield system()
    yield from map(package, needs() + needs("lab"))
    yield lessons()
    yield layout_engine()
    yield isolation()
    yield answers()


def system() -> Finding:
    tested = sys.platform == "linux"
    remedy = "" if tested else "gradlab is tested on Linux; tell us what does not work here"
    return Finding("System", f"{platform.system()} {platform.machine()}", tested, remedy)


def package(need: Need) -> Finding:
    """One package against the bounds that are tested.

    >>> package(Need("a-package-that-nobody-has", ">=1")).well
    False
    """
    if need.installed is None:
        return Finding(need.name, "not installed", False, needed=True)
    if not need.tested:
        return Finding(need.name, f"{need.installed}, tested with {need.bounds}", False, install_line([need]))
    return Finding(need.name, need.installed, needed=True)


def lessons() -> Finding:
    from gradlab.cli._lessons import LessonsError, lessons_folder

    try:
        folder = lessons_folder()
    except LessonsError as error:
        return Finding("Lessons", "none", False, str(error), needed=True)
    return Finding("Lessons", f"{len(list(folder.glob('[0-9][0-9]_*.ipynb')))} in {folder}", needed=True)


def layout_engine() -> Finding:
    from gradlab.drawing.layout import LayoutError, find_engine

    try:
        engine = find_engine()
        done = subprocess.run([engine.path, "-V"], capture_output=True, text=True, timeout=30)
    except (LayoutError, OSError, subprocess.TimeoutExpired) as error:
        return Finding("Layout engine", "none", False, str(error), needed=True)
    version = (done.stderr or done.stdout).strip().removeprefix("dot - ")
    remedy = "" if not engine.is_pure else "for PDF, and for PNG with CJK labels, install Graphviz (its program `dot`)"
    return Finding("Layout engine", f"{engine.path} ({engine.found}): {version}", True, remedy, needed=True)


def answers() -> Finding:
    """Whose tensors `why`, `watch` and `compare` can be asked about."""
    version = Need("torch", "").installed
    whose = f"torch {version} and gradlab" if version else "gradlab only, without torch"
    return Finding("why, watch", f"for tensors of {whose}; for a script: gradlab why SCRIPT")


def isolation() -> Finding:
    """How well the autograder can shut a submission in here."""
    from gradlab.grading.sandbox import isolation as find_level

    level, reason = find_level()
    text = {
        "full": "full: bubblewrap, seccomp and resource limits",
        "user": "user: another user and resource limits, no namespaces",
        "process": "process: resource limits at most, no walls",
    }[level]
    return Finding("Isolation", text, level == "full", reason if level != "full" else "")
