"""The names of an operation's inputs, in the order of its edges: torch's table of derivatives, for the common ones."""

from __future__ import annotations

_PAIR = ("self", "other")
_ONE = ("self",)

_NAMES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Rsub", "Maximum", "Minimum", "Fmod", "Remainder", "Atan2"), _PAIR),
    "Where": _PAIR,
    "Pow": ("self", "exponent"),
    "Mm": ("self", "mat2"),
    "Bmm": ("self", "mat2"),
    "Mv": ("self", "vec"),
    "Dot": ("self", "tensor"),
    "Addmm": ("self", "mat1", "mat2"),
    "Baddbmm": ("self", "batch1", "batch2"),
    "Linear": ("input", "weight", "bias"),
    "Convolution": ("input", "weight", "bias"),
    "ConvolutionOverrideable": ("input", "weight", "bias"),
    "BatchNorm": ("input", "weight", "bias"),
    "LayerNorm": ("input", "weight", "bias"),
    "GroupNorm": ("input", "weight", "bias"),
    "Embedding": ("weight",),
    "MseLoss": ("self", "target"),
    "L1Loss": ("self", "target"),
    "BinaryCrossEntropy": ("self", "target"),
    "Addcmul": ("self", "tensor1", "tensor2"),
    "Addcdiv": ("self", "tensor1", "tensor2"),
    "Lerp": ("self", "end", "weight"),
    "Prelu": ("self", "weight"),
}

# Operations that treat their inputs differently: there the picture says which arrow is which.
ORDERED = frozenset(("Sub", "Div", "Rsub", "Pow", "Where", "Fmod", "Remainder", "Atan2", "Mm", "Mv", "Addmm", "Lerp"))


def input_names(operation: str) -> tuple[str, ...]:
    """The names of an operation's differentiable inputs; empty where they are not in the table.

    >>> input_names("Div")
    ('self', 'other')
    """
    return _NAMES.get(operation, ())
