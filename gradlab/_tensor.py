"""class Tensor: the autograd half comes from the engine, the methods are the operators, written out."""

from __future__ import annotations

import builtins
import copy
import math
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

from gradlab import _backward, devices, dtypes, errors, printing
from gradlab._public import method
from gradlab.engine import TensorBase, make, modes
from gradlab.engine.modes import EXTRAS
from gradlab.engine.tensor import INFERENCE, notify
from gradlab.operators import creation, indexing, inplace, joining, linalg, neural, pointwise, reduction
from gradlab.operators import shape as shapes
from gradlab.operators._arguments import axis, sizes


class Size(tuple):
    """A tensor's shape: a tuple that shows itself as such and knows its number of elements.

    >>> import gradlab
    >>> gradlab.ones(2, 3).shape, gradlab.ones(2, 3).shape.numel()
    (gradlab.Size([2, 3]), 6)
    """

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        n = 1
        for size in self:
            n *= size
        return n

    def __repr__(self) -> str:
        return f"gradlab.Size({list(self)})"

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        return Size(found) if isinstance(key, slice) else found

    def __add__(self, other: Any) -> Any:
        return Size(tuple.__add__(self, other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return Size(tuple(other) + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any) -> Any:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__


def _rebuilt(cls: type, array: np.ndarray, requires_grad: bool) -> Any:
    """What unpickling calls."""
    tensor = new_instance(cls, array)
    if requires_grad:
        tensor.requires_grad = True
    return tensor


def _copied(array: np.ndarray, memo: dict) -> np.ndarray:
    """A copy of the memory that an array looks into, seen in the same way: what shared memory before shares the copy."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    whole = owner.flags.c_contiguous or owner.flags.f_contiguous
    if not (whole and array.size) or owner.dtype != array.dtype:
        return array.copy(order="K")
    key = ("gradlab memory", id(owner))
    if key not in memo:
        memo[key] = owner.copy(order="K"), owner  # the owner is kept alive, so that no other takes its id
    copied, _ = memo[key]
    start = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return np.ndarray(array.shape, array.dtype, copied.reshape(-1, order="A"), start, array.strides)


def new_instance(cls: type, array: np.ndarray) -> Any:
    """A leaf of the given class on this array."""
    plain = make(array)
    if cls is Tensor:
        return plain
    tensor: Any = object.__new__(cls)
    for name in ("_array", "_counter", "_edge", "_meta", "_view"):
        setattr(tensor, name, getattr(plain, name))
    return tensor


def _refused(what: str, instead: str) -> Any:
    def refuse(self: Any, *args: Any, **options: Any) -> NoReturn:
        raise NotImplementedError(f"gradlab has no {what}: {instead}")

    refuse.__doc__ = f"Refused with NotImplementedError: gradlab has no {what}."
    return refuse


def _stays(name: str) -> Callable[[Any], None]:
    """What answers ``del x.<name>``, as in torch."""

    def refuse(self: Any) -> None:
        raise RuntimeError(f"Deleting {name} is not allowed. Delete the tensor, or detach() it, instead.")

    return refuse


_MATRICES = (TensorBase, np.ndarray)


class Tensor(TensorBase, results=True):
    """A numpy array that remembers how it was computed.

    `Tensor([1.0, 2.0])` makes a float32 leaf of data, `Tensor(2, 3)` an uninitialised one of a shape; `gradlab.tensor` is the
    usual way to make one.

    >>> import gradlab
    >>> x = gradlab.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ()
    __array_priority__ = 1000

    def __new__(cls, *data: Any, device: Any = None) -> Any:
        if len(data) == 1 and isinstance(data[0], TensorBase):
            return indexing.aliased(data[0]) if cls is Tensor else new_instance(cls, data[0]._array)
        if (
            len(data) == 1
            and isinstance(data[0], (list, np.ndarray))
            or (len(data) == 1 and isinstance(data[0], tuple) and not isinstance(data[0], Size))
        ):
            if isinstance(data[0], np.ndarray) and data[0].dtype.kind not in "biuf":
                dtypes.supported(data[0])
            array = dtypes.array_of(creation.plain(data[0]), dtypes.get_default_dtype())
        elif data and not (isinstance(data[0], (int, np.integer, Size))):
            raise TypeError(f"new(): data must be a sequence (got {type(data[0]).__name__}); gradlab.tensor takes a number")
        else:
            array = np.zeros(sizes(data) if data else (0,), dtypes.get_default_dtype().numpy)
        made = new_instance(cls, array)
        notify("Tensor", data, made)
        return made

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:  # type: ignore[override]
        """The length of each dim.

        >>> import gradlab
        >>> gradlab.ones(2, 3).shape
        gradlab.Size([2, 3])
        """
        return Size(self._array.shape)

    @property
    def ndim(self) -> int:
        """The number of dims.

        >>> import gradlab
        >>> gradlab.ones(2, 3).ndim
        2
        """
        return self._array.ndim

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the length of one dim.

        >>> import gradlab
        >>> x = gradlab.ones(2, 3)
        >>> x.size(), x.size(1)
        (gradlab.Size([2, 3]), 3)
        """
        return self.shape if dim is None else self._array.shape[axis(dim, self.ndim)]

    @property
    def _version(self) -> int:
        """How often the memory was written in place since the tensor was made."""
        if self._counter is INFERENCE:
            raise RuntimeError(errors.INFERENCE_VERSION)
        return self._counter[0] if self._counter else 0

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Set ``requires_grad`` in place and return the tensor.

        >>> import gradlab
        >>> gradlab.ones(2).requires_grad_()
        tensor([1., 1.], requires_grad=True)
        """
        if not requires_grad or self._edge is None:
            self.requires_grad = requires_grad
        return self

    @property
    def dtype(self) -> dtypes.dtype:
        """The type of the elements.

        >>> import gradlab
        >>> gradlab.tensor([1, 2]).dtype, gradlab.tensor([1.0]).dtype
        (gradlab.int64, gradlab.float32)
        """
        return dtypes.of(self._array.dtype)

    @property
    def output_nr(self) -> int:
        """Which output of its grad_fn this tensor is.

        >>> import gradlab
        >>> x = gradlab.ones(2, requires_grad=True)
        >>> x.unbind()[1].output_nr
        1
        """
        return self._edge[1] if self._edge else 0

    @property
    def _base(self) -> Any:
        return self._view and self._view.base

    def _is_view(self) -> bool:
        return self._view is not None

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode.

        >>> import gradlab
        >>> with gradlab.inference_mode():
        ...     x = gradlab.ones(2)
        >>> x.is_inference()
        True
        """
        return self._counter is INFERENCE

    # By deleters, one by one: a __delattr__ would make every assignment to any attribute of a tensor ten times as slow.
    data = TensorBase.data.deleter(_stays("data"))
    requires_grad = TensorBase.requires_grad.deleter(_stays("requires_grad"))
    _grad_fn = property(lambda self: self.grad_fn, None, _stays("_grad_fn"))

    @property
    def volatile(self) -> builtins.bool:
        """False, with a warning: what it once did is ``torch.no_grad()`` today."""
        warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=2)
        return False

    @property
    def name(self) -> None:
        """None: torch fills it only in its old C++ interface."""
        return None

    @property
    def _backward_hooks(self) -> Any:
        if self.is_leaf:
            return (self._meta and self._meta.hooks) or None
        return (self._edge[0].extras and self._edge[0].extras.tensor.get(self._edge[1])) or None

    _backward_hooks = _backward_hooks.deleter(_stays("_backward_hooks"))

    def detach_(self) -> Any:
        """Forget this tensor's history, in place: it becomes a leaf that does not require grad.

        >>> import gradlab
        >>> x = gradlab.tensor([1.0, 2.0], requires_grad=True)
        >>> y = x * 2
        >>> y.detach_().requires_grad
        False
        """
        if self._view is not None:
            raise RuntimeError(errors.DETACH_VIEW)
        self._edge = None
        self._more().requires_grad = False
        if modes.word == EXTRAS:
            notify("detach_", (self,), self)
        return self

    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        """Fill ``.grad`` of the leaves that this tensor was computed from.

        gradient: the gradient of this tensor, of its shape; may be left out when it has one element (then 1).
        retain_graph: keep what the graph saved, so that it can be walked again; default: the value of create_graph.
        create_graph: record the backward itself, for second derivatives.
        inputs: add into the ``.grad`` of these tensors only.

        RuntimeError when there is no graph, when it was freed, or when ``gradient`` does not fit.

        >>> import gradlab
        >>> x = gradlab.tensor(3.0, requires_grad=True)
        >>> (x * x).backward()
        >>> x.grad
        tensor(6.)
        """
        _backward.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def dim(self) -> int:
        """The number of dims.

        >>> import gradlab
        >>> gradlab.ones(2, 3).dim()
        2
        """
        return self._array.ndim

    ndimension = dim

    def numel(self) -> int:
        """The number of elements.

        >>> import gradlab
        >>> gradlab.ones(2, 3).numel()
        6
        """
        return self._array.size

    nelement = numel

    def element_size(self) -> int:
        """Bytes per element.

        >>> import gradlab
        >>> gradlab.ones(2).element_size()
        4
        """
        return self._array.itemsize

    @property
    def itemsize(self) -> int:
        """Bytes per element.

        >>> import gradlab
        >>> gradlab.ones(2).itemsize
        4
        """
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements.

        >>> import gradlab
        >>> gradlab.ones(2, 3).nbytes
        24
        """
        return self._array.nbytes

    def stride(self, dim: int | None = None) -> Any:
        """How many elements apart neighbours along each dim lie in memory.

        >>> import gradlab
        >>> gradlab.ones(2, 3).stride(), gradlab.ones(2, 3).t().stride()
        ((3, 1), (1, 3))
        """
        array = self._array
        steps = tuple([n // array.itemsize for n in array.strides])
        if not array.size:  # numpy keeps no strides there
            steps = tuple([math.prod([max(n, 1) for n in array.shape[d + 1 :]]) for d in range(array.ndim)])
        return steps if dim is None else steps[axis(dim, array.ndim)]

    def data_ptr(self) -> int:
        """The address of the first element: equal for tensors that start at the same memory.

        >>> import gradlab
        >>> x = gradlab.ones(2, 3)
        >>> x.view(6).data_ptr() == x.data_ptr(), x.clone().data_ptr() == x.data_ptr()
        (True, False)
        """
        return self._array.__array_interface__["data"][0]

    def storage_offset(self) -> int:
        """How many elements of its memory lie before the first one.

        >>> import gradlab
        >>> gradlab.arange(5)[2:].storage_offset()
        2
        """
        owner = self._array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        return (self.data_ptr() - owner.__array_interface__["data"][0]) // self._array.itemsize

    def is_floating_point(self) -> bool:
        """Whether the dtype is float16, float32 or float64.

        >>> import gradlab
        >>> gradlab.tensor([1.0]).is_floating_point(), gradlab.tensor([1]).is_floating_point()
        (True, False)
        """
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """False: gradlab has no complex numbers.

        >>> import gradlab
        >>> gradlab.tensor([1.0]).is_complex()
        False
        """
        return False

    is_cuda = is_sparse = is_quantized = is_meta = False
    layout = "strided"

    @property
    def device(self) -> Any:
        """Where the memory is: device(type='cpu')."""
        return devices.cpu

    is_contiguous = shapes.is_contiguous

    def is_same_size(self, other: Any) -> bool:
        """Whether the other tensor has the same shape.

        >>> import gradlab
        >>> gradlab.ones(2).is_same_size(gradlab.zeros(2))
        True
        """
        return self._array.shape == other._array.shape

    # -- Python values -------------------------------------------------------------------------------------------------

    def item(self) -> Any:
        """The one element as a Python number; RuntimeError for more or none.

        >>> import gradlab
        >>> gradlab.tensor([2.5]).item()
        2.5
        """
        if self._array.size != 1:
            raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
        value = self._array.item()
        if modes.word == EXTRAS:
            notify("item", (self,), value)
        return value

    def tolist(self) -> Any:
        """Nested lists of Python numbers.

        >>> import gradlab
        >>> gradlab.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        values = self._array.tolist()
        if modes.word == EXTRAS:
            notify("tolist", (self,), values)
        return values

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The numpy array on the same memory; RuntimeError while it requires grad (then `.detach().numpy()`).

        torch looks at the grad mode too: under no_grad() nothing is refused.

        >>> import gradlab
        >>> gradlab.tensor([1.0, 2.0]).numpy().sum().item()
        3.0
        """
        if self.requires_grad and modes.grad and not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if modes.word == EXTRAS:
            notify("numpy", (self,), self._array)
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        array = array if dtype is None else array.astype(dtype, copy=False)
        return array.copy() if copy else array

    def __array_wrap__(self, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Any:
        """What a numpy function makes of this tensor is a tensor."""
        return make(array)

    def __bool__(self) -> bool:
        if self._array.size != 1:
            many = "no values" if not self._array.size else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {many} is ambiguous")
        return bool(self.item())

    def _number(self) -> Any:
        if self._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __index__(self) -> int:
        if self._array.size != 1 or self._array.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self._number())

    def __len__(self) -> int:
        if not self._array.ndim:
            raise TypeError("len() of a 0-d tensor")
        return len(self._array)

    def __iter__(self) -> Any:
        if not self._array.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter(joining.unbind(self, 0))

    def __reversed__(self) -> Any:
        return joining.flip(self, 0) if self._array.ndim else self

    def __contains__(self, element: Any) -> bool:
        if not isinstance(element, (Tensor, int, float, np.generic)):
            raise RuntimeError(
                "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
                f"{type(element).__name__}."
            )
        return bool((self._array == getattr(element, "_array", element)).any())

    def __format__(self, spec: str) -> str:
        is_number = self._array.ndim == 0 and type(self) is Tensor
        return format(self.item(), spec) if is_number else object.__format__(self, spec)

    def __repr__(self) -> str:
        return printing.tensor_text(self)

    __hash__ = TensorBase.__hash__

    def __dir__(self) -> Any:
        return sorted(set(object.__dir__(self)))

    def __deepcopy__(self, memo: dict) -> Any:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. This "
                f"one was made by {self.grad_fn}: use .detach().clone(), or .clone() to stay in the graph."
            )
        if id(self) in memo:
            return memo[id(self)]
        memo[id(self)] = out = _rebuilt(type(self), _copied(self._array, memo), self.requires_grad)
        out.__dict__.update(copy.deepcopy(self.__dict__, memo))
        if self.grad is not None:
            out.grad = copy.deepcopy(self.grad, memo)
        return out

    def __copy__(self) -> Any:
        out = _rebuilt(type(self), self._array, self.requires_grad)
        out.__dict__.update(self.__dict__)
        return out

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuilt, (type(self), self._array, self.requires_grad), self.__dict__ or None

    # -- dtype, device, copies -----------------------------------------------------------------------------------------

    to = shapes.to
    clone = shapes.clone
    contiguous = shapes.contiguous

    def _cast(self, kind: Any, memory_format: Any) -> Any:
        return shapes.to(self, kind, memory_format=memory_format)

    def float(self, memory_format: Any = "preserve_format") -> Any:
        """The values as float32.

        >>> import gradlab
        >>> gradlab.tensor([1, 2]).float()
        tensor([1., 2.])
        """
        return self._cast(dtypes.float32, memory_format)

    def double(self, memory_format: Any = "preserve_format") -> Any:
        """The values as float64.

        >>> import gradlab
        >>> gradlab.tensor([1, 2]).double()
        tensor([1., 2.], dtype=gradlab.float64)
        """
        return self._cast(dtypes.float64, memory_format)

    def half(self, memory_format: Any = "preserve_format") -> Any:
        """The values as float16.

        >>> import gradlab
        >>> gradlab.tensor([1, 2]).half()
        tensor([1., 2.], dtype=gradlab.float16)
        """
        return self._cast(dtypes.float16, memory_format)

    def long(self, memory_format: Any = "preserve_format") -> Any:
        """The values as int64; they take no gradient.

        >>> import gradlab
        >>> gradlab.tensor([1.7, -1.7]).long()
        tensor([ 1, -1])
        """
        return self._cast(dtypes.int64, memory_format)

    def int(self, memory_format: Any = "preserve_format") -> Any:
        """The values as int32; they take no gradient.

        >>> import gradlab
        >>> gradlab.tensor([1.7, -1.7]).int()
        tensor([ 1, -1], dtype=gradlab.int32)
        """
        return self._cast(dtypes.int32, memory_format)

    def short(self, memory_format: Any = "preserve_format") -> Any:
        """The values as int16; they take no gradient.

        >>> import gradlab
        >>> gradlab.tensor([1.7, -1.7]).short()
        tensor([ 1, -1], dtype=gradlab.int16)
        """
        return self._cast(dtypes.int16, memory_format)

    def char(self, memory_format: Any = "preserve_format") -> Any:
        """The values as int8; they take no gradient.

        >>> import gradlab
        >>> gradlab.tensor([1.7, -1.7]).char()
        tensor([ 1, -1], dtype=gradlab.int8)
        """
        return self._cast(dtypes.int8, memory_format)

    def byte(self, memory_format: Any = "preserve_format") -> Any:
        """The values as uint8; they take no gradient.

        >>> import gradlab
        >>> gradlab.tensor([1.7, 2.0]).byte()
        tensor([1, 2], dtype=gradlab.uint8)
        """
        return self._cast(dtypes.uint8, memory_format)

    def bool(self, memory_format: Any = "preserve_format") -> Any:
        """True where the value is not zero; takes no gradient.

        >>> import gradlab
        >>> gradlab.tensor([0.0, 2.0]).bool()
        tensor([False,  True])
        """
        return self._cast(dtypes.bool, memory_format)

    def type(self, dtype: Any = None) -> Any:
        """The values in another dtype; without one, torch's name of the tensor's type.

        >>> import gradlab
        >>> gradlab.tensor([1.5]).type(gradlab.int64)
        tensor([1])
        """
        if dtype is not None:
            dtype = getattr(dtype, "dtype", dtype)  # of FloatTensor and its kin
            return shapes.to(self, _NAMED_TYPES.get(dtype, dtype) if isinstance(dtype, str) else dtype)
        return next(name for name, kind in _NAMED_TYPES.items() if kind is self.dtype)

    def type_as(self, other: Any) -> Any:
        """The values in another tensor's dtype.

        >>> import gradlab
        >>> gradlab.tensor([1, 2]).type_as(gradlab.ones(1))
        tensor([1., 2.])
        """
        return shapes.to(self, other.dtype)

    def cpu(self) -> Any:
        """The tensor itself: everything is on the CPU.

        >>> import gradlab
        >>> x = gradlab.ones(2)
        >>> x.cpu() is x
        True
        """
        return self

    cuda = _refused("CUDA device", "it runs on the CPU. Leave .cuda() out, or write .to(device) with a device that may be 'cpu'.")
    to_sparse = _refused("sparse tensors", "use a dense one.")
    mps = xpu = _refused("other device than the CPU", "leave the call out.")

    def new(self, *data: Any) -> Any:
        """Old code's way to a tensor of this dtype: from data, or of a shape (then zeros)."""
        if len(data) == 1 and isinstance(data[0], list | tuple | np.ndarray) and not isinstance(data[0], Size):
            return self.new_tensor(data[0])
        return self.new_zeros(*data or (0,))

    def bernoulli(self, *, generator: Any = None) -> Any:
        """1 with the probability that the element says, else 0.

        >>> import gradlab
        >>> gradlab.tensor([0.0, 1.0]).bernoulli()
        tensor([0., 1.])
        """
        return creation.bernoulli(self, generator=generator)

    def new_tensor(self, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: builtins.bool = False) -> Any:
        """A new leaf with a copy of the data, in this tensor's dtype.

        >>> import gradlab
        >>> gradlab.ones(1, dtype=gradlab.float64).new_tensor([1, 2])
        tensor([1., 2.], dtype=gradlab.float64)
        """
        return creation.tensor(data, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)

    def new_zeros(self, *size: Any, dtype: Any = None, requires_grad: builtins.bool = False) -> Any:
        """Zeros of a shape, in this tensor's dtype.

        >>> import gradlab
        >>> gradlab.tensor([1]).new_zeros(2)
        tensor([0, 0])
        """
        return creation.zeros(*size, dtype=dtype or self.dtype, requires_grad=requires_grad)

    def new_ones(self, *size: Any, dtype: Any = None, requires_grad: builtins.bool = False) -> Any:
        """Ones of a shape, in this tensor's dtype.

        >>> import gradlab
        >>> gradlab.tensor([1]).new_ones(2)
        tensor([1, 1])
        """
        return creation.ones(*size, dtype=dtype or self.dtype, requires_grad=requires_grad)

    def new_empty(self, *size: Any, dtype: Any = None, requires_grad: builtins.bool = False) -> Any:
        """An uninitialised tensor of a shape, in this tensor's dtype.

        >>> import gradlab
        >>> gradlab.tensor([1]).new_empty(2, 3).shape
        gradlab.Size([2, 3])
        """
        return creation.empty(*size, dtype=dtype or self.dtype, requires_grad=requires_grad)

    def new_full(self, size: Any, fill_value: Any, *, dtype: Any = None, requires_grad: builtins.bool = False) -> Any:
        """One value everywhere, in this tensor's dtype.

        >>> import gradlab
        >>> gradlab.tensor([1]).new_full((2,), 7)
        tensor([7, 7])
        """
        return creation.full(size, fill_value, dtype=dtype or self.dtype, requires_grad=requires_grad)

    # -- arithmetic ----------------------------------------------------------------------------------------------------

    __add__ = __radd__ = pointwise.plus
    __sub__ = pointwise.minus
    __rsub__ = rsub = pointwise.rsub
    __mul__ = __rmul__ = pointwise.mul
    __truediv__ = pointwise.divide
    __floordiv__ = pointwise.floor_divide
    __mod__ = pointwise.remainder
    __pow__ = pointwise.pow
    __neg__ = pointwise.neg
    __pos__ = pointwise.positive
    __abs__ = pointwise.abs

    def __matmul__(self, other: Any) -> Any:
        return linalg.matmul(self, other) if isinstance(other, _MATRICES) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return pointwise.mul(pointwise.reciprocal(self), other)

    __rdiv__ = __rtruediv__

    def __rfloordiv__(self, other: Any) -> Any:
        return pointwise.floor_divide(other, self)

    def __rmod__(self, other: Any) -> Any:
        return pointwise.remainder(other, self)

    def __rpow__(self, other: Any) -> Any:
        return pointwise.pow(other, self)

    def __rmatmul__(self, other: Any) -> Any:
        return linalg.matmul(other, self) if isinstance(other, _MATRICES) else NotImplemented

    __iadd__, __isub__, __imul__ = inplace.add_, inplace.sub_, inplace.mul_
    __itruediv__, __ifloordiv__, __imod__ = inplace.div_, inplace.floor_divide_, inplace.remainder_
    __ipow__, __iand__, __ior__, __ixor__ = inplace.pow_, inplace.bitwise_and_, inplace.bitwise_or_, inplace.bitwise_xor_

    __lt__, __le__, __gt__, __ge__ = pointwise.lt, pointwise.le, pointwise.gt, pointwise.ge

    def __eq__(self, other: Any) -> Any:
        return pointwise.eq(self, other) if pointwise.comparable(other) else NotImplemented

    def __ne__(self, other: Any) -> Any:
        return pointwise.ne(self, other) if pointwise.comparable(other) else NotImplemented

    __and__ = __rand__ = pointwise.bitwise_and
    __or__ = __ror__ = pointwise.bitwise_or
    __xor__ = __rxor__ = pointwise.bitwise_xor

    def __invert__(self) -> Any:
        if self._array.dtype.kind == "f":
            raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors: compare first")
        return pointwise.bitwise_not(self)

    __getitem__ = indexing.getitem
    __setitem__ = indexing.setitem

    add, sub, mul, div = pointwise.add, pointwise.sub, pointwise.mul, pointwise.div
    subtract, multiply, divide = pointwise.sub, pointwise.mul, pointwise.div
    subtract_, multiply_, divide_, absolute_ = inplace.sub_, inplace.mul_, inplace.div_, inplace.abs_
    true_divide, floor_divide, remainder = pointwise.true_divide, pointwise.floor_divide, pointwise.remainder
    neg, abs, absolute, sign = pointwise.neg, pointwise.abs, pointwise.abs, pointwise.sign
    reciprocal, positive = pointwise.reciprocal, pointwise.positive
    add_, sub_, mul_, div_ = inplace.add_, inplace.sub_, inplace.mul_, inplace.div_
    true_divide_, floor_divide_, remainder_ = inplace.true_divide_, inplace.floor_divide_, inplace.remainder_
    neg_, abs_, sign_, reciprocal_ = inplace.neg_, inplace.abs_, inplace.sign_, inplace.reciprocal_
    addcmul, addcdiv, addcmul_, addcdiv_ = pointwise.addcmul, pointwise.addcdiv, inplace.addcmul_, inplace.addcdiv_

    # -- element by element --------------------------------------------------------------------------------------------

    pow, square, sqrt, rsqrt = pointwise.pow, pointwise.square, pointwise.sqrt, pointwise.rsqrt
    exp, expm1, sigmoid, erf = pointwise.exp, pointwise.expm1, pointwise.sigmoid, pointwise.erf
    log, log2, log10, log1p = pointwise.log, pointwise.log2, pointwise.log10, pointwise.log1p
    logaddexp, xlogy, atan2 = pointwise.logaddexp, pointwise.xlogy, pointwise.atan2
    sin, cos, tan = pointwise.sin, pointwise.cos, pointwise.tan
    asin, acos, atan = pointwise.asin, pointwise.acos, pointwise.atan
    sinh, cosh, tanh = pointwise.sinh, pointwise.cosh, pointwise.tanh
    floor, ceil, trunc, frac, round = pointwise.floor, pointwise.ceil, pointwise.trunc, pointwise.frac, pointwise.round
    maximum, minimum, lerp = pointwise.maximum, pointwise.minimum, pointwise.lerp
    clamp, clip, clamp_min, clamp_max = pointwise.clamp, pointwise.clamp, pointwise.clamp_min, pointwise.clamp_max
    nan_to_num, relu = pointwise.nan_to_num, neural.relu
    softmax, log_softmax = neural.softmax, neural.log_softmax
    pow_, square_, sqrt_, rsqrt_ = inplace.pow_, inplace.square_, inplace.sqrt_, inplace.rsqrt_
    exp_, expm1_, sigmoid_, erf_ = inplace.exp_, inplace.expm1_, inplace.sigmoid_, inplace.erf_
    log_, log2_, log10_, log1p_ = inplace.log_, inplace.log2_, inplace.log10_, inplace.log1p_
    xlogy_, sin_, cos_, tan_ = inplace.xlogy_, inplace.sin_, inplace.cos_, inplace.tan_
    asin_, acos_, atan_, atan2_ = inplace.asin_, inplace.acos_, inplace.atan_, inplace.atan2_
    sinh_, cosh_, tanh_ = inplace.sinh_, inplace.cosh_, inplace.tanh_
    floor_, ceil_, trunc_, frac_, round_ = inplace.floor_, inplace.ceil_, inplace.trunc_, inplace.frac_, inplace.round_
    clamp_, clip_, clamp_min_, clamp_max_ = inplace.clamp_, inplace.clamp_, inplace.clamp_min_, inplace.clamp_max_
    lerp_, nan_to_num_, relu_ = inplace.lerp_, inplace.nan_to_num_, inplace.relu_

    def where(self, condition: Any, other: Any) -> Any:
        """`self` where the condition holds, else `other`.

        >>> import gradlab
        >>> x = gradlab.tensor([-1.0, 2.0])
        >>> x.where(x > 0, gradlab.zeros(2))
        tensor([0., 2.])
        """
        return pointwise.where(condition, self, other)

    # -- comparing -----------------------------------------------------------------------------------------------------

    eq, ne, lt, le, gt, ge = pointwise.eq, pointwise.ne, pointwise.lt, pointwise.le, pointwise.gt, pointwise.ge
    logical_and, logical_or = pointwise.logical_and, pointwise.logical_or
    logical_xor, logical_not, logical_not_ = pointwise.logical_xor, pointwise.logical_not, inplace.logical_not_
    logical_and_, logical_or_, logical_xor_ = inplace.logical_and_, inplace.logical_or_, inplace.logical_xor_
    bitwise_and, bitwise_or = pointwise.bitwise_and, pointwise.bitwise_or
    bitwise_xor, bitwise_not = pointwise.bitwise_xor, pointwise.bitwise_not
    bitwise_and_, bitwise_or_ = inplace.bitwise_and_, inplace.bitwise_or_
    bitwise_xor_, bitwise_not_ = inplace.bitwise_xor_, inplace.bitwise_not_
    isnan, isinf, isfinite, isclose = pointwise.isnan, pointwise.isinf, pointwise.isfinite, pointwise.isclose
    allclose, equal = pointwise.allclose, pointwise.equal

    # -- reducing ------------------------------------------------------------------------------------------------------

    sum, mean, prod, var, std = reduction.sum, reduction.mean, reduction.prod, reduction.var, reduction.std
    max, min, amax, amin = reduction.max, reduction.min, reduction.amax, reduction.amin
    median, kthvalue, sort, argsort = reduction.median, reduction.kthvalue, reduction.sort, reduction.argsort
    topk, cumsum, cumprod = reduction.topk, reduction.cumsum, reduction.cumprod
    cummax, cummin, logsumexp, norm = reduction.cummax, reduction.cummin, reduction.logsumexp, reduction.norm
    argmax, argmin, any, all = reduction.argmax, reduction.argmin, reduction.any, reduction.all
    count_nonzero, bincount, unique = reduction.count_nonzero, reduction.bincount, reduction.unique
    cumsum_, cumprod_ = inplace.cumsum_, inplace.cumprod_

    # -- shapes --------------------------------------------------------------------------------------------------------

    view, view_as, reshape, reshape_as = shapes.view, shapes.view_as, shapes.reshape, shapes.reshape_as
    flatten, ravel, unflatten = shapes.flatten, shapes.ravel, shapes.unflatten
    expand, expand_as, broadcast_to = shapes.expand, shapes.expand_as, shapes.broadcast_to
    transpose, swapaxes, t, permute = shapes.transpose, shapes.transpose, shapes.t, shapes.permute
    movedim, moveaxis, squeeze, unsqueeze = shapes.movedim, shapes.movedim, shapes.squeeze, shapes.unsqueeze
    select, narrow, diagonal, diag = shapes.select, shapes.narrow, shapes.diagonal, shapes.diag
    diag_embed, trace, split, chunk = shapes.diag_embed, shapes.trace, joining.split, joining.chunk
    unbind, repeat, tile, repeat_interleave = joining.unbind, joining.repeat, joining.tile, joining.repeat_interleave
    flip, roll, tril, triu, unfold = joining.flip, joining.roll, joining.tril, joining.triu, joining.unfold
    squeeze_, unsqueeze_, transpose_, t_ = inplace.squeeze_, inplace.unsqueeze_, inplace.transpose_, inplace.t_
    tril_, triu_ = inplace.tril_, inplace.triu_

    @property
    def T(self) -> Any:
        """All dims in reverse order.

        >>> import gradlab
        >>> gradlab.ones(2, 3).T.shape
        gradlab.Size([3, 2])
        """
        return shapes.reversed_dims(self)

    @property
    def mT(self) -> Any:
        """The last two dims swapped.

        >>> import gradlab
        >>> gradlab.ones(5, 2, 3).mT.shape
        gradlab.Size([5, 3, 2])
        """
        return shapes.mT(self)

    # -- picking and placing -------------------------------------------------------------------------------------------

    gather, scatter, scatter_add = indexing.gather, indexing.scatter, indexing.scatter_add
    index_select, index_add, index_copy = indexing.index_select, indexing.index_add, indexing.index_copy
    index_put, masked_fill, masked_select = indexing.index_put, indexing.masked_fill, indexing.masked_select
    nonzero, argwhere = indexing.nonzero, indexing.nonzero
    index_fill, index_fill_ = indexing.index_fill, inplace.index_fill_
    scatter_, scatter_add_, index_add_ = inplace.scatter_, inplace.scatter_add_, inplace.index_add_
    index_copy_, index_put_, masked_fill_ = inplace.index_copy_, inplace.index_put_, inplace.masked_fill_

    # -- matrices ------------------------------------------------------------------------------------------------------

    matmul, mm, bmm, mv = linalg.matmul, linalg.mm, linalg.bmm, linalg.mv
    dot, outer, addmm, addmm_ = linalg.dot, linalg.outer, linalg.addmm, inplace.addmm_
    inverse = linalg.inv

    # -- writing -------------------------------------------------------------------------------------------------------

    copy_, fill_, zero_ = inplace.copy_, inplace.fill_, inplace.zero_
    uniform_, normal_ = inplace.uniform_, inplace.normal_
    bernoulli_, random_ = inplace.bernoulli_, inplace.random_


def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor.

    >>> import gradlab
    >>> gradlab.is_tensor(gradlab.ones(2)), gradlab.is_tensor([1.0])
    (True, False)
    """
    return isinstance(obj, Tensor)


_METHODS = {name: found for name, found in vars(Tensor).items() if isinstance(found, FunctionType) and name[:2] != "__"}
for _name, _function in _METHODS.items():
    setattr(Tensor, _name, method(_function, _name, _METHODS.get(_name.rstrip("_"), _function)))

_NAMED_TYPES = {
    "torch.FloatTensor": dtypes.float32,
    "torch.DoubleTensor": dtypes.float64,
    "torch.HalfTensor": dtypes.float16,
    "torch.LongTensor": dtypes.int64,
    "torch.IntTensor": dtypes.int32,
    "torch.ShortTensor": dtypes.int16,
    "torch.CharTensor": dtypes.int8,
    "torch.ByteTensor": dtypes.uint8,
    "torch.BoolTensor": dtypes.bool,
}
