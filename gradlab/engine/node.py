"""Nodes of the graph: one per recorded operation, and AccumulateGrad at each leaf."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gradlab import dtypes
from gradlab.engine import saved

if TYPE_CHECKING:
    from gradlab.engine.tensor import TensorBase

numbers = itertools.count()
FREED = None
Edge = tuple["Node", int]


class RemovableHandle:
    """What registering a hook returns; ``remove()`` takes the hook away. Also a context manager."""

    __slots__ = ("_hooks", "id")
    _ids = itertools.count()

    def __init__(self, hooks: dict[int, Callable], hook: Callable) -> None:
        self.id = next(self._ids)
        self._hooks = weakref.ref(hooks) if isinstance(hooks, Hooks) else lambda: hooks
        hooks[self.id] = hook

    def remove(self) -> None:
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()


class Hooks(dict):
    """Hooks by handle number, in the order of registration. A handle refers to it weakly: no cycle."""

    __slots__ = ("__weakref__",)


class Extras:
    """What few nodes have: hooks, and the forward's traceback under anomaly detection."""

    __slots__ = ("metadata", "post", "pre", "retain", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, Hooks] = {}  # by output number: hooks registered on that output's tensor
        self.retain: dict[int, weakref.ref] = {}  # by output number: the tensor whose .grad is kept
        self.pre, self.post = Hooks(), Hooks()
        self.metadata: dict = {}


class InputMetadata:
    """Shape and dtype of one output of the forward, which is what arrives at the node in backward."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple, dtype: np.dtype) -> None:
        self.shape, self.dtype = shape, dtypes._BY_NUMPY[dtype]


class Node:
    """A recorded operation. ``edges`` lead to the nodes of its inputs; ``apply`` turns the gradient that arrives into theirs."""

    __slots__ = ("__weakref__", "dtype", "edges", "extras", "number", "shape")
    slots: tuple[str, ...] = ()  # names of the saved slots, for the class of node
    undefined_too = False  # run even where no gradient arrived
    edges: tuple[Edge | None, ...]
    shape: tuple[int, ...]
    dtype: np.dtype
    outputs: list[tuple[tuple, np.dtype]] | None = None  # (shape, dtype) of each output where there are several

    def name(self) -> str:
        """torch's name of the node, such as 'MulBackward0'."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"

    def __reduce__(self) -> Any:
        raise TypeError(f"cannot pickle '{self.name()}' object: a graph node lives with its graph. Save the tensor's values.")

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """Where the gradients go: (node, number of its output) for each input, (None, 0) where none is wanted."""
        return tuple((None, 0) if edge is None else edge for edge in self.edges)

    def apply(self, g: Any) -> Any:
        """The gradients of the inputs, one per edge, as arrays. ``g`` is an array, or a list of them with several outputs."""
        raise NotImplementedError

    def apply_recorded(self, g: Any) -> Any:
        """The same on tensors, so that the backward is itself recorded (create_graph=True)."""
        raise NotImplementedError

    def free(self) -> None:
        """Let go of what was saved for backward."""

    def _extras(self) -> Extras:
        if self.extras is None:
            self.extras = Extras()
        return self.extras

    @property
    def metadata(self) -> dict:
        """A dictionary for notes on this node; anomaly detection keeps the forward's traceback here."""
        return self._extras().metadata

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        return tuple(InputMetadata(*each) for each in self._outputs())

    def _outputs(self) -> list[tuple[tuple, np.dtype]]:
        return [(self.shape, self.dtype)] if self.outputs is None else self.outputs

    def _sequence_nr(self) -> int:
        return self.number

    def register_prehook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before the node runs; a returned tuple replaces them."""
        return RemovableHandle(self._extras().pre, hook)

    def register_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after the node ran; a returned tuple replaces grad_inputs."""
        return RemovableHandle(self._extras().post, hook)


class OperatorNode(Node):
    """The node of an `operator`: its plan says which formulas run and what each takes."""

    __slots__ = ("saved",)
    plan: Any  # a record.Plan
    kept: tuple[Any, ...] = ()  # options and shapes that formulas name
    saved: tuple[Any, ...] | None  # flat slots of three, see saved.py; FREED after backward

    def apply(self, g: Any) -> Any:
        return self.plan.run(self, g)

    def apply_recorded(self, g: Any) -> Any:
        return self.plan.run_recorded(self, g)

    def free(self) -> None:
        if self.saved:
            self.saved = FREED

    def values(self, read: Callable) -> list[Any]:
        """Everything that formulas may name: saved slots through `read`, then what was kept."""
        found = self.saved
        if found is FREED:
            raise freed(self)
        return [read(self, *found[i : i + 3]) for i in range(0, len(found), 3)] + list(self.kept)

    def _slot(self, name: str) -> Any:
        """The slot of that name: None when this node never filled it; FREED nodes raise."""
        if name not in self.plan.saves:
            return None
        if self.saved is FREED:
            raise freed(self)
        at = 3 * self.plan.saves.index(name)
        return self.saved[at : at + 3]

    def _fill_slot(self, name: str, slot: Any) -> None:
        assert self.saved is not FREED
        at = 3 * self.plan.saves.index(name)
        self.saved = (*self.saved[:at], *slot, *self.saved[at + 3 :])

    def __getattr__(self, name: str) -> Any:
        slots = (*type(self).slots, *self.plan.saves)
        if name.startswith("_raw_saved_") and name[11:] in slots:
            return saved.SavedTensor(self, name[11:])
        if name.startswith("_saved_"):
            if name[7:] in slots:
                slot = self._slot(name[7:])
                return slot and saved.recorded(self, *slot, number=self.plan.output_number(name[7:]))
            if name[7:] in self.plan.kept:
                return self.kept[self.plan.kept.index(name[7:])]
        raise AttributeError(f"'{self.name()}' object has no attribute '{name}'")

    def __dir__(self) -> Iterator[str]:
        slots = {*type(self).slots, *self.plan.saves}
        names = {f"_saved_{n}" for n in (*slots, *self.plan.kept)} | {f"_raw_saved_{n}" for n in slots}
        return iter(sorted({*super().__dir__(), *names}))


class AccumulateGrad(Node):
    """The end of the line: adds what arrives to the leaf's ``.grad``."""

    __slots__ = ("variable",)
    variable: TensorBase

    def __init__(self, leaf: TensorBase) -> None:
        self.variable, self.edges, self.number, self.extras = leaf, (), next(numbers), None
        self.shape, self.dtype = leaf._array.shape, leaf._array.dtype

    def _sequence_nr(self) -> int:
        return 2**64 - 1  # torch's: a leaf is filled as soon as its gradient is complete


def freed(node: Node) -> RuntimeError:
    return RuntimeError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
        f"freed). {node.name()} let go of what it had saved when a backward ran through it. Pass retain_graph=True to the "
        "*earlier* backward() to keep it, or add the losses and call backward() once, or compute the output again: a new "
        "forward needs no retain_graph."
    )
