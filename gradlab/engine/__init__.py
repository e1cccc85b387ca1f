"""Autograd itself, over numpy: tensors, nodes, what they save, the backward walk, grad modes, recording an operation.

Read in this order: tensor.py, node.py, saved.py, record.py, walk.py, views.py, modes.py.
"""

from gradlab.engine.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    modes,
    no_grad,
    set_grad_enabled,
)
from gradlab.engine.node import AccumulateGrad, Node, RemovableHandle
from gradlab.engine.record import operator
from gradlab.engine.saved import SavedTensor
from gradlab.engine.tensor import TensorBase, make
from gradlab.engine.views import inplace
from gradlab.engine.walk import backward, grad

__all__ = [
    "AccumulateGrad",
    "Node",
    "RemovableHandle",
    "SavedTensor",
    "TensorBase",
    "backward",
    "enable_grad",
    "grad",
    "inference_mode",
    "inplace",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "make",
    "modes",
    "no_grad",
    "operator",
    "set_grad_enabled",
]
