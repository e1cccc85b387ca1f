"""``gradlab why script.py``: run a script under watch and say why parameters have no gradient."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradlab.diagnosis.scripts import ScriptReport


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "why",
        help="run a script and say why parameters have no gradient",
        description=(
            "Run a Python script under gradlab.watch() and print why each of its parameters"
            " without a gradient has none."
        ),
        epilog="The loss is that of the script's last backward or, without one, its last scalar that requires grad. "
        "Exit status: 0 all parameters have gradients, 1 some lack one, 2 the script failed.",
    )
    parser.add_argument("--nan", action="store_true", help="also say where NaN and infinities are born (slower)")
    parser.add_argument("script", help="the Python file to run")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    script = Path(args.script)
    if not script.is_file():
        print(f"gradlab why: there is no file {args.script}", file=sys.stderr)
        return 2
    from gradlab.diagnosis.scripts import diagnose_script

    report = diagnose_script(script, args.arguments, nan=args.nan)
    sys.stdout.flush()
    print(words(report))
    return report.status


def words(report: "ScriptReport") -> str:
    """The report as text."""
    from gradlab.diagnosis.places import shown

    lines = [f"{shown(finding.where)}: {finding.text}" for finding in report.findings]
    if report.failed:
        lines.append("The script failed; this is how far it came.")
    if not report.parameters:
        return "\n".join([*lines, "No parameter and no leaf that requires grad was seen."])
    if report.lacking:
        lines.append(report.parameters.text(brief=True))
    else:
        lines.append(f"{report.loss}: all {len(report.parameters)} parameters have gradients.")
    if report.loss_itself is not None:
        lines += ["", report.loss_itself.text()]
    return "\n".join(lines)
