"""operator(): a function on tensors that records itself, from a forward and one derivative formula per input.

    mul = operator("MulBackward0", np.multiply, self=lambda g, other: g * other, other=lambda g, self: g * self)

What a formula names besides the gradient g decides what is saved: inputs, `result`, options, `<input>_shape`. The same formula
runs on arrays (an ordinary backward) and on tensors (create_graph=True), because an operator given arrays is its forward.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from gradlab import dtypes
from gradlab.engine import saved
from gradlab.engine.modes import EXTRAS, ON, modes
from gradlab.engine.node import FREED, OperatorNode, freed, numbers
from gradlab.engine.saved import raw, recorded
from gradlab.engine.tensor import TensorBase, make, new, notify

REQUIRED = inspect.Parameter.empty
ndarray = np.ndarray


def operator(
    node_name: str | None,
    forward: Callable,
    /,
    *,
    promote: str | None = None,
    view: bool = False,
    outputs: tuple[str, ...] | str | None = None,
    backward: Callable | None = None,
    inputs: tuple[str, ...] = (),
    **formulas: Callable,
) -> Callable:
    """Make a function on tensors that runs ``forward`` on their arrays and records a node of class ``node_name``.

    forward: arrays and options -> array, or a tuple of them when ``outputs`` names them ("tensors": any number).
    formulas: for each differentiable input, in the order of next_functions, ``f(g, ...)`` -> its gradient. Or instead
        ``backward(g, need, ...)`` -> a gradient for each of ``inputs``.
    promote: "common" brings tensors of several dtypes to torch's result type first; "float" also integers to the default dtype.
    view: the result shares memory with the first input.
    """
    op = Operator(node_name, forward, promote, view, outputs, backward, inputs, formulas)
    if op.simple and len(op.inputs) == 1:
        function = _unary(op)
    elif op.simple:
        function = _binary(op)
    else:

        def function(*args: Any, **options: Any) -> Any:
            return op(args, options)

    function.operator = op  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = getattr(forward, "__name__", node_name or "operator")
    return function


class Operator:
    """What `operator` was told, and the general way to run it: any arguments, any mode."""

    def __init__(self, node_name, forward, promote, view, outputs, backward, inputs, formulas) -> None:  # noqa: ANN001
        self.forward, self.promote, self.view, self.outputs = forward, promote, view, outputs
        self.backward, self.formulas = backward, formulas
        self.inputs = inputs or tuple(formulas)
        self.names, self.defaults = _parameters(forward, self.inputs)
        self.options = [n for n in self.names if n not in self.inputs]
        self.results = outputs if isinstance(outputs, tuple) else ("result",)
        self.plans: dict[Any, Plan] = {}
        self.simple = self._is_simple(node_name)
        self.node_class: Any = node_name and self._make_class(node_name)
        self.label = (node_name or getattr(forward, "__name__", "operator")).split("Backward")[0].lower()

    def _is_simple(self, node_name: str | None) -> bool:
        """One input of which it or the result is saved, or two inputs; no options, one result, no view."""
        named = {name for f in self.formulas.values() for name in _wanted(f)}
        allowed = {*self.inputs, "result"} if len(self.inputs) == 1 and len(named) < 2 else set(self.inputs)
        few = len(self.inputs) in (1, 2) and self.inputs[0] != "tensors" and not self.options
        return bool(node_name and few and not (self.view or self.outputs or self.backward) and named <= allowed)

    def _make_class(self, node_name: str) -> type:
        wanted = [name for f in (self.backward, *self.formulas.values()) if f for name in _wanted(f)]
        slots = tuple(n for n in dict.fromkeys((*self.inputs, *self.results)) if n in wanted)
        fields = ("plan",) if self.simple else ("plan", "kept", "outputs")
        body = {"slots": slots, "__slots__": fields, "__module__": "gradlab", "operator": self}
        return type(node_name, (OperatorNode,), body)

    def __call__(self, args: tuple, options: dict) -> Any:
        values = self._bind(args, options)
        if not any(map(_has_tensor, values)):
            return self.forward(*values)
        arrays = [_array(v) for v in values]
        if self.promote:
            arrays = self._promoted(arrays)
        out = self._run(arrays)
        result = self._record(values, arrays, out) if modes.grad else self._unrecorded(values, arrays, out)
        if modes.word == EXTRAS:
            notify(self.label, values, result)
        return result

    def _bind(self, args: tuple, options: dict) -> list:
        if len(args) > len(self.names):
            raise TypeError(f"{self.label}() takes {len(self.names)} arguments ({', '.join(self.names)}) but {len(args)} were given")
        values = list(args)
        for name in self.names[len(args) :]:
            value = options.pop(name, self.defaults[name]) if options else self.defaults[name]
            if value is REQUIRED:
                raise TypeError(f"{self.label}() missing required argument: '{name}'")
            values.append(value)
        if options:
            raise TypeError(f"{self.label}() got an unexpected keyword argument '{next(iter(options))}'")
        return values

    def _promoted(self, arrays: list) -> list:
        """The arrays and numbers of the differentiable inputs (of all arguments, without any) in torch's result type."""
        places = [i for i, name in enumerate(self.names) if name in self.inputs or not self.inputs]
        flat = [a for i in places for a in (arrays[i] if isinstance(arrays[i], list) else [arrays[i]]) if _operand(a)]
        kind = dtypes.result_dtype(flat)
        if self.promote == "float" and kind.kind != "f":
            kind = dtypes.get_default_dtype().numpy
        return [_cast(a, kind) if i in places else a for i, a in enumerate(arrays)]

    def _run(self, arrays: list) -> Any:
        try:
            return self.forward(*arrays)
        except ValueError as error:
            raise self.shape_error(arrays, error) from error

    def shape_error(self, arrays: list, error: Exception) -> RuntimeError:
        shapes = [a.shape for a in arrays if isinstance(a, ndarray)]
        if "broadcast" in str(error) and len(shapes) == 2:
            return RuntimeError(
                f"The size of tensor a must match the size of tensor b at every dimension that is not 1: {self.label} got shapes "
                f"{list(shapes[0])} and {list(shapes[1])}."
            )
        return RuntimeError(f"{self.label} of shapes {', '.join(str(list(s)) for s in shapes)}: {error}")

    def _record(self, values: list, arrays: list, out: Any) -> Any:
        edges: list = []
        need = []
        for name in self.inputs:
            value = values[self.names.index(name)]
            found = [_edge(v) for v in value] if isinstance(value, list | tuple) else [_edge(value)]
            edges += found
            need.append(any(found))
        if self.node_class is None or not any(need):
            return self._unrecorded(values, arrays, out)
        plan = self._plan(tuple(need), values)
        node = new(self.node_class)
        node.edges, node.number, node.extras, node.plan = tuple(edges), next(numbers), None, plan
        tensors = self._wrap(values, arrays, out)
        metas = [(t._array.shape, t._array.dtype) for t in tensors]
        node.shape, node.dtype = metas[0]
        if not self.simple:
            node.kept = tuple(self._kept(name, values) for name in plan.kept)
            node.outputs = metas if len(metas) > 1 else None
        for number, tensor in enumerate(tensors):
            if tensor._array.dtype.kind == "f":
                tensor._edge = (node, number)
        if plan.saves:
            node.saved = tuple(x for name in plan.saves for x in self._save(name, values, tensors, node))
        else:
            node.saved = ()
        if modes.anomaly:
            node.metadata["traceback_"] = trace()
        return tensors if self.outputs or isinstance(out, tuple | list) else tensors[0]

    def _save(self, name: str, values: list, tensors: list, node: Any) -> saved.Slot:
        if name in self.results:
            number = self.results.index(name)
            return saved.save_result(tensors[number], node, number)
        return saved.save_input(values[self.names.index(name)])

    def _kept(self, name: str, values: list) -> Any:
        if name in self.names:
            return values[self.names.index(name)]
        of = values[self.names.index(name.removesuffix("_shape"))]
        return [np.shape(_array(v)) for v in of] if isinstance(of, list | tuple) else np.shape(_array(of))

    def _plan(self, need: tuple[bool, ...], values: list) -> Plan:
        tensors = tuple(n for n in self.options if _has_tensor(values[self.names.index(n)]))
        plan = self.plans.get((need, tensors))
        if plan is None:
            plan = self.plans[need, tensors] = Plan(self, need, tensors)
        return plan

    def _unrecorded(self, values: list, arrays: list, out: Any) -> Any:
        tensors = self._wrap(values, arrays, out)
        return tensors if self.outputs or isinstance(out, tuple | list) else tensors[0]

    def _wrap(self, values: list, arrays: list, out: Any) -> list:
        tensors = [make(o) for o in out] if isinstance(out, tuple | list) else [make(out)]
        if self.view:
            from gradlab.engine.views import mark_views

            mark_views(self, values, arrays, tensors, several=isinstance(out, tuple | list))
        return tensors


class Plan:
    """What a node saves, keeps and computes when a given set of its inputs needs a gradient."""

    def __init__(self, op: Operator, need: tuple[bool, ...], tensors: tuple[str, ...] = ()) -> None:
        self.op, self.need = op, need
        formulas = [f if n else None for f, n in zip(op.formulas.values(), need, strict=True)] if op.formulas else [op.backward]
        names = list(dict.fromkeys(name for f in formulas if f for name in _wanted(f)))
        held = (*op.inputs, *op.results, *tensors)
        self.saves = tuple(n for n in names if n in held)
        self.kept = tuple(n for n in names if n not in held)
        self.order = (*self.saves, *self.kept)
        self.calls = [(f, [self.order.index(n) for n in _wanted(f)] if f else []) for f in formulas]
        self.whole = [bool(f) and next(iter(inspect.signature(f).parameters)) == "grads" for f in formulas]
        self.run = self._fast() or self._run

    def output_number(self, name: str) -> int:
        return self.op.results.index(name) if name in self.op.results else 0

    def _compute(self, node: Any, g: Any, values: list) -> list:
        first = g if node.outputs is None else g[0]
        everything = (g,) if node.outputs is None else tuple(g)
        if self.op.backward:
            (f, picks), whole = self.calls[0], self.whole[0]
            grads = list(f(everything if whole else first, self.need, *[values[i] for i in picks]))
        else:
            grads = [
                f and f(everything if whole else first, *[values[i] for i in picks])
                for (f, picks), whole in zip(self.calls, self.whole, strict=True)
            ]
        return [x for grad in grads for x in grad] if self.op.inputs[0] == "tensors" and grads[0] is not None else grads

    def _run(self, node: Any, g: Any) -> list:
        return self._compute(node, g, node.values(raw))

    def run_recorded(self, node: Any, g: Any) -> list:
        found = node.saved
        if found is FREED:
            raise freed(node)
        values = [recorded(node, *found[3 * i : 3 * i + 3], self.output_number(n)) for i, n in enumerate(self.saves)]
        return self._compute(node, g, values + list(node.kept))

    def _fast(self) -> Callable | None:
        """The same as `_run` for the commonest shapes of node, without its lists: one output, at most one saved value a formula."""
        if self.op.backward or self.op.outputs or self.op.inputs[0] == "tensors" or self.kept or any(self.whole):
            return None
        shape = [len(picks) for _, picks in self.calls], len(self.saves)
        if shape == ([0], 0):
            ((f, _),) = self.calls
            return lambda node, g: (f(g),)
        if shape == ([0, 0], 0) and all(self.need):
            (a, _), (b, _) = self.calls
            return lambda node, g: (a(g), b(g))
        if shape == ([1], 1):
            return _one_saved(self.calls[0][0])
        if shape == ([1, 1], 2) and all(self.need):
            return _two_saved(*(f for f, _ in self.calls)) if self.calls[0][1] == [0] else None
        return None


def _one_saved(f: Callable) -> Callable:
    def run(node: Any, g: Any) -> tuple:
        found = node.saved
        if found is FREED:
            raise freed(node)
        thing, guard, version = found
        if guard.__class__ is list and guard[0] == version:
            return (f(g, thing),)
        return (f(g, raw(node, thing, guard, version)),)

    return run


def _two_saved(a: Callable, b: Callable) -> Callable:
    def run(node: Any, g: Any) -> tuple:
        found = node.saved
        if found is FREED:
            raise freed(node)
        x, guard_x, version_x, y, guard_y, version_y = found
        x = x._array if guard_x is None and x._counter is None else raw(node, x, guard_x, version_x)
        y = y._array if guard_y is None and y._counter is None else raw(node, y, guard_y, version_y)
        return a(g, x), b(g, y)

    return run


# -- the two commonest kinds of operator, recorded without the general way's lists ---------------------


def _unary(op: Operator) -> Callable:
    forward, plan = op.forward, Plan(op, (True,))
    op.plans[(True,), ()] = plan
    node_class, saves_result = op.node_class, plan.saves == ("result",)

    def function(self: Any) -> Any:
        if modes.word != ON or not isinstance(self, TensorBase):
            return op((self,), {})
        x = self._array
        out = forward(x)
        if out.dtype is not x.dtype:
            return op((self,), {})
        result = new(TensorBase._class)  # type: ignore[attr-defined]
        result._array = out if type(out) is ndarray else np.asarray(out)
        result._view = result._meta = result._counter = None
        edge = self._edge if self._view is None and self._edge is not None else self._gradient_edge()
        if edge is None:
            result._edge = None
            return result
        node = new(node_class)
        node.edges, node.number, node.extras, node.plan = (edge,), next(numbers), None, plan
        node.shape, node.dtype = out.shape, out.dtype
        result._edge = (node, 0)
        if saves_result:
            result._counter = counter = [0]
            node.saved = (result._array, counter, 0)
        else:
            node.saved = () if not plan.saves else (self, None, 0) if self._counter is None else saved.save_input(self)
        return result

    return function


def _binary(op: Operator) -> Callable:
    forward, node_class = op.forward, op.node_class
    plans = {need: Plan(op, need) for need in ((True, True), (True, False), (False, True))}
    op.plans.update({(need, ()): plan for need, plan in plans.items()})
    both, first, second = plans.values()
    picks = {plan: [op.inputs.index(name) for name in plan.saves] for plan in plans.values()}

    def function(self: Any, other: Any) -> Any:
        if modes.word != ON or not isinstance(self, TensorBase):
            return op((self, other), {})
        x = self._array
        if isinstance(other, TensorBase):
            y = other._array
            if y.dtype is not x.dtype:
                return op((self, other), {})
            edge_y = other._edge if other._view is None and other._edge is not None else other._gradient_edge()
        elif type(other) is float or type(other) is int:
            y, edge_y = other, None
        else:
            return op((self, other), {})
        try:
            out = forward(x, y)
        except ValueError as error:
            raise op.shape_error([x, y], error) from error
        if out.dtype is not x.dtype:
            return op((self, other), {})
        result = new(TensorBase._class)  # type: ignore[attr-defined]
        result._array = out if type(out) is ndarray else np.asarray(out)
        result._view = result._meta = result._counter = None
        edge_x = self._edge if self._view is None and self._edge is not None else self._gradient_edge()
        if edge_x is None and edge_y is None:
            result._edge = None
            return result
        plan = both if edge_x is not None and edge_y is not None else first if edge_y is None else second
        node = new(node_class)
        node.edges, node.number, node.extras, node.plan = (edge_x, edge_y), next(numbers), None, plan
        node.shape, node.dtype = out.shape, out.dtype
        result._edge = (node, 0)
        node.saved = ()
        for pick in picks[plan]:
            node.saved += saved.save_input(other if pick else self)
        return result

    return function


# -- small helpers -------------------------------------------------------------------------------------


def _parameters(forward: Callable, inputs: tuple[str, ...]) -> tuple[list[str], dict[str, Any]]:
    if isinstance(forward, np.ufunc):
        names = list(inputs) or ["self", "other"][: forward.nin]
        return names, dict.fromkeys(names, REQUIRED)
    found = inspect.signature(forward).parameters.values()
    return [p.name for p in found], {p.name: p.default for p in found}


def _wanted(formula: Callable) -> list[str]:
    """The names a formula takes besides the gradient (and, for a joint one, `need`)."""
    return [name for name in list(inspect.signature(formula).parameters)[1:] if name != "need"]


def _has_tensor(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(isinstance(v, TensorBase) for v in value)
    return isinstance(value, TensorBase)


def _array(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return value._array
    if isinstance(value, list | tuple) and any(isinstance(v, TensorBase) for v in value):
        return [_array(v) for v in value]
    return value


def _edge(value: Any) -> Any:
    return value._gradient_edge() if isinstance(value, TensorBase) else None


def _operand(a: Any) -> bool:
    return isinstance(a, ndarray | np.generic | float | int | complex)


def _cast(a: Any, kind: np.dtype) -> Any:
    if isinstance(a, list):
        return [_cast(x, kind) for x in a]
    if isinstance(a, ndarray):
        return a if a.dtype == kind else a.astype(kind)
    return kind.type(a) if _operand(a) else a


def trace() -> list[str]:
    import traceback

    return traceback.format_stack()[:-4]
