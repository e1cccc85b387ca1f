"""What a live tensor says of itself, read without changing it and without a warning."""

from __future__ import annotations

import gc
import math
from collections import deque
from dataclasses import dataclass
from typing import Any

from gradlab.diagnosis.probes import Probe
from gradlab.diagnosis.remedies import as_code

_SEARCHED = 10_000  # nodes looked at for a lost leaf


@dataclass(frozen=True, slots=True)
class Facts:
    """The flags that a diagnosis needs."""

    name: str | None
    shape: tuple[int, ...]
    dtype: str
    requires_grad: bool
    is_leaf: bool
    retains_grad: bool
    differentiable: bool
    inference: bool
    has_base: bool  # a view that has no history: made under no_grad from a tensor that has one
    grad: str | None  # None, "good", "zero", "nan", "inf"
    node: str | None  # name of its grad_fn
    lost_leaf: LostLeaf | None = None

    @property
    def label(self) -> str:
        return f"`{self.name}`" if self.name else "this tensor"

    @property
    def variable(self) -> str:
        """A name to write code with."""
        return as_code(self.name)


@dataclass(frozen=True, slots=True)
class LostLeaf:
    """A leaf that only the graph holds any more."""

    shape: tuple[int, ...]
    steps: tuple[str, ...]  # names of the nodes from the tensor to the leaf
    in_optimizer: bool = False


def read(tensor: Any, probe: Probe, name: str | None) -> Facts:
    """The facts of one tensor."""
    leaf = tensor.is_leaf
    retains = not leaf and bool(tensor.retains_grad)
    grad = tensor.grad if leaf or retains else None  # reading .grad of another inner tensor warns
    return Facts(
        name=name,
        shape=tuple(tensor.shape),
        dtype=str(tensor.dtype).rpartition(".")[2],
        requires_grad=tensor.requires_grad,
        is_leaf=leaf,
        retains_grad=retains,
        differentiable=probe.is_differentiable(tensor),
        inference=probe.is_inference(tensor),
        has_base=leaf and tensor.requires_grad and _has_tracked_base(tensor),
        grad=None if grad is None else _grad_state(grad, probe),
        node=None if tensor.grad_fn is None else tensor.grad_fn.name().rpartition("::")[2],
        lost_leaf=None if leaf or retains else lost_leaf(tensor, probe),
    )


def _has_tracked_base(tensor: Any) -> bool:
    base = getattr(tensor, "_base", None)
    return base is not None and base.requires_grad


def _grad_state(grad: Any, probe: Probe) -> str:
    if type(getattr(grad, "device", None)).__name__ == "device" and grad.device.type == "meta":
        return "good"
    return probe.problem(grad) or ("zero" if math.prod(grad.shape) and probe.is_zero(grad) else "good")


def lost_leaf(tensor: Any, probe: Probe) -> LostLeaf | None:
    """The leaf of as many elements that `tensor` was computed from and that nothing of the user's holds any more."""
    start = tensor.grad_fn
    came: dict[Any, Any] = {start: None}
    queue = deque([start])
    while queue and len(came) < _SEARCHED:
        node = queue.popleft()
        for target, _ in node.next_functions:
            if target is None or target in came:
                continue
            came[target] = node
            if not hasattr(target, "variable"):
                queue.append(target)
            elif math.prod(target.variable.shape) == math.prod(tensor.shape):
                spare, optimizers = _holders(target, probe, list(came))
                if spare <= optimizers:
                    return LostLeaf(tuple(target.variable.shape), _steps(came, node), bool(optimizers))
    return None


def _steps(came: dict[Any, Any], node: Any) -> tuple[str, ...]:
    steps: list[str] = []
    while node is not None:
        steps.append(node.name().rpartition("::")[2])
        node = came[node]
    return tuple(reversed(steps))


def _holders(accumulate: Any, probe: Probe, nodes: list[Any]) -> tuple[int, int]:
    """How many references of the user's a leaf has, and how many of these an optimizer holds."""
    return _references(accumulate, probe, nodes) - _unheld(probe), _optimizer_references(accumulate.variable)


def _references(accumulate: Any, probe: Probe, nodes: list[Any]) -> int:
    leaf = accumulate.variable
    return probe.references(leaf, nodes)


_baselines: dict[str, int] = {}


def _unheld(probe: Probe) -> int:
    """What `_references` counts for a leaf that nobody holds: measured, since it differs between versions of Python."""
    if probe.name not in _baselines:
        result = probe.module.ones((), requires_grad=True) * 1.0
        _baselines[probe.name] = _references(result.grad_fn.next_functions[0][0], probe, [result.grad_fn])
    return _baselines[probe.name]


def _optimizer_references(leaf: Any) -> int:
    found = 0
    for holder in gc.get_referrers(leaf):
        if isinstance(holder, list) and any(
            isinstance(owner, dict) and owner.get("params") is holder for owner in gc.get_referrers(holder)
        ):
            found += sum(item is leaf for item in holder)
        elif isinstance(holder, dict):  # the optimizer's state, keyed by parameter
            found += sum(key is leaf for key in list(holder) if key.__class__ is leaf.__class__)
    return found
