"""TensorBase: an array with its place in the graph, its gradient, and the rules for both."""

import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from gradlab import errors
from gradlab.engine import node as nodes
from gradlab.engine.modes import EXTRAS, modes, notify

new, ndarray = object.__new__, np.ndarray


class _NoCounter:
    """The version counter of a tensor made in inference mode: there is none, and asking says so."""

    def __getitem__(self, _: int) -> int:
        raise RuntimeError(errors.INFERENCE_SAVED)


INFERENCE = _NoCounter()


class Meta:
    """What a leaf has, and few other tensors: most results live without one."""

    __slots__ = ("accumulate", "grad", "hooks", "post_hooks", "requires_grad", "retains")

    def __init__(self) -> None:
        self.requires_grad = self.retains = False
        self.hooks, self.post_hooks = nodes.Hooks(), nodes.Hooks()
        self.grad: Any = None
        self.accumulate: Any = None  # weak reference to the leaf's AccumulateGrad: the graph holds it


class TensorBase:
    """The autograd half of a tensor. Operators and torch's other methods are in ``gradlab.Tensor``.

    ``_edge`` is (node, output number) for the result of a recorded operation, else None. ``_counter`` is the version
    counter, a list of one number that every tensor on the same memory shares, made when first needed. ``_view`` says what
    this is a view of.
    """

    __slots__ = ("__dict__", "__weakref__", "_array", "_counter", "_edge", "_meta", "_view")
    _class: type  # what operations return
    _array: np.ndarray

    def __init_subclass__(cls, results: bool = False) -> None:
        if results:
            TensorBase._class = cls

    def _more(self) -> Meta:
        self._meta = self._meta or Meta()
        return self._meta

    def _version_counter(self) -> Any:
        if self._counter is None:
            self._counter = [0]
        return self._counter

    # -- the place in the graph ----------------------------------------------------------------------------------------

    def _gradient_edge(self) -> Any:
        """(node, output number) that a gradient for this tensor goes to; None when it takes none."""
        if self._view is not None:
            self._view.refresh(self)
        if self._edge is not None:
            return self._edge
        meta = self._meta
        if meta is None or not meta.requires_grad:
            return self._view and self._view.gradient_edge(self._array)
        node = meta.accumulate and meta.accumulate()
        if node is None:
            node = nodes.AccumulateGrad(self)
            meta.accumulate = weakref.ref(node)
        return node, 0

    @property
    def grad_fn(self) -> Any:
        """The node of the operation that made this tensor; None for a leaf.

        >>> import gradlab
        >>> x = gradlab.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * 2).grad_fn.name(), x.grad_fn
        ('MulBackward0', None)
        """
        if self._view is not None:
            self._view.refresh(self)
        return self._edge and self._edge[0]

    @property
    def is_leaf(self) -> bool:
        """True when no recorded operation made this tensor.

        >>> import gradlab
        >>> x = gradlab.tensor([1.0, 2.0], requires_grad=True)
        >>> x.is_leaf, (x * 2).is_leaf
        (True, False)
        """
        return self.grad_fn is None

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient will be computed for this tensor: set it on a leaf of floats; a result has it from its inputs.

        RuntimeError when set on a tensor that is not a leaf, or to True on one that holds no floats.

        >>> import gradlab
        >>> x = gradlab.tensor([1.0, 2.0], requires_grad=True)
        >>> x.requires_grad, (x * 2).requires_grad, gradlab.ones(1).requires_grad
        (True, True, False)
        """
        owned = self._edge or (self._meta and self._meta.requires_grad)
        return bool(owned or (self._view and self._view.base.requires_grad))

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        errors.check_bool(wanted)
        if self._edge is not None:
            raise errors.not_leaf(self)
        if wanted and self._array.dtype.kind != "f":
            raise errors.not_float(self)
        if wanted and self._counter is INFERENCE and not modes.inference:
            raise RuntimeError(errors.INFERENCE_REQUIRES)
        self._more().requires_grad = bool(wanted)
        if modes.word == EXTRAS:
            notify("requires_grad=", (self, wanted), None)

    # -- .grad ---------------------------------------------------------------------------------------------------------

    @property
    def grad(self) -> Any:
        """What backward() added up here; None until something arrived. Only leaves keep one, or after retain_grad().

        >>> import gradlab
        >>> x = gradlab.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
        """
        found = self._meta and self._meta.grad
        if found is None and not self.is_leaf and not self.retains_grad:
            warnings.warn(errors.NON_LEAF_GRAD, stacklevel=2)
        return found

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            errors.check_assigned_grad(self, value)
        self._more().grad = value
        if modes.word == EXTRAS:
            notify("grad=", (self, value), None)

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    @property
    def retains_grad(self) -> bool:
        """Whether this non-leaf keeps its gradient: True after `retain_grad()`.

        >>> import gradlab
        >>> x = gradlab.tensor([1.0, 2.0], requires_grad=True)
        >>> y = x * 2
        >>> y.retain_grad()
        >>> y.retains_grad
        True
        """
        return bool(self._meta and self._meta.retains)

    def retain_grad(self) -> None:
        """Keep this non-leaf's gradient in ``.grad``, after the hooks; nothing to do for a leaf.

        >>> import gradlab
        >>> x = gradlab.tensor([1.0, 2.0], requires_grad=True)
        >>> y = x * 2
        >>> y.retain_grad()
        >>> (y * y).sum().backward()
        >>> y.grad
        tensor([4., 8.])
        """
        if not self.requires_grad:
            raise RuntimeError(errors.NO_RETAIN)
        if self._edge is not None and not self.retains_grad:
            node, number = self._gradient_edge()
            node.more().retain[number] = weakref.ref(self)
            self._more().retains = True

    def register_hook(self, hook: Callable[[Any], Any]) -> nodes.RemovableHandle:
        """Call ``hook(grad)`` when this tensor's gradient is known; a returned tensor replaces it.

        >>> import gradlab
        >>> x = gradlab.tensor([1.0, 2.0], requires_grad=True)
        >>> handle = x.register_hook(lambda grad: grad * 10)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([20., 40.])
        """
        if not self.requires_grad:
            raise RuntimeError(errors.NO_HOOK)
        hooks = self._more().hooks if self.grad_fn is None else self._edge[0].more().tensor[self._edge[1]]
        return nodes.RemovableHandle(hooks, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], None]) -> nodes.RemovableHandle:
        """Call ``hook(tensor)`` after this leaf's ``.grad`` was filled or added to.

        >>> import gradlab
        >>> x = gradlab.tensor([1.0, 2.0], requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda t: print(t.grad))
        >>> (x * x).sum().backward()
        tensor([2., 4.])
        """
        if not self.requires_grad or not self.is_leaf:
            raise RuntimeError(errors.NO_POST_HOOK if self.requires_grad else errors.NO_HOOK)
        return nodes.RemovableHandle(self._more().post_hooks, hook)

    # -- the same memory under another handle --------------------------------------------------------------------------

    def detach(self) -> Any:
        """A tensor on the same memory, with the same version counter, without history.

        >>> import gradlab
        >>> x = gradlab.ones(2, requires_grad=True)
        >>> x.detach().requires_grad
        False
        """
        tensor = make(self._array)
        tensor._counter = self._version_counter()
        if modes.word == EXTRAS:
            notify("detach", (self,), tensor)
        return tensor

    @property
    def data(self) -> Any:
        """The same memory without history, **with a version counter of its own**: edits go unnoticed.

        >>> import gradlab
        >>> x = gradlab.tensor([1.0, 2.0], requires_grad=True)
        >>> x.data.fill_(5.0)
        tensor([5., 5.])
        >>> x
        tensor([5., 5.], requires_grad=True)
        """
        tensor = make(self._array)
        if modes.word == EXTRAS:
            notify("data", (self,), tensor)
        return tensor

    @data.setter
    def data(self, value: Any) -> None:
        errors.check_assigned_data(self, value)
        if self._meta is not None and value._array.dtype != self._array.dtype:
            self._meta.accumulate = None
        self._array = value._array
        if modes.word == EXTRAS:
            notify("data=", (self, value), None)

    __hash__ = object.__hash__


def make(array: Any) -> Any:
    """A plain tensor on this array: a leaf that does not require grad."""
    tensor = new(TensorBase._class)
    tensor._array = array if type(array) is ndarray else np.asarray(array)
    tensor._edge = tensor._view = tensor._meta = None
    tensor._counter = INFERENCE if modes.word == EXTRAS and modes.inference else None
    return tensor
