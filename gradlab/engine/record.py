"""operator(): a function on tensors that records itself, from a forward and one derivative formula per input.

    mul = operator("MulBackward0", np.multiply, self=lambda g, other: g * other, other=lambda g, self: g * self)

What a formula names besides the gradient g decides what is saved: inputs, `result`, options, `<input>_shape`. The same
formula runs on arrays (an ordinary backward) and on tensors (create_graph=True), because an operator given arrays is its
forward.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from operator import is_
from typing import Any

import numpy as np

from gradlab import dtypes, errors
from gradlab._signature import bind, parameters
from gradlab.engine.modes import EXTRAS, modes, notify
from gradlab.engine.node import numbers
from gradlab.engine.saved import FREED, SavedTensor, SavingNode, raw, recorded, save_input, save_result
from gradlab.engine.tensor import INFERENCE, TensorBase, make, ndarray, new


def operator(node_name: str | None, forward: Callable, /, **options: Any) -> Callable:
    """Make a function on tensors that runs ``forward`` on their arrays and records a node of class ``node_name``.

    forward: arrays and options -> array, or a tuple of them where ``outputs`` names them ("tensors": any number).
    One formula for each differentiable input, in the order of next_functions: ``f(g, ...)`` -> its gradient; ``grads`` for
        ``g`` asks for the gradients of all outputs. Or ``backward(g, need, ...)`` -> a gradient for each of ``inputs``.
    promote: "common" brings tensors of several dtypes to torch's result type first; "float" also integers to the default.
    view: the results share memory with the first input.
    """
    op = Operator(node_name, forward, **options)
    run = op.run
    function: Any = lambda *args, **options: run(args, options)  # noqa: E731
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
        return self.plan.run_recorded(self, g)

    @property
    def saves(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.plan.saves

    def output_number(self, name: str) -> int:
        results = self.plan.op.results
        return results.index(name) if name in results else 0

    def _saved(self, name: str, as_slot: bool) -> Any:
        """What ``_saved_<name>`` shows, or ``_raw_saved_<name>``: properties of each class, as __getattr__ slows all reading."""
        if name in type(self).slots or name in self.saves:
            return SavedTensor(self, name) if as_slot else self.read(name)
        if as_slot or name not in self.plan.kept:
            raise AttributeError(f"'{self.name()}' object has no attribute '{'_raw' * as_slot}_saved_{name}'")
        return self.kept[self.plan.kept.index(name)]

    def __dir__(self) -> list[str]:
        slots = {*type(self).slots, *self.saves}
        more = [f"_saved_{n}" for n in {*slots, *self.plan.kept}] + [f"_raw_saved_{n}" for n in slots]
        return sorted({*[n for n in super().__dir__() if "_saved_" not in n], *more})


class Operator:
    """What `operator` was told, and the general way to run it: any arguments, any mode."""

    mark_view: Any = None  # operators/_views.py, which is built on operators itself, puts its function here

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
        self.optional = [(i, n) for i, n in enumerate(self.names) if n not in self.inputs]
        self.places = [self.names.index(n) for n in self.inputs if n in self.names]
        self.many = self.inputs[:1] == ("tensors",)  # any number of inputs, in one list
        self.listed = {"tensors", "indices"} & set(self.names)  # what may be a list of tensors
        count = len(self.inputs)  # a plan for each set of inputs that need a gradient, and of tensors among the options
        self.plan = cache(lambda *key: Plan(self, key[:count], key[count:]))
        self.named = named = {name for f in self.formulas for name in _wanted(f)}
        allowed = {*self.inputs, "result"} if len(self.inputs) == 1 >= len(named) else set(self.inputs)
        special = view or outputs or backward or self.many or self.optional or len(self.inputs) not in (1, 2)
        self.simple = bool(node_name and not special and named <= allowed)
        self.slots = tuple(n for n in (*self.inputs, *self.results) if n in named)
        self.node_name = node_name
        self.label = (node_name or getattr(forward, "__name__", "operator")).split("Backward")[0].lower()

    @cached_property
    def node_class(self) -> type:
        """The class of this operator's nodes; made when the first is recorded, since importing makes hundreds of operators."""
        fields = ("plan",) if self.simple else ("plan", "kept", "outputs")
        body: dict[str, Any] = {"slots": self.slots, "__slots__": fields, "__module__": "gradlab"}
        for name in self.named:
            body["_saved_" + name] = property(lambda node, name=name: node._saved(name, False))
            body["_raw_saved_" + name] = property(lambda node, name=name: node._saved(name, True))
        return type(self.node_name, (OperatorNode,), body)

    def run(self, args: tuple, options: dict) -> Any:
        values: Any = args if len(args) == len(self.names) and not options else bind(self, args, options)
        arrays = [v._array if isinstance(v, TensorBase) else _array(v) if self.listed else v for v in values]
        if all(map(is_, arrays, values)):
            return self.forward(*values)
        if self.promote:
            errors.check_operands(self, arrays)
            arrays = dtypes.promoted(arrays, self.places or range(len(arrays)), self.promote == "float")
        try:
            out = self.forward(*arrays)
        except ValueError as error:
            raise errors.shapes(self, arrays, error) from error
        several = isinstance(out, (tuple, list))
        tensors = [make(o) for o in out] if several else [make(out)]
        for number, tensor in enumerate(tensors) if self.view else ():
            self.mark_view(self.forward, values[0], arrays[1:], tensor, number if several else None)
        word = modes.word
        if word and self.node_name and (word != EXTRAS or modes.grad):
            self._record(values, arrays, tensors)
        result = tensors if several else tensors[0]
        if word == EXTRAS:
            notify(self.label, values, result)
        return result

    def _record(self, values: Any, arrays: list, tensors: list) -> None:
        operands = values[self.places[0]] if self.many else map(values.__getitem__, self.places)
        edges = tuple([v._gradient_edge() if isinstance(v, TensorBase) else None for v in operands])
        need = (any(edges),) if self.many else map(bool, edges)
        if not any(edges) or _inference_alone(values, self.places):
            return
        extra = [n for i, n in self.optional if arrays[i] is not values[i]] if self.optional else ()  # tensors among these
        plan = self.plan(*need, *extra)
        node = new(plan.node_class)
        node.edges, node.number, node.extras, node.plan = edges, next(numbers), None, plan
        node.shape, node.dtype = tensors[0]._array.shape, tensors[0]._array.dtype
        if not self.simple:
            keeps = plan.keeps
            node.kept = keeps and [plan.need if i is None else _shape(values[i]) if of else values[i] for i, of in keeps]
            node.outputs = None if len(tensors) == 1 else [(t._array.shape, t._array.dtype) for t in tensors]
        for number, tensor in enumerate(tensors):
            if tensor._array.dtype.kind == "f":
                tensor._edge = (node, number)
        node.saved = ()
        for place, of in plan.stores:
            node.saved += save_input(values[place]) if of is None else save_result(tensors[of], of)
        if modes.word == EXTRAS and modes.anomaly:
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
        self.calls = ["None" if f is None else f"f{i}({', '.join(_taken(f, order))})" for i, f in enumerate(self.formulas)]
        if op.backward or op.many:
            self.calls[0] = "*" + self.calls[0]
        self.second = [name != op.inputs[0] for name in self.saves]
        self.node_class, self.run = op.node_class, self._written(READ_INPUT, READ_RESULT)

    @cached_property
    def run_recorded(self) -> Callable:
        """`run` on tensors, for a backward that is itself recorded."""
        return self._written(READ_RECORDED, READ_RECORDED)

    def _written(self, read_input: str, read_result: str) -> Callable:
        """The few lines that nodes of this plan run, written out; for a product whose inputs both need a gradient:

        def run(node, g):
            if node.saved is FREED: raise errors.freed(node)
            x0, guard0, version0, x1, guard1, version1 = node.saved
            v0 = x0._array if guard0 is None and x0._counter is None else raw(node, x0, guard0, version0)
            v1 = x1._array if guard1 is None and x1._counter is None else raw(node, x1, guard1, version1)
            return (f0(g, v0), f1(g, v1),)
        """
        lines, count = ["def run(node, g):"], len(self.saves)
        if self.op.outputs:
            lines.append(" g, grads = (g, (g,)) if node.outputs is None else (g[0], g)")
        if self.saves:
            lines.append(" if node.saved is FREED: raise errors.freed(node)")
            lines.append(" " + ", ".join(f"x{i}, guard{i}, version{i}" for i in range(count)) + " = node.saved")
        for i, name in enumerate(self.saves):
            results = self.op.results
            read = read_result.format(i, results.index(name)) if name in results else read_input.format(i, 0)
            lines.append(f" v{i} = {read}")
        if self.kept:
            lines.append(" " + "".join(f"v{count + i}, " for i in range(len(self.kept))) + "= node.kept")
        lines.append(f" return ({', '.join(self.calls)},)")
        formulas = {f"f{i}": f for i, f in enumerate(self.formulas)}
        exec("\n".join(lines), names := {"FREED": FREED, "errors": errors, "raw": raw, "recorded": recorded, **formulas})
        return names["run"]  # type: ignore[return-value]


READ_INPUT = "x{0}._array if guard{0} is None and x{0}._counter is None else raw(node, x{0}, guard{0}, version{0})"
READ_RESULT = "x{0} if guard{0}.__class__ is list and guard{0}[0] == version{0} else raw(node, x{0}, guard{0}, version{0})"
READ_RECORDED = "recorded(node, x{0}, guard{0}, version{0}, {1})"


# -- the two commonest kinds of operator, recorded without the general way's lists -------------------------------------


def _one_tensor(op: Operator) -> Callable:
    """One tensor first, then plain options: exp, and also reductions, views, softmax."""
    forward, run, simple, view, to_float = op.forward, op.run, op.simple, op.view, op.promote == "float"
    count, plan = len(op.names) - 1, None

    def function(self: Any, *options: Any, **named: Any) -> Any:
        nonlocal plan
        for option in options:
            if isinstance(option, TensorBase):
                return run((self, *options), named)
        if type(self) is ndarray and not named:
            return forward(self, *options)
        word = modes.word
        if word == EXTRAS or named or len(options) != count or not isinstance(self, TensorBase) or self._counter is INFERENCE:
            return run((self, *options), named)
        x = self._array
        try:
            out = forward(x, *options)
        except ValueError as error:
            raise errors.shapes(op, [x], error) from error
        if to_float and out.dtype is not x.dtype:
            return run((self, *options), named)
        result = new(TensorBase._class)
        result._array = out if type(out) is ndarray else np.asarray(out)
        result._view = result._meta = result._counter = result._edge = edge = None
        if view:
            op.mark_view(forward, self, options, result)
        if word:
            edge = self._edge if self._view is None and self._edge is not None else self._gradient_edge()
        if edge is not None:
            plan = plan or op.plan(True)
            node = new(plan.node_class)
            node.edges, node.number, node.extras, node.plan = (edge,), next(numbers), None, plan
            node.shape, node.dtype, result._edge = out.shape, out.dtype, (node, 0)
            if not simple:
                result._edge = (node, 0) if out.dtype.kind == "f" else None
                node.kept, node.outputs = [x.shape if of else options[i - 1] for i, of in plan.keeps], None
            node.saved = ()
            for _, of in plan.stores:
                node.saved += save_input(self) if of is None else save_result(result, 0)
        return result

    return function


def _two_tensors(op: Operator) -> Callable:
    forward, run, plans = op.forward, op.run, [None, None, None, None]

    def function(self: Any, other: Any) -> Any:
        if type(self) is ndarray and not isinstance(other, TensorBase):
            return forward(self, other)
        word = modes.word
        if word == EXTRAS or not isinstance(self, TensorBase) or self._counter is INFERENCE:
            return run((self, other), {})
        x, y = self._array, other._array if isinstance(other, TensorBase) else other
        if y is other and y.__class__ is not float and y.__class__ is not int:
            return run((self, other), {})
        try:
            out = forward(x, y)
        except (ValueError, TypeError) as error:
            raise errors.shapes(op, [x, y], error) from error
        if out.dtype is not x.dtype or (y is not other and y.dtype is not x.dtype):
            return run((self, other), {})
        result = new(TensorBase._class)
        result._array = out if type(out) is ndarray else np.asarray(out)
        result._view = result._meta = result._counter = result._edge = edge_x = edge_y = None
        if word:
            edge_x = self._edge if self._view is None and self._edge is not None else self._gradient_edge()
            if y is not other:
                edge_y = other._edge if other._view is None and other._edge is not None else other._gradient_edge()
        if edge_x is not None or edge_y is not None:
            which = (edge_x is not None) + 2 * (edge_y is not None)
            plan = plans[which] = plans[which] or op.plan(edge_x is not None, edge_y is not None)
            node = new(plan.node_class)
            node.edges, node.number, node.extras, node.plan = (edge_x, edge_y), next(numbers), None, plan
            node.shape, node.dtype = out.shape, out.dtype
            result._edge = (node, 0)
            saved: tuple = ()
            for of_other in plan.second:
                x = other if of_other else self
                saved += save_input(x) if x is y else (x, None, 0 if x._counter is None else x._counter[0])
            node.saved = saved
        return result

    return function


# -- small helpers -----------------------------------------------------------------------------------------------------


def _taken(formula: Callable, order: tuple[str, ...]) -> list[str]:
    """The arguments of a formula's call, in the names of the lines that a plan writes."""
    first = formula.__code__.co_varnames[0]
    return [first if first == "grads" else "g", *[f"v{order.index(name)}" for name in _wanted(formula)]]


def _wanted(formula: Callable) -> list[str]:
    """The names a formula takes besides the gradient."""
    return list(formula.__code__.co_varnames[1 : formula.__code__.co_argcount])


def _shape(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return value._array.shape
    return [_shape(v) for v in value] if isinstance(value, (list, tuple)) else np.shape(value)


def _has_tensor(value: Any) -> bool:
    return isinstance(value, TensorBase) or (isinstance(value, (list, tuple)) and any(map(_has_tensor, value)))


def _inference_alone(values: Any, operands: Any) -> bool:
    """torch records nothing where all tensors were made in inference mode; a number as an operand is a tensor made now."""
    for place, value in enumerate(values):
        if isinstance(value, TensorBase):
            outside = value._counter is not INFERENCE
        elif isinstance(value, (list, tuple)):
            outside = not _inference_alone(value, ())
        else:
            outside = isinstance(value, (int, float)) and place in operands
        if outside:
            return False
    return True


def _array(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return value._array
    return [_array(v) for v in value] if isinstance(value, (list, tuple)) and _has_tensor(value) else value
