"""Makes a diagnosis exact with what a watch has seen."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence
from typing import Any

from gradlab.diagnosis.facts import LostLeaf
from gradlab.diagnosis.flow import assigned, parsed, rebinds, scope_of, statement_at
from gradlab.diagnosis.judging import Graph, straight_through
from gradlab.diagnosis.ledger import EXITS, MAKERS, Known, Ledger
from gradlab.diagnosis.places import Place, code_at, shown
from gradlab.diagnosis.report import Diagnosis
from gradlab.diagnosis.tracing import Break, find_break, made_at, place, told, uses
from gradlab.graphs.records import Event

ZERO_CALLS = frozenset(
    (
        "round",
        "round_",
        "floor",
        "floor_",
        "ceil",
        "ceil_",
        "trunc",
        "trunc_",
        "fix",
        "sign",
        "sign_",
        "sgn",
        "heaviside",
        "bernoulli",
        "floor_divide",
        "__floordiv__",
    )
)
_LEGACY = frozenset(("Tensor", "FloatTensor", "DoubleTensor", "HalfTensor"))
_REBUILD_CALLS = frozenset(("Variable", "Parameter", "Tensor", "FloatTensor", "DoubleTensor", "UninitializedParameter"))


def refine(found: Diagnosis, x: Any, losses: list[Any], ledger: Ledger, loss_name: str) -> Diagnosis:
    """The diagnosis of the graph, corrected and completed by a ledger."""
    return _Refinement(found, x, losses, ledger, loss_name).answer()


class _Refinement:
    def __init__(self, found: Diagnosis, x: Any, losses: list[Any], ledger: Ledger, loss_name: str):
        self.found, self.ledger, self.loss_name = found, ledger, loss_name
        self.events: Sequence[Event] = list(ledger.events)
        for loss in losses:
            ledger.seen(loss, None)
        self.events = list(ledger.events)
        self.known = ledger.known(x)
        self.number = None if self.known is None else self.known.number
        self.targets = [known.number for known in map(ledger.known, losses) if known is not None]
        if found.name is None and self.known is not None and self.known.name:
            found.name = self.known.name

    @property
    def label(self) -> str:
        return f"`{self.found.name}`" if self.found.name else "this tensor"

    @property
    def variable(self) -> str:
        return self.found.name or "x"

    def answer(self) -> Diagnosis:
        cause = self.found.cause
        if cause in ("nan", "inf"):
            return self._born()
        if cause == "all-zero":
            return self._zero()
        if cause in ("not-required", "not-differentiable-dtype", "inference-mode"):
            return self._untracked()
        if cause == "frozen-after-forward":
            return self._frozen()
        if cause == "not-reached":
            return self._cut(self.targets)
        if cause in ("no-backward-yet", "unknown"):
            return self._waiting()
        if cause in ("non-leaf", "rebound"):
            return self._inner()
        return self.found

    def _change(self, **changes: Any) -> Diagnosis:
        return dataclasses.replace(self.found, **changes)

    # -- NaN, infinities, zeros ------------------------------------------------------------------

    def _born(self) -> Diagnosis:
        kinds = [self.found.cause, "backward-" + self.found.cause]
        births = [f for kind in kinds for f in self.ledger.findings if f.kind == kind]
        if not births:
            return self.found
        first = births[0]
        words = f"{self.found.explanation} Born at {shown(first.where)}: {first.text}."
        root = next((f for f in self.ledger.findings if f.kind == "inf"), None)
        blamed = first
        if first.kind == "nan" and "infinities" in first.text and root is not None:
            words += f" The infinity came from {shown(root.where)}."
            blamed = root
        return self._change(where=first.where, explanation=words, remedy=_finite_remedy(blamed.where, self.found.cause))

    def _zero(self) -> Diagnosis:
        wiped = self._last("zero_", "_foreach_zero_", of="grad_of")
        ran = self._backwards()
        if wiped is not None and ran and wiped.number > ran[-1].number:
            return self._change(
                where=place(wiped),
                explanation=f"A backward filled the gradient of {self.label} at {shown(place(ran[-1]))};"
                f" it was set to 0 afterwards.",
                remedy="optimizer.zero_grad()  # before backward(), not between it and step()",
            )
        if "is flat between its steps" in self.found.explanation:
            flat = next((e for e in reversed(self.events) if e.call in ZERO_CALLS and e.details.get("live")), None)
            if flat is not None:
                name = flat.call.rstrip("_")
                return self._change(
                    cause="non-differentiable-op",
                    where=place(flat),
                    remedy=straight_through(name),
                    explanation=f"`{name}` is flat between its steps: its derivative is 0 everywhere, and every way"
                    f" from `{self.loss_name}` to {self.label} passes it. The gradient arrives, as zeros.",
                )
        return self.found

    # -- the tensor itself has no history --------------------------------------------------------

    def _untracked(self) -> Diagnosis:
        if self.number is None:
            return self.found
        frozen = self._last("requires_grad=")
        if frozen is not None and not frozen.details["flag"]:
            return self._change(
                where=place(frozen),
                explanation=f"requires_grad of {self.label} was switched off at {shown(place(frozen))}.",
                remedy=f"{self.variable}.requires_grad_(True)  # before the forward",
            )
        cut = find_break(self.events, None, [self.number])
        if cut is not None:
            return self._explained(
                cut, f"{self.label} does not require grad: it was computed from something that does, and"
            )
        made = made_at(self.events, self.number)
        if made is not None and self.found.cause == "not-required":
            seen = (
                f" It was made at {shown(place(made))} from nothing that requires grad."
                if made.call not in ("first seen",)
                else ""
            )
            return self._change(
                where=place(made) if seen else None,
                explanation=f"{self.label} has requires_grad=False: autograd does not follow it.{seen}",
            )
        return self.found

    def _frozen(self) -> Diagnosis:
        frozen = self._last("requires_grad=")
        return self.found if frozen is None else self._change(where=place(frozen))

    # -- the loss does not reach it --------------------------------------------------------------

    def _cut(self, targets: list[int]) -> Diagnosis:
        if self.number is None:
            return self._change(
                cause="not-reached",
                explanation=f"No watched call has used {self.label}, so `{self.loss_name}` cannot depend on it"
                " (unless it was computed before the watch began, or in another thread).",
                where=None,
                remedy=f"# use {self.variable} in the computation of {self.loss_name}",
            )
        cut = find_break(self.events, self.number, targets)
        if cut is not None:
            return self._explained(
                cut, f"The value of {self.label} goes into `{self.loss_name}`, but its gradient cannot come back:"
            )
        if self.ledger.forgot:
            return self._change(
                cause="unknown",
                explanation="The watch remembers its newest 50,000 calls, and the cut is not among them.",
                remedy="with gradlab.watch() as w:\n    ...  # one training step is enough",
            )
        used = uses(self.events, self.number)
        if not used:
            words = f"No watched call has used {self.label}: `{self.loss_name}` does not depend on it."
        else:
            lines = ", ".join(dict.fromkeys(shown(place(event)) for event in used[-4:]))
            words = (
                f"{self.label} was used ({lines}), but nothing that was computed from it went into `{self.loss_name}`."
            )
            if any(event.details.get("updated") for event in used):
                words += " Writing into a parameter is an update: no gradient goes through it."
        return self._change(
            cause="not-reached",
            explanation=words,
            evidence=[told(event) for event in used[-4:]],
            where=None,
            remedy=f"# let {self.loss_name} depend on {self.variable}; where it should not, its None is right",
        )

    def _explained(self, cut: Break, opening: str, towards: bool = False) -> Diagnosis:
        """The diagnosis of a cut; `towards`: the events lead to this tensor rather than from it."""
        cause, words, remedy, where = explain(cut, self.variable)
        steps = [told(event) for event in cut.path]
        evidence = [*steps, self.variable] if towards else [self.variable, *steps]
        return self._change(
            cause=cause, explanation=f"{opening} {words}", remedy=remedy, where=where, evidence=evidence
        )

    # -- reached, but no gradient ----------------------------------------------------------------

    def _backwards(self, kind: str = "backward") -> list[Event]:
        return [
            e
            for e in self.events
            if e.call == "backward"
            and e.details["kind"] == kind
            and self.number in e.details["reached"]
            and (e.details["only"] is None or self.number in e.details["only"])
        ]

    def _waiting(self) -> Diagnosis:
        ran = self._backwards()
        graphless = self.found.snapshot is None
        if ran:
            return self._reached(ran[-1])
        every = [e for e in self.events if e.call == "backward" and e.details["kind"] == "backward"]
        apart = [e for e in every if self.number in e.details["reached"]]
        if apart:
            return self._change(
                cause="not-reached",
                where=place(apart[-1]),
                explanation=f"The backward at {shown(place(apart[-1]))} was told"
                f" inputs=...: only those get a gradient, and {self.label} is not among them.",
                remedy=f"{self.loss_name}.backward()  # without inputs=, or with {self.variable} among them",
            )
        if graphless and every:
            self.loss_name = "the loss of the last backward"
            return self._cut(every[-1].inputs)
        asked = self._backwards("grad")
        if asked:
            return self._change(
                cause="no-backward-yet",
                where=place(asked[-1]),
                explanation="Only autograd.grad has run: it returns the gradients"
                f" and leaves .grad of {self.label} alone.",
                remedy=f"{self.loss_name}.backward()  # fills .grad",
            )
        if graphless:
            return self._change(
                cause="no-backward-yet",
                explanation=f"No backward was run under this watch. .grad of {self.label} stays None"
                " (not 0) until one arrives.",
                remedy="loss.backward()",
            )
        if self.found.cause == "unknown":
            return self.found
        return self.found

    def _reached(self, ran: Event) -> Diagnosis:
        cleared = self._last("grad=")
        if cleared is not None and cleared.details["none"] and cleared.number > ran.number:
            return self._change(
                cause="cleared",
                where=place(cleared),
                explanation=f"The backward at {shown(place(ran))} filled .grad of {self.label};"
                " it was set to None afterwards.",
                remedy="optimizer.zero_grad()  # before backward(), not between it and step()",
                evidence=[told(ran), told(cleared)],
            )
        lost = [record for record in ran.details["none"] if self._only_way(ran, record)]
        if lost:
            record = lost[0]
            return self._change(
                cause="function-returned-none",
                where=record["where"],
                explanation=f"backward of {record['function']} returned None"
                f" for its input number {record['input']} (from 0), which is the only way to"
                f" {self.label}: no gradient goes on from there.",
                remedy=(
                    f"# in {record['function']}.backward: return the gradient of input"
                    f" {record['input']} instead of None"
                ),
                evidence=[told(ran), f"{record['function']}Backward", self.variable],
            )
        if ran.details.get("failed"):
            edit = next((finding for finding in self.ledger.findings if finding.kind == "edit"), None)
            blame = f" {shown(edit.where)}: {edit.text}." if edit else ""
            return self._change(
                cause="no-backward-yet",
                where=edit.where if edit else place(ran),
                explanation="The backward at"
                f" {shown(place(ran))} raised an error before a gradient arrived at {self.label}.{blame}",
                remedy="# make that edit out of place: y = y + 1 instead of y += 1"
                if edit
                else (
                    "# repair the error of that backward (watch(nan=True) names a harmful in-place"
                    " edit), then run it again"
                ),
            )
        frozen = self._last("requires_grad=")
        if frozen is not None and frozen.number < ran.number and not frozen.details["flag"]:
            return self._change(cause="frozen-after-forward", where=place(frozen))
        return self.found

    def _only_way(self, ran: Event, record: dict[str, Any]) -> bool:
        """Whether all ways to the tensor lead over edges on which a Function returned None."""
        if self.found.snapshot is None or self.found.tensor is None:
            return True
        graph = Graph(self.found.snapshot, self.found.tensor)
        name = record["function"] + "Backward"
        nodes = [node.id for node in graph.snapshot.nodes if node.custom and node.name == name]
        sequences = sorted((s for s, f in ran.details["custom"] if f == record["function"]), reverse=True)
        if len(nodes) != len(sequences):
            return False
        number = dict(zip(sequences, nodes, strict=True))
        blocked = {(number[r["node"]], r["input"]) for r in ran.details["none"] if r["node"] in number}
        return graph.path(blocked=frozenset(blocked)) is None

    # -- inner results ---------------------------------------------------------------------------

    def _inner(self) -> Diagnosis:
        made = None if self.number is None else made_at(self.events, self.number)
        if made is None:
            return self.found
        where = place(made)
        if self.found.cause == "non-leaf" and where is not None:
            name = rebinds(where)
            leaves = (
                []
                if name is None
                else [leaf for leaf in map(self.ledger.numbered, made.inputs) if leaf and self._was_leaf(leaf, name)]
            )
            if name is None or not leaves:
                return self._change(where=where)
            lost = LostLeaf(leaves[0].shape, ())
            return self._change(
                cause="rebound",
                where=where,
                explanation=f"{self.label} is the result of `{made.call}`, not the leaf: at"
                f" {shown(where)} the name `{name}` was given to a result computed from it. The"
                " gradient goes to the old leaf"
                f" of shape {lost.shape}.",
                remedy=_rebound(name, where),
            )
        return self._change(where=where)

    def _was_leaf(self, known: Known, name: str) -> bool:
        """Whether a tensor is a leaf that the variable `name` held."""
        if known.node is not None:
            return False
        made = made_at(self.events, known.number)
        where = None if made is None or made.call == "first seen" else place(made)
        return known.name == name or (where is not None and name in assigned(where))

    def _last(self, *calls: str, of: str = "inputs") -> Event | None:
        for event in reversed(self.events):
            if event.call in calls and self.number in (event.inputs if of == "inputs" else event.details.get(of, ())):
                return event
        return None


def _rebound(name: str, where: Place) -> str:
    code = code_at(where)
    if ".to(" in code or ".double(" in code or ".cuda(" in code or ".float(" in code:
        return f"{name} = {name}.to(...).detach().requires_grad_()  # convert first, then ask for the gradient"
    if ".grad" in code:
        return f"with torch.no_grad():\n    {name} -= step  # an update changes the same leaf in place"
    return f"y = ...  # give the result a name of its own: `{name}` then stays the leaf that gets the gradient"


def _finite_remedy(where: Place | None, kind: str) -> str:
    code = code_at(where)
    if "sqrt" in code or "norm" in code:
        return "torch.sqrt(x + 1e-12)  # sqrt has an infinite slope at 0; where() must choose the input, not the result"
    if "log" in code:
        return "torch.log(x.clamp(min=1e-12))  # or log_softmax / logsumexp, which are stable"
    if "/" in code or "div" in code:
        return "a / b.clamp(min=1e-12)  # or choose the denominator with where() before dividing"
    if "exp" in code:
        return "torch.softmax / torch.logsumexp  # stable; exp overflows float32 above 88"
    return f"# keep the argument at {shown(where)} away from where it gives {kind}"


def explain(cut: Break, variable: str) -> tuple[str, str, str, Place | None]:
    """Cause, words, remedy and place of a cut."""
    event, where = cut.event, place(cut.event)
    code = code_at(where)
    if event.call in EXITS:
        return _explain_exit(cut, where)
    if event.call in ("detach", "detach_"):
        fixed = code.replace(".detach_()", "").replace(".detach()", "")
        return (
            "detached",
            f"`{event.call}()` at {shown(where)} cut it off.",
            fixed if fixed != code else "# remove the detach()",
            where,
        )
    if event.call == "data" or event.details.get("through data"):
        fixed = code.replace(".data", "")
        return (
            "data-attribute",
            f"`.data` at {shown(where)} hands out the values without their history (and without the version check).",
            fixed if fixed != code else "# use the tensor itself instead of its .data",
            where,
        )
    if event.call in MAKERS or event.call in ("shared memory", "Parameter", "Variable", "Tensor"):
        return _explain_rebuilt(event, where, code)
    if event.details.get("off") == "inference" and "dtype" not in event.details:
        return (
            "inference-mode",
            f"`{event.call}` at {shown(where)} ran in inference mode, where nothing is recorded.",
            "# compute this outside inference_mode",
            where,
        )
    if "off" in event.details and "dtype" not in event.details:
        return _explain_off(event, where)
    return _explain_flat(event, where)


def _explain_exit(cut: Break, where: Place | None) -> tuple[str, str, str, Place | None]:
    event, entry = cut.event, cut.entry
    if where is not None and _builds(where):
        words = f"the tensor built at {shown(where)} takes the numbers and not their history."
        return "rebuilt", words, "torch.stack([...])  # builds a tensor from tensors and keeps their history", where
    what = {"__float__": "float()", "__int__": "int()", "__array__": "numpy"}.get(event.call, f".{event.call}()")
    back = f" and comes back at {shown(place(entry))}" if entry is not None and place(entry) != where else ""
    words = (
        f"{what} at {shown(where)} takes the value out of the tensors{back}; plain numbers and arrays have no history."
    )
    if event.call in ("numpy", "__array__"):
        return (
            "left-torch",
            words,
            "# do this part with torch functions on the tensor itself (np.exp -> torch.exp, ...)",
            where,
        )
    if event.call == "tolist":
        return (
            "left-torch",
            words,
            "# keep the tensor: torch.stack / torch.cat build a tensor from tensors and keep the history",
            where,
        )
    return (
        "left-torch",
        words,
        f"# keep the tensor itself instead of {what}; read the number out only for printing",
        where,
    )


def _builds(where: Place) -> bool:
    """Whether a line hands tensors to a constructor that reads them like floats, and does not read them itself."""
    statement = statement_at(where)
    nodes = [] if statement is None else list(ast.walk(statement))
    calls = {_called(node) for node in nodes if isinstance(node, ast.Call)}
    readers = {"float", "int", "item", "tolist", "numpy", "array", "asarray", "sum", "max", "min"}
    return bool(calls & _LEGACY) and not calls & readers


def _explain_rebuilt(event: Event, where: Place | None, code: str) -> tuple[str, str, str, Place | None]:
    call: Place | None = where
    if event.call == "shared memory":
        call = _rebuilding_statement(event)
        where = call or where
        code = code_at(where)
    if event.call in ("shared memory", "Parameter"):
        if "Parameter" in code:
            return (
                "rebuilt",
                f"the Parameter made at {shown(where)} is a new leaf: it took the values and not their history.",
                "# keep the computed tensor; only tensors that are trained themselves should be Parameters",
                where,
            )
        before = "" if call else " (made shortly before)"
        return (
            "rebuilt",
            f"a new tensor over the same memory{before} at {shown(where)}, such as Variable(t), is a"
            " leaf without history.",
            "# use the tensor itself instead of Variable(...)",
            where,
        )
    stack = "([" in code or "( [" in code
    remedy = (
        "torch.stack([...])  # builds a tensor from tensors and keeps their history"
        if stack
        else f"# use the tensor itself; {event.call}() copies the numbers and forgets where they came from"
    )
    return (
        "rebuilt",
        f"`{event.call}(...)` at {shown(where)} copies the numbers into a new tensor without history.",
        remedy,
        where,
    )


def _rebuilding_statement(event: Event) -> Place | None:
    """The line that calls Variable, Parameter or the like, before the tensor was first used."""
    for file, line in event.details.get("stack", ()):
        tree = parsed(file)
        scope = scope_of(tree, line) if tree else None
        for where in (scope, tree):
            calls = (
                [n.lineno for n in ast.walk(where) if isinstance(n, ast.Call) and _called(n) in _REBUILD_CALLS]
                if where
                else []
            )
            before = [n for n in calls if n <= line] or calls
            if before and (where is scope or len(calls) == 1):
                return file, max(before)
    return None


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _explain_off(event: Event, where: Place | None) -> tuple[str, str, str, Place | None]:
    switch = event.details.get("switch")
    since = f" (switched off at {shown(switch)})" if switch and switch != where else ""
    words = f"`{event.call}` at {shown(where)} ran while recording was off{since}."
    name = rebinds(where) if where else None
    if name is not None and ".grad" in code_at(where):
        return (
            "no-grad-mode",
            f"{words} `{name}` is now a new tensor that does not require grad.",
            f"with torch.no_grad():\n    {name} -= step  # in place: the same leaf, still requiring grad",
            where,
        )
    remedy = "# run this with recording on: without the no_grad around it (or inside torch.enable_grad())"
    return "no-grad-mode", words, remedy, where


_SOFT = {
    "argmax": "torch.softmax(x, dim)  # a soft choice has a slope; argmax does not",
    "argmin": "torch.softmax(-x, dim)  # a soft choice has a slope",
    "argsort": "x.sort().values  # the sorted values have a gradient, the order does not",
    "sort": "x.sort().values  # the values have a gradient, the indices do not",
    "topk": "x.topk(k).values  # the values have a gradient, the indices do not",
}
_COMPARISONS = frozenset(
    (
        "gt",
        "lt",
        "ge",
        "le",
        "eq",
        "ne",
        "__gt__",
        "__lt__",
        "__ge__",
        "__le__",
        "__eq__",
        "__ne__",
        "greater",
        "less",
        "isclose",
        "logical_and",
        "logical_or",
        "logical_not",
    )
)


def _explain_flat(event: Event, where: Place | None) -> tuple[str, str, str, Place | None]:
    dtype = event.details.get("dtype")
    gives = f" gives {dtype} values, which" if dtype else " gives a result that"
    words = f"`{event.call}` at {shown(where)}{gives} cannot carry a gradient."
    if event.call in _COMPARISONS:
        remedy = "torch.sigmoid((x - threshold) / temperature)  # a soft comparison has a slope"
    elif event.call in ZERO_CALLS:
        remedy = straight_through(event.call.rstrip("_"))
    elif event.call in _SOFT:
        remedy = _SOFT[event.call]
    elif event.call in ("long", "int", "to", "type", "bool", "short", "byte", "char"):
        remedy = "# keep it floating point on the way to the loss; convert only what indexes or prints"
    else:
        remedy = f"# find a differentiable stand-in for {event.call}, or let the gradient take another way"
    return "non-differentiable-op", words, remedy, where
