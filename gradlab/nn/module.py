"""Module: parameters, buffers and submodules by attribute name, state dicts, hooks, train and eval."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gradlab._tensor import Tensor
from gradlab.autograd.grad_mode import no_grad
from gradlab.dtypes import dtype as Dtype
from gradlab.engine import RemovableHandle
from gradlab.engine.node import Hooks
from gradlab.nn._state_dict import EXTRA, load_own, own_state, unexpected
from gradlab.nn.hooks import HookedCall
from gradlab.nn.parameter import Buffer, Parameter


class IncompatibleKeys(namedtuple("IncompatibleKeys", "missing_keys unexpected_keys")):
    """What load_state_dict found missing and unexpected."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "_" + super().__repr__() if any(self) else "<All keys matched successfully>"

    __str__ = __repr__


class Module:
    """Base of all modules: assign Parameters and Modules to attributes in `__init__`, compute in `forward`.

    >>> import gradlab
    >>> class Scale(gradlab.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = gradlab.nn.Parameter(gradlab.ones(1))
    ...     def forward(self, x):
    ...         return self.factor * x
    >>> [name for name, p in Scale().named_parameters()]
    ['factor']
    """

    training: bool
    _version = 1  # of the layout of its state dict
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]

    def __init__(self) -> None:
        fields = {
            "training": True,
            "_parameters": {},
            "_buffers": {},
            "_non_persistent_buffers_set": set(),
            "_modules": {},
            "_forward_hooks": Hooks(),
            "_forward_pre_hooks": Hooks(),
            "_backward_hooks": Hooks(),
            "_backward_pre_hooks": Hooks(),
        }
        self.__dict__.update(fields)

    def forward(self, *args: Any, **options: Any) -> Any:
        """What calling the module computes; every module writes its own."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # -- calling -------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **options: Any) -> Any:
        fields = self.__dict__
        if not (
            fields["_forward_hooks"]
            or fields["_forward_pre_hooks"]
            or fields["_backward_hooks"]
            or fields["_backward_pre_hooks"]
        ):
            return self.forward(*args, **options)
        return HookedCall(self, args, options).run()

    def register_forward_pre_hook(self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False) -> Any:
        """Call `hook(module, args)` before forward; what it returns replaces the arguments.

        >>> import gradlab
        >>> layer = gradlab.nn.Linear(2, 3)
        >>> handle = layer.register_forward_pre_hook(lambda module, args: print(args[0].shape))
        >>> _ = layer(gradlab.ones(5, 2))
        gradlab.Size([5, 2])
        """
        return _registered(self._forward_pre_hooks, (hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> Any:
        """Call `hook(module, args, output)` after forward; what it returns replaces the output.

        always_call: also when the forward or a hook has raised, with None (or what there is) as the output.

        >>> import gradlab
        >>> layer = gradlab.nn.Linear(2, 3)
        >>> handle = layer.register_forward_hook(lambda module, args, output: print(output.shape))
        >>> _ = layer(gradlab.ones(5, 2))
        gradlab.Size([5, 3])
        """
        return _registered(self._forward_hooks, (hook, with_kwargs, always_call), prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> Any:
        """Call `hook(module, grad_input, grad_output)` when the inputs' gradients are known; a returned tuple replaces it.

        >>> import gradlab
        >>> layer = gradlab.nn.Linear(2, 3)
        >>> handle = layer.register_full_backward_hook(lambda module, grad_input, grad_output: print(grad_output[0].shape))
        >>> layer(gradlab.ones(5, 2, requires_grad=True)).sum().backward()
        gradlab.Size([5, 3])
        """
        return _registered(self._backward_hooks, hook, prepend)

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> Any:
        """Call `hook(module, grad_output)` before the module's backward; what it returns replaces grad_output."""
        return _registered(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(self, hook: Callable) -> Any:
        """Old and wrong for modules of several operations: refused; use register_full_backward_hook."""
        raise NotImplementedError("register_backward_hook is deprecated in torch: use register_full_backward_hook.")

    # -- attributes ----------------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        fields = self.__dict__
        home = _home(value)
        for kind, what, allowed, fits in _HOMES:
            if kind == home:
                self._put(kind, name, value)
                return
            if name in fields.get(kind, ()):
                if value is not None and not isinstance(value, fits):
                    raise TypeError(f"cannot assign '{type(value).__name__}' as {what} '{name}' ({allowed} expected)")
                fields[kind][name] = value
                return
        object.__setattr__(self, name, value)

    def _put(self, kind: str, name: str, value: Any) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {kind[1:]} before Module.__init__() call")
        if isinstance(value, Buffer):
            _check_name(self, name, "buffer", self._buffers)
        for other, *_ in _HOMES:
            if other != kind:
                self.__dict__[other].pop(name, None)
        self.__dict__.pop(name, None)
        if isinstance(value, Parameter):
            _check_name(self, name, "parameter", self._parameters)
        self.__dict__[kind][name] = value
        if isinstance(value, Buffer) and not value.persistent:
            self._non_persistent_buffers_set.add(name)

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in fields.get(kind, ()):
                return fields[kind][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__[kind]:
                del self.__dict__[kind][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._parameters, *self._buffers, *self._modules})

    def register_parameter(self, name: str, param: Any) -> None:
        """Add a Parameter (or None, as a placeholder) under a name.

        >>> import gradlab
        >>> module = gradlab.nn.Module()
        >>> module.register_parameter("w", gradlab.nn.Parameter(gradlab.zeros(2)))
        >>> module.w.shape
        gradlab.Size([2])
        """
        _check_name(self, name, "parameter", self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' (torch.nn.Parameter or "
                "None required)"
            )
        if param is not None and not param.is_leaf:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'.")
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Add a tensor that belongs to the state but is not trained; a persistent one is in the state dict.

        >>> import gradlab
        >>> module = gradlab.nn.Module()
        >>> module.register_buffer("mean", gradlab.zeros(2))
        >>> list(module.state_dict())
        ['mean']
        """
        _check_name(self, name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = tensor
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Any) -> None:
        """Add a submodule under a name.

        >>> import gradlab
        >>> module = gradlab.nn.Module()
        >>> module.add_module("act", gradlab.nn.ReLU())
        >>> module.act
        ReLU()
        """
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        _check_name(self, name, "module", self._modules)
        self._modules[name] = module

    register_module = add_module

    # -- walking -------------------------------------------------------------------------------------------------------

    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """This module and all below it, by dotted name; a module that occurs twice comes once.

        >>> import gradlab
        >>> net = gradlab.nn.Sequential(gradlab.nn.Linear(2, 3), gradlab.nn.ReLU())
        >>> [name for name, module in net.named_modules()]
        ['', '0', '1']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[Any]:
        """This module and all below it."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The direct submodules by name."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Any]:
        """The direct submodules.

        >>> import gradlab
        >>> net = gradlab.nn.Sequential(gradlab.nn.Linear(2, 3), gradlab.nn.ReLU())
        >>> list(net.children())
        [Linear(in_features=2, out_features=3, bias=True), ReLU()]
        """
        return (module for _, module in self.named_children())

    def _members(self, kind: str, prefix: str, recurse: bool, remove_duplicate: bool) -> Iterator[tuple[str, Any]]:
        seen = set()
        for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]:
            for name, value in getattr(module, kind).items():
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """All parameters by dotted name, each once.

        >>> import gradlab
        >>> net = gradlab.nn.Sequential(gradlab.nn.Linear(2, 3), gradlab.nn.ReLU())
        >>> [name for name, p in net.named_parameters()]
        ['0.weight', '0.bias']
        """
        return self._members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """All parameters, each once.

        >>> import gradlab
        >>> [tuple(p.shape) for p in gradlab.nn.Linear(3, 2).parameters()]
        [(2, 3), (2,)]
        """
        return (value for _, value in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """All buffers by dotted name, each once."""
        return self._members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """All buffers, each once."""
        return (value for _, value in self.named_buffers(recurse=recurse))

    def _find(self, target: str) -> Any:
        module: Any = self
        for name in filter(None, target.split(".")):
            if name not in module._modules:
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = module._modules[name]
        return module

    def _entry(self, kind: str, target: str) -> Any:
        path, _, name = target.rpartition(".")
        owner = self._find(path)
        if name not in getattr(owner, kind):
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}` among its {kind.strip('_')}")
        return getattr(owner, kind)[name]

    def get_submodule(self, target: str) -> Any:
        """The submodule of a dotted name.

        >>> import gradlab
        >>> net = gradlab.nn.Sequential(gradlab.nn.Linear(2, 3), gradlab.nn.ReLU())
        >>> net.get_submodule("1")
        ReLU()
        """
        return self._find(target)

    def get_parameter(self, target: str) -> Any:
        """The parameter of a dotted name.

        >>> import gradlab
        >>> net = gradlab.nn.Sequential(gradlab.nn.Linear(2, 3), gradlab.nn.ReLU())
        >>> net.get_parameter("0.weight").shape
        gradlab.Size([3, 2])
        """
        found = self._entry("_parameters", target)
        if found is None:
            raise AttributeError(f"`{target}` is not an nn.Parameter: it is None")
        return found

    def get_buffer(self, target: str) -> Any:
        """The buffer of a dotted name."""
        return self._entry("_buffers", target)

    # -- changing ------------------------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Any:
        """Switch this module and all below it to training behaviour (dropout, batch norm); it does not touch autograd.

        >>> import gradlab
        >>> net = gradlab.nn.Sequential(gradlab.nn.Linear(2, 3), gradlab.nn.ReLU())
        >>> net.train().training, net[0].training
        (True, True)
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Any:
        """Switch to evaluation behaviour; gradients are still recorded.

        >>> import gradlab
        >>> net = gradlab.nn.Sequential(gradlab.nn.Linear(2, 3), gradlab.nn.ReLU())
        >>> net.eval().training, net(gradlab.ones(1, 2)).requires_grad
        (False, True)
        """
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Freeze or unfreeze all parameters.

        >>> import gradlab
        >>> layer = gradlab.nn.Linear(2, 3)
        >>> [p.requires_grad for p in layer.requires_grad_(False).parameters()]
        [False, False]
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Take the gradients of all parameters away (None), or fill them with zeros.

        >>> import gradlab
        >>> layer = gradlab.nn.Linear(2, 3)
        >>> layer(gradlab.ones(1, 2)).sum().backward()
        >>> layer.zero_grad()
        >>> layer.weight.grad is None
        True
        """
        for parameter in self.parameters():
            clear_grad(parameter, set_to_none)

    def apply(self, function: Callable[[Any], None]) -> Any:
        """Call a function on every module, this one last.

        >>> import gradlab
        >>> net = gradlab.nn.Sequential(gradlab.nn.Linear(2, 3), gradlab.nn.ReLU())
        >>> _ = net.apply(lambda module: print(type(module).__name__))
        Linear
        ReLU
        Sequential
        """
        for module in self.children():
            module.apply(function)
        function(self)
        return self

    def _apply(self, function: Callable[[Any], Any]) -> Any:
        for module in self.children():
            module._apply(function)
        for parameter in self._parameters.values():
            if parameter is not None:
                with no_grad():
                    changed, grad = function(parameter.detach()), parameter.grad
                parameter.data = changed
                if grad is not None:
                    parameter.grad = function(grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = function(buffer)
        return self

    def to(self, *args: Any, **options: Any) -> Any:
        """Floating-point parameters and buffers in another dtype, in place.

        >>> import gradlab
        >>> layer = gradlab.nn.Linear(2, 3)
        >>> layer.to(gradlab.float64).weight.dtype
        gradlab.float64
        """
        kind = next((a for a in (*args, *options.values()) if isinstance(a, Dtype)), None)
        if kind is not None and not kind.is_floating_point:
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={kind}")
        return self._apply(lambda t: t.to(*args, **options) if t.is_floating_point() or kind is None else t)

    def float(self) -> Any:
        """Floating-point parameters and buffers as float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Any:
        """Floating-point parameters and buffers as float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Any:
        """Floating-point parameters and buffers as float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def cpu(self) -> Any:
        """The module itself: everything is on the CPU."""
        return self

    def cuda(self, device: Any = None) -> Any:
        """Refused: gradlab runs on the CPU."""
        return self._apply(lambda t: t.cuda(device))

    # -- state dicts ---------------------------------------------------------------------------------------------------

    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """All parameters and persistent buffers by dotted name, detached but on the same memory.

        >>> import gradlab
        >>> list(gradlab.nn.BatchNorm1d(2).state_dict())
        ['weight', 'bias', 'running_mean', 'running_var', 'num_batches_tracked']
        """
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = {"version": self._version}
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put this module's own state into the dict; a module with a layout of its own overrides it, as in torch."""
        for name, value in own_state(self):
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    def get_extra_state(self) -> Any:
        """What a module that overrides this, and `set_extra_state`, has in its state dict beside tensors."""
        raise NotImplementedError(f"{type(self).__name__} has no extra state: override get_extra_state.")

    def set_extra_state(self, state: Any) -> None:
        """Take back what get_extra_state gave."""
        raise NotImplementedError(f"{type(self).__name__} has no extra state: override set_extra_state.")

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> IncompatibleKeys:
        """Copy values in by name; with `strict` missing or unknown names are a RuntimeError. Takes torch's state dicts too.

        >>> import gradlab
        >>> a, b = gradlab.nn.Linear(2, 3), gradlab.nn.Linear(2, 3)
        >>> _ = a.load_state_dict(b.state_dict())
        >>> gradlab.equal(a.weight, b.weight)
        True
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        given = OrderedDict(state_dict)
        notes = getattr(state_dict, "_metadata", {})
        missing, unknown, problems = [], [], []  # type: ignore[var-annotated]

        def load(module: Any, part: dict, prefix: str) -> None:
            note = {**notes.get(prefix[:-1], {}), "assign_to_params_buffers": assign}
            module._load_from_state_dict(part, prefix, note, True, missing, unknown, problems)
            for name, child in module._modules.items():
                start = f"{prefix}{name}."
                if child is not None:
                    load(child, {key: value for key, value in part.items() if key.startswith(start)}, start)

        load(self, given, "")
        for what, names in (("Unexpected", unknown), ("Missing", missing)):
            if strict and names:
                quoted = ", ".join([f'"{name}"' for name in names])
                problems.insert(0, f"{what} key(s) in state_dict: {quoted}. ")
        if problems:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(problems))
        return IncompatibleKeys(missing, unknown)

    def _load_from_state_dict(
        self,
        state_dict: dict,
        prefix: str,
        local_metadata: dict,
        strict: bool,
        missing_keys: list,
        unexpected_keys: list,
        error_msgs: list,
    ) -> None:
        """Take this module's own state from the dict; a module with a layout of its own overrides it, as in torch."""
        load_own(self, state_dict, prefix, local_metadata.get("assign_to_params_buffers", False), missing_keys, error_msgs)
        key, reads_extra = prefix + EXTRA, type(self).set_extra_state is not Module.set_extra_state
        if reads_extra and key in state_dict:
            self.set_extra_state(state_dict[key])
        elif reads_extra and strict:
            missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)
        if strict:
            unexpected_keys += unexpected(self, state_dict, prefix)

    # -- showing -------------------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What repr shows between the brackets."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        if not lines and not children:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"

    def __getstate__(self) -> dict:
        return dict(self.__dict__)

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)


_HOMES = (
    ("_parameters", "parameter", "torch.nn.Parameter or None", Parameter),
    ("_modules", "child module", "torch.nn.Module or None", Module),
    ("_buffers", "buffer", "torch.Tensor or None", Tensor),
)


def _home(value: Any) -> str | None:
    """Where a value goes by its type alone; a tensor is a buffer only where the name is one."""
    if isinstance(value, Parameter):
        return "_parameters"
    return "_modules" if isinstance(value, Module) else "_buffers" if isinstance(value, Buffer) else None


def clear_grad(tensor: Any, set_to_none: bool) -> None:
    """Take a leaf's gradient away, or fill it with zeros."""
    meta = tensor._meta
    if meta is None or meta.grad is None:
        return
    if set_to_none:
        tensor.grad = None
    else:
        with no_grad():
            meta.grad.detach_()
            meta.grad.zero_()


def _registered(hooks: Hooks, hook: Any, prepend: bool) -> RemovableHandle:
    handle = RemovableHandle(hooks, hook)
    if prepend:
        rest = {key: value for key, value in hooks.items() if key != handle.id}
        for key in rest:
            del hooks[key]
        hooks.update(rest)
    return handle


def _check_name(module: Module, name: str, what: str, own: dict) -> None:
    if "_parameters" not in module.__dict__:
        raise AttributeError(f"cannot assign {what} before Module.__init__() call")
    if not isinstance(name, str):
        raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
    if "." in name:
        raise KeyError(f'{what} name can\'t contain ".", got: {name}')
    if name == "":
        raise KeyError(f'{what} name can\'t be empty string ""')
    if name not in own and hasattr(module, name):
        raise KeyError(f"attribute '{name}' already exists")

