"""Code to change, for each cause: the line as it should be where that is certain, else a comment on what to do."""

from __future__ import annotations

import ast
import re

from gradlab.diagnosis.places import Place, code_at, shown

UPDATE = "with torch.no_grad():\n    {name} -= step  # an update changes the same leaf, in place"
CONVERT = "{name} = {name}.to(...).detach().requires_grad_()  # convert first, then ask for the gradient"
WATCH = "with gradlab.watch() as w:\n    ...  # the forward and the backward\nw.why({x}, {loss})"
STACK = "torch.stack([...])  # builds a tensor from tensors and keeps their history"
OUT_OF_PLACE = "y = y * 2  # out of place, instead of y *= 2 or y.mul_(2); or edit a clone()"
CLEAR_FIRST = "optimizer.zero_grad()  # before backward(), not between it and step()"

_FLAT = {
    "argmax": "torch.softmax(x, dim)  # a soft choice has a slope; argmax does not",
    "argmin": "torch.softmax(-x, dim)  # a soft choice has a slope; argmin does not",
    "argsort": "x.sort().values  # the sorted values have a gradient, the order does not",
    "sort": "x.sort().values  # the values have a gradient, the indices do not",
    "topk": "x.topk(k).values  # the values have a gradient, the indices do not",
    "multinomial": "-(log_prob * reward).mean()  # or gumbel_softmax: a draw itself has no slope",
}
_ORDERS = frozenset("gt lt ge le __gt__ __lt__ __ge__ __le__ greater less".split())
_EQUALS = frozenset("eq ne __eq__ __ne__ isclose equal".split())
_CASTS = frozenset("long int to type bool short byte char tocopy".split())
STEPS = frozenset("round floor ceil trunc fix sign sgn heaviside bernoulli floor_divide __floordiv__".split())


def as_code(name: str | None) -> str:
    """A tensor's name as an expression: numbered submodules are items, and a name without its module is asked of it.

    >>> as_code("net.0.weight"), as_code("0.weight"), as_code("net.1.2.bias"), as_code(None)
    ('net[0].weight', 'model.get_parameter("0.weight")', 'net[1][2].bias', 'x')
    """
    if not name or name.startswith(("a parameter of", "param_groups")):
        return name if name and name.startswith("param_groups") else "x"
    return f'model.get_parameter("{name}")' if name[0].isdigit() else re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", name)


def without(where: Place | None, part: str, otherwise: str) -> str:
    """The line without `.detach()` or `.data`, where it stands there once; else a comment."""
    code = re.sub(r"\s+#.*$", "", code_at(where))
    pattern = re.escape(part) + r"(?!\w|\s*\()" if part == ".data" else re.escape(part)
    if len(re.findall(pattern, code)) != 1:
        return otherwise
    fixed = re.sub(pattern, "", code)
    return f"# leave this line out: {code}" if _is_idle(fixed) else fixed


def _is_idle(code: str) -> bool:
    """`h = h`, or a bare name: what is left of a line whose only work was the cut."""
    try:
        (statement,) = ast.parse(code).body
    except (SyntaxError, ValueError):
        return False
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return ast.unparse(statement.targets[0]) == ast.unparse(statement.value)
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Name)


def straight_through(operation: str) -> str:
    """The usual way around an operation without a slope."""
    return (
        f"y = h + ({operation}(h) - h).detach()  # straight-through: forward as {operation}, backward as the identity"
    )


def flat(operation: str) -> str:
    """For an operation without a derivative."""
    name = operation.rstrip("_") if not operation.startswith("__") else operation
    if name in STEPS:
        return straight_through(name)
    if name in _ORDERS:
        return "torch.sigmoid((x - threshold) / temperature)  # a soft comparison has a slope"
    if name in _EQUALS:
        return "(x - target).abs()  # a distance has a slope, equality does not"
    if name in _CASTS:
        return "# keep it floating point on the way to the loss; convert only what indexes or prints"
    return _FLAT.get(name, f"# find a differentiable stand-in for {name}, or let the gradient take another way")


def finite(where: Place | None, kind: str) -> str:
    """For the line on which a NaN or an infinity was born."""
    code = code_at(where)
    if "sqrt" in code:
        return "torch.sqrt(x.clamp(min=1e-12))  # finite value and slope; where() must choose the input, not the result"
    if "log" in code:
        return "torch.log(x.clamp(min=1e-12))  # or log_softmax and logsumexp, which are stable"
    if "/" in code or "div" in code:
        return "a / torch.where(b == 0, 1.0, b)  # choose the denominator before dividing"
    if "**" in code or "pow" in code:
        return "x.clamp(min=1e-12) ** p  # keep the base away from 0"
    if "exp" in code:
        return "torch.exp(x - x.max())  # exp overflows float32 above 88; softmax and logsumexp do this for you"
    return f"# keep the argument at {shown(where)} away from where it gives {kind}"


def rebound(name: str, where: Place | None, born_here: bool = False) -> str:
    """For a name that was given to a result, at a line that is known."""
    code = code_at(where)
    if born_here:
        return f"{name} = (...).detach().requires_grad_()  # compute first, then make the result the leaf"
    if re.search(r"\.(to|double|float|half|cuda|cpu|type)\(", code):
        return CONVERT.format(name=name)
    if ".grad" in code:
        return UPDATE.format(name=name)
    return f"y = ...  # give the result a name of its own: `{name}` then stays the leaf that gets the gradient"
