"""operator(): a function on tensors that records itself, from a forward and one derivative formula per input.

    mul = operator("MulBackward0", np.multiply, self=lambda g, other: g * other, other=lambda g, self: g * self)

What a formula names besides the gradient g decides what is saved: inputs, `result`, options, `<input>_shape`. The same
formula runs on arrays (an ordinary backward) and on tensors (create_graph=True), because an operator given arrays is its
forward.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from gradlab import dtypes, errors
from gradlab._signature import bind, parameters
from gradlab.engine.modes import EXTRAS, modes, notify
from gradlab.engine.node import numbers
from gradlab.engine.saved import FREED, SavedTensor, SavingNode, raw, save_input, save_result
from gradlab.engine.tensor import INFERENCE, TensorBase, make, new

ndarray = np.ndarray


def operator(node_name: str | None, forward: Callable, /, **options: Any) -> Callable:
    """Make a function on tensors that runs ``forward`` on their arrays and records a node of class ``node_name``.

    forward: arrays and options -> array, or a tuple of them where ``outputs`` names them ("tensors": any number).
    One formula for each differentiable input, in the order of next_functions: ``f(g, ...)`` -> its gradient; ``grads`` for
        ``g`` asks for the gradients of all outputs. Or ``backward(g, need, ...)`` -> a gradient for each of ``inputs``.
    promote: "common" brings tensors of several dtypes to torch's result type first; "float" also integers to the default.
    view: the results share memory with the first input.
    """
    op = Operator(node_name, forward, **options)
    function: Any = lambda *args, **options: op(args, options)  # noqa: E731
    if op.simple and len(op.inputs) == 2:
        function = _two_tensors(op)
    elif op.simple or (op.inputs == tuple(op.names[:1]) and node_name and not (op.outputs or op.backward or op.listed)):
        function = _one_tensor(op)
    function.operator = op
    function.__name__ = function.__qualname__ = op.label
    return function


class OperatorNode(SavingNode):
    """The node of an `operator`: its plan says which formulas run and what each takes."""

    __slots__ = ()
    plan: Any  # a Plan
    slots: tuple[str, ...] = ()  # the names that this class of node can save
    kept: tuple[Any, ...] = ()  # options and shapes that formulas name

    def apply(self, g: Any) -> Any:
        return self.plan.run(self, g)

    def apply_recorded(self, g: Any) -> Any:
        return self.plan.compute(self, g, [self.read(name) for name in self.saves])

    @property
    def saves(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.plan.saves

    def output_number(self, name: str) -> int:
        return self.plan.output_number(name)

    def __getattr__(self, name: str) -> Any:
        slots = {*type(self).slots, *self.saves}
        if name.startswith("_raw_saved_") and name[11:] in slots:
            return SavedTensor(self, name[11:])
        if name.startswith("_saved_") and name[7:] in slots:
            return self.read(name[7:])
        if name.startswith("_saved_") and name[7:] in self.plan.kept:
            return self.kept[self.plan.kept.index(name[7:])]
        raise AttributeError(f"'{self.name()}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        slots = {*type(self).slots, *self.saves}
        more = [f"_saved_{n}" for n in {*slots, *self.plan.kept}] + [f"_raw_saved_{n}" for n in slots]
        return sorted({*super().__dir__(), *more})


class Operator:
    """What `operator` was told, and the general way to run it: any arguments, any mode."""

    mark_views: Any = None  # operators/_views.py, which is built on operators itself, puts its function here

    def __init__(
        self,
        node_name: str | None,
        forward: Callable,
        /,
        promote: str | None = None,
        view: bool = False,
        outputs: Any = None,
        backward: Callable | None = None,
        inputs: tuple[str, ...] = (),
        **formulas: Callable,
    ) -> None:
        self.forward, self.promote, self.view, self.outputs, self.backward = forward, promote, view, outputs, backward
        self.formulas = [backward] if backward else list(formulas.values())
        self.inputs = inputs or tuple(formulas)
        self.results = outputs if isinstance(outputs, tuple) else ("result",)
        self.names, self.defaults = parameters(forward, self.inputs)
        self.options = [n for n in self.names if n not in self.inputs]
        self.places = [self.names.index(n) for n in self.inputs if n in self.names]
        self.listed = {"tensors", "indices"} & set(self.names)  # what may be a list of tensors
        self.plans: dict[Any, Plan] = {}
        named = {name for f in self.formulas for name in _wanted(f)}
        allowed = {*self.inputs, "result"} if len(self.inputs) == 1 >= len(named) else set(self.inputs)
        few = len(self.inputs) in (1, 2) and self.inputs[0] != "tensors" and not self.options
        self.simple = bool(node_name and few and not (view or outputs or backward) and named <= allowed)
        self.slots = tuple(n for n in (*self.inputs, *self.results) if n in named)
        self.node_name = node_name
        self.label = (node_name or getattr(forward, "__name__", "operator")).split("Backward")[0].lower()

    @cached_property
    def node_class(self) -> type:
        """The class of this operator's nodes; made when the first is recorded, since importing makes hundreds of operators."""
        fields = ("plan",) if self.simple else ("plan", "kept", "outputs")
        return type(self.node_name, (OperatorNode,), {"slots": self.slots, "__slots__": fields, "__module__": "gradlab"})

    def plan(self, *key: Any) -> Plan:
        """The plan for nodes that need a gradient of these inputs, a flag for each, and the tensors among the options."""
        if key not in self.plans:
            self.plans[key] = Plan(self, key[: len(self.inputs)], key[len(self.inputs) :])
        return self.plans[key]

    def __call__(self, args: tuple, options: dict) -> Any:
        values: Any = args if len(args) == len(self.names) and not options else bind(self, args, options)
        arrays: list[Any] = [v._array if isinstance(v, TensorBase) else v for v in values]
        if self.listed:
            arrays = [_array(v) for v in values]
        if not any(a is not v for a, v in zip(arrays, values, strict=True)):
            return self.forward(*values)
        if self.promote:
            arrays = dtypes.promoted(arrays, self.places or range(len(arrays)), self.promote == "float")
        try:
            out = self.forward(*arrays)
        except ValueError as error:
            raise errors.shapes(self, arrays, error) from error
        several = isinstance(out, tuple | list)
        tensors = list(map(make, out)) if several else [make(out)]
        if self.view:
            self.mark_views(self.forward, values[0], arrays[1:], tensors, several)
        if modes.grad and self.node_name:
            self._record(values, tensors)
        result = tensors if several else tensors[0]
        if modes.word == EXTRAS:
            notify(self.label, values, result)
        return result

    def _record(self, values: Any, tensors: list) -> None:
        edges, need = [], []
        for place in self.places:
            value = values[place]
            if isinstance(value, list | tuple):
                edges += [_edge(v) for v in value]
                need.append(any(edges))
            else:
                edges.append(_edge(value))
                need.append(edges[-1] is not None)
        if True not in need or not any(_made_outside_inference(v, i in self.places) for i, v in enumerate(values)):
            return
        extra = [n for n in self.options if _has_tensor(values[self.names.index(n)])] if self.options else ()
        plan = self.plans.get((*need, *extra)) or self.plan(*need, *extra)
        node = new(plan.node_class)
        node.edges, node.number, node.extras, node.plan = tuple(edges), next(numbers), None, plan
        outputs = [(t._array.shape, t._array.dtype) for t in tensors]
        node.shape, node.dtype = outputs[0]
        if not self.simple:
            node.kept = [plan.need if i is None else _shape(values[i]) if of else values[i] for i, of in plan.keeps]
            node.outputs = outputs if len(outputs) > 1 else None
        for number, tensor in enumerate(tensors):
            if tensor._array.dtype.kind == "f":
                tensor._edge = (node, number)
        node.saved = ()
        for place, of in plan.stores:
            node.saved += save_input(values[place]) if of is None else save_result(tensors[of], of)
        if modes.anomaly:
            modes.anomaly.recorded(node)


class Plan:
    """What a node saves, keeps and computes when a given set of its inputs needs a gradient."""

    def __init__(self, op: Operator, need: tuple[bool, ...], extra: tuple[str, ...] = ()) -> None:
        self.op, self.need = op, need
        self.formulas = op.formulas if op.backward else [f if n else None for f, n in zip(op.formulas, need, strict=True)]
        names = dict.fromkeys(name for f in self.formulas if f for name in _wanted(f))
        self.saves = tuple(n for n in names if n in (*op.inputs, *op.results, *extra))
        self.kept = tuple(n for n in names if n not in self.saves)
        order = (*self.saves, *self.kept)
        index = {**{n: i for i, n in enumerate(op.names)}, **{f"{n}_shape": i for i, n in enumerate(op.names)}, "need": None}
        self.keeps = [(index[n], n not in op.names) for n in self.kept]
        self.stores = [(index.get(n), op.results.index(n) if n in op.results else None) for n in self.saves]
        self.picks = [[order.index(n) for n in _wanted(f)] if f else [] for f in self.formulas]
        self.all_grads = [f is not None and f.__code__.co_varnames[0] == "grads" for f in self.formulas]
        self.second = [name != op.inputs[0] for name in self.saves]
        self.node_class, self.run = op.node_class, self._quick() or self._general

    def output_number(self, name: str) -> int:
        return self.op.results.index(name) if name in self.op.results else 0

    def _general(self, node: Any, g: Any) -> Any:
        found = node.saved
        if found is FREED:
            raise errors.freed(node)
        values = []
        for i in range(0, len(found), 3):
            thing, guard, version = found[i : i + 3]
            plain = guard is None and thing._counter is None
            values.append(thing._array if plain else raw(node, thing, guard, version))
        return self.compute(node, g, values)

    def compute(self, node: Any, g: Any, values: list) -> Any:
        """Run the formulas on what was saved: arrays, or tensors where the backward is recorded."""
        values += node.kept
        first, everything = (g, (g,)) if node.outputs is None else (g[0], tuple(g))
        grads = [
            f and f(everything if every else first, *[values[i] for i in picks])
            for f, every, picks in zip(self.formulas, self.all_grads, self.picks, strict=True)
        ]
        return [*grads[0], *grads[1:]] if self.op.backward or self.op.inputs[0] == "tensors" else grads

    def _quick(self) -> Callable | None:
        """`_general` without its lists, for the commonest nodes: each input has its formula, with one saved value or none."""
        if not self.op.simple or not all(self.need):
            return None
        if not self.saves:
            if len(self.formulas) == 1:
                (f,) = self.formulas
                return lambda node, g: (f(g),)
            a, b = self.formulas
            return lambda node, g: (a(g), b(g))
        if self.picks == [[0]]:
            return _one_saved(*self.formulas)
        return _two_saved(*self.formulas) if self.picks == [[0], [1]] else None


def _one_saved(f: Callable) -> Callable:
    def run(node: Any, g: Any) -> tuple:
        if node.saved is FREED:
            raise errors.freed(node)
        thing, guard, version = node.saved
        if guard.__class__ is not list or guard[0] != version:
            thing = raw(node, thing, guard, version)
        return (f(g, thing),)

    return run


def _two_saved(a: Callable, b: Callable) -> Callable:
    def run(node: Any, g: Any) -> tuple:
        if node.saved is FREED:
            raise errors.freed(node)
        x, guard_x, version_x, y, guard_y, version_y = node.saved
        x = x._array if guard_x is None and x._counter is None else raw(node, x, guard_x, version_x)
        y = y._array if guard_y is None and y._counter is None else raw(node, y, guard_y, version_y)
        return a(g, x), b(g, y)

    return run


# -- the two commonest kinds of operator, recorded without the general way's lists -------------------------------------


def _one_tensor(op: Operator) -> Callable:
    """One tensor first, then plain options: exp, and also reductions, views, softmax."""
    forward, simple, to_float, count = op.forward, op.simple, op.promote == "float", len(op.names) - 1
    plan: Any = None

    def function(self: Any, *options: Any, **named: Any) -> Any:
        nonlocal plan
        for option in options:
            if isinstance(option, TensorBase):
                return op((self, *options), named)
        word = modes.word
        if word == EXTRAS or named or len(options) != count or not isinstance(self, TensorBase) or self._counter is INFERENCE:
            raw_mode = not (named or isinstance(self, TensorBase))
            return forward(self, *options) if raw_mode else op((self, *options), named)
        x = self._array
        try:
            out = forward(x, *options)
        except ValueError as error:
            raise errors.shapes(op, [x], error) from error
        if to_float and out.dtype is not x.dtype:
            return op((self, *options), named)
        result = new(TensorBase._class)
        result._array = out if type(out) is ndarray else np.asarray(out)
        result._view = result._meta = result._counter = result._edge = edge = None
        if op.view:
            op.mark_views(forward, self, options, (result,), False)
        if word:
            result._edge = edge = self._edge if self._view is None and self._edge is not None else self._gradient_edge()
        if edge is not None:
            plan = plan or op.plan(True)
            node = new(plan.node_class)
            node.edges, node.number, node.extras, node.plan = (edge,), next(numbers), None, plan
            node.shape, node.dtype, result._edge = out.shape, out.dtype, (node, 0)
            if not simple:
                result._edge = (node, 0) if out.dtype.kind == "f" else None
                node.kept, node.outputs = [x.shape if of else options[i - 1] for i, of in plan.keeps], None
            if plan.saves == ("result",):
                result._counter = [0]
                node.saved = (result._array, result._counter, 0)
            else:
                node.saved = ()
                for _, of in plan.stores:
                    node.saved += save_input(self) if of is None else save_result(result, 0)
        return result

    return function


def _two_tensors(op: Operator) -> Callable:
    forward, plans = op.forward, [None, None, None, None]

    def function(self: Any, other: Any) -> Any:
        word = modes.word
        if word == EXTRAS or not isinstance(self, TensorBase) or self._counter is INFERENCE:
            raw_mode = not (isinstance(self, TensorBase) or isinstance(other, TensorBase))
            return forward(self, other) if raw_mode else op((self, other), {})
        x, y = self._array, other._array if isinstance(other, TensorBase) else other
        if y is not other and y.dtype is not x.dtype:
            return op((self, other), {})
        try:
            out = forward(x, y)
        except ValueError as error:
            raise errors.shapes(op, [x, y], error) from error
        if out.dtype is not x.dtype:
            return op((self, other), {})
        result = new(TensorBase._class)
        result._array = out if type(out) is ndarray else np.asarray(out)
        result._view = result._meta = result._counter = result._edge = edge_x = edge_y = None
        if word:
            edge_x = self._edge if self._view is None and self._edge is not None else self._gradient_edge()
            if y is not other:
                edge_y = other._edge if other._view is None and other._edge is not None else other._gradient_edge()
            result._edge = edge_x or edge_y
        if result._edge is not None:
            which = (edge_x is not None) + 2 * (edge_y is not None)
            plan = plans[which]
            if plan is None:
                plan = plans[which] = op.plan(edge_x is not None, edge_y is not None)
            node = new(plan.node_class)
            node.edges, node.number, node.extras, node.plan = (edge_x, edge_y), next(numbers), None, plan
            node.shape, node.dtype = out.shape, out.dtype
            result._edge = (node, 0)
            node.saved = ()
            for of_other in plan.second:
                node.saved += save_input(other if of_other else self)
        return result

    return function


# -- small helpers -----------------------------------------------------------------------------------------------------


def _wanted(formula: Callable) -> list[str]:
    """The names a formula takes besides the gradient."""
    return list(formula.__code__.co_varnames[1 : formula.__code__.co_argcount])


def _shape(value: Any) -> Any:
    return [np.shape(_array(v)) for v in value] if isinstance(value, list | tuple) else np.shape(_array(value))


def _has_tensor(value: Any) -> bool:
    return isinstance(value, TensorBase) or (isinstance(value, list | tuple) and any(map(_has_tensor, value)))


def _made_outside_inference(value: Any, operand: bool) -> bool:
    """torch records nothing where all tensors were made in inference mode; a number as an operand is a tensor made now."""
    if isinstance(value, list | tuple):
        return any(_made_outside_inference(v, operand) for v in value)
    return value._counter is not INFERENCE if isinstance(value, TensorBase) else operand and isinstance(value, int | float)


def _array(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return value._array
    return [_array(v) for v in value] if isinstance(value, list | tuple) and _has_tensor(value) else value


def _edge(value: Any) -> Any:
    return value._gradient_edge() if isinstance(value, TensorBase) else None
