"""gradlab: see autograd think.

``import gradlab as torch`` runs a lesson's torch cell: the names here are torch's. The rest are the teaching names: draw,
record, explore, snapshot, why, watch, compare, predict, reveal, check, hint, progress.
"""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from gradlab import _memory
from gradlab._public import public
from gradlab._tensor import Size, Tensor, is_tensor
from gradlab.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from gradlab.devices import device
from gradlab.dtypes import (
    bool,
    double,
    dtype,
    finfo,
    float,
    float16,
    float32,
    float64,
    get_default_dtype,
    half,
    iinfo,
    int,
    int8,
    int16,
    int32,
    int64,
    long,
    set_default_dtype,
    short,
    uint8,
)
from gradlab.operators import CREATION, PUBLIC
from gradlab.printing import set_printoptions

__version__ = "0.1.0"

warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"gradlab\.")  # numpy's, of 1 / 0 and its kin: torch is silent

_memory.watch()
_memory.keep_freed()
globals().update({name: public(function, name) for name, function in PUBLIC.items()})
_ALSO_METHODS = ("detach", "is_floating_point", "is_same_size", "numel")
globals().update({name: public(getattr(Tensor, name), name) for name in _ALSO_METHODS})
globals().update(CREATION)

pi, e, inf, nan = 3.141592653589793, 2.718281828459045, float64.numpy.type("inf").item(), float64.numpy.type("nan").item()

_TEACHING = {
    "snapshot": "graphs",
    "draw": "drawing",
    "record": "drawing",
    "explore": "widget",
    "why": "diagnosis",
    "watch": "diagnosis",
    "compare": "comparing",
    "check": "exercises",
    "hint": "exercises",
    "predict": "exercises",
    "progress": "exercises",
    "reveal": "exercises",
}
_LATER = {
    "is_anomaly_enabled": "autograd.anomaly",
    "is_anomaly_check_nan_enabled": "autograd.anomaly",
    **{f"{kind}Tensor": "_legacy" for kind in ("Float", "Double", "Half", "Byte", "Bool")},
    **{f"{kind}Tensor": "_legacy" for kind in ("Char", "Short", "Int", "Long")},
}
_ROOMS = ("autograd", "datasets", "linalg", "nn", "optim", "special", "utils")

__all__ = [
    "Size",
    "Tensor",
    "bool",
    "device",
    "double",
    "dtype",
    "e",
    "enable_grad",
    "finfo",
    "float",
    "float16",
    "float32",
    "float64",
    "get_default_dtype",
    "half",
    "iinfo",
    "inf",
    "inference_mode",
    "int",
    "int16",
    "int32",
    "int64",
    "int8",
    "is_grad_enabled",
    "is_inference",
    "is_inference_mode_enabled",
    "is_tensor",
    "long",
    "nan",
    "no_grad",
    "pi",
    "set_default_dtype",
    "set_grad_enabled",
    "set_printoptions",
    "short",
    "uint8",
    *_TEACHING,
    *_LATER,
    *_ROOMS,
    *PUBLIC,
    *_ALSO_METHODS,
    *CREATION,
]


def __getattr__(name: str) -> Any:
    """Rooms and teaching names are loaded when first used, so that `import gradlab` stays light."""
    if name in _ROOMS:
        return importlib.import_module(f"gradlab.{name}")
    if name in _TEACHING or name in _LATER:
        found = getattr(importlib.import_module(f"gradlab.{_TEACHING.get(name) or _LATER[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'gradlab' has no attribute '{name}': lessons/differences.md says what of torch it offers")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
