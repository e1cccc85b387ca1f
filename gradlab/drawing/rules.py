"""The local rule of an operation: what its input's gradient is, as a factor of the gradient that arrives."""

from __future__ import annotations

from gradlab.graphs.records import NodeRecord, Snapshot

# For each input, in the order of the edges. Words in braces are saved slots or options.
_FACTORS: dict[str, tuple[str, ...]] = {
    "Mul": ("{other}", "{self}"),
    "Div": ("1 / {other}", "−{self} / {other}²"),
    "Sub": ("1", "−1"),
    "Neg": ("−1",),
    "Exp": ("{result}",),
    "Log": ("1 / {self}",),
    "Sqrt": ("1 / (2·{result})",),
    "Sin": ("cos({self})",),
    "Cos": ("−sin({self})",),
    "Tanh": ("(1 − {result}²)",),
    "Sigmoid": ("{result}·(1 − {result})",),
    "Reciprocal": ("−{result}²",),
    "Abs": ("sign({self})",),
    "Relu": ("(1 where {result} > 0, else 0)",),
}


def factor(snapshot: Snapshot, node: NodeRecord, number: int) -> str | None:
    """What the arriving gradient is multiplied with for input `number`, in words; None where no short rule is known."""
    if node.op == "Pow" and isinstance(node.options.get("exponent"), (int, float)) and number == 0:
        power = node.options["exponent"]
        base = _name(snapshot, node, "self")
        return f"{power:g}·{base}" + ("" if power == 2 else f"^{power - 1:g}")
    factors = _FACTORS.get(node.op, ())
    if number >= len(factors):
        return None
    names = {slot.name: _name(snapshot, node, slot.name) for slot in node.slots}
    for missing in ("self", "other", "result"):
        names.setdefault(missing, missing)
    return factors[number].format(**names)


def _name(snapshot: Snapshot, node: NodeRecord, name: str) -> str:
    for slot in node.slots:
        if slot.name == name and slot.tensor is not None:
            return snapshot.tensors[slot.tensor].name or name
    return name
