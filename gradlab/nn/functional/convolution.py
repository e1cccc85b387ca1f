"""Convolutions and their transposes, and padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradlab.operators import shape, spatial
from gradlab.operators._arguments import index


def _spatial(value: Any, n: int, name: str) -> tuple[int, ...]:
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    values = values * n if len(values) == 1 else values
    if len(values) != n:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {n} values, but got {name}={list(values)}"
        )
    return tuple([index(v, name) for v in values])


def _convolution(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, n: int
) -> Any:
    stride, dilation = _spatial(stride, n, "stride"), _spatial(dilation, n, "dilation")
    _check_convolution(input, weight, bias, groups, stride, dilation, n)
    batched = input.ndim == n + 2
    input = input if batched else shape.unsqueeze(input, 0)
    if isinstance(padding, str):
        input, padding = _named_padding(input, weight, padding, stride, dilation, n)
    padding = _spatial(padding, n, "padding")
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    spans = [dilation[d] * (weight.shape[2 + d] - 1) + 1 for d in range(n)]
    wide = [input.shape[d - n] + 2 * padding[d] for d in range(n)]
    if any(w < s for w, s in zip(wide, spans)):
        raise RuntimeError(
            f"Calculated padded input size per channel: {wide}. Kernel size: {spans}. Kernel size can't be "
            "greater than actual input size"
        )
    out = spatial.convolution(input, weight, bias, stride, padding, dilation, groups)
    return out if batched else shape.squeeze(out, 0)


def _check_convolution(input: Any, weight: Any, bias: Any, groups: int, stride: tuple, dilation: tuple, n: int) -> None:
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to conv{n}d, but got input of size: "
            f"{list(input.shape)}"
        )
    if weight.ndim != n + 2:
        raise RuntimeError(
            f"conv{n}d: the weight has {n + 2} dims (out, in / groups, kernel), got {list(weight.shape)}"
        )
    if groups <= 0 or min(stride) <= 0 or min(dilation) <= 0:
        raise RuntimeError("non-positive stride, dilation or groups is not supported")
    channels = input.shape[-n - 1]
    if weight.shape[1] * groups != channels or weight.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight.shape)}, expected input{list(input.shape)} "
            f"to have {weight.shape[1] * groups} channels, but got {channels} channels instead"
        )
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        raise RuntimeError(
            f"Given weight of size {list(weight.shape)}, expected bias to be 1-dimensional with "
            f"{weight.shape[0]} elements, but got bias of size {list(bias.shape)} instead"
        )
    if input.dtype is not weight.dtype or (bias is not None and bias.dtype is not input.dtype):
        raise RuntimeError(f"Input type ({input.dtype}) and weight or bias type ({weight.dtype}) should be the same")


def _named_padding(input: Any, weight: Any, padding: str, stride: tuple, dilation: tuple, n: int) -> tuple[Any, Any]:
    if padding == "valid":
        return input, 0
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: {padding!r}; it is 'valid' or 'same'")
    if max(stride) != 1:
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [dilation[d] * (weight.shape[2 + d] - 1) for d in range(n)]
    if any(t % 2 for t in total):
        extra = [x for t in reversed(total) for x in (0, t % 2)]
        input = pad(input, extra)
    return input, tuple([t // 2 for t in total])


def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """A kernel slid along one dim: (N, C, L) or (C, L) input, (out, C / groups, k) weight.

    >>> import gradlab
    >>> gradlab.nn.functional.conv1d(gradlab.tensor([[[1.0, 2.0, 3.0]]]), gradlab.tensor([[[1.0, 10.0]]]))
    tensor([[[21., 32.]]])
    """
    return _convolution(input, weight, bias, stride, padding, dilation, groups, 1)


def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """A kernel slid over two dims: (N, C, H, W) or (C, H, W) input, (out, C / groups, kh, kw) weight.

    >>> import gradlab
    >>> gradlab.nn.functional.conv2d(gradlab.ones(1, 1, 4, 4), gradlab.ones(1, 1, 3, 3)).flatten()
    tensor([9., 9., 9., 9.])
    """
    return _convolution(input, weight, bias, stride, padding, dilation, groups, 2)


def _convolution_transposed(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, extra: Any, groups: int, dilation: Any, n: int
) -> Any:
    stride, padding = _spatial(stride, n, "stride"), _spatial(padding, n, "padding")
    dilation, extra = _spatial(dilation, n, "dilation"), _spatial(extra, n, "output_padding")
    if input.ndim not in (n + 1, n + 2) or weight.ndim != n + 2:
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to conv_transpose{n}d, but got input "
            f"of size: {list(input.shape)}"
        )
    if groups <= 0 or min(stride) <= 0 or min(dilation) <= 0 or min(padding) < 0 or min(extra) < 0:
        raise RuntimeError("non-positive stride, dilation or groups, or negative padding, is not supported")
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise RuntimeError(
            f"output padding must be smaller than either stride or dilation, but got output_padding={list(extra)}"
        )
    batched = input if input.ndim == n + 2 else shape.unsqueeze(input, 0)
    if batched.shape[1] != weight.shape[0] or weight.shape[0] % groups:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(weight.shape)}, expected input{list(input.shape)} to "
            f"have {weight.shape[0]} channels, but got {batched.shape[1]} channels instead"
        )
    if bias is not None and tuple(bias.shape) != (weight.shape[1] * groups,):
        raise RuntimeError(
            f"expected bias to be 1-dimensional with {weight.shape[1] * groups} elements, but got bias of "
            f"size {list(bias.shape)} instead"
        )
    places = [
        (batched.shape[2 + d] - 1) * stride[d] - 2 * padding[d] + dilation[d] * (weight.shape[2 + d] - 1) + extra[d] + 1
        for d in range(n)
    ]
    if min(places) < 1:
        raise RuntimeError(f"Calculated output size {places} is too small")
    size = (batched.shape[0], weight.shape[1] * groups, *places)
    out = spatial.convolution_transposed(batched, weight, bias, size, stride, padding, dilation, groups)
    return out if batched is input else shape.squeeze(out, 0)


def conv_transpose1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The transpose of conv1d: (N, C, L) or (C, L) input, (C, out / groups, k) weight.

    >>> import gradlab
    >>> gradlab.nn.functional.conv_transpose1d(gradlab.tensor([[[1.0, 2.0]]]), gradlab.tensor([[[1.0, 10.0]]]))
    tensor([[[ 1., 12., 20.]]])
    """
    return _convolution_transposed(input, weight, bias, stride, padding, output_padding, groups, dilation, 1)


def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The transpose of conv2d: (N, C, H, W) or (C, H, W) input, (C, out / groups, kh, kw) weight.

    >>> import gradlab
    >>> gradlab.nn.functional.conv_transpose2d(gradlab.ones(1, 2, 4, 4), gradlab.ones(2, 3, 2, 2), stride=2).shape
    gradlab.Size([1, 3, 8, 8])
    """
    return _convolution_transposed(input, weight, bias, stride, padding, output_padding, groups, dilation, 2)


def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    """Elements put around: `pad` is (before, after) of the last dim, then of the one before it, and so on.

    Modes: "constant", "reflect", "replicate", "circular". Negative numbers cut off.

    >>> import gradlab
    >>> gradlab.nn.functional.pad(gradlab.tensor([1.0, 2.0]), (1, 0))
    tensor([0., 1., 2.])
    """
    padding = tuple([index(n, "pad") for n in pad])
    if len(padding) % 2 or len(padding) // 2 > input.ndim:
        raise RuntimeError(
            "Padding length must be divisible by 2 and at most twice the number of dimensions "
            f"({input.ndim}), got {list(padding)}"
        )
    if mode == "constant":
        return spatial.constant_pad(input, padding, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f"Padding mode {mode!r} doesn't take in value argument")
    n = len(padding) // 2
    if (mode, n) not in spatial.index_pads or input.ndim not in (n + 1, n + 2):
        raise NotImplementedError(
            f"Only 2D, 3D, 4D, 5D padding with non-constant padding are supported, got {mode!r} with "
            f"{len(padding)} numbers for {input.ndim}D"
        )
    _check_index_pad(input, padding, mode)
    return spatial.index_pads[mode, n](input, padding, mode)


def _check_index_pad(input: Any, padding: tuple, mode: str) -> None:
    for dim, before, after in spatial._by_dim(padding, input.ndim):
        size, most = input.shape[dim], max(before, after)
        if size == 0 and (before or after) or size + before + after < 1:
            raise RuntimeError(f"Expected a non-empty result of padding {list(padding)} for input {list(input.shape)}")
        if mode == "reflect" and most >= size or mode == "circular" and most > size:
            raise RuntimeError(
                "Padding size should be less than the corresponding input dimension, but got: padding "
                f"{(before, after)} at dimension {dim} of input {list(input.shape)}"
            )
