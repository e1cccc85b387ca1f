"""A cut in words: its cause, what happened, and what to change."""

from __future__ import annotations

import ast
from typing import NamedTuple

from gradlab.diagnosis import remedies
from gradlab.diagnosis.flow import parsed, rebinds, scope_of, statement_at
from gradlab.diagnosis.ledger import EXITS, MAKERS
from gradlab.diagnosis.places import Place, code_at, shown
from gradlab.diagnosis.tracing import Break, place
from gradlab.graphs.records import Event

_REBUILDERS = MAKERS | {"shared memory", "Parameter", "Variable", "Tensor"}
_LEGACY = frozenset(("Tensor", "FloatTensor", "DoubleTensor", "HalfTensor"))
_READERS = frozenset(("float", "int", "item", "tolist", "numpy", "array", "asarray", "sum", "max", "min"))
_UNSEEN = _LEGACY | {"Variable", "Parameter", "UninitializedParameter"}


class Cut(NamedTuple):
    """What to say of a cut."""

    cause: str
    words: str
    remedy: str
    where: Place | None


def explain(cut: Break) -> Cut:
    """Cause, words, remedy and place of a cut."""
    event, where = cut.event, place(cut.event)
    recorded = "off" not in event.details or "dtype" in event.details
    if event.call in EXITS:
        return _exit(cut, where)
    if event.call in ("detach", "detach_"):
        remedy = remedies.without(where, f".{event.call}()", "# leave out the detach() that is on the way")
        return Cut("detached", f"`{event.call}()` at {shown(where)} cut it off.", remedy, where)
    if event.call == "data" or event.details.get("through data"):
        words = f"`.data` at {shown(where)} hands out the values without their history (and without the version check)."
        return Cut(
            "data-attribute", words, remedies.without(where, ".data", "# use the tensor itself, not its .data"), where
        )
    if event.call in _REBUILDERS:
        return _rebuilt(event, where)
    if recorded and not event.details.get("tracked") and "dtype" not in event.details:
        words = f"`{event.call}` at {shown(where)} ran while nothing in it required grad yet, so it was not recorded."
        return Cut("not-required", words, "# call requires_grad_() before this line", where)
    if recorded:
        return _flat(event, where)
    return _off(event, where)


def _exit(cut: Break, where: Place | None) -> Cut:
    call, entry = cut.event.call, cut.entry
    if where is not None and _builds(where):
        words = f"the tensor built at {shown(where)} takes the numbers and not their history."
        return Cut("rebuilt", words, remedies.STACK, where)
    what = {"__float__": "float()", "__int__": "int()", "__array__": "numpy"}.get(call, f".{call}()")
    back = f" and it comes back at {shown(place(entry))}" if entry is not None and place(entry) != where else ""
    words = (
        f"{what} at {shown(where)} takes the value out of the tensors{back}; plain numbers and arrays have no history."
    )
    if call in ("numpy", "__array__"):
        remedy = "# do this part with torch functions on the tensor itself (np.exp -> torch.exp, ...)"
    elif call == "tolist":
        remedy = "# keep the tensor; torch.stack and torch.cat build a tensor from tensors and keep the history"
    else:
        remedy = f"# keep the tensor itself instead of {what}; read the number out only for printing"
    return Cut("left-torch", words, remedy, where)


def _builds(where: Place) -> bool:
    """Whether a line hands tensors to a constructor that reads them like floats, and does not read them itself."""
    statement = statement_at(where)
    nodes = [] if statement is None else list(ast.walk(statement))
    calls = {_called(node) for node in nodes if isinstance(node, ast.Call)}
    return bool(calls & _LEGACY) and not calls & _READERS


def _rebuilt(event: Event, where: Place | None) -> Cut:
    known: Place | None = where
    if event.call == "shared memory":
        known = _unseen_call(event)
        where = known or where
    code = code_at(where)
    if event.call in ("shared memory", "Parameter") and "Parameter" in code:
        words = f"the Parameter made at {shown(where)} is a new leaf: it took the values and not their history."
        remedy = "# keep the computed tensor; only tensors that are trained themselves should be Parameters"
    elif event.call == "shared memory":
        before = "" if known else " (made shortly before)"
        words = (
            f"a new tensor over the same memory{before} at {shown(where)}, such as Variable(t), is"
            " a leaf without history."
        )
        remedy = "# use the tensor itself instead of Variable(...)"
    else:
        words = f"`{event.call}(...)` at {shown(where)} copies the numbers into a new tensor without history."
        remedy = f"# use the tensor itself; {event.call}() copies the numbers and forgets where they came from"
        if "([" in code:
            remedy = remedies.STACK
    return Cut("rebuilt", words, remedy, where)


def _unseen_call(event: Event) -> Place | None:
    """The line that calls Variable, Parameter or the like, before the tensor was first used."""
    for file, line in event.details.get("stack", ()):
        tree = parsed(file)
        if tree is None:
            continue
        for where in (scope_of(tree, line), tree):
            calls = [n.lineno for n in ast.walk(where) if isinstance(n, ast.Call) and _called(n) in _UNSEEN]
            before = [n for n in calls if n <= line] or calls
            if before and (where is not tree or scope_of(tree, line) is tree or len(calls) == 1):
                return file, max(before)
    return None


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _off(event: Event, where: Place | None) -> Cut:
    if event.details.get("custom"):
        words = (
            f"`{event.call}` at {shown(where)} is in the forward of a custom Function whose result takes no gradient"
        )
        words += " (mark_non_differentiable, or not among what forward returns)."
        remedy = "# return the result from forward without marking it, and give its gradient in backward"
        return Cut("non-differentiable-op", words, remedy, where)
    if event.details["off"] == "inference":
        words = f"`{event.call}` at {shown(where)} ran in inference mode, where nothing is recorded."
        return Cut("inference-mode", words, "# compute this outside inference_mode", where)
    switch = event.details.get("switch")
    since = f" (switched off at {shown(switch)})" if switch and switch != where else ""
    words = f"`{event.call}` at {shown(where)} ran while recording was off{since}."
    name = rebinds(where) if where else None
    if name is not None and ".grad" in code_at(where):
        words += f" `{name}` is now a new tensor that does not require grad."
        return Cut("no-grad-mode", words, remedies.UPDATE.format(name=name), where)
    if "checkpoint(" in code_at(where) + code_at(switch):
        words += " The checkpoint with use_reentrant=True got no input that requires grad."
        remedy = "checkpoint(..., use_reentrant=False)  # looks at the parameters too, not only at the inputs"
        return Cut("no-grad-mode", words, remedy, where)
    remedy = "# run this with recording on: without the no_grad around it (or inside torch.enable_grad())"
    return Cut("no-grad-mode", words, remedy, where)


def _flat(event: Event, where: Place | None) -> Cut:
    dtype = event.details.get("dtype")
    gives = f" gives {dtype} values, which" if dtype else " gives a result that"
    words = f"`{event.call}` at {shown(where)}{gives} cannot carry a gradient."
    return Cut("non-differentiable-op", words, remedies.flat(event.call), where)
