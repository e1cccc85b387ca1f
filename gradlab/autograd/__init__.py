"""torch.autograd's names: backward, grad, Function, the grad modes, gradcheck, anomaly detection, functional."""

from __future__ import annotations

import importlib
from typing import Any

from gradlab._backward import backward, grad
from gradlab.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from gradlab.engine import SavedTensor

_LATER = {
    "Function": "function",
    "GradcheckError": "_gradcheck",
    "gradcheck": "_gradcheck",
    "gradgradcheck": "_gradcheck",
    "Variable": "variable",
    "detect_anomaly": "anomaly",
    "is_anomaly_check_nan_enabled": "anomaly",
    "is_anomaly_enabled": "anomaly",
    "set_detect_anomaly": "anomaly",
}
_ROOMS = ("forward_ad", "function", "functional", "graph", "variable")

__all__ = [
    "SavedTensor",
    "backward",
    "enable_grad",
    "grad",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    *_LATER,
    *_ROOMS,
]


def __getattr__(name: str) -> Any:
    """The rest is loaded when first used, so that `import gradlab` stays light."""
    if name in _LATER:
        found = getattr(importlib.import_module(f"gradlab.autograd.{_LATER[name]}"), name)
        globals()[name] = found
        return found
    if name in _ROOMS:
        return importlib.import_module(f"gradlab.autograd.{name}")
    raise AttributeError(f"module 'gradlab.autograd' has no attribute '{name}'")
