"""Runs a script under watch and asks why each of its parameters has no gradient."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import runpy
import sys
import traceback
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any

from gradlab.diagnosis.asking import Questions
from gradlab.diagnosis.ledger import Finding
from gradlab.diagnosis.names import names_in_scope, names_seen_from
from gradlab.diagnosis.places import LOOKER, OPTIMIZER, Place, place_of, user_frame
from gradlab.diagnosis.report import Diagnoses, Diagnosis
from gradlab.diagnosis.watching import watch
from gradlab.graphs.engines import is_tensor

# Frames that are not the script's affair.
_OURS = ("diagnosis/scripts.py", "diagnosis/watching.py", "torch/overrides.py", "<frozen runpy>")


class Keepsake:
    """What is held on to while the script runs, since its locals are gone when it ends: watch itself holds nothing."""

    def __init__(self) -> None:
        self.loss: Any = None
        self.where: Place | None = None
        self.scalar: Any = None  # the last scalar that requires grad, for a script without a backward
        self.scalar_where: Place | None = None
        self.parameters: dict[int, Any] = {}
        self.names: dict[int, str] = {}

    def call(self, inputs: list[Any], outputs: list[Any], frame: FrameType | None) -> None:
        """A call that watch has written down."""
        user, between = user_frame(frame)
        if between in (LOOKER, OPTIMIZER):
            return
        for tensor in inputs + outputs:
            if tensor.is_leaf and (tensor.requires_grad or type(tensor).__name__ == "Parameter"):
                self.parameters[id(tensor)] = tensor
        last = outputs[-1]
        if last.requires_grad and not last.is_leaf and last.numel() == 1:
            self.scalar, self.scalar_where = last, place_of(user)

    def backward(self, roots: list[Any], user: FrameType | None) -> None:
        """A backward that is about to run."""
        if roots:
            self.loss, self.where = roots[0], place_of(user)
        self.names |= names_seen_from(user)


@dataclass
class ScriptReport:
    """What a script's run has shown. `parameters` are all of them, `lacking` those without a usable gradient."""

    failed: bool
    parameters: Diagnoses = field(default_factory=Diagnoses)
    loss: str = ""  # which loss it is about
    findings: list[Finding] = field(default_factory=list)
    loss_itself: Diagnosis | None = None  # for a loss that has no graph

    @property
    def lacking(self) -> list[Diagnosis]:
        """The parameters without a usable gradient; one that was used and cleared afterwards is none of them."""
        return self.parameters.without_grad

    @property
    def status(self) -> int:
        """0 all parameters have gradients, 1 some lack one, 2 the script failed."""
        return 2 if self.failed else int(bool(self.lacking) or not self.parameters)


def diagnose_script(script: Path, arguments: list[str], nan: bool = False) -> ScriptReport:
    """Run a script as `python script.py arguments` would, and diagnose every parameter for its last loss.

    The loss is the one of the script's last backward or, without one, its last scalar that requires grad. A script that
    raises prints its traceback; what it had done until then is diagnosed all the same.
    """
    _load_torch(script)
    scene = watch(nan=nan)
    keepsakes: dict[str, Keepsake] = {}
    with scene:
        for name, follower in scene.followers.items():
            follower.keepsake = keepsakes[name] = Keepsake()
        scope, failed = _run(script, arguments)
        for follower in scene.followers.values():
            follower.keepsake = None
    report = ScriptReport(failed, findings=scene.findings)
    for name, keepsake in keepsakes.items():
        if keepsake.loss is not None or keepsake.scalar is not None or keepsake.parameters:
            _diagnose(report, keepsake, scope, scene.followers, name)
            break
    return report


def _diagnose(
    report: ScriptReport, keepsake: Keepsake, scope: dict[str, Any], followers: dict[str, Any], engine: str
) -> None:
    from gradlab.diagnosis.places import shown

    loss, where = keepsake.loss, keepsake.where
    if loss is not None:
        report.loss = f"the loss of the last backward ({shown(where)})"
    elif keepsake.scalar is not None:
        loss, where = keepsake.scalar, keepsake.scalar_where
        report.loss = f"no backward was run; the last scalar that requires grad ({shown(where)})"
    else:
        report.loss = "no backward was run, and no scalar requires grad"
    names = names_in_scope(scope) | keepsake.names
    parameters = keepsake.parameters | _of_scope(scope, engine)
    asked: dict[str | None, Any] = {}
    for tensor in parameters.values():
        name = names.get(id(tensor)) or f"a parameter of shape {tuple(tensor.shape)}"
        while name in asked:
            name += "'"
        asked[name] = tensor
    losses = [] if loss is None else [(None, loss)]
    if asked:
        found = Questions(asked, losses, names, followers).answers()
        ledger = followers[engine].ledger
        served = [replace(each, cause="has-grad") if _was_used(each, asked, ledger) else each for each in found]
        report.parameters = Diagnoses(served, report.loss)
    if loss is not None and not loss.requires_grad:
        report.loss_itself = Questions({"loss": loss}, [], names, followers).answers()[0]


def _was_used(found: Any, asked: dict[str | None, Any], ledger: Any) -> bool:
    """Whether a gradient was cleared only after it had served: the usual end of a training loop."""
    if found.cause != "cleared":
        return False
    known = ledger.known(asked[found.name])
    marks = [e for e in ledger.events if e.call == "grad=" and known.number in e.inputs]
    return bool(marks) and bool(marks[-1].details["used"])


def _of_scope(scope: dict[str, Any], engine: str) -> dict[int, Any]:
    """Parameters of the script's global modules and optimizers, and its global leaves that require grad."""
    found: dict[int, Any] = {}
    for name, value in scope.items():
        if name.startswith("_") or isinstance(value, type):
            continue
        if is_tensor(value):
            tensors = [value] if value.is_leaf and value.requires_grad else []
        elif hasattr(value, "named_parameters"):
            tensors = [tensor for _, tensor in value.named_parameters()]
        elif hasattr(value, "param_groups"):
            tensors = [tensor for group in value.param_groups for tensor in group["params"]]
        else:
            continue
        found |= {id(t): t for t in tensors if type(t).__module__.partition(".")[0] == engine}
    return found


def _run(script: Path, arguments: list[str]) -> tuple[dict[str, Any], bool]:
    """The script's globals, and whether it failed."""
    argv, path = sys.argv, sys.path[:]
    sys.argv, sys.path[0] = [str(script), *arguments], str(script.parent.resolve())
    try:
        return runpy.run_path(str(script), run_name="__main__"), False
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return _last_globals(end, script), end.code not in (None, 0)
    except BaseException as error:
        told = traceback.TracebackException.from_exception(error)
        told.stack = traceback.StackSummary.from_list([f for f in told.stack if not f.filename.endswith(_OURS)])
        print("".join(told.format()), file=sys.stderr, end="")
        return _last_globals(error, script), True
    finally:
        sys.argv, sys.path[:] = argv, path


def _last_globals(error: BaseException, script: Path) -> dict[str, Any]:
    """What the script had defined when it ended early."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(script):
            return dict(trace.tb_frame.f_globals)
        trace = trace.tb_next
    return {}


def _load_torch(script: Path) -> None:
    """Watch follows torch where it is loaded; a script that uses gradlab alone does not need it."""
    try:
        tree = ast.parse(script.read_bytes())
    except (SyntaxError, ValueError):
        return
    found = {alias.name.partition(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names}
    found |= {(n.module or "").partition(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    names = os.listdir(script.parent)
    local = any(name in names or f"{name}.py" in names for name in found)
    if ("torch" in found or local or "gradlab" not in found) and importlib.util.find_spec("torch") is not None:
        importlib.import_module("torch")
