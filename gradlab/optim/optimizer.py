"""Optimizer: parameter groups with their options, state by parameter, and what every step shares."""

from __future__ import annotations

import itertools
import warnings
from collections import defaultdict
from collections.abc import Callable
from copy import deepcopy
from numbers import Real
from typing import Any

import numpy as np

from gradlab._tensor import Tensor
from gradlab.autograd.grad_mode import enable_grad
from gradlab.engine import RemovableHandle, make
from gradlab.engine.node import Hooks
from gradlab.nn._state_dict import from_torch
from gradlab.nn.module import clear_grad
from gradlab.operators._views import count_write

UNSUPPORTED = ("foreach", "capturable", "differentiable", "fused")


class Optimizer:
    """Base of the optimizers. `params` is an iterable of tensors, of (name, tensor) pairs, or of dicts with options of their own.

    A subclass writes `update(parameter, gradient, state, group)` on numpy arrays.

    >>> import gradlab
    >>> class SignDescent(gradlab.optim.Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr, "maximize": False})
    ...     def update(self, parameter, gradient, state, group):
    ...         parameter -= group["lr"] * (gradient > 0) - group["lr"] * (gradient < 0)
    >>> w = gradlab.tensor([1.0, -1.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> SignDescent([w], lr=0.25).step()
    >>> w
    tensor([ 0.7500, -0.7500], requires_grad=True)
    """

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{type(params).__name__}: put it into a list"
            )
        for name in UNSUPPORTED:
            if defaults.get(name):
                raise NotImplementedError(
                    f"{type(self).__name__}({name}=True): gradlab has one implementation, leave {name} "
                    "out."
                )
        self.defaults = defaults
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._step_pre_hooks, self._step_post_hooks = Hooks(), Hooks()
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own; what is not given is as in the constructor.

        >>> import gradlab
        >>> a, b = gradlab.ones(1, requires_grad=True), gradlab.ones(1, requires_grad=True)
        >>> optimizer = gradlab.optim.SGD([a], lr=0.1)
        >>> optimizer.add_param_group({"params": b, "lr": 0.01})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.1, 0.01]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        group = dict(param_group)
        params, names = _named(group["params"])
        group["params"] = params
        if names:
            group["param_names"] = names
        for p in params:
            _check_parameter(p)
        for name, default in self.defaults.items():
            group.setdefault(name, default)
        self._check_known(group)
        self.param_groups.append(group)

    def _check_known(self, group: dict[str, Any]) -> None:
        params = group["params"]
        if len(set(params)) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error",
                stacklevel=4,
            )
        if self.param_groups and ("param_names" in group) != ("param_names" in self.param_groups[0]):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group with names to "
                "the optimizer"
            )
        known = {p for other in self.param_groups for p in other["params"]}
        if not known.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")

    # -- steps ---------------------------------------------------------------------------------------------------------

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Take the gradients of all parameters away (None), or fill them with zeros.

        >>> import gradlab
        >>> w = gradlab.tensor([1.0], requires_grad=True)
        >>> (w * w).sum().backward()
        >>> gradlab.optim.SGD([w], lr=0.1).zero_grad()
        >>> w.grad is None
        True
        """
        for group in self.param_groups:
            for parameter in group["params"]:
                clear_grad(parameter, set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change every parameter that has a gradient. A closure computes the loss again first; its value is returned.

        >>> import gradlab
        >>> w = gradlab.tensor([1.0], requires_grad=True)
        >>> (w * w).sum().backward()
        >>> gradlab.optim.SGD([w], lr=0.1).step()
        >>> w
        tensor([0.8000], requires_grad=True)
        """
        if self._step_pre_hooks:
            self._call(self._step_pre_hooks, closure)
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._step_group(group)
        if self._step_post_hooks:
            self._call(self._step_post_hooks, closure)
        return loss

    def _call(self, hooks: Hooks, closure: Any) -> None:
        for hook in list(hooks.values()):
            hook(self, (closure,) if closure else (), {})

    @np.errstate(all="ignore")
    def _step_group(self, group: dict[str, Any]) -> None:
        update, state, maximize = self.update, self.state, group.get("maximize")
        for parameter in group["params"]:
            gradient = parameter._meta and parameter._meta.grad
            if gradient is not None:
                array = -gradient._array if maximize else gradient._array
                update(parameter._array, array, state[parameter], group)
                count_write(parameter)

    def update(self, parameter: np.ndarray, gradient: np.ndarray, state: dict, group: dict) -> None:
        """Write the new value into `parameter`; `gradient` must not be changed."""
        raise NotImplementedError

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step."""
        return RemovableHandle(self._step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return RemovableHandle(self._step_post_hooks, hook)

    # -- state dicts ---------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Options and state with parameters numbered in order, in torch's layout.

        >>> import gradlab
        >>> w = gradlab.tensor([1.0], requires_grad=True)
        >>> optimizer = gradlab.optim.SGD([w], lr=0.1)
        >>> optimizer.state_dict()["param_groups"][0]["lr"]
        0.1
        """
        numbers: dict[Any, int] = {}
        for p in itertools.chain.from_iterable(group["params"] for group in self.param_groups):
            numbers.setdefault(p, len(numbers))
        groups = []
        for group in self.param_groups:
            options = {name: value for name, value in group.items() if name != "params"}
            groups.append({**options, "params": [numbers[p] for p in group["params"]]})
        return {"state": {numbers.get(p, p): state for p, state in self.state.items() if state}, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from options and state that `state_dict` gave, here or in torch."""
        groups = state_dict["param_groups"]
        if len(groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(self.param_groups, groups, strict=True)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        by_number: dict[int, Any] = {}
        for mine, given in zip(self.param_groups, groups, strict=True):
            by_number.update(zip(given["params"], mine["params"], strict=True))
            mine.update({name: deepcopy(value) for name, value in given.items() if name != "params"})
        self.state = defaultdict(dict)
        for number, state in state_dict["state"].items():
            parameter = by_number.get(number, number)
            self.state[parameter] = {name: _loaded(name, value, parameter) for name, value in state.items()}

    def __repr__(self) -> str:
        lines = []
        for number, group in enumerate(self.param_groups):
            lines.append(f"\nParameter Group {number}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return f"{type(self).__name__} (" + "\n".join(lines) + "\n)"

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _step_pre_hooks=Hooks(), _step_post_hooks=Hooks())


def _named(params: Any) -> tuple[list, list]:
    """Tensors, and their names where (name, tensor) pairs were given."""
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections: the order of a set changes "
            "between runs"
        )
    items = [params] if isinstance(params, Tensor) else list(params)
    pairs = [isinstance(item, tuple) for item in items]
    if any(pairs) and not all(pairs):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    return ([p for _, p in items], [n for n, _ in items]) if any(pairs) else (items, [])


def _check_parameter(p: Any) -> None:
    if not isinstance(p, Tensor):
        raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
    if not (p.is_leaf or getattr(p, "retains_grad", False)):
        raise ValueError("can't optimize a non-leaf Tensor: its values come from other tensors, so there is nothing to write to")


def _loaded(name: str, value: Any, parameter: Any) -> Any:
    """A state value as one of ours: a step count as it is, anything else in the parameter's dtype.

    Not a copy, as in torch: two optimizers that load one state dict go on with the same buffers.
    """
    if not hasattr(value, "shape"):
        return make(np.float32(value)) if name == "step" else deepcopy(value)
    if not isinstance(value, Tensor):
        value = from_torch(value).detach().clone()
    return value if name == "step" else value.to(parameter.dtype)


def check(ok: bool, message: str) -> None:
    """ValueError with torch's words unless an option is in its range."""
    if not ok:
        raise ValueError(message)


def check_rate(lr: Any) -> None:
    """A learning rate is a number or a tensor of one element, not negative."""
    if not isinstance(lr, (Tensor, Real)):
        raise TypeError(f"lr must be a number or a tensor of one element, not {type(lr).__name__}")
    if isinstance(lr, Tensor):
        check(lr.numel() == 1, "Tensor lr must be 1-element")
    check(float(lr) >= 0, f"Invalid learning rate: {lr}")
