"""The backward walk: newest node first, each node's gradients handed on along its edges, leaves filled as they complete.

Source of the order: torch runs ready nodes by descending sequence number. Node numbers grow along the forward, so sorting by
them gives torch's order without a queue.
"""

from functools import lru_cache
from operator import attrgetter
from sys import getrefcount
from typing import Any

import numpy as np

from gradlab import errors
from gradlab.engine.modes import modes
from gradlab.engine.node import AccumulateGrad, Node
from gradlab.engine.tensor import INFERENCE, TensorBase, make


class Walk:
    """One backward pass: over everything that the roots were computed from, or only what leads to the edges `into`."""

    def __init__(self, starts: list, into: list | None, create: bool) -> None:
        self.starts, self.into, self.create = starts, into, create  # starts: (edge, gradient) for each root
        self.callbacks: list = []  # called when all is done
        self.captured: dict = {}  # by edge, the gradients that grad() asked for
        self.pending: dict[Node, Any] = {}  # what has arrived at a node so far
        self.waiting: dict[Node, int] = {}  # how many gradients are still to come

    @np.errstate(all="ignore")
    def run(self, keep: bool) -> None:
        """``keep``: do not free what the nodes saved."""
        self.keep = keep
        self._walk(self._discover())

    def _discover(self) -> list[Node]:
        """All nodes to run, oldest first; fills `waiting`."""
        waiting, order = self.waiting, []
        stack: list = [[edge for edge, _ in self.starts]]
        while stack:
            for edge in stack.pop():
                if edge is not None:
                    node = edge[0]
                    waiting[node] = waiting.get(node, 0) + 1
                    if waiting[node] == 1 and node.__class__ is not AccumulateGrad:
                        stack.append(node.edges)
                        order.append(node)
        order.sort(key=attrgetter("number"))
        return order if self.into is None else self._only_needed(order)

    def _only_needed(self, order: list[Node]) -> list[Node]:
        """Of the nodes found, those from which a target is reached, and the targets; `leads` are those that run."""
        targets = {node for node, _ in self.into or ()}
        self.leads = set() if self.captured else set(targets)  # a captured gradient is taken in front of its node
        for node in order:
            if any(edge is not None and (edge[0] in self.leads or edge[0] in targets) for edge in node.edges):
                self.leads.add(node)
        lone = {edge[0] for edge, _ in self.starts[:1] if len(self.starts) == 1}  # whose hooks torch calls, wanted or not
        needed = self.leads | targets | lone
        self.waiting = dict.fromkeys(needed, 0)
        for edge in [e for e, _ in self.starts] + [e for node in order if node in self.leads for e in node.edges]:
            if edge is not None and edge[0] in needed:
                self.waiting[edge[0]] += 1
        return [node for node in order if node in needed]

    def _walk(self, order: list[Node]) -> None:
        pending, waiting, create, limited = self.pending, self.waiting, self.create, self.into is not None
        special, complete, anomaly = {node for node, _ in self.into} if limited else (), [], modes.anomaly
        for edge, g in self.starts:
            if edge[0] in waiting:
                self._deliver(edge, g)
        while order:
            node = order.pop()
            g, runs = pending.pop(node, None), not limited or node in self.leads
            if anomaly:
                grads = anomaly.run(node, self._visit, g)
            elif g is None or node.extras is not None or not runs or node in special:
                grads = self._visit(node, g)
            else:
                grads = node.apply_recorded(g) if create else node.apply(g)
            if runs and not self.keep:
                node.free()
            for edge, g in zip(node.edges, grads):  # noqa: B905 - strict costs as much as the loop
                if edge is None or (limited and edge[0] not in waiting):
                    continue
                into = edge[0]
                if g is None or into.outputs is not None:
                    self._deliver(edge, g)
                    continue
                array = g._array if create else g
                if array.shape != into.shape or array.dtype is not into.dtype:
                    g = fit(g, into.shape, into.dtype, into)
                if into in pending:
                    g = pending[into] + g
                pending[into] = g
                if into.__class__ is AccumulateGrad:
                    waiting[into] -= 1
                    if not waiting[into]:
                        complete.append(into)
            if complete:
                g = grads = array = None  # so that `pending` alone holds what nobody else does
                for leaf in complete:
                    alone = not create and getrefcount(pending[leaf]) == 2
                    self._accumulate(leaf, pending.pop(leaf), alone)
                complete = []

    def _deliver(self, edge: tuple, g: Any) -> None:
        """Add one gradient to what has arrived at a node, and fill a leaf for which it is the last."""
        into, number = edge
        if g is not None:
            shape, dtype = into.all_outputs()[number]
            g = fit(g, shape, dtype, into)
            if into.outputs is None:
                old = self.pending.get(into)
                self.pending[into] = g if old is None else old + g
            else:
                slots = self.pending.setdefault(into, [None] * len(into.outputs))
                slots[number] = g if slots[number] is None else slots[number] + g
        if type(into) is AccumulateGrad:
            self.waiting[into] -= 1
            if not self.waiting[into]:
                self._accumulate(into, self.pending.pop(into, None))

    # -- a node with hooks, captures, several outputs, or a recorded backward ------------------------------------------

    def _visit(self, node: Node, g: Any) -> Any:
        """Run one node the long way: tensor hooks, retained gradients, captures, prehooks, the node itself, its hooks."""
        given = [None] * len(node.all_outputs()) if g is None else [g] if node.outputs is None else list(g)
        extras = node.extras
        if extras is not None:
            self._tensor_hooks(extras, given)
        for number, x in enumerate(given):
            if (node, number) in self.captured:
                self.captured[node, number] = self._tensor(x)
        nothing = [None] * len(node.edges)
        if self.into is not None and node not in self.leads:
            return nothing
        if extras is not None and extras.pre:
            given = self._call_hooks(node, extras.pre, given)
        grads: Any = nothing
        if node.undefined_too or any(x is not None for x in given):
            apply = node.apply_recorded if self.create else node.apply
            grads = apply(given[0] if node.outputs is None else given)
        if extras is not None and extras.post:
            fitted = [
                x if e is None or x is None else fit(x, *e[0].all_outputs()[e[1]], e[0])
                for e, x in zip(node.edges, grads, strict=True)
            ]
            grads = self._call_hooks(node, extras.post, fitted, tuple(map(self._tensor, given)))
        return grads

    def _tensor(self, g: Any) -> Any:
        if g is None or self.create:
            return g
        return make(g if np.asarray(g).flags.writeable else np.array(g))

    def _tensor_hooks(self, extras: Any, given: list) -> None:
        for number, hooks in extras.tensor.items():
            given[number] = self._hooked(hooks, given[number])
        for number, reference in extras.retain.items():
            tensor, g = reference(), given[number]
            if tensor is not None and g is not None:
                meta = tensor._more()
                new = g if self.create else make(np.array(g))
                meta.grad = new if meta.grad is None else meta.grad + new

    def _hooked(self, hooks: Any, g: Any) -> Any:
        """The gradient after tensor hooks, each of which may replace it for the next."""
        tensor = self._tensor(g)
        for hook in list(hooks.values()):
            found = hook(tensor)
            if found is None:
                continue
            errors.check_hook_result(hook, tensor, found)
            tensor = found
        return tensor if tensor is None or self.create else tensor._array

    def _call_hooks(self, node: Node, hooks: Any, given: Any, *more: Any) -> list:
        """What node hooks make of a tuple of gradients."""
        tensors = tuple(map(self._tensor, given))
        for hook in list(hooks.values()):
            found = hook(tensors, *more)
            if found is None:
                continue
            tensors = errors.checked_node_hook(node, found, len(tensors))
        return [x if x is None or self.create else x._array for x in tensors]

    # -- the leaves ----------------------------------------------------------------------------------------------------

    def _accumulate(self, node: AccumulateGrad, g: Any, alone: bool = False) -> None:
        """Add a complete gradient into its leaf's ``.grad``, or keep it for grad(); hooks first.

        alone: nobody else holds this array.
        """
        leaf, extras = node.variable, node.extras
        meta = leaf._meta or leaf._more()
        if meta.hooks:
            g, alone = self._hooked(meta.hooks, g), False
        if self.into is not None and node not in self.leads:
            if (node, 0) in self.captured:
                self.captured[node, 0] = self._tensor(g)
            return
        if extras is not None and extras.pre:
            (g,), alone = self._call_hooks(node, extras.pre, [g]), False
        if g is not None and (leaf._edge or leaf._view) and leaf.grad_fn is not None:
            raise RuntimeError(errors.LEAF_INSIDE)
        if g is not None and meta.requires_grad:
            self._add(leaf, g, alone)
        for hook in list(meta.post_hooks.values()) if meta.post_hooks else ():
            errors.check_returned_none(hook(leaf))
        if extras is not None and extras.post:
            self._call_hooks(node, extras.post, (), (self._tensor(g),))

    def _add(self, leaf: Any, g: Any, alone: bool) -> None:
        meta, old, array = leaf._meta, leaf._meta.grad, leaf._array
        if self.create:
            meta.grad = make(np.zeros(g.shape, g._array.dtype)).copy_(g) if old is None else old + g
        elif old is None:
            own = alone and g.strides == array.strides and has_all_its_memory(g)  # else it is laid out as the leaf is
            meta.grad = make(g if own else np.positive(g, np.empty_like(array, order="C" if 0 in array.strides else "K")))
        else:
            np.add(old._array, g, out=old._array)
            if old._counter is not INFERENCE:
                old._version_counter()[0] += 1


def has_all_its_memory(array: Any) -> bool:
    """Whether whoever alone holds this array holds all of its memory: it covers its base, which nothing else refers to."""
    base, flags = array.base, array.flags
    whole = base is None or (type(base) is np.ndarray and getrefcount(base) == 3 and base.nbytes == array.nbytes)
    return whole and flags.forc and flags.writeable


def fit(g: Any, shape: tuple, dtype: np.dtype, into: Node) -> Any:
    """A gradient summed to the shape, and cast to the dtype, of the tensor that it is for. On arrays and on tensors."""
    if g.shape != shape:
        g = sum_to(g, shape, into)
    if isinstance(g, TensorBase):
        return g if g._array.dtype == dtype else g.to(dtype)
    return g if g.dtype == dtype else g.astype(dtype)


def sum_to(g: Any, shape: tuple, into: Any = None) -> Any:
    """Undo broadcasting: sum the axes that were added or stretched."""
    extra = g.ndim - len(shape)
    if type(g) is np.ndarray and shape and g.shape[extra:] == shape:
        if g.ndim == 2 and len(g) <= 1024 and g.itemsize > 2:
            return ones(len(g), g.dtype).dot(g)  # a bias's gradient: a product takes a third of the time of a sum
        return np.add.reduce(g, tuple(range(extra)), np.float64)  # row by row, which takes digits
    stretched = [i for i, n in enumerate(shape) if n != g.shape[i + extra]] if extra >= 0 else [-1]
    if any(i < 0 or shape[i] != 1 for i in stretched):
        raise errors.invalid_gradient(g.shape, shape, into)
    axes = (*range(extra), *(i + extra for i in stretched))
    return (np.add.reduce(g, axes, np.float64) if type(g) is np.ndarray else g.sum(axis=axes, keepdims=True)).reshape(shape)


ones = lru_cache(64)(np.ones)
