"""The command line: ``gradlab lab | grade | release | verify | doctor | why``, one module a command.

A command's module has ``add_parser(subparsers)``, which sets ``func=run``, and ``run(args) -> int``. Commands import
what is heavy inside ``run``, so that ``gradlab --help`` needs nothing but the standard library.
"""

import argparse
import importlib
import importlib.util
import sys
from collections.abc import Sequence

import gradlab
from gradlab.cli._needs import install_line, needs

COMMANDS = ("lab", "doctor", "why", "verify", "grade", "release")


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line.

    >>> parser().parse_args(["lab", "6"]).command
    'lab'
    """
    top = argparse.ArgumentParser(prog="gradlab", description="See autograd think: lessons, pictures, an autograder.")
    top.add_argument("--version", action="version", version=f"gradlab {gradlab.__version__}")
    subparsers = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        if importlib.util.find_spec(f"{__name__}.{name}") is not None:
            importlib.import_module(f"{__name__}.{name}").add_parser(subparsers)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status (0: it went well)."""
    args = parser().parse_args(argv)
    try:
        return args.func(args)
    except ModuleNotFoundError as error:
        missing = [need for need in needs("lab") if need.installed is None]
        if error.name not in [need.name for need in missing]:
            raise
        print(
            f"gradlab {args.command} also needs {error.name}. Install it with: {install_line(missing)}", file=sys.stderr
        )
        return 1
