"""record(): runs one backward and keeps, node by node, what happened."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gradlab.graphs.engines import is_tensor
from gradlab.graphs.naming import caller_names
from gradlab.graphs.reading import Reader, read_slots
from gradlab.graphs.records import FREED, Recording, Snapshot, Step, Values


def record(
    loss: Any,
    gradient: Any = None,
    retain_graph: bool = False,
    create_graph: bool = False,
    *,
    params: Any = None,
    tensors: Any = None,
) -> Recording:
    """Run `loss.backward(gradient, retain_graph, create_graph)` and keep every step of it.

    This is a real backward: it fills `.grad` and frees saved tensors. Its hooks are gone afterwards, however it ends.
    `params` and `tensors` name tensors as in `snapshot`.

    Raises what backward raises, with the steps so far as `error.recording`; RuntimeError when `loss` has no graph.

    >>> import gradlab
    >>> from gradlab.graphs import record
    >>> w = gradlab.tensor(3.0, requires_grad=True)
    >>> recording = record(w * w)
    >>> [(step.incoming[0].numbers, [g.numbers for g in step.outgoing]) for step in recording.steps]
    [(1.0, [3.0, 3.0]), (6.0, [])]
    >>> recording.steps[1].grad_after.numbers
    6.0
    """
    return run(loss, gradient, retain_graph, create_graph, params, tensors, caller_names(sys._getframe(1)))


def run(
    loss: Any,
    gradient: Any,
    retain_graph: bool,
    create_graph: bool,
    params: Any,
    tensors: Any,
    variables: dict[int, str],
) -> Recording:
    """`record` with the names of variables given: id(tensor) -> name."""
    if not is_tensor(loss):
        raise TypeError(f"record() takes the tensor to call backward on, not a {type(loss).__name__}")
    if not loss.requires_grad:
        raise RuntimeError(
            "record(): this tensor does not require grad and has no grad_fn, so there is no backward to record. Was it "
            "computed under no_grad, detached, or made from tensors that do not require grad?"
        )
    recorder = _Recorder(Reader(loss, params, tensors, variables))
    recording = Recording(recorder.before, recorder.before, recorder.steps, bool(retain_graph), bool(create_graph))
    try:
        recorder.attach()
        loss.backward(gradient, retain_graph=retain_graph or None, create_graph=create_graph)  # None: torch's rule
    except BaseException as error:
        recording.error = f"{type(error).__name__}: {error}"
        error.recording = recording  # type: ignore[attr-defined]
        raise
    finally:
        recorder.detach()
        recorder.close_step()
        recording.after = Reader(loss, params, tensors, variables).snapshot
    return recording


class _Recorder:
    """Hooks on every node of one graph. Values are copied at once: no gradient is kept alive."""

    def __init__(self, reader: Reader):
        self.reader, self.engine = reader, reader.engine
        self.before: Snapshot = reader.snapshot
        self.steps: list[Step] = []
        self._handles: list[Any] = []
        self._retained = [t for t in reader.alive if not t.is_leaf and getattr(t, "retains_grad", False)]

    def attach(self) -> None:
        for number, node in enumerate(self.reader.nodes):
            self._handles.append(node.register_prehook(self._start(number)))
            self._handles.append(node.register_hook(self._finish(number, node)))

    def detach(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _start(self, number: int) -> Callable[[Any], None]:
        def start(incoming: Any) -> None:
            self.close_step()
            leaf = getattr(self.reader.nodes[number], "variable", None)
            step = Step(len(self.steps), number, self._values(incoming), [], self.before.nodes[number].tensor)
            if leaf is not None and leaf.grad is not None:
                step.grad_before = self._value(leaf.grad)
            self.steps.append(step)

        return start

    def _finish(self, number: int, node: Any) -> Callable[[Any, Any], None]:
        def finish(outgoing: Any, incoming: Any) -> None:
            step = self.steps[-1]
            leaf = getattr(node, "variable", None)
            if leaf is not None:
                step.grad_after = self._value(leaf.grad)
            else:
                step.outgoing = self._values(outgoing)

        return finish

    def close_step(self) -> None:
        """An engine frees a node's slots after its hooks, so this is read when the next node starts."""
        if not self.steps:
            return
        step = self.steps[-1]
        kept = {slot.name for slot in self.before.nodes[step.node].slots if slot.state not in (FREED, "never saved")}
        if kept and not step.freed:
            states = {found[0]: found[1] for found in read_slots(self.reader.nodes[step.node], self.engine, {})}
            names = [slot.name for slot in self.before.nodes[step.node].slots]
            step.freed = [name for name in names if name in kept and states.get(name, FREED) == FREED]
        for tensor in self._retained:
            record = self.before.tensors[self.reader.place[id(tensor)]]
            if record.node == step.node and tensor.grad is not None and record.id not in step.retained:
                step.retained.append(record.id)

    def _values(self, gradients: Any) -> list[Values | None]:
        gradients = gradients if isinstance(gradients, (tuple, list)) else (gradients,)
        return [self._value(gradient) for gradient in gradients]

    def _value(self, gradient: Any) -> Values | None:
        return None if gradient is None else self.engine.values(gradient, summary=True)


def state_after(recording: Recording, count: int) -> Snapshot:
    """The graph after the first `count` steps: slots freed and gradients filled so far."""
    before, steps = recording.before, recording.steps[:count]
    freed = {(step.node, name) for step in steps for name in step.freed}
    grads = {tensor: recording.after.tensors[tensor].grad for step in steps for tensor in step.retained}
    grads |= {step.tensor: step.grad_after for step in steps if step.tensor is not None}
    tensors = [replace(tensor, grad=grads.get(tensor.id, tensor.grad)) for tensor in before.tensors]
    nodes = []
    for node in before.nodes:
        slots = [replace(s, state=FREED, values=None) if (node.id, s.name) in freed else s for s in node.slots]
        nodes.append(replace(node, slots=slots))
    return replace(before, nodes=nodes, tensors=tensors)
