"""Losses as modules: each calls the function of the same name in nn.functional."""

from __future__ import annotations

from typing import Any

from gradlab.nn import functional as F
from gradlab.nn.functional.losses import _reduction
from gradlab.nn.module import Module


class _Loss(Module):
    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction if reduction == "batchmean" else _reduction(reduction, size_average, reduce, 3)


class MSELoss(_Loss):
    """The mean of `(input - target) ** 2`.

    >>> import gradlab
    >>> gradlab.nn.MSELoss()(gradlab.tensor([1.0, 3.0]), gradlab.tensor([0.0, 0.0]))
    tensor(5.)
    """

    def forward(self, input: Any, target: Any) -> Any:
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """The mean of `|input - target|`.

    >>> import gradlab
    >>> gradlab.nn.L1Loss()(gradlab.tensor([1.0, 3.0]), gradlab.tensor([0.0, 0.0]))
    tensor(2.)
    """

    def forward(self, input: Any, target: Any) -> Any:
        return F.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Squared near 0, absolute beyond beta.

    >>> import gradlab
    >>> gradlab.nn.SmoothL1Loss()(gradlab.tensor([1.0, 3.0]), gradlab.tensor([0.0, 0.0]))
    tensor(1.5000)
    """

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Any, target: Any) -> Any:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Squared up to delta, absolute beyond.

    >>> import gradlab
    >>> gradlab.nn.HuberLoss(delta=2.0)(gradlab.tensor([1.0, 3.0]), gradlab.tensor([0.0, 0.0]))
    tensor(2.2500)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Any, target: Any) -> Any:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence of log-probabilities from a target distribution.

    >>> import gradlab
    >>> gradlab.nn.KLDivLoss(reduction="batchmean")(gradlab.log(gradlab.tensor([[0.5, 0.5]])), gradlab.tensor([[0.2, 0.8]]))
    tensor(0.1927)
    """

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Any, target: Any) -> Any:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class _Weighted(_Loss):
    def __init__(self, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class BCELoss(_Weighted):
    """Binary cross-entropy of probabilities.

    >>> import gradlab
    >>> gradlab.nn.BCELoss()(gradlab.tensor([0.5, 0.8]), gradlab.tensor([0.0, 1.0]))
    tensor(0.4581)
    """

    def forward(self, input: Any, target: Any) -> Any:
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Weighted):
    """Binary cross-entropy of logits.

    >>> import gradlab
    >>> gradlab.nn.BCEWithLogitsLoss()(gradlab.tensor([0.0, 2.0]), gradlab.tensor([0.0, 1.0]))
    tensor(0.4100)
    """

    def __init__(
        self,
        weight: Any = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
        pos_weight: Any = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Any, target: Any) -> Any:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class NLLLoss(_Weighted):
    """Minus the log-probability of the target class.

    >>> import gradlab
    >>> logs = gradlab.log(gradlab.tensor([[0.5, 0.5], [0.2, 0.8]]))
    >>> gradlab.nn.NLLLoss()(logs, gradlab.tensor([0, 1]))
    tensor(0.4581)
    """

    def __init__(
        self, weight: Any = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Any, target: Any) -> Any:
        return F.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(_Weighted):
    """Cross-entropy of logits; targets are class indices or probabilities.

    >>> import gradlab
    >>> gradlab.nn.CrossEntropyLoss()(gradlab.zeros(2, 4), gradlab.tensor([0, 3]))
    tensor(1.3863)
    """

    def __init__(
        self,
        weight: Any = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Any, target: Any) -> Any:
        return F.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )
