"""Activations as modules: each calls the function of the same name in nn.functional."""

from __future__ import annotations

from typing import Any

from gradlab.nn import functional as F
from gradlab.nn.module import Module


class _Inplace(Module):
    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_Inplace):
    """`max(x, 0)`.

    >>> import gradlab
    >>> gradlab.nn.ReLU()(gradlab.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input: Any) -> Any:
        return F.relu(input, self.inplace)


class ReLU6(_Inplace):
    """x held between 0 and 6.

    >>> import gradlab
    >>> gradlab.nn.ReLU6()(gradlab.tensor([-1.0, 2.0, 8.0]))
    tensor([0., 2., 6.])
    """

    def forward(self, input: Any) -> Any:
        return F.relu6(input, self.inplace)


class SiLU(_Inplace):
    """`x * sigmoid(x)`.

    >>> import gradlab
    >>> gradlab.nn.SiLU()(gradlab.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """

    def forward(self, input: Any) -> Any:
        return F.silu(input, self.inplace)


class LeakyReLU(Module):
    """x, or `negative_slope * x` where it is negative.

    >>> import gradlab
    >>> gradlab.nn.LeakyReLU(0.1)(gradlab.tensor([-1.0, 2.0]))
    tensor([-0.1000,  2.0000])
    """

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Any) -> Any:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class ELU(Module):
    """x, or `alpha * (exp(x) - 1)` where it is negative.

    >>> import gradlab
    >>> gradlab.nn.ELU()(gradlab.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Any) -> Any:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class GELU(Module):
    """x times the normal distribution function of x, or its tanh approximation.

    >>> import gradlab
    >>> gradlab.nn.GELU()(gradlab.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Any) -> Any:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Hardtanh(Module):
    """x held between two limits.

    >>> import gradlab
    >>> gradlab.nn.Hardtanh()(gradlab.tensor([-1.0, 2.0]))
    tensor([-1.,  1.])
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        if max_val <= min_val:
            raise AssertionError("max_val must be larger than min_val")
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace

    def forward(self, input: Any) -> Any:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class Softplus(Module):
    """`log(1 + exp(beta * x)) / beta`.

    >>> import gradlab
    >>> gradlab.nn.Softplus()(gradlab.tensor([-1.0, 2.0]))
    tensor([0.3133, 2.1269])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Any) -> Any:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Sigmoid(Module):
    """`1 / (1 + exp(-x))`.

    >>> import gradlab
    >>> gradlab.nn.Sigmoid()(gradlab.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """

    def forward(self, input: Any) -> Any:
        return F.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent.

    >>> import gradlab
    >>> gradlab.nn.Tanh()(gradlab.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """

    def forward(self, input: Any) -> Any:
        return F.tanh(input)


class Softsign(Module):
    """`x / (1 + |x|)`.

    >>> import gradlab
    >>> gradlab.nn.Softsign()(gradlab.tensor([-1.0, 2.0]))
    tensor([-0.5000,  0.6667])
    """

    def forward(self, input: Any) -> Any:
        return F.softsign(input)


class LogSigmoid(Module):
    """`log(sigmoid(x))`.

    >>> import gradlab
    >>> gradlab.nn.LogSigmoid()(gradlab.tensor([0.0, -200.0]))
    tensor([  -0.6931, -200.0000])
    """

    def forward(self, input: Any) -> Any:
        return F.logsigmoid(input)


class Softmax(Module):
    """`exp(x) / sum(exp(x))` along a dim.

    >>> import gradlab
    >>> gradlab.nn.Softmax(dim=1)(gradlab.tensor([[0.0, 0.0], [0.0, 1.0]]))
    tensor([[0.5000, 0.5000],
            [0.2689, 0.7311]])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Any) -> Any:
        return F.softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """`log(softmax(x))` along a dim.

    >>> import gradlab
    >>> gradlab.nn.LogSoftmax(dim=1)(gradlab.tensor([[0.0, 0.0]]))
    tensor([[-0.6931, -0.6931]])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Any) -> Any:
        return F.log_softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
