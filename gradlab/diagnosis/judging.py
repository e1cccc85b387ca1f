"""From a tensor's facts and the graph of the loss to a cause."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from gradlab.diagnosis import remedies
from gradlab.diagnosis.facts import Facts, LostLeaf
from gradlab.diagnosis.report import Diagnosis
from gradlab.graphs.records import FREED, MISMATCH, Edge, NodeRecord, Snapshot

# Operations whose derivative is zero wherever it exists.
ZERO_NODES = frozenset(
    f"{name}Backward0"
    for name in (
        "Round",
        "Floor",
        "Ceil",
        "Trunc",
        "Sign",
        "Sgn",
        "Heaviside",
        "Bernoulli",
        "Fix",
    )
)


@dataclass(slots=True)
class Graph:
    """The graph of the loss, and where the asked tensor is in it."""

    snapshot: Snapshot
    tensor: int  # its record
    loss_name: str = "loss"
    wiring: dict[int, list[Edge]] | None = None

    @property
    def node(self) -> int | None:
        return self.snapshot.tensors[self.tensor].node

    @property
    def is_root(self) -> bool:
        return self.tensor in self.snapshot.roots

    def starts(self) -> list[int]:
        nodes = [self.snapshot.tensors[root].node for root in self.snapshot.roots]
        return [node for node in nodes if node is not None]

    def at(self, tensor: int) -> Graph:
        """The same graph, asked about another tensor."""
        self.edges()
        return replace(self, tensor=tensor)

    def edges(self) -> dict[int, list[Edge]]:
        """The edges that take a gradient, by source."""
        if self.wiring is None:
            self.wiring = {}
            for edge in self.snapshot.edges:
                if edge.target is not None:
                    self.wiring.setdefault(edge.source, []).append(edge)
        return self.wiring

    def path(
        self, without: frozenset[str] = frozenset(), blocked: frozenset[tuple[int, int]] = frozenset()
    ) -> list[int] | None:
        """The shortest way from the loss to the tensor's node, as node ids; None when there is none.

        `without` leaves out nodes by name, `blocked` leaves out edges (node id, input number).
        """
        if self.is_root and self.node is None:
            return []
        edges, goal, nodes = self.edges(), self.node, self.snapshot.nodes
        came: dict[int, int | None] = {start: None for start in self.starts() if nodes[start].name not in without}
        queue = deque(came)
        while queue:
            node = queue.popleft()
            if node == goal:
                return _back(came, node)
            for edge in edges.get(node, ()):
                target = edge.target
                if target in came or nodes[target].name in without or (node, edge.input) in blocked:  # type: ignore[index]
                    continue
                came[target] = node  # type: ignore[index]
                queue.append(target)  # type: ignore[arg-type]
        return None

    def names(self, path: list[int]) -> list[str]:
        found = [self.snapshot.nodes[node].name for node in path]
        if len(found) > 8:
            found = [*found[:3], f"... {len(found) - 6} more ...", *found[-3:]]
        return found

    def reachable(self) -> list[int]:
        """The nodes that a backward from the loss would run."""
        edges = self.edges()
        met, stack = set(self.starts()), self.starts()
        while stack:
            for edge in edges.get(stack.pop(), ()):
                if edge.target is not None and edge.target not in met:
                    met.add(edge.target)
                    stack.append(edge.target)
        return sorted(met)

    def edited(self) -> NodeRecord | None:
        """A node whose saved tensor was changed in place since: a backward will raise there."""
        nodes = [self.snapshot.nodes[node] for node in self.reachable()]
        return next((node for node in nodes if any(slot.state == MISMATCH for slot in node.slots)), None)

    def ends(self) -> list[str]:
        """Names of the leaves that the loss does reach."""
        leaves = [self.snapshot.nodes[node].tensor for node in self.reachable()]
        records = [self.snapshot.tensors[leaf] for leaf in leaves if leaf is not None]
        return [r.name or f"a leaf of shape {r.shape}" for r in records]


def _back(came: dict[int, int | None], node: int | None) -> list[int]:
    path: list[int] = []
    while node is not None:
        path.append(node)
        node = came[node]
    return path[::-1]


def judge(facts: Facts, graph: Graph | None) -> Diagnosis:
    """The cause that flags and graph can tell; `unknown` where they cannot."""
    diagnosis = _judge(facts, graph)
    diagnosis.name, diagnosis.shape, diagnosis.dtype = facts.name, facts.shape, facts.dtype
    if graph is not None:
        diagnosis.snapshot, diagnosis.tensor = graph.snapshot, graph.tensor
    return diagnosis


def _judge(facts: Facts, graph: Graph | None) -> Diagnosis:
    path = graph.path() if graph is not None else None
    if facts.grad is not None:
        return _with_grad(facts, graph, path)
    if facts.inference:
        return Diagnosis(
            "inference-mode",
            f"{facts.label} was made in inference mode: autograd can never record it.",
            remedy=(
                f"{facts.variable} = {facts.variable}.clone()  # outside inference_mode: an ordinary tensor\n"
                f"{facts.variable}.requires_grad_()  # before the forward"
            ),
        )
    if not facts.differentiable:
        return Diagnosis(
            "not-differentiable-dtype",
            f"{facts.label} is {facts.dtype}. Only floating point and complex tensors can require grad.",
            remedy=f"{facts.variable} = {facts.variable}.float().requires_grad_()  # not for indices and labels",
        )
    if not facts.requires_grad:
        return _not_required(facts, graph, path)
    if graph is not None and path is None:
        return _not_reached(facts, graph)
    if facts.is_leaf or facts.retains_grad:
        return _waiting(facts, graph, path)
    return _inner(facts, graph, path)


def _evidence(facts: Facts, graph: Graph | None, path: list[int] | None) -> list[str]:
    if graph is None or not path:
        return []
    return [graph.loss_name, *graph.names(path), facts.variable]


def _with_grad(facts: Facts, graph: Graph | None, path: list[int] | None) -> Diagnosis:
    evidence = _evidence(facts, graph, path)
    if facts.grad == "nan":
        return Diagnosis(
            "nan",
            f"The gradient of {facts.label} holds NaN. One NaN anywhere on the way makes everything behind it NaN.",
            evidence,
            remedy=_hunt(facts, graph),
        )
    if facts.grad == "inf":
        return Diagnosis(
            "inf",
            f"The gradient of {facts.label} holds an infinity, such as the slope of sqrt at 0.",
            evidence,
            remedy=_hunt(facts, graph),
        )
    if facts.grad == "zero":
        return _zero(facts, graph, path, evidence)
    words = f"{facts.label} has a gradient of shape {facts.shape}, finite and not zero everywhere."
    if graph is not None and path is None:
        words += f" It does not come from `{graph.loss_name}`, whose graph does not reach {facts.label}."
    return Diagnosis("has-grad", words, evidence)


def _hunt(facts: Facts, graph: Graph | None) -> str:
    loss = graph.loss_name if graph else "loss"
    return (
        remedies.WATCH.format(x=facts.variable, loss=loss).replace("watch()", "watch(nan=True)")
        + "  # names the line it was born on"
    )


def _zero(facts: Facts, graph: Graph | None, path: list[int] | None, evidence: list[str]) -> Diagnosis:
    words = f"A backward has reached {facts.label} and brought exactly 0 for every element."
    if graph is not None and path and graph.path(without=ZERO_NODES) is None:
        blocker = next(graph.snapshot.nodes[node] for node in path if graph.snapshot.nodes[node].name in ZERO_NODES)
        return Diagnosis(
            "all-zero",
            f"{words} Every way to it passes {blocker.name}: {blocker.op.lower()} is flat between its"
            " steps, its derivative is 0.",
            evidence,
            remedy=remedies.straight_through(blocker.op.lower()),
        )
    words += (
        " The usual reasons: a factor that is 0, a relu or clamp that is closed for every element, a"
        " saturated function, or"
        " zero_grad(set_to_none=False) after the backward. The graph does not say which."
    )
    return Diagnosis(
        "all-zero",
        words,
        evidence,
        remedy=remedies.WATCH.format(x=facts.variable, loss=graph.loss_name if graph else "loss"),
    )


def _not_required(facts: Facts, graph: Graph | None, path: list[int] | None) -> Diagnosis:
    if graph is not None and path and facts.is_leaf and graph.node is not None:
        return Diagnosis(
            "frozen-after-forward",
            f"The graph of `{graph.loss_name}` ends at {facts.label}, so it required grad during the"
            " forward; now requires_grad is"
            " False, and backward leaves such a leaf alone.",
            _evidence(facts, graph, path),
            remedy=f"{facts.variable}.requires_grad_(True)  # and freeze it only after backward()",
        )
    return Diagnosis(
        "not-required",
        f"{facts.label} has requires_grad=False: autograd does not follow it. If you made it yourself,"
        " ask for a gradient before the"
        " forward. If it was computed from something that requires grad, the link was cut on the way"
        " (detach, .data, no_grad, ...):"
        " the tensor does not remember that, gradlab.watch() does.",
        remedy=f"{facts.variable}.requires_grad_()  # right after you made it, before the forward",
    )


def _not_reached(facts: Facts, graph: Graph) -> Diagnosis:
    ends = graph.ends()
    if not graph.starts():
        words = (
            f"`{graph.loss_name}` has no graph at all (its grad_fn is None): nothing it was"
            " computed from required grad or was recorded."
        )
    else:
        words = (
            f"The graph of `{graph.loss_name}` ends at"
            f" {', '.join(ends[:6]) or 'no leaf'}{', ...' if len(ends) > 6 else ''}; {facts.label} is not in it."
        )
    if facts.has_base:
        words += (
            f" {facts.label} is a view that was made while recording was off: it requires grad"
            " but has no way back to its base."
        )
    words += (
        f" Either {facts.label} was not used for `{graph.loss_name}`, or the link was cut on the"
        " way; a finished graph does not keep cuts."
    )
    remedy = (
        remedies.WATCH.format(x=facts.variable, loss=graph.loss_name) + "  # names the line of the cut, if there is one"
    )
    return Diagnosis(
        "not-reached", words, [graph.loss_name, "only " + ", ".join(ends[:6])] if ends else [], remedy=remedy
    )


def _waiting(facts: Facts, graph: Graph | None, path: list[int] | None) -> Diagnosis:
    if graph is None:
        return Diagnosis(
            "unknown",
            f"{facts.label} is ready for a gradient and none has arrived. Either no backward has run"
            " yet, or it ran from a loss"
            " that does not reach it, or the gradient was cleared. Without the loss there is no graph to look at.",
            remedy=f"gradlab.why({facts.variable}, loss)  # with the tensor you call backward() on",
        )
    evidence = _evidence(facts, graph, path)
    edited = graph.edited()
    if edited is not None:
        return Diagnosis(
            "no-backward-yet",
            f"No gradient has come through the graph of `{graph.loss_name}`, and none can: what {edited.name} has saved was"
            " changed in place afterwards, so a backward raises there.",
            evidence,
            remedy=remedies.OUT_OF_PLACE,
        )
    if path and any(slot.state == FREED for node in path for slot in graph.snapshot.nodes[node].slots):
        return Diagnosis(
            "unknown",
            f"The graph of `{graph.loss_name}` reaches {facts.label} and has been run: what it saved"
            " is freed. Yet .grad is None: it was cleared"
            " afterwards, or the run was autograd.grad or backward(inputs=...), which leave .grad"
            " alone, or a custom Function"
            " returned None. The graph does not say which.",
            evidence,
            remedy=remedies.WATCH.format(x=facts.variable, loss=graph.loss_name),
        )
    shape = graph.snapshot.tensors[graph.snapshot.roots[0]].shape
    scalar = all(size == 1 for size in shape)
    call = (
        f"{graph.loss_name}.backward()"
        if scalar
        else f"{graph.loss_name}.sum().backward()  # or backward(gradient) of shape {shape}"
    )
    return Diagnosis(
        "no-backward-yet",
        f"The graph of `{graph.loss_name}` reaches {facts.label}, and nothing in it has been run and"
        " freed. Its .grad stays None (not 0) until"
        " backward() arrives.",
        evidence,
        remedy=call,
    )


def _inner(facts: Facts, graph: Graph | None, path: list[int] | None) -> Diagnosis:
    lost = facts.lost_leaf
    if lost is not None:
        holder = "only the optimizer and the graph hold" if lost.in_optimizer else "nothing but the graph holds"
        return Diagnosis(
            "rebound",
            f"{facts.label} is the result of {facts.node}, not a leaf. It was computed from a leaf of"
            f" shape {lost.shape} that {holder}"
            " any more: the gradient goes there, to a tensor you no longer have a name for.",
            _evidence(facts, graph, path) or [facts.variable, *lost.steps, "the leaf"],
            remedy=_rebound(facts, lost),
        )
    return Diagnosis(
        "non-leaf",
        f"{facts.label} is an inner result (grad_fn {facts.node}). The gradient passes through it to"
        " the leaves; its own .grad is kept only on request.",
        _evidence(facts, graph, path),
        remedy=f"{facts.variable}.retain_grad()  # before backward()",
    )


def _rebound(facts: Facts, lost: LostLeaf) -> str:
    """Code for the way in which the leaf was lost, as far as the graph tells it."""
    name = facts.variable
    if lost.steps and all(step in ("ToCopyBackward0", "CopyBackwards", "CloneBackward0") for step in lost.steps):
        return remedies.CONVERT.format(name=name)
    leaf = (
        f"{name} = {name}.detach().requires_grad_()  # makes the result the leaf; or keep the leaf under its own name"
    )
    if lost.steps and lost.steps[0] in ("SubBackward0", "AddBackward0"):
        return f"{remedies.UPDATE.format(name=name)}\n# where it is no update: {leaf}"
    return leaf
