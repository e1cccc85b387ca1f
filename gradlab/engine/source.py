"""The Python source of an operator's function and of its nodes' backward, written out for each operator.

Both run on every line of a program. Written out, neither goes over lists of inputs, and Python tunes each one by itself.
"""

from collections.abc import Callable
from typing import Any

from gradlab._signature import REQUIRED

NUMBERS = frozenset({float, int})  # what may stand in a tensor's place


def wanted(formula: Callable) -> list[str]:
    """The names that a formula takes besides the gradient."""
    return list(formula.__code__.co_varnames[1 : formula.__code__.co_argcount])


# -- the function ------------------------------------------------------------------------------------------------------


def function_source(op: Any) -> str:
    """An operator's function; for a product (``_run`` is the general way, for every other mode and kind of argument):

    def mul(self, other):
        if not isinstance(self, _Tensor):
            if self.__class__ is _ndarray and not (isinstance(other, _Tensor)): return _forward(self, other)
            return _run((self, other))
        _word = _modes.word
        if _word == 2 or self._counter is _INFERENCE: return _run((self, other))
        _x0 = self._array
        _x1 = other._array if isinstance(other, _Tensor) else other
        if _x1 is other and other.__class__ not in _NUMBERS: return _run((self, other))
        _kind = _x0.dtype
        if _kind is not _float32 and _kind is not _float64 or _x1 is not other and _x1.dtype is not _kind: return ...
        try: _out = _forward(_x0, _x1)
        except (ValueError, TypeError): _out = None
        if _out is None: return _run((self, other))
        _result = _new(_class)
        _result._array = _out if _out.__class__ is _ndarray else _asarray(_out)
        _result._view = _result._meta = _result._counter = _result._edge = None
        if not _word: return _result
        _edge0 = self._edge if self._view is None and self._edge is not None else self._gradient_edge()
        _edge1 = None if _x1 is other else other._edge if other._view is None and ... else other._gradient_edge()
        if _edge0 is None and _edge1 is None: return _result
        _node = _new(_Node)
        _node.edges, _node.number, _node.extras = (_edge0, _edge1,), _next(_numbers), None
        _node.plan = _plans[(_edge0 is not None) + 2 * (_edge1 is not None)]
        _node.shape, _node.dtype = _out.shape, _out.dtype
        _result._edge = _node, 0
        _saved = ()
        if _edge0 is not None: _saved += (other, None, 0 if other._counter is None else other._counter[0],) if ...
        if _edge1 is not None: _saved += (self, None, 0 if self._counter is None else self._counter[0],)
        _node.saved = _saved
        return _result
    """
    shown = [n if op.defaults[n] is REQUIRED else f"{n}=_defaults[{n!r}]" for n in op.names]
    lines = [f"def function({', '.join(shown)}):"]
    ordinary = op.node_name and not (op.outputs or op.listed) and op.places[:1] == [0] and len(op.places) == len(op.inputs)
    lines += _recording(op) if ordinary else [f"return {_run(op)}"]
    return "\n ".join(lines)


def _run(op: Any) -> str:
    return f"_run(({', '.join(op.names)},))"


def _recording(op: Any) -> list[str]:
    """The lines for an operator with one result and inputs that are single tensors, the first of them always."""
    first, *rest = op.names
    inputs = op.names[: len(op.places)] if op.places == list(range(len(op.places))) else [op.names[i] for i in op.places]
    others, options = inputs[1:], [n for n in rest if n not in inputs]
    general = f"return {_run(op)}"
    tensors = " or ".join(f"isinstance({n}, _Tensor)" for n in rest)
    strange = "".join(f" or isinstance({n}, _Tensor)" for n in options)
    lines = [
        f"if not isinstance({first}, _Tensor):",
        f" if {first}.__class__ is _ndarray{f' and not ({tensors})' if rest else ''}: return _forward({', '.join(op.names)})",
        f" {general}",
        "_word = _modes.word",
        f"if _word == 2 or {first}._counter is _INFERENCE{strange}: {general}",
        f"_x0 = {first}._array",
    ]
    array = {name: f"_x{i}" for i, name in enumerate(inputs)}
    for n in others:
        lines.append(f"{array[n]} = {n}._array if isinstance({n}, _Tensor) else {n}")
        left_out = f" and {n} is not None" if op.defaults[n] is None else ""
        lines.append(f"if {array[n]} is {n} and {n}.__class__ not in _NUMBERS{left_out}: {general}")
    if op.promote:
        other_kinds = "".join(f" or {array[n]} is not {n} and {array[n]}.dtype is not _kind" for n in others)
        lines.append("_kind = _x0.dtype")
        lines.append(f"if _kind is not _float32 and _kind is not _float64{other_kinds}: {general}")
    return [
        *lines,
        f"try: _out = _forward({', '.join(array.get(n, n) for n in op.names)})",
        "except (ValueError, TypeError): _out = None",
        f"if _out is None: {general}",
        "_result = _new(_class)",
        "_result._array = _out if _out.__class__ is _ndarray else _asarray(_out)",
        "_result._view = _result._meta = _result._counter = _result._edge = None",
        *([f"_mark_view(_forward, {first}, ({''.join(n + ', ' for n in rest)}), _result)"] if op.view else []),
        "if not _word: return _result",
        *_edges(inputs, array),
        *_node(op, inputs, array),
        "return _result",
    ]


def _edges(inputs: list[str], array: dict[str, str]) -> list[str]:
    lines = []
    for i, n in enumerate(inputs):
        edge = f"{n}._edge if {n}._view is None and {n}._edge is not None else {n}._gradient_edge()"
        lines.append(f"_edge{i} = " + (f"None if {array[n]} is {n} else " if i else "") + edge)
    nothing = " and ".join(f"_edge{i} is None" for i in range(len(inputs)))
    return [*lines, f"if {nothing}: return _result"]


def _node(op: Any, inputs: list[str], array: dict[str, str]) -> list[str]:
    count = range(len(inputs))
    which = " + ".join(f"{2**i} * (_edge{i} is not None)" for i in count) if len(inputs) > 1 else "1"
    lines = [
        *(["if _out.dtype.kind != 'f': return _result"] if op.optional else []),
        "_node = _new(_Node)",
        f"_node.edges, _node.number, _node.extras = ({''.join(f'_edge{i}, ' for i in count)}), _next(_numbers), None",
        f"_node.plan = _plans[{which}]",
        "_node.shape, _node.dtype = _out.shape, _out.dtype",
        "_result._edge = _node, 0",
    ]
    saved, kept = [], []
    for name in op.wanted:
        askers = [f"_edge{i} is not None" for i in count if op.backward or name in wanted(op.formulas[i])]
        needed = "" if op.backward or len(askers) == len(inputs) else " or ".join(askers)
        if name in op.slots:
            saved.append((needed, _saved(name, inputs, array)))
        else:
            kept.append((needed, _kept(name, op, inputs, array)))
    if "result" in op.slots:
        lines.append("_counter = _result._counter = _result._counter or [0]")
    lines += _collected("saved", saved)
    return [*lines, *_collected("kept", kept)] if kept else lines


def _saved(name: str, inputs: list[str], array: dict[str, str]) -> str:
    if name == "result":
        return "(_result._array, _counter, _counter[0])"
    slot = f"({name}, None, 0 if {name}._counter is None else {name}._counter[0])"
    return slot if name == inputs[0] else f"({slot} if {array[name]} is not {name} else ({name}, _PLAIN, None))"


def _kept(name: str, op: Any, inputs: list[str], array: dict[str, str]) -> str:
    if name == "need":
        return f"(({''.join(f'_edge{i} is not None, ' for i in range(len(inputs)))}),)"
    if name in op.names:
        return f"({name},)"
    of = name.removesuffix("_shape")
    return f"({array[of]}.shape,)" if of == inputs[0] else f"(_shape({of}),)"


def _collected(name: str, parts: list[tuple[str, str]]) -> list[str]:
    """The lines that put together a tuple of which some parts are there only where an input needs a gradient."""
    if not any(needed for needed, _ in parts):
        return [f"_node.{name} = {' + '.join(part for _, part in parts) or '()'}"]
    lines = [f"_{name} = ()"]
    lines += [f"{f'if {needed}: ' if needed else ''}_{name} += {part}" for needed, part in parts]
    return [*lines, f"_node.{name} = _{name}"]


# -- the backward ------------------------------------------------------------------------------------------------------

INPUT = "x{0}._array if guard{0} is None and x{0}._counter is None else raw(node, x{0}, guard{0}, version{0})"
RESULT = "x{0} if guard{0}.__class__ is list and guard{0}[0] == version{0} else raw(node, x{0}, guard{0}, version{0})"
RECORDED = "recorded(node, x{0}, guard{0}, version{0}, {1})"


def backward_source(plan: Any, read_input: str, read_result: str) -> str:
    """What nodes of this plan run; for a product whose inputs both need a gradient:

    def run(node, g):
        if node.saved is FREED: raise errors.freed(node)
        x0, guard0, version0, x1, guard1, version1 = node.saved
        v0 = x0._array if guard0 is None and x0._counter is None else raw(node, x0, guard0, version0)
        v1 = x1._array if guard1 is None and x1._counter is None else raw(node, x1, guard1, version1)
        return (f0(g, v0), f1(g, v1),)
    """
    lines, count, results = ["def run(node, g):"], len(plan.saves), plan.op.results
    if plan.op.outputs:
        lines.append("g, grads = (g, (g,)) if node.outputs is None else (g[0], g)")
    if plan.saves:
        lines.append("if node.saved is FREED: raise errors.freed(node)")
        lines.append(", ".join(f"x{i}, guard{i}, version{i}" for i in range(count)) + " = node.saved")
    for i, name in enumerate(plan.saves):
        read = read_result.format(i, results.index(name)) if name in results else read_input.format(i, 0)
        lines.append(f"v{i} = {read}")
    if plan.kept:
        lines.append("".join(f"v{count + i}, " for i in range(len(plan.kept))) + "= node.kept")
    order = (*plan.saves, *plan.kept)
    calls = ["None" if f is None else f"f{i}({', '.join(_taken(f, order))})" for i, f in enumerate(plan.formulas)]
    if plan.op.backward or plan.op.many:
        calls[0] = "*" + calls[0]
    return "\n ".join([*lines, f"return ({', '.join(calls)},)"])


def _taken(formula: Callable, order: tuple[str, ...]) -> list[str]:
    """The arguments of a formula's call, in the names of the lines above."""
    first = formula.__code__.co_varnames[0]
    return [first if first == "grads" else "g", *[f"v{order.index(name)}" for name in wanted(formula)]]
