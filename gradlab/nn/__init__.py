"""torch.nn's names: modules, parameters, and the rooms functional, init and utils."""

from gradlab.nn import functional, init, utils
from gradlab.nn.activations import (
    ELU,
    GELU,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Softsign,
    Tanh,
)
from gradlab.nn.containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from gradlab.nn.layers import (
    AdaptiveAvgPool2d,
    AvgPool2d,
    BatchNorm1d,
    BatchNorm2d,
    Conv1d,
    Conv2d,
    Dropout,
    Embedding,
    Flatten,
    Identity,
    LayerNorm,
    Linear,
    MaxPool2d,
    Unflatten,
)
from gradlab.nn.losses import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
)
from gradlab.nn.module import Module
from gradlab.nn.parameter import Buffer, Parameter

__all__ = [name for name in dir() if name[0].isupper()] + ["functional", "init", "utils"]
