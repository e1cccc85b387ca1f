"""The installed torch's own operator samples (OpInfo), run through both libraries.

A sample is an input tensor with arguments; a form of an operator is the function, the method or the in-place method.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db

import gradlab

# What gradlab offers of OpInfo's operators, by OpInfo's name: checked in every form, every sample.
OFFERED = """
__getitem__ __radd__ __rdiv__ __rmatmul__ __rmod__ __rmul__ __rpow__ __rsub__ abs acos add addcdiv addcmul addmm amax amin asin
atan atan2 bmm broadcast_tensors broadcast_to cat ceil chunk clamp clamp_max clamp_min clone contiguous cos cosh cummax cummin
cumprod cumsum diag diag_embed diagonal div dot double einsum erf exp expand expand_as expm1 fill flatten flip float floor frac
gather hstack index_add index_copy index_fill index_put index_select kthvalue lerp linalg.inv linalg.norm linalg.vector_norm log
log10 log1p log2 log_softmax logaddexp logsumexp mT masked_fill masked_select matmul max maximum mean median meshgrid min minimum
mm movedim mul mv nan_to_num narrow neg nn.functional.adaptive_avg_pool2d nn.functional.avg_pool1d nn.functional.avg_pool2d
nn.functional.batch_norm nn.functional.binary_cross_entropy nn.functional.binary_cross_entropy_with_logits nn.functional.conv1d
nn.functional.conv2d nn.functional.conv_transpose1d nn.functional.conv_transpose2d nn.functional.cosine_similarity
nn.functional.cross_entropy nn.functional.elu nn.functional.embedding nn.functional.gelu nn.functional.hardtanh
nn.functional.huber_loss nn.functional.kl_div nn.functional.l1_loss nn.functional.layer_norm nn.functional.leaky_relu
nn.functional.linear nn.functional.logsigmoid nn.functional.max_pool1d nn.functional.max_pool2d nn.functional.mse_loss
nn.functional.nll_loss nn.functional.normalize nn.functional.pad nn.functional.relu nn.functional.relu6 nn.functional.silu
nn.functional.smooth_l1_loss nn.functional.softplus nn.functional.softsign norm outer permute positive pow prod ravel reciprocal
remainder repeat repeat_interleave reshape reshape_as roll round rsqrt scatter scatter_add select sigmoid sign sin sinh softmax
sort split sqrt square squeeze stack std sub sum t T tan tanh tensordot tile to topk trace transpose tril triu true_divide trunc
unbind unflatten unfold unsqueeze var view view_as vstack where xlogy zero_
""".split()
# Operators whose samples take their arguments in another order than torch's function does.
REORDERED = {
    "where": lambda lib: lambda x, condition, other: lib.where(condition, x, other),
    "einsum": lambda lib: lambda tensors, equation: lib.einsum(equation, *tensors),
    "nn.functional.embedding": lambda lib: lambda weight, index, **k: lib.nn.functional.embedding(index, weight, **k),
    "zero_": lambda lib: lambda x: x.clone().zero_(),
}
METHODS_ONLY = {"float", "double", "to", "T", "mT"}


def operators() -> list:
    """OpInfo's entries of what gradlab offers; `select` picks them by id."""
    return [op for op in op_db if op.name in OFFERED]


def id_of(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def _by_path(lib: Any, name: str) -> Any:
    if name in REORDERED:
        return REORDERED[name](lib)
    if name in METHODS_ONLY or name.startswith("__"):
        return lambda x, *a, **k: found if not callable(found := getattr(x, name)) else found(*a, **k)
    found = functools.reduce(lambda at, part: at and getattr(at, part, None), name.split("."), lib)
    return found or getattr(lib.Tensor, name)


def forms(op: Any) -> Iterator[tuple[str, Any, Any]]:
    """(name, torch's callable, gradlab's) for each form that torch has of the operator."""
    yield "function", op.op, _by_path(gradlab, op.name)
    if "." in op.name or op.name.startswith("__") or op.name in REORDERED or op.name in METHODS_ONLY:
        return
    if callable(op.get_method()):
        yield "method", op.get_method(), getattr(gradlab.Tensor, op.name)
    written = op.get_inplace()
    if callable(written):
        name = written.__name__

        def on_copy(write: Any) -> Any:
            return lambda x, *a, **k: write(x.clone(), *a, **k)

        yield "in-place", on_copy(written), on_copy(getattr(gradlab.Tensor, name))


class ToGradlab:
    """Turns torch's values into gradlab's, keeping the tensors that are to be differentiated."""

    def __init__(self) -> None:
        self.inputs: list = []

    def __call__(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            tensor = gradlab.tensor(value.detach().numpy().copy())
            if value.requires_grad:
                self.inputs.append(tensor.requires_grad_())
            return tensor
        if isinstance(value, torch.Size):
            return tuple(value)
        if isinstance(value, (torch.dtype, torch.device, torch.memory_format)):
            name = str(value).removeprefix("torch.")
            return getattr(gradlab, name, name)
        if isinstance(value, (list, tuple)):
            return type(value)(map(self, value))
        return {k: self(v) for k, v in value.items()} if isinstance(value, dict) else value


class ToTorch(ToGradlab):
    """Copies torch's values, keeping the tensors that are to be differentiated."""

    def __call__(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            tensor = value.detach().clone().requires_grad_(value.requires_grad)
            if value.requires_grad:
                self.inputs.append(tensor)
            return tensor
        if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
            return type(value)(map(self, value))
        return {k: self(v) for k, v in value.items()} if isinstance(value, dict) else value


def tensors_in(lib: Any, out: Any) -> list:
    if isinstance(out, lib.Tensor):
        return [out]
    return [t for part in out for t in tensors_in(lib, part)] if isinstance(out, (list, tuple)) else []


class Result:
    """Outputs and gradients of one call, and the graph that it left."""

    def __init__(self, lib: Any, function: Any, sample: Any, seed: int) -> None:
        convert = ToTorch() if lib is torch else ToGradlab()
        args = [convert(sample.input), *map(convert, sample.args)]
        out = function(*args, **{k: convert(v) for k, v in sample.kwargs.items()})
        outputs = tensors_in(lib, out)
        self.outputs = [t.detach().numpy() for t in outputs]
        rng, roots, given = np.random.default_rng(seed), [], []
        for tensor, value in zip(outputs, self.outputs, strict=True):
            g = rng.standard_normal(value.shape)
            if tensor.requires_grad:
                roots.append(tensor)
                given.append((torch.from_numpy if lib is torch else lib.tensor)(np.asarray(g, value.dtype)))
        self.graph = graph(roots)
        if roots:
            lib.autograd.backward(roots, given)
        self.gradients = [None if t.grad is None else t.grad.numpy() for t in convert.inputs]


def graph(roots: list) -> list:
    """Node names and how they are joined, depth first."""
    stack, numbers, rows = [t.grad_fn for t in reversed(roots) if t.grad_fn is not None], {}, []
    order = []
    while stack:
        node = stack.pop()
        if node not in numbers:
            numbers[node] = len(numbers)
            order.append(node)
            stack += [n for n, _ in reversed(node.next_functions) if n is not None]
    for node in order:
        rows.append((node.name().split("::")[-1], [(n and numbers[n], k) for n, k in node.next_functions]))
    return rows


def difference(ours: Result, theirs: Result, tight: bool) -> str | None:
    """What differs between two results, or None."""
    if len(ours.outputs) != len(theirs.outputs):
        return f"{len(ours.outputs)} outputs, torch has {len(theirs.outputs)}"
    pairs = [("output", a, b) for a, b in zip(ours.outputs, theirs.outputs, strict=True)]
    pairs += [("gradient", a, b) for a, b in zip(ours.gradients, theirs.gradients, strict=True)]
    for what, a, b in pairs:
        if (a is None) != (b is None):
            return f"{what}: {a!r}, torch has {b!r}"
        if a is None:
            continue
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"{what}: {a.dtype}{a.shape}, torch has {b.dtype}{b.shape}"
        if not np.allclose(a, b, *((1e-7, 1e-8) if tight else (2e-4, 2e-5)), equal_nan=True):
            return f"{what}: {a}, torch has {b}"
    return None


def sample_inputs(op: Any, dtype: Any, most: int) -> Iterator[Any]:
    """The first samples of an operator; those that draw random numbers are left out."""
    torch.manual_seed(0)
    np.random.seed(0)
    for number, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=True)):
        if number >= most:
            return
        yield sample
