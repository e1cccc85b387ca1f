"""TensorBase: an array with its place in the graph, its gradient, and the rules for both."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from gradlab import devices, dtypes
from gradlab.engine.modes import EXTRAS, modes
from gradlab.engine.node import AccumulateGrad, Edge, Hooks, Node, RemovableHandle
from gradlab.engine.saved import Inference, counter_of

new = object.__new__
INFERENCE = Inference()


class Meta:
    """What a leaf has, and few other tensors: most results live without one."""

    __slots__ = ("accumulate", "grad", "hooks", "name", "post_hooks", "requires_grad", "retains")

    def __init__(self) -> None:
        self.grad: TensorBase | None = None
        self.requires_grad = False
        self.retains = False
        self.accumulate: Any = None  # weak reference to the leaf's AccumulateGrad: the graph holds it
        self.hooks: Hooks | None = None
        self.post_hooks: Hooks | None = None
        self.name: str | None = None


class TensorBase:
    """The autograd half of a tensor. Operators and torch's other methods are in ``gradlab.Tensor``.

    ``_edge`` is (node, output number) for the result of a recorded operation, else None. ``_counter`` is the version counter, a
    list of one number that every tensor on the same memory shares, made when first needed. ``_view`` says what this is a view of.
    """

    __slots__ = ("__dict__", "__weakref__", "_array", "_counter", "_edge", "_meta", "_view")
    _array: np.ndarray
    _counter: Any
    _edge: Edge | None
    _meta: Meta | None
    _view: Any

    def __init_subclass__(cls, results: bool = False) -> None:
        """``results=True``: operations return this class."""
        if results:
            TensorBase._class = cls  # type: ignore[attr-defined]

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def dtype(self) -> dtypes.dtype:
        return dtypes._BY_NUMPY[self._array.dtype]

    def _ensure_meta(self) -> Meta:
        if self._meta is None:
            self._meta = Meta()
        return self._meta

    # -- the place in the graph ------------------------------------------------------------------------

    def _gradient_edge(self) -> Edge | None:
        """(node, output number) that a gradient for this tensor goes to; None when it takes none."""
        if self._view is not None:
            self._view.refresh(self)
        if self._edge is not None:
            return self._edge
        meta = self._meta
        if meta is None or not meta.requires_grad:
            return None
        node = meta.accumulate and meta.accumulate()
        if node is None:
            node = AccumulateGrad(self)
            meta.accumulate = weakref.ref(node)
        return node, 0

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that made this tensor; None for a leaf."""
        if self._view is not None:
            self._view.refresh(self)
        return self._edge and self._edge[0]

    @property
    def output_nr(self) -> int:
        return self._edge[1] if self._edge else 0

    @property
    def is_leaf(self) -> bool:
        """True when no recorded operation made this tensor."""
        return self.grad_fn is None

    @property
    def requires_grad(self) -> bool:
        return self._edge is not None or (self._meta is not None and self._meta.requires_grad) or self.grad_fn is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if not self.is_leaf:
            if wanted:
                return
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. This tensor was made by "
                f"{self.grad_fn}: use detach() to get one without history."
            )
        if wanted and self._array.dtype.kind != "f":
            raise RuntimeError(
                f"only Tensors of floating point and complex dtype can require gradients; this one is {self.dtype}. "
                "Convert it first, for example with .float()."
            )
        if wanted and self._counter is INFERENCE and not modes.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        if wanted or self._meta is not None:
            self._ensure_meta().requires_grad = bool(wanted)
        if modes.word == EXTRAS:
            notify("requires_grad=", (self, wanted), None)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Set ``requires_grad`` in place and return the tensor."""
        self.requires_grad = requires_grad
        return self

    # -- .grad -----------------------------------------------------------------------------------------

    @property
    def grad(self) -> Any:
        """What backward() added up here; None until something arrived. Only leaves keep one, or after retain_grad()."""
        if self._edge is not None and not self.retains_grad and (self._meta is None or self._meta.grad is None):
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
                "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, "
                "use .retain_grad() on it before backward().",
                stacklevel=2,
            )
        return self._meta and self._meta.grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            self._check_grad(value)
        if value is not None or self._meta is not None:
            self._ensure_meta().grad = value
        if modes.word == EXTRAS:
            notify("grad=", (self, value), None)

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def _check_grad(self, value: Any) -> None:
        if not isinstance(value, TensorBase):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got {type(value).__name__}")
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if value._array.dtype != self._array.dtype:
            raise RuntimeError(f"assigned grad has data of a different type: {value.dtype}, the tensor has {self.dtype}.")
        if value._array.shape != self._array.shape:
            raise RuntimeError(
                f"assigned grad has data of a different size: {list(value.shape)}, the tensor has {list(self.shape)}."
            )

    @property
    def retains_grad(self) -> bool:
        return self._edge is not None and self._meta is not None and self._meta.retains

    def retain_grad(self) -> None:
        """Keep this non-leaf's gradient in ``.grad``, after the hooks; nothing to do for a leaf."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self.grad_fn is not None:
            assert self._edge is not None
            self._ensure_meta().retains = True
            self._edge[0]._extras().retain[self._edge[1]] = weakref.ref(self)

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call ``hook(grad)`` when this tensor's gradient is known; a returned tensor replaces it. RuntimeError without requires_grad."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.grad_fn is None:
            meta = self._ensure_meta()
            meta.hooks = Hooks() if meta.hooks is None else meta.hooks
            return RemovableHandle(meta.hooks, hook)
        assert self._edge is not None
        return RemovableHandle(self._edge[0]._extras().tensor.setdefault(self._edge[1], Hooks()), hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], None]) -> RemovableHandle:
        """Call ``hook(tensor)`` after this leaf's ``.grad`` was filled or added to."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.grad_fn is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        meta = self._ensure_meta()
        meta.post_hooks = Hooks() if meta.post_hooks is None else meta.post_hooks
        return RemovableHandle(meta.post_hooks, hook)

    def backward(self, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None) -> None:
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
        from gradlab.engine.walk import backward

        backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    # -- the same memory under another handle ----------------------------------------------------------

    def detach(self) -> Any:
        """A tensor on the same memory, with the same version counter, without history.

        >>> import gradlab
        >>> x = gradlab.ones(2, requires_grad=True)
        >>> x.detach().requires_grad
        False
        """
        tensor = make(self._array)
        tensor._counter = counter_of(self)
        if modes.word == EXTRAS:
            notify("detach", (self,), tensor)
        return tensor

    def detach_(self) -> Any:
        """Forget this tensor's history, in place: it becomes a leaf that does not require grad."""
        if self._view is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        self._edge = None
        if self._meta is not None:
            self._meta.requires_grad = self._meta.retains = False
        if modes.word == EXTRAS:
            notify("detach_", (self,), self)
        return self

    @property
    def data(self) -> Any:
        """A tensor on the same memory with no history **and a version counter of its own**: edits through it go unnoticed."""
        tensor = make(self._array)
        if modes.word == EXTRAS:
            notify("data", (self,), tensor)
        return tensor

    @data.setter
    def data(self, value: Any) -> None:
        if not isinstance(value, TensorBase):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self.requires_grad and value._array.dtype.kind != "f":
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        if self._meta is not None and value._array.dtype != self._array.dtype:
            self._meta.accumulate = None
        self._array = value._array
        if modes.word == EXTRAS:
            notify("data=", (self, value), None)

    @property
    def _version(self) -> int:
        """How often the memory was written in place since the tensor was made."""
        if self._counter is INFERENCE:
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._counter is None else self._counter[0]

    def is_inference(self) -> bool:
        return self._counter is INFERENCE

    @property
    def _base(self) -> Any:
        return self._view and self._view.base

    def _is_view(self) -> bool:
        return self._view is not None

    @property
    def name(self) -> str | None:
        return self._meta and self._meta.name

    @property
    def _backward_hooks(self) -> Hooks | None:
        if self.grad_fn is None:
            return self._meta and self._meta.hooks
        assert self._edge is not None
        extras = self._edge[0].extras
        return extras and extras.tensor.get(self._edge[1])

    @property
    def device(self) -> Any:
        return devices.cpu

    def __hash__(self) -> int:
        return id(self)


def make(array: Any) -> Any:
    """A plain tensor on this array: a leaf that does not require grad."""
    tensor = new(TensorBase._class)  # type: ignore[attr-defined]
    tensor._array = array if type(array) is np.ndarray else np.asarray(array)
    tensor._edge = tensor._view = tensor._meta = None
    tensor._counter = INFERENCE if modes.word == EXTRAS and modes.inference else None
    return tensor


def notify(name: str, arguments: Any, result: Any) -> None:
    """Tell the watcher of this thread, if any, what just happened to a tensor."""
    if modes.watcher is not None:
        modes.watcher(name, arguments, result)
