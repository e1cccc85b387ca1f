"""What watch() reads from a live tensor, once per engine: everything else in this room is one code for both."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any


class TorchProbe:
    """Reads torch's tensors. Made only when torch is loaded."""

    name = "torch"

    def __init__(self) -> None:
        import torch
        from torch.multiprocessing.reductions import StorageWeakRef

        self.module = torch
        self.tensor_type = torch.Tensor
        self._weak = StorageWeakRef

    def sequence(self, node: Any) -> int:
        return node._sequence_nr()

    def next_sequence(self) -> int:
        """The number that the next node will get."""
        return self.module.autograd._get_sequence_nr()

    def memory(self, tensor: Any) -> tuple[int, Any] | None:
        """A key for the memory behind a tensor and a weak handle: the key stays unique while the handle is kept."""
        try:
            handle = self._weak(tensor.untyped_storage())
        except (RuntimeError, NotImplementedError):  # sparse, meta, functorch
            return None
        return handle.cdata, handle

    def expired(self, handle: Any) -> bool:
        return handle.expired()

    def recording(self) -> str | None:
        """Why nothing is recorded now: "inference", "no-grad" or None."""
        if self.module.is_grad_enabled():
            return None
        return "inference" if self.module.is_inference_mode_enabled() else "no-grad"

    def is_inference(self, tensor: Any) -> bool:
        return tensor.is_inference()

    def is_differentiable(self, tensor: Any) -> bool:
        return tensor.is_floating_point() or tensor.is_complex()

    def problem(self, tensor: Any) -> str | None:
        """ "nan" or "inf" when the tensor holds one (NaN first)."""
        try:
            plain = tensor.detach()
            plain = plain._values() if plain.is_sparse else plain
            if not self.is_differentiable(plain) or bool(self.module.isfinite(plain).all()):
                return None
            return "nan" if bool(self.module.isnan(plain).any()) else "inf"
        except (RuntimeError, NotImplementedError):  # nothing to read: meta, nested, inside vmap
            return None

    def is_zero(self, tensor: Any) -> bool:
        plain = tensor.detach()
        plain = plain._values() if plain.is_sparse else plain
        return not bool((plain != 0).any())

    def references(self, leaf: Any, nodes: list[Any]) -> int:
        """How many references a leaf has, those of the graph's nodes not counted."""
        return sys.getrefcount(leaf)


class GradlabProbe:
    """Reads gradlab's tensors."""

    name = "gradlab"

    def __init__(self) -> None:
        import gradlab
        import gradlab.engine

        self.module = gradlab
        self.tensor_type = gradlab.engine.TensorBase

    def sequence(self, node: Any) -> int:
        return node._sequence_nr()

    def next_sequence(self) -> int:
        import gradlab

        with gradlab.enable_grad():
            return 1 + (gradlab.ones((), requires_grad=True) * 1.0).grad_fn._sequence_nr()

    def memory(self, tensor: Any) -> tuple[int, Any] | None:
        array = tensor._array
        while getattr(array, "base", None) is not None and type(array.base) is type(array):
            array = array.base
        try:
            return id(array), weakref.ref(array)
        except TypeError:
            return None

    def expired(self, handle: Any) -> bool:
        return handle() is None

    def recording(self) -> str | None:
        if self.module.is_grad_enabled():
            return None
        return "inference" if self.module.is_inference_mode_enabled() else "no-grad"

    def is_inference(self, tensor: Any) -> bool:
        return tensor.is_inference()

    def is_differentiable(self, tensor: Any) -> bool:
        return tensor._array.dtype.kind in "fc"

    def problem(self, tensor: Any) -> str | None:
        import numpy as np

        array = tensor._array
        if array.dtype.kind not in "fc" or bool(np.isfinite(array).all()):
            return None
        return "nan" if bool(np.isnan(array).any()) else "inf"

    def is_zero(self, tensor: Any) -> bool:
        return not tensor._array.any()

    def references(self, leaf: Any, nodes: list[Any]) -> int:
        """As for torch; gradlab's nodes are Python objects: the references from their saved slots are taken off."""
        saved = sum(sum(item is leaf for item in (getattr(node, "saved", None) or ())) for node in nodes)
        views = sum(type(holder).__name__ == "View" and holder.base is leaf for holder in gc.get_referrers(leaf))
        return sys.getrefcount(leaf) - saved - views


Probe = TorchProbe | GradlabProbe
_probes: dict[str, Probe] = {}


def probe_named(name: str) -> Probe:
    """The probe of an engine that this process has loaded."""
    if name not in _probes:
        _probes[name] = TorchProbe() if name == "torch" else GradlabProbe()
    return _probes[name]
