"""The largest value or the mean of each window."""

from __future__ import annotations

from typing import Any

from gradlab.errors import no_kernel
from gradlab.nn.functional.convolution import _spatial
from gradlab.operators import shape, spatial
from gradlab.operators._arguments import pair


def max_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest value of each window along the last dim.

    >>> import gradlab
    >>> gradlab.nn.functional.max_pool1d(gradlab.tensor([[[1.0, 3.0, 2.0, 4.0]]]), 2)
    tensor([[[3., 4.]]])
    """
    if input.ndim not in (2, 3):
        raise RuntimeError(
            "max_pool1d() Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, "
            f"but got: {list(input.shape)}"
        )
    if not (return_indices or input.is_floating_point()):
        raise no_kernel("max_pool1d", input.dtype)
    kernel, padding, dilation = [(1, _spatial(v, 1, "kernel_size")[0]) for v in (kernel_size, padding, dilation)]
    stride = kernel if stride is None or stride == [] else (1, _spatial(stride, 1, "stride")[0])
    found = max_pool2d(shape.unsqueeze(input, -2), kernel, stride, (0, padding[1]), dilation, ceil_mode, return_indices)
    return tuple([shape.squeeze(x, -2) for x in found]) if return_indices else shape.squeeze(found, -2)


def avg_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """The mean of each window along the last dim.

    >>> import gradlab
    >>> gradlab.nn.functional.avg_pool1d(gradlab.tensor([[[1.0, 3.0, 2.0, 4.0]]]), 2)
    tensor([[[2., 3.]]])
    """
    kernel = (1, _spatial(kernel_size, 1, "kernel_size")[0])
    stride = kernel if stride is None or stride in ([], ()) else (1, _spatial(stride, 1, "stride")[0])
    around = (0, _spatial(padding, 1, "padding")[0])
    return shape.squeeze(
        avg_pool2d(shape.unsqueeze(input, -2), kernel, stride, around, ceil_mode, count_include_pad), -2
    )


def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest value of each window; with `return_indices` also its place in the plane.

    >>> import gradlab
    >>> x = gradlab.arange(16.0).reshape(1, 1, 4, 4)
    >>> gradlab.nn.functional.max_pool2d(x, 2).tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """
    kernel, padding, dilation = pair(kernel_size, "kernel_size"), pair(padding, "padding"), pair(dilation, "dilation")
    stride = kernel if stride is None or stride == [] else pair(stride, "stride")
    _check_pool("max_pool2d", input, kernel, stride, padding, dilation, ceil_mode)
    values, indices = spatial.max_pool(input, kernel, stride, padding, dilation, ceil_mode)
    return (values, indices) if return_indices else values


def _check_pool(
    name: str, input: Any, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, ceil_mode: bool
) -> None:
    if input.ndim not in (3, 4) or 0 in input.shape[1 if input.ndim == 4 else 0 :]:
        raise RuntimeError(
            f"{name}(): Expected a 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, "
            f"but got: {list(input.shape)}"
        )
    if min(stride) <= 0 or min(kernel) <= 0 or min(dilation) <= 0:
        raise RuntimeError(f"{name}(): kernel size, stride and dilation should be greater than zero")
    if min(padding) < 0 or any(p > (dilation[d] * (kernel[d] - 1) + 1) // 2 for d, p in enumerate(padding)):
        raise RuntimeError(
            f"{name}(): pad should be non-negative and at most half of effective kernel size, but got "
            f"pad={list(padding)} and kernel_size={list(kernel)}"
        )
    for d in (0, 1):
        if spatial.pooled_size(input.shape[d - 2], kernel[d], stride[d], padding[d], dilation[d], ceil_mode) < 1:
            raise RuntimeError(
                f"{name}(): Given input size {list(input.shape[-2:])}: Calculated output size is too small"
            )


def avg_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """The mean of each window, or its sum over `divisor_override`.

    >>> import gradlab
    >>> x = gradlab.arange(16.0).reshape(1, 1, 4, 4)
    >>> gradlab.nn.functional.avg_pool2d(x, 2).tolist()
    [[[[2.5, 4.5], [10.5, 12.5]]]]
    """
    kernel, padding = pair(kernel_size, "kernel_size"), pair(padding, "padding")
    stride = kernel if stride is None or stride == [] or stride == () else pair(stride, "stride")
    _check_pool("avg_pool2d", input, kernel, stride, padding, (1, 1), ceil_mode)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    rows, columns = [
        spatial.average_matrix(
            input.shape[d - 2],
            kernel[d],
            stride[d],
            padding[d],
            ceil_mode,
            count_include_pad,
            divisor_override is not None,
        )
        for d in (0, 1)
    ]
    return spatial.average_pool(input, rows / (divisor_override or 1), columns)


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """Means of as many windows as asked for; None keeps the input's size.

    >>> import gradlab
    >>> x = gradlab.arange(16.0).reshape(1, 1, 4, 4)
    >>> gradlab.nn.functional.adaptive_avg_pool2d(x, 1).tolist()
    [[[[7.5]]]]
    """
    if input.ndim < 3:
        raise ValueError(f"Input dimension should be at least 3, got {input.ndim}")
    if input.ndim > 4:
        raise RuntimeError(f"adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got {list(input.shape)}")
    wanted = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size, output_size)
    if len(wanted) != 2:
        raise RuntimeError("adaptive_avg_pool2d: output_size must be 2")
    height, width = [input.shape[d - 2] if wanted[d] is None else wanted[d] for d in (0, 1)]
    if height < 0 or width < 0:
        raise RuntimeError("adaptive_avg_pool2d: elements of output_size must be greater than or equal to 0")
    if (height, width) == (1, 1):
        return input.mean((-1, -2), True)
    rows, columns = spatial.adaptive_matrix(input.shape[-2], height), spatial.adaptive_matrix(input.shape[-1], width)
    return spatial.adaptive_pool(input, rows, columns)
