"""Modules with parameters or buffers, and those that shape, pool and drop."""

from __future__ import annotations

import math
from typing import Any

from gradlab import errors
from gradlab.devices import device as check_device
from gradlab.dtypes import get_default_dtype, int64
from gradlab.engine import TensorBase
from gradlab.nn import functional as F
from gradlab.nn import init
from gradlab.nn.module import Module
from gradlab.nn.parameter import Parameter
from gradlab.operators import shape
from gradlab.operators.creation import empty, ones, tensor, zeros


def _new(size: tuple, device: Any, dtype: Any) -> Any:
    if device is not None:
        check_device(device)
    return Parameter(empty(size, dtype=dtype or get_default_dtype()))


def _check_tensor(module: Module, input: Any) -> None:
    if not isinstance(input, TensorBase):
        raise errors.argument(type(module).__name__, "input", input, 1)


class Identity(Module):
    """Its input, whatever the arguments.

    >>> import gradlab
    >>> gradlab.nn.Identity()(gradlab.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Linear(Module):
    """`x @ weight.T + bias`; weight is (out_features, in_features).

    First values: uniform within 1 / sqrt(in_features).

    >>> import gradlab
    >>> gradlab.nn.Linear(3, 2)
    Linear(in_features=3, out_features=2, bias=True)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = _new((out_features, in_features), device, dtype)
        self.register_parameter("bias", _new((out_features,), device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new first values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Any) -> Any:
        own = self._parameters  # each of the two would be found in here, at the price of a failed look elsewhere
        if "weight" in own and "bias" in own:
            return F.linear(input, own["weight"], own["bias"])
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class _Conv(Module):
    dims: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(
                "padding_mode must be one of zeros, reflect, replicate, circular, but got "
                f"padding_mode={padding_mode!r}"
            )
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of ('valid', 'same')")
        if padding == "same" and any(step != 1 for step in self._each(stride)):
            raise ValueError("padding='same' is not supported for strided convolutions")
        self.in_channels, self.out_channels, self.groups, self.padding_mode = in_channels, out_channels, groups, padding_mode
        self.kernel_size, self.stride = self._each(kernel_size), self._each(stride)
        self.padding = padding if isinstance(padding, str) else self._each(padding)
        self.dilation = self._each(dilation)
        self.weight = _new((out_channels, in_channels // groups, *self.kernel_size), device, dtype)
        self.register_parameter("bias", _new((out_channels,), device, dtype) if bias else None)
        self.reset_parameters()

    def _each(self, value: Any) -> tuple:
        return tuple(value) if isinstance(value, (tuple, list)) else (value,) * self.dims

    def reset_parameters(self) -> None:
        """Draw new first values: uniform within 1 / sqrt(inputs of each unit)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        inputs = init._fans(self.weight)[0]
        if self.bias is not None and inputs:
            init.uniform_(self.bias, -1 / math.sqrt(inputs), 1 / math.sqrt(inputs))

    def _around(self) -> list[int]:
        """The padding as F.pad takes it: last dim first, before and after."""
        if not isinstance(self.padding, str):
            return [p for p in reversed(self.padding) for _ in (0, 1)]
        total = [d * (k - 1) if self.padding == "same" else 0 for d, k in zip(self.dilation, self.kernel_size, strict=True)]
        return [x for t in reversed(total) for x in (t // 2, t - t // 2)]

    def forward(self, input: Any) -> Any:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        """The convolution with other weights: what a module that changes them first calls, as in torch."""
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._around(), self.padding_mode), 0
        convolve = F.conv1d if self.dims == 1 else F.conv2d
        return convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        unusual = {
            "padding": (self.padding, (0,) * self.dims),
            "dilation": (self.dilation, (1,) * self.dims),
            "groups": (self.groups, 1),
        }
        text += "".join([f", {name}={value}" for name, (value, usual) in unusual.items() if value != usual])
        text += "" if self.bias is not None else ", bias=False"
        return text if self.padding_mode == "zeros" else text + f", padding_mode={self.padding_mode}"


class Conv1d(_Conv):
    """A convolution along one dim; weight is (out_channels, in_channels / groups, k).

    >>> import gradlab
    >>> gradlab.nn.Conv1d(2, 4, 3, padding=1)(gradlab.ones(1, 2, 5)).shape
    gradlab.Size([1, 4, 5])
    """

    dims = 1


class Conv2d(_Conv):
    """A convolution over two dims; weight is (out_channels, in_channels / groups, kh, kw).

    >>> import gradlab
    >>> gradlab.nn.Conv2d(1, 8, 3, padding=1)(gradlab.ones(2, 1, 5, 5)).shape
    gradlab.Size([2, 8, 5, 5])
    """

    dims = 2


class _BatchNorm(Module):
    wanted_dims: tuple[int, ...]
    _version = 2

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.register_parameter("weight", _new((num_features,), device, dtype) if affine else None)
        self.register_parameter("bias", _new((num_features,), device, dtype) if affine and bias else None)
        kind = dtype or get_default_dtype()
        self.register_buffer("running_mean", zeros(num_features, dtype=kind) if track_running_stats else None)
        self.register_buffer("running_var", ones(num_features, dtype=kind) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64) if track_running_stats else None)
        self.reset_parameters()

    def _load_from_state_dict(self, state_dict: dict, prefix: str, local_metadata: dict, *rest: Any) -> None:
        key = prefix + "num_batches_tracked"
        if self.track_running_stats and local_metadata.get("version", 1) < 2 and key not in state_dict:
            state_dict[key] = self.num_batches_tracked  # a plain dict, or one of the first torch versions
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def reset_running_stats(self) -> None:
        """Forget the batches seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, and no batches seen."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Any) -> Any:
        _check_tensor(self, input)
        if input.ndim not in self.wanted_dims:
            raise ValueError(f"expected {' or '.join(f'{n}D' for n in self.wanted_dims)} input (got {input.ndim}D input)")
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or self.running_mean is None
        kept = not self.training or self.track_running_stats
        mean, var = (self.running_mean, self.running_var) if kept else (None, None)
        return F.batch_norm(input, mean, var, self.weight, self.bias, by_batch, momentum, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L) inputs; train() uses the batch, eval() the running statistics.

    >>> import gradlab
    >>> norm = gradlab.nn.BatchNorm1d(1)
    >>> _ = norm(gradlab.tensor([[1.0], [3.0]]))
    >>> norm.running_mean
    tensor([0.2000])
    """

    wanted_dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W) inputs.

    >>> import gradlab
    >>> gradlab.nn.BatchNorm2d(3)(gradlab.ones(2, 3, 4, 4)).shape
    gradlab.Size([2, 3, 4, 4])
    """

    wanted_dims = (4,)


class LayerNorm(Module):
    """Mean 0 and variance 1 over the last dims of each sample, then times weight plus bias.

    >>> import gradlab
    >>> gradlab.nn.LayerNorm(2, elementwise_affine=False)(gradlab.tensor([[1.0, 3.0]]))
    tensor([[-1.0000,  1.0000]])
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.register_parameter("weight", _new(self.normalized_shape, device, dtype) if elementwise_affine else None)
        self.register_parameter("bias", _new(self.normalized_shape, device, dtype) if elementwise_affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Any) -> Any:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        text = f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        return f"{text}, bias={self.bias is not None}"


class Embedding(Module):
    """A table of vectors, picked by index; weight is (num_embeddings, embedding_dim), normal at first.

    >>> import gradlab
    >>> gradlab.nn.Embedding(10, 3)(gradlab.tensor([[1, 2], [4, 9]])).shape
    gradlab.Size([2, 2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if sparse:
            raise NotImplementedError("Embedding(sparse=True): gradlab has no sparse gradients.")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise AssertionError("Padding_idx must be within num_embeddings")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = max_norm, norm_type, scale_grad_by_freq, False
        if _weight is None:
            self.weight = _new((num_embeddings, embedding_dim), device, dtype)
            self.reset_parameters()
        else:
            self.weight = Parameter(_weight)
        self.weight.requires_grad_(not _freeze)

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None, **options: Any) -> Any:
        """A table of given vectors, by default not trained.

        >>> import gradlab
        >>> table = gradlab.nn.Embedding.from_pretrained(gradlab.tensor([[1.0, 2.0], [3.0, 4.0]]))
        >>> table(gradlab.tensor([1]))
        tensor([[3., 4.]])
        """
        rows, columns = embeddings.shape
        return cls(rows, columns, padding_idx, _weight=embeddings, _freeze=freeze, **options)

    def reset_parameters(self) -> None:
        """Draw new first values; the padding row is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.detach()[self.padding_idx].zero_()

    def forward(self, input: Any) -> Any:
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq)

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        return text + (f", scale_grad_by_freq={self.scale_grad_by_freq}" if self.scale_grad_by_freq else "")


class Dropout(Module):
    """While training, zero each element with probability p and scale the others by 1 / (1 - p).

    >>> import gradlab
    >>> gradlab.nn.Dropout(0.5).eval()(gradlab.ones(3))
    tensor([1., 1., 1.])
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Any) -> Any:
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class MaxPool2d(Module):
    """The largest value of each window.

    >>> import gradlab
    >>> x = gradlab.arange(16.0).reshape(1, 1, 4, 4)
    >>> gradlab.nn.MaxPool2d(2)(x).tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.return_indices, self.ceil_mode = padding, dilation, return_indices, ceil_mode

    def forward(self, input: Any) -> Any:
        return F.max_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class AvgPool2d(Module):
    """The mean of each window.

    >>> import gradlab
    >>> x = gradlab.arange(16.0).reshape(1, 1, 4, 4)
    >>> gradlab.nn.AvgPool2d(2)(x).tolist()
    [[[[2.5, 4.5], [10.5, 12.5]]]]
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override

    def forward(self, input: Any) -> Any:
        return F.avg_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AdaptiveAvgPool2d(Module):
    """Means of as many windows as asked for.

    >>> import gradlab
    >>> x = gradlab.arange(16.0).reshape(1, 1, 4, 4)
    >>> gradlab.nn.AdaptiveAvgPool2d(1)(x).tolist()
    [[[[7.5]]]]
    """

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Any) -> Any:
        return F.adaptive_avg_pool2d(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class Flatten(Module):
    """The dims from start_dim to end_dim made one; the batch dim stays.

    >>> import gradlab
    >>> gradlab.nn.Flatten()(gradlab.ones(2, 3, 4)).shape
    gradlab.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Any) -> Any:
        _check_tensor(self, input)
        return shape.flatten(input, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One dim made several.

    >>> import gradlab
    >>> gradlab.nn.Unflatten(1, (3, 2))(gradlab.ones(5, 6)).shape
    gradlab.Size([5, 3, 2])
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(f"unflattened_size must be tuple of ints, not {type(unflattened_size).__name__}")
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Any) -> Any:
        _check_tensor(self, input)
        return shape.unflatten(input, self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
