"""Makes a diagnosis exact with what a watch has seen."""

from __future__ import annotations

import dataclasses
from typing import Any

from gradlab.diagnosis import remedies
from gradlab.diagnosis.explaining import explain
from gradlab.diagnosis.flow import assigned, rebinds
from gradlab.diagnosis.judging import ZERO_NODES, Graph
from gradlab.diagnosis.ledger import Known, Ledger
from gradlab.diagnosis.places import Place, code_at, shown
from gradlab.diagnosis.report import Diagnosis
from gradlab.diagnosis.tracing import Break, Story, find_break, place, told
from gradlab.graphs.records import Event


def refine(
    found: Diagnosis, x: Any, losses: list[Any], ledger: Ledger, loss_name: str, story: Story | None = None
) -> Diagnosis:
    """The diagnosis of the graph, corrected and completed by a ledger (and its story, told once for many questions)."""
    for loss in losses:
        ledger.seen(loss, None)
    return _Refinement(found, x, losses, ledger, loss_name, story or Story(ledger.events)).answer()


class _Refinement:
    def __init__(self, found: Diagnosis, x: Any, losses: list[Any], ledger: Ledger, loss_name: str, story: Story):
        self.found, self.ledger, self.loss_name, self.story = found, ledger, loss_name, story
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
        return remedies.as_code(self.found.name)

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
        return self._change(
            where=first.where, explanation=words, remedy=remedies.finite(blamed.where, self.found.cause)
        )

    def _zero(self) -> Diagnosis:
        wiped = self._last("zero_", "_foreach_zero_")
        ran = self._backwards()
        if wiped is not None and ran and wiped.number > ran[-1].number:
            filled = shown(place(ran[-1]))
            words = f"A backward filled the gradient of {self.label} at {filled}; it was set to 0 afterwards."
            return self._change(where=place(wiped), explanation=words, remedy=remedies.CLEAR_FIRST)
        steps = [e for e in self.story.events if e.call.rstrip("_") in remedies.STEPS and e.details.get("live")]
        if steps and self._only_over_steps():
            name = steps[-1].call.rstrip("_")
            return self._change(
                cause="non-differentiable-op",
                where=place(steps[-1]),
                remedy=remedies.straight_through(name),
                explanation=f"`{name}` is flat between its steps: its derivative is 0 everywhere, and every way from"
                f" `{self.loss_name}` to {self.label} passes it. The gradient arrives, as zeros.",
            )
        return self._change(
            remedy=f"gradlab.record({self.loss_name})  # instead of backward(): shows where it becomes 0"
        )

    def _only_over_steps(self) -> bool:
        """Whether every way from the loss leads over an operation that is flat between its steps."""
        if self.found.snapshot is None or self.found.tensor is None:
            return False
        graph = Graph(self.found.snapshot, self.found.tensor)
        return graph.path() is not None and graph.path(without=ZERO_NODES) is None

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
        cut = find_break(self.story, None, [self.number])
        if cut is not None:
            return self._explained(
                cut, f"{self.label} does not require grad: it was computed from something that does, and"
            )
        made = self.story.made(self.number)
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
        if frozen is None:
            return self.found
        return self._change(where=place(frozen), remedy="# freeze it only after backward(): move this line down")

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
        cut = find_break(self.story, self.number, targets)
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
        used = self.story.uses(self.number)
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
        cause, words, remedy, where = explain(cut)
        steps = [told(event) for event in cut.path]
        evidence = [*steps, self.variable] if towards else [self.variable, *steps]
        takers = [e.call.strip("_") for e in cut.path if e.number > cut.event.number and e.details.get("live")]
        return self._change(
            cause=cause,
            explanation=f"{opening} {words}",
            remedy=remedy,
            where=where,
            evidence=evidence,
            taker=takers[0] if takers else "",
        )

    # -- reached, but no gradient ----------------------------------------------------------------

    def _backwards(self, kind: str = "backward") -> list[Event]:
        return [
            e
            for e in self.story.backwards
            if e.details["kind"] == kind
            and self.number in e.details["reached"]
            and (e.details["only"] is None or self.number in e.details["only"])
        ]

    def _waiting(self) -> Diagnosis:
        ran = self._backwards()
        graphless = self.found.snapshot is None
        if ran:
            return self._reached(ran[-1])
        every = [e for e in self.story.backwards if e.details["kind"] == "backward"]
        apart = [e for e in every if self.number in e.details["reached"]]
        if self.found.remedy == remedies.OUT_OF_PLACE:
            return self._change(where=self._edit())
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
        if graphless and self.found.cause == "unknown":
            return self._change(
                cause="no-backward-yet",
                explanation=f"No backward was run under this watch. .grad of {self.label} stays None"
                " (not 0) until one arrives.",
                remedy="loss.backward()",
            )
        return self.found

    def _reached(self, ran: Event) -> Diagnosis:
        cleared = self._last("grad=")
        if cleared is not None and cleared.details["none"] and cleared.number > ran.number:
            return self._change(
                cause="cleared",
                where=place(cleared),
                explanation=f"The backward at {shown(place(ran))} filled .grad of {self.label};"
                " it was set to None afterwards.",
                remedy=self._clear_first(cleared),
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
            return self._raised(ran)
        frozen = self._last("requires_grad=")
        if frozen is not None and frozen.number < ran.number and not frozen.details["flag"]:
            return self._change(cause="frozen-after-forward", where=place(frozen))
        return self.found

    def _raised(self, ran: Event) -> Diagnosis:
        words = f"The backward at {shown(place(ran))} raised an error before a gradient arrived at {self.label}."
        if self.found.remedy != remedies.OUT_OF_PLACE:
            remedy = "# repair the error of that backward, then run it again"
            return self._change(cause="no-backward-yet", where=place(ran), explanation=words, remedy=remedy)
        return self._change(where=self._edit() or place(ran), explanation=f"{words} {self.found.explanation}")

    def _edit(self) -> Place | None:
        """The line of the in-place edit that a later backward stumbles over."""
        told_before = [finding.where for finding in self.ledger.findings if finding.kind == "edit"]
        edits = [
            place(e) for e in self.story.before(self.targets)[0] if e.details.get("inplace") and e.details["tracked"]
        ]
        return (told_before or edits[-1:] or [None])[0]

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
        made = None if self.number is None else self.story.made(self.number)
        where = None if made is None else place(made)
        if made is None or where is None:
            return self.found
        name = rebinds(where)
        inputs = [known for known in map(self.ledger.numbered, made.inputs) if known is not None]
        leaves = [known for known in inputs if name is not None and self._was_leaf(known, name)]
        if self.found.cause == "non-leaf" and not leaves:
            return self._change(where=where)
        born_here = any(self._made_at(known) == where for known in inputs if known.node is None)
        if name is not None or born_here:
            remedy = remedies.rebound(self.variable, where, born_here and not leaves)
        else:
            remedy = self.found.remedy
        words = self.found.explanation
        if self.found.cause == "non-leaf":
            words = (
                f"{self.label} is the result of `{made.call}`, not the leaf: at {shown(where)} the"
                f" name `{name}` was given"
                f" to a result computed from it. The gradient goes to the old leaf of shape {leaves[0].shape}."
            )
        return self._change(cause="rebound", where=where, explanation=words, remedy=remedy)

    def _made_at(self, known: Known) -> Place | None:
        made = self.story.made(known.number)
        return None if made is None or made.call == "first seen" else place(made)

    def _was_leaf(self, known: Known, name: str) -> bool:
        """Whether a tensor is a leaf that the variable `name` held."""
        if known.node is not None:
            return False
        where = self._made_at(known)
        return known.name == name or (where is not None and name in assigned(where))

    def _clear_first(self, cleared: Event) -> str:
        by_call = "zero_grad" in code_at(place(cleared))
        return remedies.CLEAR_FIRST if by_call else f"{self.variable}.grad = None  # before backward(), not after it"

    def _last(self, *calls: str) -> Event | None:
        return self.story.last_mark(self.number, *calls)
