"""Nodes of the graph: one per recorded operation, and AccumulateGrad at each leaf."""

from __future__ import annotations

import itertools
import weakref
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

from gradlab import dtypes, errors

numbers = itertools.count()


class Hooks(dict):
    """Hooks by handle number, in the order of registration. A handle refers to it weakly: no cycle."""

    __slots__ = ("__weakref__",)


class RemovableHandle:
    """What registering a hook returns; ``remove()`` takes the hook away. Also a context manager."""

    _ids = itertools.count()

    def __init__(self, hooks: Hooks, hook: Callable) -> None:
        self.id, self._hooks = next(self._ids), weakref.ref(hooks)
        hooks[self.id] = hook

    def remove(self) -> None:
        (self._hooks() or {}).pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()


class Extras:
    """What few nodes have: hooks, and the forward's traceback under anomaly detection."""

    def __init__(self) -> None:
        self.tensor: dict[int, Hooks] = defaultdict(Hooks)  # by output number: hooks registered on that output's tensor
        self.retain: dict[int, weakref.ref] = {}  # by output number: the tensor whose .grad is kept
        self.pre, self.post = Hooks(), Hooks()
        self.metadata: dict = {}


class InputMetadata(NamedTuple):
    """Shape and dtype of one output of the forward, which is what arrives at the node in backward."""

    shape: tuple[int, ...]
    dtype: dtypes.dtype


class Node:
    """A recorded operation. ``edges`` lead to its inputs' nodes; ``apply`` turns the gradient that arrives into theirs.

    >>> import gradlab
    >>> x = gradlab.tensor([1.0, 2.0], requires_grad=True)
    >>> node = (x * x).sum().grad_fn
    >>> node.name(), node.next_functions[0][0].name()
    ('SumBackward0', 'MulBackward0')
    """

    __slots__ = ("__weakref__", "dtype", "edges", "extras", "number", "shape")
    edges: tuple[tuple[Node, int] | None, ...]
    outputs: list | None = None  # (shape, dtype) of each output where there are several
    undefined_too = False  # run even where no gradient arrived
    hidden = False  # not to be seen in next_functions

    def name(self) -> str:
        """torch's name of the node, such as 'MulBackward0'."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"

    def __reduce__(self) -> Any:
        raise errors.pickled(self)

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """Where the gradients go: (node, number of its output) for each input, (None, 0) where none is wanted."""
        return tuple((None, 0) if edge is None or edge[0].hidden else edge for edge in self.edges)

    def apply(self, g: Any) -> Any:
        """One gradient per edge, as arrays, from an array (a list of them where the node has several outputs)."""
        raise NotImplementedError(self.name())

    def apply_recorded(self, g: Any) -> Any:
        """The same on tensors, so that the backward is itself recorded (create_graph=True)."""
        raise NotImplementedError(self.name())

    def __call__(self, *grads: Any) -> Any:
        """Run this node alone, on tensors: a gradient for each output of its forward -> those of its inputs."""
        errors.check_node_call(self, grads)
        found = self.apply_recorded(grads[0] if self.outputs is None else list(grads))
        return found[0] if len(found) == 1 else tuple(found)

    def free(self) -> None:
        """Let go of what was saved for backward."""

    def all_outputs(self) -> list:
        return [(self.shape, self.dtype)] if self.outputs is None else self.outputs

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        return tuple(InputMetadata(shape, dtypes.of(dtype)) for shape, dtype in self.all_outputs())

    def _sequence_nr(self) -> int:
        return self.number

    def more(self) -> Extras:
        """The node's extras, made when first needed."""
        self.extras = self.extras or Extras()
        return self.extras

    @property
    def metadata(self) -> dict:
        """A dictionary for notes on this node; anomaly detection keeps the forward's traceback here."""
        return self.more().metadata

    def register_prehook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before the node runs; a returned tuple replaces them."""
        return RemovableHandle(self.more().pre, hook)

    def register_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after the node ran; a returned tuple replaces grad_inputs."""
        return RemovableHandle(self.more().post, hook)


class AccumulateGrad(Node):
    """The end of the line: adds what arrives to the leaf's ``.grad``."""

    __slots__ = ("variable",)

    def __init__(self, leaf: Any) -> None:
        self.variable, self.edges, self.extras = leaf, (), None
        self.number = 2**64 - 1  # torch's: a leaf is filled as soon as its gradient is complete
        self.shape, self.dtype = leaf._array.shape, leaf._array.dtype
