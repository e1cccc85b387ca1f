"""Modules that hold modules or parameters: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from __future__ import annotations

import itertools
import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

from gradlab._tensor import Tensor
from gradlab.errors import not_tensor
from gradlab.nn.module import Module
from gradlab.nn.parameter import Parameter


def _place(index: Any, length: int) -> int:
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range")
    return index % length


class _Numbered(Module):
    """Entries under the names "0", "1", ..."""

    def _entries(self) -> dict[str, Any]:
        return self._modules

    def _renumber(self, values: list) -> None:
        entries = self._entries()
        entries.clear()
        entries.update({str(n): value for n, value in enumerate(values)})

    def __len__(self) -> int:
        return len(self._entries())

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._entries().values()))

    def __getitem__(self, index: Any) -> Any:
        values = list(self._entries().values())
        return type(self)(*self._sliced(values[index])) if isinstance(index, slice) else values[_place(index, len(values))]

    def _sliced(self, values: list) -> tuple:
        return (values,)

    def __setitem__(self, index: Any, value: Any) -> None:
        setattr(self, list(self._entries())[_place(index, len(self))], value)

    def __delitem__(self, index: Any) -> None:
        values = list(self._entries().values())
        del values[index]
        self._renumber(values)

    def append(self, value: Any) -> Any:
        """Add one at the end."""
        self._add(str(len(self)), value)
        return self

    def extend(self, values: Iterable[Any]) -> Any:
        """Add several at the end."""
        if isinstance(values, Tensor) or not isinstance(values, Iterable):
            raise TypeError(f"{type(self).__name__}.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def insert(self, index: int, value: Any) -> Any:
        """Put one in before a place."""
        values = list(self._entries().values())
        if not -len(values) <= index <= len(values):
            raise IndexError(f"Index out of range: {index}")
        values.insert(index, value)
        self._renumber(values)
        return self

    def pop(self, index: Any) -> Any:
        """Take one out and return it."""
        value = self[index]
        del self[index]
        return value

    def __iadd__(self, values: Iterable[Any]) -> Any:
        return self.extend(values)

    def _add(self, name: str, value: Any) -> None:
        self.add_module(name, value)


class Sequential(_Numbered):
    """Modules called one after the other, each on the last one's output.

    >>> import gradlab
    >>> nn = gradlab.nn
    >>> nn.Sequential(nn.Linear(3, 4), nn.ReLU())(gradlab.ones(2, 3)).shape
    gradlab.Size([2, 4])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return super().__getitem__(index)

    def __delitem__(self, index: Any) -> None:
        names = list(self._modules)
        for name in names[index] if isinstance(index, slice) else [names[_place(index, len(names))]]:
            del self._modules[name]
        self._renumber(list(self._modules.values()))

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(_Numbered):
    """A list of modules whose parameters are found.

    >>> import gradlab
    >>> layers = gradlab.nn.ModuleList([gradlab.nn.Linear(2, 3), gradlab.nn.ReLU()])
    >>> len(layers), [name for name, p in layers.named_parameters()]
    (2, ['0.weight', '0.bias'])
    """

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(modules or [])

    def __add__(self, other: Iterable[Any]) -> Any:
        return type(self)([*self, *other])

    def __repr__(self) -> str:
        """Equal neighbours are shown once, as `(0-3): 4 x ReLU()`."""
        lines, first = [], 0
        for text, same in itertools.groupby(map(repr, self)):
            many = len(list(same))
            times = f"({first}-{first + many - 1}): {many} x " if many > 1 else f"({first}): "
            lines.append("\n  " + (times + text).replace("\n", "\n  "))
            first += many
        return f"{self._get_name()}({''.join(lines)}\n)" if lines else f"{self._get_name()}()"


class _Named(Module):
    """Entries under names of their own."""

    def __getitem__(self, key: str) -> Any:
        return self._entries()[key]

    def __len__(self) -> int:
        return len(self._entries())

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries())

    def __contains__(self, key: str) -> bool:
        return key in self._entries()

    def __delitem__(self, key: str) -> None:
        del self._entries()[key]

    def _entries(self) -> dict[str, Any]:
        return self._modules

    def keys(self) -> Any:
        """The names."""
        return self._entries().keys()

    def values(self) -> Any:
        """The entries."""
        return self._entries().values()

    def items(self) -> Any:
        """Names with entries."""
        return self._entries().items()

    def clear(self) -> None:
        """Take everything out."""
        self._entries().clear()

    def pop(self, key: str) -> Any:
        """Take one out and return it."""
        return self._entries().pop(key)

    def update(self, entries: Any) -> None:
        """Add or replace by name."""
        for key, value in entries.items() if hasattr(entries, "items") else entries:
            self[key] = value


class ModuleDict(_Named):
    """A dictionary of modules whose parameters are found.

    >>> import gradlab
    >>> layers = gradlab.nn.ModuleDict({"fc": gradlab.nn.Linear(2, 3)})
    >>> [name for name, p in layers.named_parameters()]
    ['fc.weight', 'fc.bias']
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.update(modules or {})

    def __setitem__(self, key: str, module: Any) -> None:
        self.add_module(key, module)


class ParameterList(_Numbered):
    """A list of parameters; a tensor that is put in becomes a Parameter.

    >>> import gradlab
    >>> layers = gradlab.nn.ParameterList([gradlab.ones(2), gradlab.ones(3)])
    >>> [name for name, p in layers.named_parameters()]
    ['0', '1']
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(values or [])

    def _entries(self) -> dict[str, Any]:
        return self._parameters

    def _add(self, name: str, value: Any) -> None:
        self.register_parameter(name, _as_parameter(value))

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, _as_parameter(value))

    def extra_repr(self) -> str:
        return _listed({name: p.dtype for name, p in self._parameters.items()}, self._parameters)


class ParameterDict(_Named):
    """A dictionary of parameters; a tensor that is put in becomes a Parameter.

    >>> import gradlab
    >>> table = gradlab.nn.ParameterDict({"w": gradlab.ones(2)})
    >>> [name for name, p in table.named_parameters()]
    ['w']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self.update(parameters or {})

    def _entries(self) -> dict[str, Any]:
        return self._parameters

    def __setitem__(self, key: str, value: Any) -> None:
        self.register_parameter(key, _as_parameter(value))

    def extra_repr(self) -> str:
        return _listed({name: p.type() for name, p in self._parameters.items()}, self._parameters)


def _as_parameter(value: Any) -> Parameter:
    if not isinstance(value, Tensor):
        raise not_tensor("an entry of ParameterList and ParameterDict", value)
    return value if isinstance(value, Parameter) else Parameter(value)


def _listed(kinds: dict[str, Any], parameters: Any) -> str:
    sizes = {name: "x".join(map(str, p.shape)) for name, p in parameters.items()}
    return "\n".join([f"  ({name}): Parameter containing: [{kinds[name]} of size {size}]" for name, size in sizes.items()])
