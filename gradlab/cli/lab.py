"""``gradlab lab``: JupyterLab, open on a lesson, in a working copy of the course."""

import argparse
import contextlib
import os
import socket
import sys
from pathlib import Path

from gradlab.cli._lessons import LessonsError, lesson_name, lessons_folder, working_copy
from gradlab.cli._needs import install_line, needs

DEFAULT_FOLDER = Path("~") / "gradlab-lessons"
JUPYTER_SETTINGS = Path(__file__).parent / "jupyter"


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "lab",
        help="open the lessons in JupyterLab",
        description="Open JupyterLab on a lesson. You work in your own copy of the lessons; a notebook that you have "
        "changed is never overwritten. To start a lesson afresh, delete or rename your copy and run this again.",
    )
    parser.add_argument(
        "lesson", nargs="?", default="01", help="number of the lesson to open (default: 01), or: gallery"
    )
    parser.add_argument("--folder", type=Path, help=f"your working copy (default: {DEFAULT_FOLDER})")
    parser.add_argument("--port", type=port_number, help="port of the server (default: 8888, or the next free one)")
    parser.add_argument("--no-browser", action="store_true", help="print the address instead of opening a browser")
    parser.add_argument(
        "--check",
        action="store_true",
        help="start the server, run the lesson in it, stop, say how it went (in a temporary copy, no browser)",
    )
    parser.set_defaults(func=run)


def port_number(text: str) -> int:
    """A port as typed; argparse turns the error into its message.

    >>> port_number("8888")
    8888
    """
    if text.isdecimal() and 0 < int(text) < 65536:
        return int(text)
    raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, not {text!r}")


def run(args: argparse.Namespace) -> int:
    try:
        require_lab()
        if args.port is not None:
            require_free_port(args.port)
        if args.check:
            from gradlab.cli._lab_check import check_lab

            return check_lab(args.lesson, args.folder, args.port)
        return open_lab(args)
    except LessonsError as error:
        print(f"gradlab lab: {error}", file=sys.stderr)
        return 1


def require_lab() -> None:
    """Raises LessonsError when this Python lacks what the lessons need."""
    missing = [need for need in needs("lab") if need.installed is None]
    if missing:
        names = ", ".join(need.name for need in missing)
        raise LessonsError(f"The lessons also need {names}. Install them with: {install_line(missing)}")


def require_free_port(port: int) -> None:
    """Raises LessonsError when a server already listens there."""
    with contextlib.closing(socket.socket()) as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise LessonsError(
                f"Port {port} cannot be used ({error.strerror}): perhaps another `gradlab lab` is running. "
                f"Leave --port out to take the next free one, or choose another number."
            ) from None


def server_arguments(folder: Path, notebook: str, port: int | None) -> list[str]:
    """The arguments of ``jupyter lab`` for a working copy."""
    arguments = [
        f"--ServerApp.root_dir={folder}",
        f"--LabApp.default_url=/lab/tree/{notebook}",
        "--log-level=WARN",
    ]
    if port is not None:
        arguments += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--allow-root")  # in a container one is root; the server listens on this machine only
    return arguments


def prepare_environment() -> None:
    """Kernels, and commands that a notebook runs, are those of this Python; JupyterLab asks nothing about its news."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    settings = [str(JUPYTER_SETTINGS), os.environ.get("JUPYTER_CONFIG_PATH", "")]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, settings))


def open_lab(args: argparse.Namespace) -> int:
    source = lessons_folder()
    notebook = lesson_name(source, args.lesson)
    folder = (args.folder or DEFAULT_FOLDER).expanduser().resolve()
    copied = working_copy(source, folder)
    print(f"Your lessons are in {folder}")
    if copied.updated:
        print(f"  brought up to date: {', '.join(copied.updated)}")
    for name in copied.kept:
        print(f"  {name}: you have changed it, so it stays; rename it and run this again to get the newer edition too")
    where = "at the address below" if args.no_browser else "in your browser"
    print(f"JupyterLab opens {where}. To stop it: Ctrl-C here, twice.", flush=True)
    prepare_environment()
    arguments = server_arguments(folder, notebook, args.port)
    if args.no_browser:
        arguments.append("--no-browser")
    from jupyterlab.labapp import LabApp

    LabApp.launch_instance(arguments)
    return 0
