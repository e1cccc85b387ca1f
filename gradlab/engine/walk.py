"""The backward walk: newest node first, each node's gradients handed on along its edges, leaves filled as they complete.

Source of the order: torch runs ready nodes by descending sequence number; node numbers grow along the forward, so sorting gives
the same order without a queue.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradlab.engine.modes import EXTRAS, modes
from gradlab.engine.node import AccumulateGrad, Edge, Node
from gradlab.engine.tensor import TensorBase, make, notify
from gradlab.engine.views import bump

by_number = operator.attrgetter("number")


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of the sum of ``tensors`` into the ``.grad`` of the leaves they were computed from.

    grad_tensors: one gradient per tensor, of its shape; None for a tensor with one element (then 1).
    inputs: add into the ``.grad`` of these tensors only. Other arguments as for ``Tensor.backward``.

    >>> import gradlab
    >>> x = gradlab.tensor([1.0, 2.0], requires_grad=True)
    >>> gradlab.autograd.backward([x.sum(), (x * x).sum()])
    >>> x.grad
    tensor([3., 5.])
    """
    roots = _sequence(tensors)
    targets = None if inputs is None else _sequence(inputs)
    if targets is not None and not targets:
        raise RuntimeError("'inputs' argument to backward() cannot be empty.")
    edges, grads = _starts(roots, _gradients(roots, grad_variables if grad_tensors is None else grad_tensors))
    into = None
    if targets is not None:
        into = [_target(t, i) for i, t in enumerate(targets)]
        for tensor in targets:
            if not tensor.is_leaf:
                tensor.retain_grad()
    keep = create_graph if retain_graph is None else retain_graph
    _announced(Walk(edges, grads, keep, create_graph, into, capture=False), "backward", roots, targets)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple:
    """The gradients of the sum of ``outputs`` with respect to ``inputs``, as a tuple; ``.grad`` is left alone.

    RuntimeError for an input that does not require grad or that the outputs do not depend on (None with allow_unused=True,
    zeros with materialize_grads=True).

    >>> import gradlab
    >>> x = gradlab.tensor(3.0, requires_grad=True)
    >>> gradlab.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    if is_grads_batched:
        raise NotImplementedError("gradlab has no batched gradients (is_grads_batched); call grad() once per row.")
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    roots, targets = _sequence(outputs), _sequence(inputs)
    edges, grads = _starts(roots, _gradients(roots, grad_outputs))
    keep = create_graph if retain_graph is None else retain_graph
    into = [_target(t, i) for i, t in enumerate(targets)]
    found = _announced(Walk(edges, grads, keep, create_graph, into, capture=True), "grad", roots, targets)
    if not (allow_unused or materialize_grads) and any(g is None for g in found):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph: input number "
            f"{found.index(None)}. Set allow_unused=True to get None for it."
        )
    if materialize_grads:
        found = [make(np.zeros_like(t._array)) if g is None else g for g, t in zip(found, targets, strict=True)]
    return tuple(found)


def _announced(walk: Walk, kind: str, roots: list, targets: list | None) -> list:
    """Run the walk; a watcher hears of it before and after."""
    if modes.word != EXTRAS:
        return walk.run()
    notify("backward", (tuple(roots), targets, kind), None)
    try:
        return walk.run()
    finally:
        notify("backward-done", (tuple(roots), targets, kind), None)


def _sequence(tensors: Any) -> list:
    return [tensors] if isinstance(tensors, TensorBase) else list(tensors)


def _target(tensor: TensorBase, index: int) -> Edge:
    edge = tensor._gradient_edge()
    if edge is None:
        raise RuntimeError(f"One of the differentiated Tensors does not require grad: input number {index}.")
    return edge


def _gradients(roots: list, given: Any) -> list:
    grads = [None] * len(roots) if given is None else _sequence(given)
    if len(grads) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(grads)} gradients")
    return grads


def _starts(roots: list, grads: list) -> tuple[list, list]:
    """The edges to start from, and the gradient for each, as tensors."""
    edges = []
    for i, (root, g) in enumerate(zip(roots, grads, strict=True)):
        edge = root._gradient_edge()
        if edge is None:
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn: nothing that it was computed from "
                "requires grad, or the graph was cut (detach, no_grad, .data, .item(), a new tensor made of old values)."
            )
        edges.append(edge)
        grads[i] = _start(root, g)
    return edges, grads


def _start(root: TensorBase, g: Any) -> TensorBase:
    if g is None:
        if root._array.size != 1:
            raise RuntimeError(
                f"grad can be implicitly created only for scalar outputs, and this one has shape {list(root.shape)}. Reduce it "
                "first (.sum(), .mean()), or pass backward(gradient=...) of that shape."
            )
        return make(np.ones_like(root._array))
    if not isinstance(g, TensorBase):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if g._array.shape != root._array.shape:
        raise RuntimeError(
            f"Mismatch in shape: the gradient has a shape of {list(g.shape)} and the output has a shape of {list(root.shape)}."
        )
    return g


class Walk:
    """One backward pass over the part of the graph that leads from the roots to the targets (to all leaves without any)."""

    def __init__(self, edges: list, grads: list, keep: bool, create: bool, into: list | None, capture: bool) -> None:
        self.keep, self.create, self.into = keep, create, into
        self.grads = grads if create else [g._array for g in grads]
        self.roots = edges
        self.captures: dict[Node, dict[int, Any]] = {}
        if into is not None and capture:
            for node, number in into:
                self.captures.setdefault(node, {})[number] = None
        self.pending: dict[Node, Any] = {}

    def run(self) -> list:
        before = modes.grad
        if self.create != before:
            modes.set(grad=self.create)
        try:
            with np.errstate(all="ignore"):
                self._walk()
        finally:
            if modes.grad != before:
                modes.set(grad=before)
        return [] if self.into is None else [self._captured(node, number) for node, number in self.into]

    def _captured(self, node: Node, number: int) -> Any:
        found = self.captures[node][number] if node in self.captures else None
        return found if found is None or self.create else make(found)

    def _discover(self) -> tuple[list[Node], dict[Node, int]]:
        """All nodes to run, newest first, and for each how many edges lead to it."""
        waiting: dict[Node, int] = {}
        stack = []
        for node, _ in self.roots:
            if node in waiting:
                waiting[node] += 1
            else:
                waiting[node] = 1
                stack.append(node)
        while stack:
            for edge in stack.pop().edges:
                if edge is not None:
                    node = edge[0]
                    if node in waiting:
                        waiting[node] += 1
                    else:
                        waiting[node] = 1
                        stack.append(node)
        order = [node for node in waiting if type(node) is not AccumulateGrad]
        order.sort(key=by_number, reverse=True)
        if self.into is not None:
            order, waiting = self._only_needed(order)
        return order, waiting

    def _only_needed(self, order: list[Node]) -> tuple[list[Node], dict[Node, int]]:
        """Of the nodes found, those from which a target is reached."""
        assert self.into is not None
        targets = {node for node, _ in self.into}
        leads: set[Node] = set() if self.captures else set(targets)  # captured gradients are taken in front of their node
        for node in reversed(order):
            if any(edge is not None and (edge[0] in leads or edge[0] in targets) for edge in node.edges):
                leads.add(node)
        order = [node for node in order if node in leads or node in targets]
        waiting = dict.fromkeys([*order, *targets], 0)
        for node, _ in self.roots:
            if node in waiting:
                waiting[node] += 1
        for node in order:
            for edge in node.edges if node in leads else ():
                if edge is not None and edge[0] in waiting:
                    waiting[edge[0]] += 1
        self.leads = leads
        return order, waiting

    def _walk(self) -> None:
        order, waiting = self._discover()
        pending, create, keep, limited = self.pending, self.create, self.keep, self.into is not None
        plain = not (create or limited or modes.anomaly)
        for edge, g in zip(self.roots, self.grads, strict=True):
            if not limited or edge[0] in waiting:
                self._deliver(edge, g, waiting)
        order.reverse()
        while order:
            node = order.pop()
            g = pending.pop(node, None)
            if plain and node.extras is None and g is not None:
                grads = node.apply(g)
            else:
                grads = self._visit(node, g)
            if not keep:
                node.free()
            del g
            for edge, grad in zip(node.edges, grads, strict=False):
                if edge is None:
                    continue
                into = edge[0]
                if grad is None or create or limited or into.outputs is not None:
                    if into in waiting:
                        self._deliver(edge, grad, waiting)
                    continue
                if grad.shape != into.shape or grad.dtype is not into.dtype:
                    grad = fit(grad, into, node)
                old = pending.get(into)
                pending[into] = grad if old is None else old + grad
                if type(into) is AccumulateGrad:
                    left = waiting[into] = waiting[into] - 1
                    if not left:
                        self._accumulate(into, pending.pop(into))

    def _deliver(self, edge: Edge, grad: Any, waiting: dict[Node, int]) -> None:
        """Add one gradient to what waits for a node, and run an AccumulateGrad whose last one this is."""
        into, number = edge
        pending = self.pending
        if grad is not None:
            grad = self._fitted(grad, into, number)
            if into.outputs is None:
                old = pending.get(into)
                pending[into] = grad if old is None else old + grad
            else:
                slots = pending.setdefault(into, [None] * len(into.outputs))
                slots[number] = grad if slots[number] is None else slots[number] + grad
        if type(into) is AccumulateGrad:
            waiting[into] -= 1
            if not waiting[into] and into in pending:
                self._accumulate(into, pending.pop(into))

    def _fitted(self, grad: Any, into: Node, number: int) -> Any:
        shape, dtype = (into.shape, into.dtype) if into.outputs is None else into.outputs[number]
        array = grad._array if self.create else grad
        if array.shape == shape and array.dtype == dtype:
            return grad
        return fit_recorded(grad, shape, dtype) if self.create else fit(grad, into, None, shape, dtype)

    # -- a node with hooks, captures, several outputs, or a recorded backward --------------------------

    def _visit(self, node: Node, g: Any) -> Any:
        """Run one node the long way: tensor hooks, retained gradients, captures, prehooks, the node, its hooks."""
        nothing = [None] * len(node.edges)
        given = g if node.outputs is not None else None if g is None else [g]
        given = list(given) if given else [None] * len(node._outputs())
        extras = node.extras
        if extras is not None:
            self._tensor_hooks(extras, given)
        for number in self.captures.get(node, ()):
            self.captures[node][number] = given[number]
        if self.into is not None and self.captures and node not in self.leads:
            return nothing
        if extras is not None and extras.pre:
            given = self._prehooks(node, extras, given)
        if all(x is None for x in given) and not node.undefined_too:
            grads: Any = nothing
        else:
            apply = node.apply_recorded if self.create else node.apply
            grads = apply(given[0] if node.outputs is None else given)
        if modes.anomaly and modes.check_nan:
            check_anomaly(node, grads)
        if extras is not None and extras.post:
            grads = self._posthooks(node, extras, grads, given)
        return grads

    def _tensor(self, g: Any) -> Any:
        return g if g is None or isinstance(g, TensorBase) else make(g)

    def _value(self, g: Any) -> Any:
        return g if g is None or self.create else g._array

    def _tensor_hooks(self, extras: Any, given: list) -> None:
        for number, hooks in extras.tensor.items():
            if given[number] is not None:
                given[number] = self._value(call_tensor_hooks(hooks, self._tensor(given[number])))
        for number, reference in extras.retain.items():
            tensor = reference()
            if tensor is not None and given[number] is not None:
                kept = self._tensor(given[number])
                meta = tensor._ensure_meta()
                if meta.grad is None:
                    meta.grad = kept if self.create else make(np.array(kept._array))
                else:
                    meta.grad = meta.grad + kept

    def _prehooks(self, node: Node, extras: Any, given: list) -> list:
        tensors = tuple(self._tensor(x) for x in given)
        for hook in list(extras.pre.values()):
            tensors = _replaced(hook(tensors), tensors, node, "prehook")
        return [self._value(x) for x in tensors]

    def _posthooks(self, node: Node, extras: Any, grads: Any, given: list) -> list:
        inputs = tuple(None if e is None else self._tensor(self._for_edge(e, x)) for e, x in zip(node.edges, grads, strict=False))
        outputs = tuple(self._tensor(x) for x in given)
        for hook in list(extras.post.values()):
            inputs = _replaced(hook(inputs, outputs), inputs, node, "hook")
        return [self._value(x) for x in inputs]

    def _for_edge(self, edge: Edge, grad: Any) -> Any:
        return grad if grad is None else self._fitted(grad, *edge)

    # -- the leaves ------------------------------------------------------------------------------------

    def _accumulate(self, node: AccumulateGrad, g: Any) -> None:
        """Add a complete gradient into its leaf's ``.grad``, or keep it for grad(); hooks first."""
        leaf = node.variable
        meta = leaf._ensure_meta()
        if meta.hooks:
            g = self._value(call_tensor_hooks(meta.hooks, self._tensor(g)))
        if node in self.captures:
            self.captures[node][0] = g
            return
        if self.captures:
            return
        extras = node.extras
        if extras is not None and extras.pre:
            (g,) = self._prehooks(node, extras, [g])
        if g is not None:
            self._add(leaf, meta, g)
        if meta.post_hooks:
            for hook in list(meta.post_hooks.values()):
                hook(leaf)
        if extras is not None and extras.post:
            self._posthooks(node, extras, (), [g])

    def _add(self, leaf: TensorBase, meta: Any, g: Any) -> None:
        old = meta.grad
        if self.create:
            from gradlab.engine.views import copy

            meta.grad = copy(make(np.zeros_like(g._array)), g) if old is None else old + g
        elif old is None:
            meta.grad = make(np.array(g))
        elif old._edge is not None:
            meta.grad = old + make(g)
        else:
            np.add(old._array, g, out=old._array)
            bump(old)


def call_tensor_hooks(hooks: Any, tensor: Any) -> Any:
    """Run tensor hooks in order; what one returns replaces the gradient for the next."""
    for hook in list(hooks.values()):
        found = hook(tensor)
        if found is None:
            continue
        if not isinstance(found, TensorBase):
            raise TypeError(f"hook must return a Tensor or None, but {hook!r} returned {type(found).__name__}")
        if found._array.shape != tensor._array.shape:
            raise RuntimeError(f"hook '{hook!r}' has changed the size of value: {list(tensor.shape)} to {list(found.shape)}")
        if found._array.dtype != tensor._array.dtype:
            raise RuntimeError(f"hook '{hook!r}' has changed the type of value: {tensor.dtype} to {found.dtype}")
        tensor = found
    return tensor


def _replaced(found: Any, before: tuple, node: Node, kind: str) -> tuple:
    if found is None:
        return before
    found = (found,) if isinstance(found, TensorBase) else tuple(found)
    if len(found) != len(before):
        raise RuntimeError(f"{kind} of {node.name()} returned an incorrect number of values (got {len(found)}, expected {len(before)})")
    return found


def fit(grad: Any, into: Node, node: Node | None, shape: Any = None, dtype: Any = None) -> Any:
    """A gradient summed to the shape, and cast to the dtype, of the tensor that it is for."""
    shape, dtype = (into.shape, into.dtype) if shape is None else (shape, dtype)
    if grad.shape != shape:
        grad = np.asarray(sum_to(grad, shape, into))
    return grad if grad.dtype == dtype else grad.astype(dtype)


def sum_to(grad: Any, shape: tuple, into: Any = None) -> Any:
    """Undo broadcasting: sum the axes that were added or stretched. Works on arrays and tensors."""
    extra = grad.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(i + extra for i, n in enumerate(shape) if n == 1 and grad.shape[i + extra] != 1)
    if extra < 0 or any(n != 1 and n != grad.shape[i + extra] for i, n in enumerate(shape)):
        raise RuntimeError(
            f"a backward returned an invalid gradient - got {list(grad.shape)} but expected shape compatible with {list(shape)}"
            + (f" (on the way to {into.name()})" if into else "")
        )
    summed = grad.sum(axis=axes, keepdims=True) if axes else grad
    return summed.reshape(shape) if extra else summed


def fit_recorded(grad: Any, shape: tuple, dtype: Any) -> Any:
    """`fit` on tensors: the sum and the cast are recorded."""
    if grad._array.shape != shape:
        grad = sum_to(grad, shape)
    return grad if grad._array.dtype == dtype else grad.to(dtype)


def check_anomaly(node: Node, grads: Sequence[Any]) -> None:
    for i, g in enumerate(grads):
        array = g._array if isinstance(g, TensorBase) else g
        if array is not None and np.isnan(array).any():
            stack = node.metadata.get("traceback_")
            made = "".join(stack) if stack else "(forward was not under detect_anomaly)"
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output. Recorded by this forward call:\n{made}")
