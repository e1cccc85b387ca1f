"""A matrix applied to the last dim, and rows picked from one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradlab.autograd.grad_mode import no_grad
from gradlab.engine import make, notify
from gradlab.operators import linalg, neural, reduction, shape
from gradlab.operators._arguments import index


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """`input @ weight.T + bias`, over the last dim.

    >>> import gradlab
    >>> gradlab.nn.functional.linear(gradlab.ones(5, 3), gradlab.ones(2, 3)).shape
    gradlab.Size([5, 2])
    """
    if input._array.ndim == weight._array.ndim == 2:
        turned = shape.turned(weight)
        return linalg.mm_turned(input, turned) if bias is None else linalg.addmm_turned(bias, input, turned)
    if bias is None or weight.ndim != 2 or input.ndim < 1:
        out = linalg.matmul(input, shape.t(weight))
        return out if bias is None else out + bias
    lead = tuple(input.shape[:-1])
    rows = shape.reshape(input, (math.prod(lead), input.shape[-1]))
    return shape.view(linalg.addmm_turned(bias, rows, shape.turned(weight)), (*lead, weight.shape[0]))


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """Rows of `weight` picked by index; the row `padding_idx` takes no gradient.

    >>> import gradlab
    >>> gradlab.nn.functional.embedding(gradlab.tensor([1, 1]), gradlab.eye(2)).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    if sparse:
        raise NotImplementedError("embedding(sparse=True): gradlab has no sparse gradients.")
    if input.dtype.name not in ("int64", "int32"):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, "
            f"Int; but got {input.dtype}"
        )
    if weight.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, got {weight.ndim}-D")
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    if input.numel() and not (0 <= int(input._array.min()) and int(input._array.max()) < rows):
        raise IndexError(f"index out of range in self: the embedding has {rows} rows")
    if max_norm is not None:
        _shorten_rows(weight, input, max_norm, norm_type)
    return neural.embedding(weight, input, None if padding_idx is None else padding_idx % rows, scale_grad_by_freq)


def _shorten_rows(weight: Any, input: Any, max_norm: float, norm_type: float) -> None:
    """Rows about to be picked that are longer than max_norm are scaled down in place."""
    with no_grad():
        for row in np.unique(input._array):
            length = float(reduction.vector_norm(weight.detach()[int(row)], norm_type))
            if length > max_norm:
                weight.detach()[int(row)] *= max_norm / (length + 1e-7)


def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """Ones at the index, along a new last dim.

    >>> import gradlab
    >>> gradlab.nn.functional.one_hot(gradlab.tensor([0, 2]), num_classes=3)
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    num_classes = index(num_classes, "num_classes")
    if tensor.dtype.name != "int64":
        raise RuntimeError(f"one_hot is only applicable to index tensor of type LongTensor, got {tensor.dtype}")
    classes = int(tensor._array.max()) + 1 if num_classes == -1 else num_classes
    if tensor.numel() and not (0 <= int(tensor._array.min()) and int(tensor._array.max()) < classes):
        raise RuntimeError("Class values must be non-negative and smaller than num_classes.")
    out = make((tensor._array[..., None] == np.arange(classes)).astype(np.int64))
    notify("one_hot", (tensor, classes), out)
    return out
