"""What the two engines do differently, as seen by a reader: everything else is one protocol."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradlab.graphs.records import TensorRecord, Values

SMALL = 64  # up to so many elements are kept as numbers


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine's tensor type and module; `torch` and `gradlab` have the same names in them."""

    name: str
    tensor_type: type
    module: Any

    def node(self, tensor: Any) -> Any:
        """The tensor's grad_fn, or for a leaf the AccumulateGrad that a graph would reach (None when there is none)."""
        return tensor.grad_fn if tensor.requires_grad and not tensor.is_leaf else None

    def output(self, tensor: Any) -> int:
        """Which output of its grad_fn a tensor is."""
        return int(tensor.output_nr) if self.name == "torch" else int(tensor._gradient_edge()[1])

    def dtype(self, tensor: Any) -> str:
        return plain_dtype(tensor.dtype)

    def outputs(self, node: Any) -> list[tuple[tuple[int, ...], str] | None]:
        """Shape and dtype of what the node's operation returned; an index takes no gradient and is left out, as in torch."""
        found: list[tuple[tuple[int, ...], str] | None] = []
        for meta in getattr(node, "_input_metadata", ()):
            try:
                if meta.dtype.is_floating_point or meta.dtype.is_complex:
                    found.append((tuple(int(n) for n in meta.shape), plain_dtype(meta.dtype)))
            except (RuntimeError, TypeError, AttributeError):
                found.append(None)
        return found

    def is_custom(self, node: Any) -> bool:
        return hasattr(type(node), "save_for_backward")  # asked of the type: on a freed node it would raise

    def is_parameter(self, tensor: Any) -> bool:
        return getattr(tensor, "_is_param", False) or type(tensor).__name__ == "Parameter"

    def memory(self, tensor: Any) -> Any:
        """Equal for two tensor objects that are the same elements in memory."""
        try:
            if self.name == "torch":
                address, layout = tensor.data_ptr(), tensor.stride()
            else:
                array = tensor.detach().numpy()
                address, layout = array.__array_interface__["data"][0] if array.size else 0, array.strides
        except (RuntimeError, TypeError, ValueError):  # no memory of its own: sparse, meta, functorch
            return id(tensor)
        return (address, tuple(tensor.shape), tuple(layout), str(tensor.dtype)) if address else id(tensor)

    def values(self, tensor: Any, summary: bool = False) -> Values:
        """Shape, dtype and, when they are few, the numbers; of a large tensor its range, if a `summary` is wanted."""
        shape = tuple(tensor.shape)
        values = Values(shape, self.dtype(tensor))
        if math.prod(shape) > SMALL:
            if summary:
                _summarize(values, self.array(tensor))
        else:
            try:
                values.numbers = _plain_numbers(tensor.detach().tolist())
                values.nonfinite = _count_nonfinite(values.numbers)
            except (RuntimeError, TypeError, NotImplementedError):  # no elements to read: meta, fake, quantized
                values.numbers = None
        return values

    def array(self, tensor: Any) -> np.ndarray | None:
        """The elements as a numpy array of reals; None where there is no such thing."""
        try:
            plain = tensor.detach()
            return plain.numpy() if self.name == "gradlab" else plain.cpu().double().numpy()
        except (RuntimeError, TypeError, NotImplementedError):
            return None

    def record(self, tensor: Any, number: int, name: str | None) -> TensorRecord:
        leaf = tensor.is_leaf
        retains = not leaf and bool(getattr(tensor, "retains_grad", False))
        grad = tensor.grad if leaf or retains else None  # torch warns when .grad of another inner tensor is read
        return TensorRecord(
            id=number,
            name=name,
            shape=tuple(tensor.shape),
            dtype=self.dtype(tensor),
            values=self.values(tensor),
            grad=None if grad is None else self.values(grad),
            requires_grad=tensor.requires_grad,
            is_leaf=leaf,
            is_parameter=self.is_parameter(tensor),
            retains_grad=retains,
            version=_version(tensor),
        )


def of_number(number: bool | int | float) -> Values:
    """A bare Python number in a slot, as torch shows it: a 0-d tensor."""
    return Values((), {bool: "bool", int: "int64"}.get(type(number), "float64"), number)


def is_tensor(thing: Any) -> bool:
    """True for a tensor of gradlab or of torch (which is not imported for it)."""
    return any(isinstance(thing, engine.tensor_type) for engine in engines())


def engine_of(tensors: Iterable[Any]) -> Engine:
    """The engine that all the tensors belong to. Raises TypeError for none and for two."""
    found: dict[str, Engine] = {}
    for tensor in tensors:
        for engine in engines():
            if isinstance(tensor, engine.tensor_type):
                found[engine.name] = engine
    if not found:
        raise TypeError("there is no tensor here: hand in the tensor whose graph you want to see, for example the loss")
    if len(found) > 1:
        raise TypeError("gradlab and torch tensors are mixed: a graph belongs to one engine, look at them one by one")
    return next(iter(found.values()))


_engines: dict[str, Engine] = {}


def engines() -> list[Engine]:
    """The engines that this process has loaded."""
    if "gradlab" not in _engines and "gradlab.engine" in sys.modules:
        module = sys.modules["gradlab.engine"]
        if hasattr(module, "TensorBase"):
            _engines["gradlab"] = Engine("gradlab", module.TensorBase, sys.modules["gradlab"])
    if "torch" not in _engines and hasattr(sys.modules.get("torch"), "Tensor"):
        torch = sys.modules["torch"]
        _engines["torch"] = Engine("torch", torch.Tensor, torch)
    return list(_engines.values())


@functools.cache
def plain_dtype(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def _summarize(values: Values, array: np.ndarray | None) -> None:
    if array is None or array.dtype.kind not in "fiu":
        return
    finite = array[np.isfinite(array)]
    values.nonfinite = array.size - finite.size
    if finite.size:
        values.low, values.high = float(finite.min()), float(finite.max())


def _version(tensor: Any) -> int:
    try:
        return int(tensor._version)
    except RuntimeError:  # an inference tensor counts no versions
        return 0


def _plain_numbers(data: Any) -> Any:
    if isinstance(data, list):
        return [_plain_numbers(item) for item in data]
    return str(data) if isinstance(data, complex) else data


def _count_nonfinite(data: Any) -> int:
    if isinstance(data, list):
        return sum(_count_nonfinite(item) for item in data)
    return int(isinstance(data, float) and not math.isfinite(data))
