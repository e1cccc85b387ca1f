"""The Python source of an operator's function and of its nodes' backward, written out for each operator.

Both run on every line of a program. Written out, neither goes over lists of inputs, and Python tunes each one by itself.
"""

from collections.abc import Callable
from typing import Any

from gradlab._signature import REQUIRED


def wanted(formula: Callable) -> list[str]:
    """The names that a formula takes besides the gradient."""
    return list(formula.__code__.co_varnames[1 : formula.__code__.co_argcount])


# -- the function ------------------------------------------------------------------------------------------------------


def function_source(op: Any) -> str:
    """An operator's function; for a product, in short (``_run`` is the general way, for all modes and kinds of argument):

    def function(self, other):
        if not isinstance(self, _Tensor):
            return _forward(self, other) if self.__class__ is _ndarray and not isinstance(other, _Tensor) else _run((self, other))
        _word = _modes.word
        if _word == 2 or self._counter is _INFERENCE: return _run((self, other))
        self_ = self._array
        other_ = other._array if isinstance(other, _Tensor) else other
        _kind = self_.dtype
        if _kind is not _float32 and _kind is not _float64 or (other_.dtype is not _kind if ...): return _run((self, other))
        try: _out = _forward(self_, other_)
        except (ValueError, TypeError): _out = None
        if _out is None: return _run((self, other))
        _result = _new(_class)
        _result._array = _out if _out.__class__ is _ndarray else _asarray(_out)
        _result._view = _result._meta = _result._counter = _result._edge = None
        if not _word: return _result
        _edge_self = self._edge if self._view is None and self._edge is not None else self._gradient_edge()
        _edge_other = ...
        if _edge_self is _edge_other is None: return _result
        _node = _new(_Node)
        _node.edges, _node.number, _node.extras = (_edge_self, _edge_other, ), _next(_numbers), None
        _node.plan = _plans[_edge_self is not None, _edge_other is not None, ]
        _node.shape, _node.dtype = _out.shape, _out.dtype
        _result._edge = _node, 0
        _node.saved = ((other, None, 0 if other._counter is None else other._counter[0]) if _edge_self is not None else ()) + ...
        return _result
    """
    shown = [n if op.defaults[n] is REQUIRED else f"{n}=_defaults[{n!r}]" for n in op.names]
    single = op.places[:1] == [0] and len(op.places) == len(op.inputs) and not (op.listed or op.outputs and not op.results[1:])
    lines = _recording(op) if op.node_name and single else [f"return _run(({', '.join(op.names)},))"]
    return "\n ".join([f"def function({', '.join(shown)}):", *lines])


def _recording(op: Any) -> list[str]:
    """The lines for an operator whose inputs are single tensors, the first of them always. The array of x is called x_."""
    first, *rest = op.names
    inputs = [op.names[i] for i in op.places]
    results = [f"_result{i}" for i in range(len(op.results))] if op.outputs else ["_result"]
    end = f"return [{', '.join(results)}]" if op.outputs else "return _result"
    general = f"_run(({', '.join(op.names)},))"
    arrays = " and ".join([f"{first}.__class__ is _ndarray", *[f"not isinstance({n}, _Tensor)" for n in rest]])
    lines = [
        f"if not isinstance({first}, _Tensor): return _forward({', '.join(op.names)}) if {arrays} else {general}",
        "_word = _modes.word",
        f"if _word == 2 or {first}._counter is _INFERENCE: return {general}",
        f"{first}_ = {first}._array",
        *[f"{n}_ = {n}._array if isinstance({n}, _Tensor) else {n}" for n in rest],
    ]
    if op.promote:
        others = [f" or ({n}_.dtype is not _kind if {n}_ is not {n} else {n}.__class__ not in _NUMBERS)" for n in inputs[1:]]
        kinds = f"_kind is not _float32 and _kind is not _float64{''.join(others)}"
        lines += [f"_kind = {first}_.dtype", f"if {kinds}: return {general}"]
    lines.append(f"try: _out = _forward({', '.join(f'{n}_' for n in op.names)})")
    # A result of another dtype comes from a numpy number among the options.
    other = "" if {"dtype", *op.names} == {"dtype", *inputs} or op.outputs else f" or _out.dtype is not {first}_.dtype"
    lines += ["except (ValueError, TypeError): _out = None", f"if _out is None{other}: return {general}"]
    if op.outputs:
        lines += [f"{', '.join(results)} = map(_make, _out)", "_out = _result0._array"]
    else:
        lines += ["_result = _new(_class)", "_result._array = _out if _out.__class__ is _ndarray else _asarray(_out)"]
        lines.append("_result._view = _result._meta = _result._counter = _result._edge = None")
    lines += [f"_mark_view(_forward, {first}, ({''.join(f'{n}_, ' for n in rest)}), _result)"] * op.view
    lines.append(f"if not _word: {end}")
    edge = "{0}._edge if {0}._view is None and {0}._edge is not None else {0}._gradient_edge()"
    lines += [f"_edge_{n} = " + f"None if {n}_ is {n} else " * (n != first) + edge.format(n) for n in inputs]
    key = [f"_edge_{n} is not None, " for n in inputs] + [f"{n}_ is not {n}, " for _, n in op.optional]
    lines += [
        f"if {' is '.join(f'_edge_{n}' for n in inputs)} is None: {end}",
        "_node = _new(_Node)",
        f"_node.edges, _node.number, _node.extras = ({''.join(f'_edge_{n}, ' for n in inputs)}), _next(_numbers), None",
        f"_node.plan = _plans[{''.join(key)}]",
        "_node.shape, _node.dtype = _out.shape, _out.dtype",
    ]
    lines += [f"_node.outputs = [{', '.join(f'({r}._array.shape, {r}._array.dtype)' for r in results)}]"] * bool(op.outputs)
    floats = "" if op.promote else 'if {}._array.dtype.kind == "f": '
    lines += [floats.format(r) + f"{r}._edge = _node, {i}" for i, r in enumerate(results)]
    return [*lines, *_kept(op, inputs, results), end]


def _kept(op: Any, inputs: list[str], results: list[str]) -> list[str]:
    """The lines for what a node saves and keeps: tuples to be added up, empty unless an input whose formula asks needs them."""
    found: dict[str, list[str]] = {"saved": [], "kept": []}
    for name in op.wanted:
        askers = [f"_edge_{n} is not None" for n, f in zip(inputs, op.formulas, strict=False) if name in wanted(f)]
        asked = "True" if op.backward or len(askers) == len(inputs) else " or ".join(askers)
        of = name.removesuffix("_shape")
        slot = f"({name}, None, 0 if {name}._counter is None else {name}._counter[0])"
        if name in op.results:
            result = results[op.results.index(name)]
            parts = {"saved": f"({result}._array, {result}._version_counter(), {result}._counter[0])"}
        elif name in inputs:
            parts = {"saved": f"({slot} if {name}_ is not {name} else ({name}, _PLAIN, None))"}
        elif name in op.names:
            parts = {"saved": f"(() if {name}_ is {name} else {slot})", "kept": f"(({name},) if {name}_ is {name} else ())"}
        elif name == "need":
            parts = {"kept": f"(({''.join(f'_edge_{n} is not None, ' for n in inputs)}),)"}
        else:
            parts = {"kept": f"({of}_.shape if {of}_ is not {of} else _shape({of}),)"}
        for where, part in parts.items():
            found[where].append(f"({part} if {asked} else ())")
    return [f"_node.{where} = {' + '.join(parts) or '()'}" for where, parts in found.items() if parts or where == "saved"]


# -- the backward ------------------------------------------------------------------------------------------------------

SAME = "guard{0} is None and (x{0}._counter is None or x{0}._counter[0] == version{0})"
INPUT = f"x{{0}}._array if {SAME} else raw(node, x{{0}}, guard{{0}}, version{{0}})"
RESULT = "x{0} if guard{0}.__class__ is list and guard{0}[0] == version{0} else raw(node, x{0}, guard{0}, version{0})"
RECORDED = "recorded(node, x{0}, guard{0}, version{0}, {1})"


def backward_source(plan: Any, read_input: str, read_result: str) -> str:
    """What nodes of this plan run; for a product whose inputs both need a gradient:

    def run(node, g):
        if node.saved is FREED: raise errors.freed(node)
        x0, guard0, version0, x1, guard1, version1 = node.saved
        v0 = x0._array if guard0 is None and (x0._counter is None or ...) else raw(node, x0, guard0, version0)
        v1 = x1._array if guard1 is None and (x1._counter is None or ...) else raw(node, x1, guard1, version1)
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
    return "\n ".join([*lines, f"return ({'*' * bool(plan.op.backward or plan.op.many)}{', '.join(calls)},)"])


def _taken(formula: Callable, order: tuple[str, ...]) -> list[str]:
    """The arguments of a formula's call, in the names of the lines above."""
    first = formula.__code__.co_varnames[0]
    return [first if first == "grads" else "g", *[f"v{order.index(name)}" for name in wanted(formula)]]
