"""operator(): a function on tensors that records itself, from a forward and one derivative formula per input.

    mul = operator("MulBackward0", np.multiply, self=lambda g, other: g * other, other=lambda g, self: g * self)

What a formula names besides the gradient g decides what is saved: inputs, `result`, options, `<input>_shape`. The same
formula runs on arrays (an ordinary backward) and on tensors (create_graph=True), because an operator given arrays is its
forward.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from operator import is_
from types import FunctionType
from typing import Any

import numpy as np

from gradlab import dtypes, errors
from gradlab._signature import parameters
from gradlab.engine import source
from gradlab.engine.modes import EXTRAS, modes, notify
from gradlab.engine.node import numbers
from gradlab.engine.saved import FREED, PLAIN, SavedTensor, SavingNode, raw, recorded, save_input, save_result
from gradlab.engine.tensor import INFERENCE, TensorBase, make, ndarray, new


def operator(node_name: str | None, forward: Callable, /, **options: Any) -> Callable:
    """Make a function on tensors that runs ``forward`` on their arrays and records a node of class ``node_name``.

    forward: arrays and options -> array, or a tuple of them where ``outputs`` names them ("tensors": any number).
    One formula for each differentiable input, in the order of next_functions: ``f(g, ...)`` -> its gradient; ``grads`` for
        ``g`` asks for the gradients of all outputs. Or ``backward(g, need, ...)`` -> a gradient for each of ``inputs``.
    promote: "common" brings tensors of several dtypes to torch's result type first; "float" also integers to the default. As
        "common", but refused as torch refuses: "floats" for integers and masks, "numbers" for masks, "no bool" for a mask with
        a mask or bool, "fitting" for a number too large for the dtype.
    view: the results share memory with the first input.
    """
    op = Operator(node_name, forward, **options)
    function = FunctionType(_first_call.__code__, {"op": op, "__name__": __name__}, op.label)
    op.function, function.__qualname__ = function, op.label
    function.operator = op  # type: ignore[attr-defined]
    return function


op: Any = None  # of each operator's function, among its own globals


def _first_call(*args: Any, **options: Any) -> Any:
    """What an operator's function is until it is called: importing makes hundreds, a program uses a few."""
    return op.written()(*args, **options)


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
        self.places = [self.names.index(n) for n in self.inputs if n in self.names]
        self.many = self.inputs[:1] == ("tensors",)  # any number of inputs, in one list
        self.listed = {"tensors", "indices"} & set(self.names)  # what may be a list of tensors
        self.wanted = list(dict.fromkeys(name for f in self.formulas for name in source.wanted(f)))
        self.optional = [(i, n) for i, n in enumerate(self.names) if n in self.wanted and n not in self.inputs]
        self.slots = tuple(n for n in (*self.inputs, *self.results) if n in self.wanted)
        self.keeps = len(self.slots) < len(self.wanted)
        self.plans = Plans(self)
        self.node_name = node_name
        self.label = (node_name or getattr(forward, "__name__", "operator")).split("Backward")[0].lower()

    def written(self) -> Callable:
        """The operator's function, from now on with code of its own."""
        own = {"_run": self.run, "_forward": self.forward, "_mark_view": self.mark_view, "_plans": self.plans}
        own.update(_Node=self.node_name and self.node_class, _class=TensorBase._class, _defaults=self.defaults)
        made = _compiled(source.function_source(self), self.label, {**COMMON, **own})["function"]
        self.function.__globals__.update(made.__globals__)
        self.function.__defaults__, self.function.__code__ = made.__defaults__, made.__code__
        return self.function

    @cached_property
    def node_class(self) -> type:
        """The class of this operator's nodes; made when the first is recorded, since importing makes hundreds of operators."""
        fields = ("plan", *["kept"][: self.keeps], *["outputs"][: bool(self.outputs)])
        body: dict[str, Any] = {"slots": self.slots, "__slots__": fields, "__module__": "gradlab"}
        for name in self.wanted:
            body["_saved_" + name] = property(lambda node, name=name: node._saved(name, False))
            body["_raw_saved_" + name] = property(lambda node, name=name: node._saved(name, True))
        return type(self.node_name, (OperatorNode,), body)

    def run(self, values: tuple) -> Any:
        """The general way: in any mode, with numbers and lists among the tensors, in several dtypes, with several results."""
        arrays: Any = [v._array if isinstance(v, TensorBase) else _array(v) if self.listed else v for v in values]
        if all(map(is_, arrays, values)):
            return self.forward(*values)
        if scalars := [i for i, v in enumerate(values) if isinstance(v, np.number) and i not in self.places]:
            return self.run(tuple([v.item() if i in scalars else v for i, v in enumerate(values)]))
        if self.promote:
            errors.check_operands(self, arrays)
            arrays = dtypes.promoted(arrays, self.places or range(len(arrays)), self.promote == "float")
        try:
            out = self.forward(*arrays)
        except (ValueError, TypeError) as error:
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

    def _record(self, values: tuple, arrays: list, tensors: list) -> None:
        operands = values[self.places[0]] if self.many else [values[i] for i in self.places]
        edges = tuple([v._gradient_edge() if isinstance(v, TensorBase) else None for v in operands])
        if not any(edges) or _inference_alone(values, self.places):
            return
        need = [True] if self.many else [e is not None for e in edges]
        plan = self.plans[(*need, *[arrays[i] is not values[i] for i, _ in self.optional])]
        node = new(plan.node_class)
        node.edges, node.number, node.extras, node.plan = edges, next(numbers), None, plan
        node.shape, node.dtype = tensors[0]._array.shape, tensors[0]._array.dtype
        if self.keeps:
            node.kept = [plan.need if i is None else _shape(values[i]) if of else values[i] for i, of in plan.keeps]
        if self.outputs:
            node.outputs = None if len(tensors) == 1 else [(t._array.shape, t._array.dtype) for t in tensors]
        for number, tensor in enumerate(tensors):
            tensor._edge = (node, number) if tensor._array.dtype.kind == "f" else None
        node.saved = ()
        for place, of in plan.stores:
            node.saved += save_input(values[place]) if of is None else save_result(tensors[of], of)
        if modes.word == EXTRAS and modes.anomaly:
            modes.anomaly.recorded(node)


class Plans(dict):
    """An operator's plans by which inputs need a gradient, and which options that formulas name are tensors."""

    def __init__(self, op: Operator) -> None:
        self.op = op

    def __missing__(self, key: tuple[bool, ...]) -> Plan:
        tensors = [n for (_, n), given in zip(self.op.optional, key[len(self.op.inputs) :], strict=True) if given]
        self[key] = Plan(self.op, key[: len(self.op.inputs)], tensors)
        return self[key]


class Plan:
    """What a node saves, keeps and computes when a given set of its inputs needs a gradient."""

    def __init__(self, op: Operator, need: tuple[bool, ...], tensors: list[str]) -> None:
        self.op, self.need = op, need
        self.formulas = op.formulas if op.backward else [f if n else None for f, n in zip(op.formulas, need, strict=True)]
        names = [n for n in op.wanted if any(f and n in source.wanted(f) for f in self.formulas)]
        self.saves = tuple(n for n in names if n in (*op.inputs, *op.results, *tensors))
        self.kept = tuple(n for n in names if n not in self.saves)
        index = {**{n: i for i, n in enumerate(op.names)}, **{f"{n}_shape": i for i, n in enumerate(op.names)}, "need": None}
        self.keeps = [(index[n], n not in op.names) for n in self.kept]
        self.stores = [(index.get(n), op.results.index(n) if n in op.results else None) for n in self.saves]
        self.node_class, self.run = op.node_class, self._written(source.INPUT, source.RESULT)

    @cached_property
    def run_recorded(self) -> Callable:
        """`run` on tensors, for a backward that is itself recorded."""
        return self._written(source.RECORDED, source.RECORDED)

    def _written(self, read_input: str, read_result: str) -> Callable:
        names = {"__name__": __name__, "FREED": FREED, "errors": errors, "raw": raw, "recorded": recorded}
        names.update({f"f{i}": f for i, f in enumerate(self.formulas)})
        return _compiled(source.backward_source(self, read_input, read_result), self.op.label, names)["run"]


# -- small helpers -----------------------------------------------------------------------------------------------------


def _compiled(text: str, label: str, names: dict[str, Any]) -> dict[str, Any]:
    exec(compile(text, f"{source.__file__[:-3]}/{label}", "exec"), names)
    return names


def _shape(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return value._array.shape
    return [_shape(v) for v in value] if isinstance(value, (list, tuple)) else np.shape(value)


def _has_tensor(value: Any) -> bool:
    return isinstance(value, TensorBase) or (isinstance(value, (list, tuple)) and any(map(_has_tensor, value)))


def _inference_alone(values: Any, operands: Any) -> bool:
    """torch records nothing where all tensors were made in inference mode; a number as an operand is a tensor made now."""
    return not any(
        value._counter is not INFERENCE
        if isinstance(value, TensorBase)
        else not _inference_alone(value, ())
        if isinstance(value, (list, tuple))
        else isinstance(value, (int, float)) and place in operands
        for place, value in enumerate(values)
    )


def _array(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return value._array
    return [_array(v) for v in value] if isinstance(value, (list, tuple)) and _has_tensor(value) else value


COMMON = {
    **{"__name__": __name__, "_asarray": np.asarray, "_ndarray": ndarray, "_make": make, "_new": new, "_shape": _shape},
    **{"_modes": modes, "_INFERENCE": INFERENCE, "_PLAIN": PLAIN, "_Tensor": TensorBase, "_numbers": numbers, "_next": next},
    **{"_NUMBERS": {float, int}, "_float32": np.dtype(np.float32), "_float64": np.dtype(np.float64)},
}
