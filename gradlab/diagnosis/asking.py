"""why(): one question for a tensor, a module or an optimizer."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any

from gradlab.diagnosis.facts import read as read_facts
from gradlab.diagnosis.judging import Graph, judge
from gradlab.diagnosis.names import names_seen_from
from gradlab.diagnosis.probes import Probe, probe_named
from gradlab.diagnosis.refining import refine
from gradlab.diagnosis.report import Diagnoses, Diagnosis
from gradlab.diagnosis.tracing import Story
from gradlab.graphs.engines import engine_of, is_tensor
from gradlab.graphs.naming import flatten
from gradlab.graphs.reading import Reader


def why(x: Any, loss: Any = None) -> Diagnosis | Diagnoses:
    """Why is `x.grad` None (or zero, or NaN)?

    `x` is a tensor of gradlab or torch, a module or an optimizer; `loss` the tensor that backward is called on (or a
    tuple, list or dict of tensors). Returns a Diagnosis with `.cause` (one of `gradlab.diagnosis.CAUSES`),
    `.explanation`, `.evidence`, `.where` and `.remedy`; for a module or an optimizer a list of them, one a parameter.

    Looking changes nothing: no backward is run, no hook is left, no warning is raised. Where the graph alone cannot
    tell, the cause is "unknown" and the remedy is `gradlab.watch()`.

    Raises TypeError when `x` or `loss` is something else.

    >>> import gradlab
    >>> x = gradlab.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * 2
    >>> gradlab.why(y, y.sum()).cause
    'non-leaf'
    >>> gradlab.why(x, y.sum()).remedy
    'loss.backward()'
    """
    return ask(x, loss, {}, sys._getframe(1))


def ask(x: Any, loss: Any, followers: Mapping[str, Any], frame: FrameType | None) -> Diagnosis | Diagnoses:
    """`why` for a caller's frame, with what watches have seen (by engine name)."""
    paused = [(follower, follower.busy) for follower in followers.values()]
    for follower, _ in paused:
        follower.busy = True
    try:
        return _ask(x, loss, followers, names_seen_from(frame))
    finally:
        for follower, busy in paused:
            follower.busy = busy


def _ask(x: Any, loss: Any, followers: Mapping[str, Any], variables: dict[int, str]) -> Diagnosis | Diagnoses:
    losses = [] if loss is None else _losses(loss)
    if is_tensor(x):
        return Questions({variables.get(id(x)): x}, losses, variables, followers).answers()[0]
    if hasattr(x, "named_parameters"):
        names = dict(x.named_parameters())
        if not names:
            raise ValueError(f"this {type(x).__name__} has no parameters: nothing in it can have a gradient")
        return Diagnoses(Questions(names, losses, variables, followers).answers(), f"{type(x).__name__}")
    if hasattr(x, "param_groups"):
        return _optimizer(x, losses, variables, followers)
    raise TypeError(f"why() takes a tensor of gradlab or torch, a module or an optimizer, not a {type(x).__name__}")


def _losses(loss: Any) -> list[tuple[str | None, Any]]:
    try:
        return flatten(loss)
    except TypeError as error:
        raise TypeError(f"why(x, loss): {error}") from None


def _optimizer(optimizer: Any, losses: list, variables: dict[int, str], followers: Mapping[str, Any]) -> Diagnoses:
    names: dict[str | None, Any] = {}
    held = set()
    for g, group in enumerate(optimizer.param_groups):
        given = group.get("param_names") or []
        for i, tensor in enumerate(group["params"]):
            name = given[i] if i < len(given) else variables.get(id(tensor)) or f"param_groups[{g}]['params'][{i}]"
            names[name] = tensor
            held.add(id(tensor))
    questions = Questions(names, losses, variables, followers)
    lacking = [name or f"a leaf of shape {shape}" for key, name, shape in questions.reached_leaves() if key not in held]
    return Diagnoses(questions.answers(), type(optimizer).__name__, lacking)


class Questions:
    """Several tensors asked about at once, over one reading of the loss's graph."""

    def __init__(
        self, asked: Mapping[str | None, Any], losses: list, variables: dict[int, str], followers: Mapping[str, Any]
    ):
        self.asked, self.losses, self.variables = asked, losses, variables
        engine = engine_of([*asked.values(), *[tensor for _, tensor in losses]])
        self.probe: Probe = probe_named(engine.name)
        self.follower = followers.get(engine.name)
        # before the reading, which holds every tensor: a lost leaf is told by nobody holding it
        self.facts = {name: read_facts(tensor, self.probe, name) for name, tensor in asked.items()}
        self.reader: Reader | None = None
        self.graph: Graph | None = None
        if losses:
            named = {name or "this tensor": tensor for name, tensor in asked.items()}
            self.reader = Reader([tensor for _, tensor in losses], None, named, variables)

    @property
    def loss_name(self) -> str:
        return next((self.variables[id(tensor)] for _, tensor in self.losses if id(tensor) in self.variables), "loss")

    def reached_leaves(self) -> list[tuple[int, str | None, tuple[int, ...]]]:
        """(id, name, shape) of the leaves in the loss's graph."""
        if self.reader is None:
            return []
        snapshot, graph = self.reader.snapshot, self._graph()
        assert graph is not None
        return [
            (key, snapshot.tensors[place].name, snapshot.tensors[place].shape)
            for key, place in self.reader.place.items()
            if snapshot.tensors[place].is_leaf
            and snapshot.tensors[place].node is not None
            and graph.at(place).path() is not None
        ]

    def answers(self) -> list[Diagnosis]:
        found = [self._answer(name, tensor) for name, tensor in self.asked.items()]
        if self.follower is None:
            return found
        ledger, losses = self.follower.ledger, [loss for _, loss in self.losses]
        for loss in losses:
            ledger.seen(loss, None)
        story = Story(ledger.events)
        pairs = zip(found, self.asked.values(), strict=True)
        return [refine(each, tensor, losses, ledger, self.loss_name, story) for each, tensor in pairs]

    def _graph(self) -> Graph | None:
        if self.graph is None and self.reader is not None:
            self.graph = Graph(self.reader.snapshot, self.reader.snapshot.roots[0], self.loss_name)
        return self.graph

    def _answer(self, name: str | None, tensor: Any) -> Diagnosis:
        graph = self._graph()
        if graph is not None and self.reader is not None:
            graph = graph.at(self.reader.place[id(tensor)])
        return judge(self.facts[name], graph)
