"""Autograd itself, over numpy: tensors, nodes, what they save, recording an operation, views, the backward walk.

Read in this order: tensor.py, node.py, saved.py, record.py, source.py, walk.py, modes.py.
"""

from gradlab.engine.modes import modes, notify
from gradlab.engine.node import AccumulateGrad, Node, RemovableHandle
from gradlab.engine.record import operator
from gradlab.engine.saved import SavedTensor
from gradlab.engine.tensor import TensorBase, make
from gradlab.engine.walk import Walk

__all__ = "AccumulateGrad Node RemovableHandle SavedTensor TensorBase Walk make modes notify operator".split()
