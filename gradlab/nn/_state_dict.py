"""Reading a state dict into the parameters and buffers of one module; the modules below it have their own turn."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from gradlab._tensor import Tensor
from gradlab.autograd.grad_mode import no_grad
from gradlab.nn.parameter import Parameter

EXTRA = "_extra_state"


def own_state(module: Any) -> Iterator[tuple[str, Any]]:
    """Names and values of a module's own parameters and persistent buffers, without those that are None."""
    kept = [(n, b) for n, b in module._buffers.items() if n not in module._non_persistent_buffers_set]
    return ((name, value) for name, value in itertools.chain(module._parameters.items(), kept) if value is not None)


def load_own(module: Any, given: dict, prefix: str, assign: bool, missing: list, errors: list) -> None:
    """Write what `given` has of the module's own state into it; note what is missing, and what does not fit."""
    for name, mine in own_state(module):
        key = prefix + name
        if key not in given:
            missing.append(key)
            continue
        try:
            value = from_torch(given[key])
        except TypeError as error:
            errors.append(f'While copying the parameter named "{key}", {error}')
            continue
        value = value[0] if mine.ndim == 0 and value.shape == (1,) else value  # scalars of the first torch versions
        if value.shape == mine.shape:
            _write(module, name, mine, value, assign)
        else:
            errors.append(
                f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the shape in current "
                f"model is {mine.shape}."
            )


def _write(module: Any, name: str, mine: Any, value: Any, assign: bool) -> None:
    if not assign:
        with no_grad():
            mine.copy_(value)
    elif isinstance(mine, Parameter):
        setattr(module, name, Parameter(value, mine.requires_grad))
    else:
        setattr(module, name, value)


def unexpected(module: Any, given: dict, prefix: str) -> list[str]:
    """The keys of `given` that start with the prefix and that neither the module nor one below it has a place for."""
    own = {name for name, _ in own_state(module)}
    found = []
    for key in given:
        first, dot, _ = key.removeprefix(prefix).partition(".")
        known = first in module._modules if dot else first in own
        if key.startswith(prefix) and key != prefix + EXTRA and not known:
            found.append(key)
    return found


def from_torch(value: Any) -> Tensor:
    """A state dict's value as a tensor: ours, torch's or any other with `.detach()`, or a numpy array."""
    if isinstance(value, Tensor):
        return value
    if not hasattr(value, "detach") and not isinstance(value, (np.ndarray, np.generic)):
        raise TypeError(f"expected torch.Tensor or Tensor-like object from checkpoint but received {type(value)}")
    from gradlab.operators.creation import tensor

    return tensor(value.detach().cpu().numpy() if hasattr(value, "detach") else value)
