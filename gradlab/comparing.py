"""compare(): one function, run in gradlab and in torch, side by side."""

from __future__ import annotations

import html
import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradlab.graphs.engines import is_tensor, plain_dtype
from gradlab.graphs.naming import flatten
from gradlab.graphs.reading import read
from gradlab.graphs.records import Snapshot

# Relative tolerance by dtype; integers and booleans must be equal.
TOLERANCES = {
    "float16": 1e-3,
    "bfloat16": 1e-2,
    "float32": 1e-5,
    "float64": 1e-9,
    "complex64": 1e-5,
    "complex128": 1e-9,
}


@dataclass(frozen=True)
class Row:
    """One thing that was compared."""

    what: str
    gradlab: str
    torch: str
    same: bool


@dataclass
class Run:
    """What a function did in one engine."""

    outputs: list[tuple[str, Any]] = field(default_factory=list)  # (name, array or plain value)
    dtypes: list[str] = field(default_factory=list)
    gradients: dict[str, np.ndarray | None] = field(default_factory=dict)
    snapshot: Snapshot | None = None
    error: str | None = None  # type of the exception
    message: str = ""
    stage: str = ""  # "forward" or "backward"


@dataclass
class Comparison:
    """gradlab beside torch. `same` says whether all agreed, `differences` what did not."""

    rows: list[Row]
    gradlab: Run
    torch: Run

    @property
    def same(self) -> bool:
        return all(row.same for row in self.rows)

    @property
    def differences(self) -> list[str]:
        """One sentence for each thing that differs."""
        return [f"{row.what}: gradlab {row.gradlab}, torch {row.torch}" for row in self.rows if not row.same]

    def __bool__(self) -> bool:
        return self.same

    def text(self) -> str:
        """The table as plain text."""
        head = Row("", "gradlab", "torch", True)
        cells = [head, *self.rows]
        widths = [max(len(_short(getattr(row, key))) for row in cells) for key in ("what", "gradlab", "torch")]
        lines = []
        for row in cells:
            parts = [
                _short(value).ljust(width)
                for value, width in zip((row.what, row.gradlab, row.torch), widths, strict=True)
            ]
            mark = "    " if row is head else "same" if row.same else "DIFF"
            lines.append(f"{mark}  " + "  ".join(parts).rstrip())
        return "\n".join([self._summary(), *lines])

    __str__ = text

    def __repr__(self) -> str:
        return self.text()

    def _summary(self) -> str:
        wrong = len(self.differences)
        return (
            "gradlab and torch agree"
            if not wrong
            else f"gradlab and torch differ in {wrong} of {len(self.rows)} things"
        )

    def pictures(self) -> tuple[Any, Any]:
        """The two graphs as Drawings, gradlab's and torch's; None for one that has no graph."""
        from gradlab.drawing import Drawing

        graphs = (self.gradlab.snapshot, self.torch.snapshot)
        ours, theirs = (Drawing(graph) if graph is not None and graph.nodes else None for graph in graphs)
        return ours, theirs

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.text(), "text/html": _html(self)}


def compare(fn: Callable[..., Any], *arrays: Any) -> Comparison:
    """Run `fn(T, *tensors)` with gradlab as `T` and with torch as `T`, and lay the two runs side by side.

    `arrays` are numpy arrays, numbers or nested lists; floating point ones become leaves that require grad.
    Compared are values, shapes, dtypes, gradients, node names, the shape of the graph, and errors (their types). Where
    `fn` runs no backward itself, one is run from all its results that require grad, with ones as incoming gradients.

    Raises ImportError when torch is not installed.

    >>> import numpy as np
    >>> result = compare(lambda T, x: T.where(x > 0, x * x, T.exp(x)).sum(), np.array([-1.0, 2.0]))
    >>> result.same
    True
    """
    import gradlab

    try:
        import torch
    except ImportError:
        raise ImportError("compare() runs torch beside gradlab and torch is not installed: pip install torch") from None
    names = _names(fn, len(arrays))
    ours, theirs = (_run(fn, library, names, arrays) for library in (gradlab, torch))
    return Comparison(list(_rows(ours, theirs)), ours, theirs)


def _names(fn: Callable[..., Any], count: int) -> list[str]:
    """The names of fn's parameters after the first."""
    try:
        parameters = list(inspect.signature(fn).parameters.values())[1:]
    except (TypeError, ValueError):
        parameters = []
    plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return (plain + [f"input {i}" for i in range(len(plain), count)])[:count]


def _leaf(library: Any, array: Any) -> Any:
    tensor = library.tensor(np.array(array) if isinstance(array, np.ndarray | np.generic) else array)
    floating = plain_dtype(tensor.dtype).startswith(("float", "bfloat", "complex"))
    return tensor.requires_grad_() if floating else tensor


def _run(fn: Callable[..., Any], library: Any, names: list[str], arrays: tuple) -> Run:
    run = Run(stage="forward")
    try:
        inputs = {name: _leaf(library, array) for name, array in zip(names, arrays, strict=True)}
        found = fn(library, *inputs.values())
        tensors = _collect(found, run)
        grown = [tensor for tensor in tensors if tensor.requires_grad]
        if grown:
            run.snapshot = read(grown, inputs, None, {id(t): name for name, t in inputs.items()})
        run.stage = "backward"
        if grown and all(tensor.grad is None for tensor in inputs.values()):
            library.autograd.backward(grown, [library.ones_like(tensor) for tensor in grown])
        run.gradients = {n: None if t.grad is None else _array(t.grad) for n, t in inputs.items() if t.requires_grad}
    except Exception as error:
        run.error, run.message = type(error).__name__, str(error)
    else:
        run.stage = ""
    return run


def _collect(found: Any, run: Run) -> list[Any]:
    """Write down what fn returned; returns its tensors."""
    items = [("result", found)] if is_tensor(found) else _items(found)
    tensors = []
    for name, value in items:
        if is_tensor(value):
            tensors.append(value)
            run.outputs.append((name, _array(value)))
            run.dtypes.append(plain_dtype(value.dtype))
        else:
            run.outputs.append((name, value))
            run.dtypes.append(type(value).__name__)
    return tensors


def _items(found: Any) -> list[tuple[str, Any]]:
    if isinstance(found, (tuple, list, dict)):
        try:
            return [(f"result {name or ''}".strip(), tensor) for name, tensor in flatten(found)]
        except TypeError:
            pairs = found.items() if isinstance(found, dict) else enumerate(found)
            return [(f"result[{key!r}]", value) for key, value in pairs]
    return [("result", found)]


def _array(tensor: Any) -> np.ndarray:
    plain = tensor.detach()
    if getattr(plain, "is_sparse", False):
        plain = plain.to_dense()
    if plain_dtype(plain.dtype) == "bfloat16":  # numpy has none
        plain = plain.float()
    if getattr(plain, "is_complex", bool)():
        plain = plain.resolve_conj()
    return np.array(plain.numpy())


def _rows(ours: Run, theirs: Run) -> Iterator[Row]:
    if ours.error or theirs.error:
        yield Row("error", _error(ours), _error(theirs), (ours.error, ours.stage) == (theirs.error, theirs.stage))
    if not (ours.error and ours.stage == "forward") and not (theirs.error and theirs.stage == "forward"):
        yield from _outputs(ours, theirs)
        yield from _graphs(ours, theirs)
    if not ours.error and not theirs.error:
        for name in {**ours.gradients, **theirs.gradients}:
            a, b = ours.gradients.get(name), theirs.gradients.get(name)
            yield Row(f"gradient of {name}", _shown(a), _shown(b), _equal(a, b))


def _error(run: Run) -> str:
    return f"{run.error} in {run.stage}: {run.message.splitlines()[0] if run.message else ''}" if run.error else "none"


def _outputs(ours: Run, theirs: Run) -> Iterator[Row]:
    if len(ours.outputs) != len(theirs.outputs):
        yield Row("number of results", str(len(ours.outputs)), str(len(theirs.outputs)), False)
        return
    for (name, a), (_, b), dtype, other in zip(ours.outputs, theirs.outputs, ours.dtypes, theirs.dtypes, strict=True):
        yield Row(name, _shown(a), _shown(b), _equal(a, b))
        yield Row(f"dtype of {name}", dtype, other, dtype == other)


def _graphs(ours: Run, theirs: Run) -> Iterator[Row]:
    a, b = ours.snapshot, theirs.snapshot
    if a is None and b is None:
        return
    names = [sorted(node.name for node in graph.nodes) if graph else [] for graph in (a, b)]
    yield Row("nodes", _listed(names[0]), _listed(names[1]), names[0] == names[1])
    shapes = [canonical(graph) if graph else [] for graph in (a, b)]
    first = next((i for i, (p, q) in enumerate(zip(*shapes, strict=False)) if p != q), min(map(len, shapes)))
    told = [_step(shape, first) if shapes[0] != shapes[1] else f"{len(shape)} nodes" for shape in shapes]
    yield Row("graph", told[0], told[1], shapes[0] == shapes[1])


def canonical(graph: Snapshot) -> list[tuple[str, tuple]]:
    """A graph as a list without numbering: each node's name and where its edges go, in order of first visit."""
    edges: dict[int, list] = {}
    for edge in graph.edges:
        edges.setdefault(edge.source, []).append(edge)
    order: dict[int, int] = {}
    stack = [n for n in (graph.tensors[root].node for root in reversed(graph.roots)) if n is not None]
    visited = []
    while stack:
        node = stack.pop()
        if node in order:
            continue
        order[node] = len(order)
        visited.append(node)
        stack += [edge.target for edge in reversed(edges.get(node, ())) if edge.target is not None]
    found = []
    for node in visited:
        record = graph.nodes[node]
        leaf = graph.tensors[record.tensor].name if record.tensor is not None else None
        outgoing = tuple(None if e.target is None else (order[e.target], e.output) for e in edges.get(node, ()))
        found.append((record.name if leaf is None else f"{record.name}({leaf})", outgoing))
    return found


def _step(shape: list[tuple[str, tuple]], at: int) -> str:
    if at >= len(shape):
        return f"ends after {len(shape)} nodes"
    name, edges = shape[at]
    targets = ", ".join("None" if edge is None else shape[edge[0]][0] for edge in edges)
    return f"{name} -> ({targets})"


def _listed(names: list[str]) -> str:
    counted = {name: names.count(name) for name in names}
    return ", ".join(f"{name} x{count}" if count > 1 else name for name, count in counted.items()) or "none"


def _equal(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        same_floats = isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, rel_tol=1e-5)
        return bool(a == b) or same_floats or (a != a and b != b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    tolerance = TOLERANCES.get(str(a.dtype))
    if tolerance is None:
        return bool(np.array_equal(a, b))
    scale = float(np.nanmax(np.abs(b), initial=0.0, where=np.isfinite(b)))
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance * min(scale, 1.0), equal_nan=True))


def _shown(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return str(value)
    numbers = np.array2string(value, precision=4, separator=", ", threshold=8, edgeitems=2).replace("\n", "")
    return numbers if value.size <= 8 else f"{numbers} shape {value.shape}"


def _short(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


_STYLE = """<style>
.gradlab-compare{font-family:var(--jp-content-font-family,system-ui,sans-serif);
font-size:var(--jp-content-font-size1,14px);color:var(--jp-content-font-color1,inherit);line-height:1.45}
.gradlab-compare table{border-collapse:collapse;margin:.4em 0;font-size:inherit}
.gradlab-compare td,.gradlab-compare th{border:1px solid rgba(128,128,128,.35);padding:.2em .7em;text-align:left;
vertical-align:top;background:none;overflow-wrap:anywhere}
.gradlab-compare td.gc-value{font-family:var(--jp-code-font-family,monospace);font-size:.93em}
.gradlab-compare tr.gc-diff td{background:rgba(168,50,74,.16)}
.gradlab-compare .gc-word{font-weight:600;white-space:nowrap}
.gradlab-compare .gc-sides{display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start}
.gradlab-compare .gc-sides>div{flex:1 1 20em;min-width:0}
.gradlab-compare svg{max-width:100%;height:auto}
</style>"""


def _html(comparison: Comparison) -> str:
    rows = "".join(
        f'<tr{"" if row.same else " class=gc-diff"}><td class="gc-word">{"same" if row.same else "≠ differs"}</td>'
        f"<td>{html.escape(row.what)}</td><td class=gc-value>{html.escape(row.gradlab)}</td>"
        f"<td class=gc-value>{html.escape(row.torch)}</td></tr>"
        for row in comparison.rows
    )
    head = "<tr><th></th><th></th><th>gradlab</th><th>torch</th></tr>"
    return (
        f'{_STYLE}<div class="gradlab-compare"><b>{html.escape(comparison._summary())}</b><table>{head}{rows}</table>'
        f'<div class="gc-sides">{_sides(comparison)}</div></div>'
    )


def _sides(comparison: Comparison) -> str:
    from gradlab.drawing import LayoutError

    parts = []
    for name, picture in zip(("gradlab", "torch"), comparison.pictures(), strict=True):
        if picture is None or len(picture.snapshot.nodes) > 120:
            continue
        try:
            parts.append(f"<div><b>{name}</b><br>{picture.html()}</div>")
        except LayoutError:
            return ""
    return "".join(parts)
