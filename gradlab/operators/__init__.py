"""Operators by family: pointwise, reduction, shape, joining, indexing, linalg, neural, spatial, inplace, creation.

PUBLIC, LINALG and SPECIAL say under which of torch's names they are found: gradlab.exp, gradlab.linalg.norm, gradlab.special.erf.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradlab import random
from gradlab.operators import creation, indexing, inplace, joining, linalg, neural, pointwise, reduction, shape
from gradlab.operators._docs import DOCS
from gradlab.operators.joining import stack

__all__ = ["CREATION", "LINALG", "PUBLIC", "SPECIAL", "stack"]


def _by_name(module: Any, names: str) -> dict[str, Callable]:
    return {name: getattr(module, name) for name in names.split()}


PUBLIC: dict[str, Callable] = {
    **_by_name(pointwise, "add sub rsub mul div true_divide floor_divide remainder neg abs sign reciprocal positive"),
    **_by_name(pointwise, "pow square sqrt rsqrt exp expm1 log log2 log10 log1p logaddexp sigmoid erf xlogy"),
    **_by_name(pointwise, "sin cos tan asin acos atan atan2 sinh cosh tanh floor ceil trunc frac round"),
    **_by_name(pointwise, "where maximum minimum clamp clamp_min clamp_max lerp nan_to_num addcmul addcdiv"),
    **_by_name(pointwise, "eq ne lt le gt ge logical_and logical_or logical_xor logical_not"),
    **_by_name(pointwise, "bitwise_and bitwise_or bitwise_xor bitwise_not isnan isinf isfinite isclose allclose equal"),
    **_by_name(
        reduction, "sum mean prod var std var_mean std_mean max min amax amin median kthvalue sort argsort topk cumsum cumprod"
    ),
    **_by_name(reduction, "cummax cummin logsumexp norm argmax argmin any all count_nonzero bincount unique"),
    **_by_name(shape, "clone reshape flatten ravel unflatten broadcast_to broadcast_tensors transpose t permute movedim"),
    **_by_name(shape, "squeeze unsqueeze select narrow diagonal diag_embed diag trace"),
    **_by_name(joining, "cat stack hstack vstack split chunk unbind tile repeat_interleave flip roll tril triu"),
    **_by_name(
        indexing,
        "gather scatter scatter_add index_select index_add index_copy index_put index_fill masked_fill masked_select nonzero",
    ),
    **_by_name(linalg, "matmul mm bmm mv dot outer addmm einsum tensordot"),
    **_by_name(neural, "relu softmax log_softmax"),
    **_by_name(inplace, "fill relu_"),
    "absolute": pointwise.abs,
    "argwhere": indexing.nonzero,
    "clip": pointwise.clamp,
    "multiply": pointwise.mul,
    "subtract": pointwise.sub,
    "divide": pointwise.div,
    "concat": joining.cat,
    "concatenate": joining.cat,
    "swapaxes": shape.transpose,
    "moveaxis": shape.movedim,
    "inverse": linalg.inv,
}
LINALG: dict[str, Callable] = {"inv": linalg.inv, "norm": linalg.linalg_norm, "vector_norm": reduction.vector_norm}
SPECIAL: dict[str, Callable] = {
    "xlogy": pointwise.xlogy,
    "expit": pointwise.sigmoid,
    "erf": pointwise.erf,
    "expm1": pointwise.expm1,
    "log1p": pointwise.log1p,
    "logsumexp": reduction.logsumexp,
    "softmax": neural.softmax,
    "log_softmax": neural.log_softmax,
}
CREATION: dict[str, Callable] = {
    **_by_name(creation, "tensor as_tensor from_numpy scalar_tensor zeros ones empty full zeros_like ones_like empty_like"),
    **_by_name(creation, "full_like eye arange linspace meshgrid rand randn randint randperm rand_like randn_like randint_like"),
    **_by_name(creation, "normal bernoulli multinomial"),
    **_by_name(random, "Generator default_generator manual_seed initial_seed get_rng_state set_rng_state"),
}

for _name, _function in PUBLIC.items():  # an operator with no node has no name of its own
    if getattr(_function, "operator", None) is not None and _function.operator.node_name is None:
        _function.operator.label = _name

for _name, _text in DOCS.items():
    PUBLIC[_name].__doc__ = _text
