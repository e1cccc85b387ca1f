"""What the engine says when something is wrong: what happened, where, what to do, and torch's own phrase for searching."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

INFERENCE_SAVED = (
    "Inference tensors cannot be saved for backward. This tensor was made under inference_mode(), which keeps no version "
    "counter: use no_grad() there, or clone() the tensor outside to get an ordinary one."
)
INFERENCE_VERSION = "Inference tensors do not track version counter."
INFERENCE_REQUIRES = (
    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed. Use a clone() of it."
)
INFERENCE_WRITE = "Inplace update to inference tensor outside InferenceMode is not allowed. Write to a clone() of it."
COMPLEX = "gradlab has no complex tensors; use torch for complex autograd."
TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"
PACK_WROTE = "A saved tensor pack hook is modifying its input in place. Return a new value instead."
SAVED_BY_NODES = "Trying to create a SavedTensor object from Python is forbidden. A node makes them: grad_fn._raw_saved_*."
HOOKS_SET = "Calling register_hooks on a saved tensor whose hooks have already been set is not allowed."
NON_LEAF_GRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated "
    "during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use "
    ".retain_grad() on it before backward()."
)
NO_HOOK = "cannot register a hook on a tensor that doesn't require gradient: no gradient will ever pass it."
NO_RETAIN = "can't retain_grad on Tensor that has requires_grad=False: no gradient will ever reach it."
NO_POST_HOOK = "post accumulate grad hooks cannot be registered on non-leaf tensors; register_hook works there."
DETACH_VIEW = "Can't detach views in-place. Use detach() instead."
DATA_DTYPE = "data set to a tensor that requires gradients must be floating point or complex dtype"
OWN_GRAD = "can't assign Variable as its own grad"
OVERLAPPING = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Write to a "
    "clone() of it."
)
PARTLY_OVERLAPPING = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. Pass "
    "a clone() of the input."
)
EMPTY_INPUTS = "'inputs' argument to {}() cannot be empty."
CREATE_GRAPH = (
    "Using backward() with create_graph=True will create a reference cycle between the leaves and their .grad, which holds "
    "the graph: memory stays in use until the garbage collector runs. Use autograd.grad, or set .grad to None afterwards."
)
BATCHED = "gradlab has no batched gradients (is_grads_batched); call grad() once per row."
MATERIALIZE = "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
DIRTY = "Some elements marked as dirty during the forward method were not returned as output."
DIRTY_NOT_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Pass it only the inputs that forward wrote in place."
)
DIRTY_VIEW = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than one "
    "output: the history of the base can be rewritten for one output only. Write into a clone() of the view."
)
NO_GRAPH = (
    "does not require grad and does not have a grad_fn: nothing that it was computed from requires grad, or the graph was cut "
    "(detach, no_grad, .data, .item(), a new tensor made of old values)."
)
LEAF_WRITTEN = (
    "a leaf Variable that requires grad is being used in an in-place operation. Its value is what the gradient is for: update "
    "it under torch.no_grad(), or use the out-of-place form."
)
LEAF_INSIDE = (
    "leaf variable has been moved into the graph interior: the tensor that this gradient is for was detached or frozen after the "
    "forward and then written with history, so it has a grad_fn now. Make a new tensor instead of writing into the old one."
)
VIEW_OF_LEAF_WRITTEN = (
    "a view of a leaf Variable that requires grad is being used in an in-place operation. Write under torch.no_grad(), or make "
    "the view of a clone()."
)
ORIGINS = {
    "no_grad": "was created in no_grad mode and is being modified inplace with grad mode enabled",
    "several": "is the output of a function that returns multiple views, whose outputs cannot be modified inplace",
    "function": "was created inside a custom Function (or an input was returned as it is), and rewriting its history would "
    "override that Function's backward",
}


def freed(node: Any) -> RuntimeError:
    return RuntimeError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
        f"freed). {node.name()} let go of what it had saved when a backward ran through it. Pass retain_graph=True to the "
        "*earlier* backward() to keep it, or add the losses and call backward() once, or compute the output again: a new "
        "forward needs no retain_graph."
    )


def modified(node: Any, array: Any, then: int, now: int) -> RuntimeError:
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{node.name()} saved a tensor of shape {list(array.shape)} at version {then}, and it is at version {now} now. Make the "
        "edit out of place (x = x + 1 instead of x += 1), or before the tensor is used, or edit a clone(); detect_anomaly() "
        "shows the forward line."
    )


def check_unpacked(node: Any, found: Any) -> Any:
    """What an unpack hook returned, which is a tensor."""
    if hasattr(found, "_array"):
        return found
    raise TypeError(
        "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
        f"{type(found).__name__} ({node.name()})."
    )


def check_saved(thing: Any) -> None:
    """What save_for_backward takes: tensors and None."""
    if thing is not None and not hasattr(thing, "_array"):
        raise not_tensor("what save_for_backward keeps (or None)", thing)


def never_saved(node: Any, name: str) -> RuntimeError:
    return RuntimeError(
        f"Calling register_hooks on a saved tensor with value None is forbidden: {node.name()} saved no tensor as '{name}'."
    )


def check_saved_hooks(pack: Any, unpack: Any, packed: bool) -> None:
    """What register_hooks of a saved slot takes: two functions, once."""
    if not (callable(pack) and callable(unpack)):
        raise TypeError("register_hooks(): incompatible function arguments: a pack hook and an unpack hook are needed.")
    if packed:
        raise RuntimeError(HOOKS_SET)


def check_node_call(node: Any, grads: tuple) -> None:
    """What a node called by hand takes: a gradient for each output of its forward."""
    if len(grads) != len(node.all_outputs()):
        raise TypeError(f"{node.name()}: expected {len(node.all_outputs())} arguments, got {len(grads)} instead")
    for g in grads:
        if g is not None and not hasattr(g, "_array"):
            raise not_tensor(f"a gradient for {node.name()}", g)


def pickled(node: Any) -> TypeError:
    return TypeError(f"cannot pickle '{node.name()}' object: a graph node lives with its graph. Save the tensor's values.")


def not_leaf(tensor: Any) -> RuntimeError:
    return RuntimeError(
        f"you can only change requires_grad flags of leaf variables. This tensor was made by {tensor.grad_fn}: use detach() to "
        "get one without history."
    )


def not_float(tensor: Any) -> RuntimeError:
    return RuntimeError(
        f"only Tensors of floating point and complex dtype can require gradients; this one is {tensor.dtype}. Convert it "
        "first, for example with .float()."
    )


def not_tensor(what: str, found: Any) -> TypeError:
    return TypeError(f"{what} has to be a Tensor, but got {type(found).__name__}.")


def argument(function: str, name: str, found: Any, position: int | None = None, wanted: str = "Tensor") -> TypeError:
    where = f" (position {position})" if position else ""
    kind = type(found)
    said = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    make = " Make it one first: gradlab.tensor(...) copies, gradlab.from_numpy(array) shares memory."
    return TypeError(f"{function}(): argument '{name}'{where} must be {wanted}, not {said}.{make * (wanted == 'Tensor')}")


def check_assigned_grad(tensor: Any, value: Any) -> None:
    """What `.grad = value` accepts: another tensor of the same dtype and shape."""
    if not hasattr(value, "_array"):
        raise not_tensor("assigned grad", value)
    if value is tensor:
        raise RuntimeError(OWN_GRAD)
    ours, theirs = tensor._array, value._array
    for what, found, wanted in (("type", theirs.dtype, ours.dtype), ("size", list(theirs.shape), list(ours.shape))):
        if found != wanted:
            raise RuntimeError(f"assigned grad has data of a different {what}: {found}, the tensor has {wanted}.")


def check_assigned_data(tensor: Any, value: Any) -> None:
    """What `.data = value` accepts: a tensor, of floating point where the old one requires grad."""
    if not hasattr(value, "_array"):
        raise not_tensor("Variable data", value)
    if tensor.requires_grad and value._array.dtype.kind != "f":
        raise RuntimeError(DATA_DTYPE)


def check_hook_result(hook: Any, before: Any, found: Any) -> None:
    """What a tensor hook may return: a tensor like the gradient it was given; nothing where it was given None."""
    if before is None:
        raise RuntimeError("can't replace a None gradient with a non-None value: no gradient reached this tensor.")
    if not hasattr(found, "_array"):
        raise not_tensor(f"what hook {hook!r} returns (or None)", found)
    for what, a, b in (("size", before.shape, found.shape), ("type", before.dtype, found.dtype)):
        if a != b:
            raise RuntimeError(f"hook '{hook!r}' has changed the {what} of value: {a} to {b}")


def checked_gradients(node: Any, found: Any) -> list:
    """What the backward of a Function returned: one gradient per argument of forward, None for those without."""
    results, expected = list(found) if isinstance(found, tuple) else [found], len(node.are_tensors)
    while len(results) > expected and results[-1] is None:
        results.pop()
    if len(results) != expected:
        raise RuntimeError(
            f"function {node.name()} returned an incorrect number of gradients (expected {expected}, got {len(results)}): "
            "backward returns one per argument of forward, None for those without."
        )
    for i, result in enumerate(results):
        if result is not None and not node.are_tensors[i]:
            raise RuntimeError(
                f"function {node.name()} returned a gradient different from None at position {i + 1}, but the corresponding "
                "forward input was not a Variable"
            )
        if result is not None and not hasattr(result, "_array"):
            raise RuntimeError(
                f"expected Variable or None (got {type(result).__name__}) as gradient {i} of {node.name()}: a Function's "
                "backward returns a tensor, or a tuple of them."
            )
    return results


def check_dirty(node: Any, inputs: list, outputs: list) -> None:
    """What mark_dirty takes: inputs that forward wrote in place, all of which it returns."""
    for tensor in node.dirty_tensors:
        if not any(tensor is output for output in outputs):
            raise RuntimeError(DIRTY)
        if not any(tensor is given for given in inputs):
            warnings.warn(DIRTY_NOT_INPUT, stacklevel=4)
        elif any(node.edges) and tensor._view is not None and len(outputs) > 1:
            raise RuntimeError(DIRTY_VIEW)


def backward_of(cls: Any, base: Any) -> Any:
    """The one of a Function's ``backward`` and ``vjp`` that its class defines."""
    if cls.backward is not base.backward and cls.vjp is not base.vjp:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed: "
            f"{cls.__name__} has both; keep one."
        )
    return cls.vjp if cls.backward is base.backward else cls.backward


def warn_function_instantiated(cls: type) -> None:
    warnings.warn(
        f"{cls.__name__} should not be instantiated: a Function's methods are static. Call {cls.__name__}.apply(...).",
        DeprecationWarning,
        stacklevel=3,
    )


def function_called(cls: type) -> RuntimeError:
    return RuntimeError(
        "Legacy autograd function with non-static forward method is deprecated: write forward and backward as static "
        f"methods that take ctx first, and call {cls.__name__}.apply(...)."
    )


_OPERANDS = (np.ndarray, np.generic, float, int, complex)  # what arithmetic takes: arrays and numbers


def check_operands(op: Any, arrays: list) -> None:
    """TypeError for an operand that is neither tensor nor number; None stands where it is the default, as a bound of clamp."""
    for i in () if op.listed else op.places or range(len(arrays)):
        value, name = arrays[i], op.names[i]
        if not isinstance(value, _OPERANDS) and (value is not None or op.defaults[name] is not None):
            raise TypeError(f"{op.label}(): argument '{name}' must be Tensor, not {type(value).__name__}")
    if op.promote == "no bool":
        check_no_bool(arrays[:2])
    operands = [arrays[i] for i in op.places or range(len(arrays))]
    kinds = {x.dtype.kind if hasattr(x, "dtype") else _kind_of_number(x) for x in operands if x is not None}
    if not kinds & set(_KERNELS.get(op.promote, kinds)):
        raise no_kernel(op.label, next(str(x.dtype) for x in operands if hasattr(x, "dtype")))
    if op.promote == "fitting" and "f" not in kinds:
        for kind in {x.dtype for x in operands if hasattr(x, "dtype")}:
            for number in operands:
                check_in_range(number, kind)


_KERNELS = {"floats": "f", "numbers": "fiu"}  # for which kinds of dtypes torch has such an operation


def _kind_of_number(x: Any) -> str:
    return "b" if isinstance(x, bool) else "i" if isinstance(x, int) else "f"


def no_kernel(name: str, kind: Any) -> NotImplementedError:
    cure = ".float() or .long()" if str(kind).endswith("bool") else ".float()"
    return NotImplementedError(f'"{name}" not implemented for {kind}: convert with {cure} first')


def check_in_range(number: Any, kind: np.dtype) -> None:
    """RuntimeError for a finite number too large for a dtype; as in torch uint8 takes -1, as 255."""
    if kind.kind not in "iuf" or not isinstance(number, (int, float)):
        return
    if kind.kind == "f" and (number != number or abs(number) == float("inf")):
        return
    top = int(np.iinfo(kind).max) if kind.kind in "iu" else float(np.finfo(kind).max)
    if not -top - (kind.kind == "i") <= number <= top:
        raise RuntimeError(f"value cannot be converted to type {kind} without overflow")


def check_returned_none(result: Any) -> None:
    """A hook after accumulation changes `.grad` in place, or not at all."""
    if result is not None:
        kind = RuntimeError if hasattr(result, "_array") else TypeError
        raise kind("Tensor post accumulate grad hooks should return None: write to tensor.grad instead.")


def check_bool(wanted: Any) -> None:
    """requires_grad is True or False, nothing that only counts as such."""
    if type(wanted) is not bool:
        raise RuntimeError(f"requires_grad must be a bool, not {type(wanted).__name__}")


def check_no_bool(operands: list) -> None:
    """torch subtracts no truth values: what is meant is mostly the opposite of a mask."""
    bools = [x.dtype == bool if hasattr(x, "dtype") else isinstance(x, bool) for x in operands]
    if all(bools):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use `^` or logical_xor()."
        )
    if any(bools):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. To invert a mask use `~` or logical_not()."
        )


def shapes(op: Any, arrays: list, error: Exception) -> Exception:
    if isinstance(error, TypeError):
        kinds = ", ".join(dict.fromkeys(str(a.dtype) for a in arrays if hasattr(a, "dtype")))
        refused = "ufunc" in str(error) or "boolean subtract" in str(error)  # numpy's words
        return NotImplementedError(f'"{op.label}" not implemented for {kinds}') if refused else error
    found = [list(a.shape) for a in arrays if hasattr(a, "shape")]
    if "broadcast" in str(error) and len(found) == 2:
        return RuntimeError(
            "The size of tensor a must match the size of tensor b at every dimension that is not 1: "
            f"{op.label} got shapes {found[0]} and {found[1]}."
        )
    return RuntimeError(f"{op.label} of shapes {', '.join(map(str, found))}: {error}")


def base_written(origin: str) -> RuntimeError:
    return RuntimeError(
        f"A view whose base, or another view of its base, has been modified inplace can have no gradient any more: this view "
        f"{ORIGINS[origin]}. Make the view again after the write."
    )


def view_written(origin: str) -> RuntimeError:
    return RuntimeError(
        f"Output of a view function is being modified inplace: this view {ORIGINS[origin]}. Replace the inplace operation by an "
        "out-of-place one, or write into a clone() of the view."
    )


def result_shape(name: str, tensor: Any, result: Any) -> RuntimeError:
    return RuntimeError(
        f"output with shape {list(tensor.shape)} doesn't match the broadcast shape {list(result.shape)} ({name}): an in-place "
        "operation cannot change the shape. Use the out-of-place form."
    )


def result_dtype(name: str, tensor: Any, result: Any) -> RuntimeError:
    return RuntimeError(
        f"result type {result.dtype} can't be cast to the desired output type {tensor.dtype} ({name}). Convert the tensor "
        "first, or use the out-of-place form."
    )


def no_graph(index: int) -> RuntimeError:
    return RuntimeError(f"element {index} of tensors {NO_GRAPH}")


def not_scalar(tensor: Any) -> RuntimeError:
    return RuntimeError(
        f"grad can be implicitly created only for scalar outputs, and this one has shape {list(tensor.shape)}. Reduce it first "
        "(.sum(), .mean()), or pass backward(gradient=...) of that shape."
    )


def start_shape(index: int, tensor: Any, grad: Any) -> RuntimeError:
    return RuntimeError(
        f"Mismatch in shape: grad_output[{index}] has a shape of {grad.shape} and output[{index}] has a shape of "
        f"{tensor.shape}."
    )


def counts_differ(tensors: int, grads: int) -> RuntimeError:
    return RuntimeError(f"got {tensors} tensors and {grads} gradients")


def no_target(index: int) -> RuntimeError:
    return RuntimeError(f"One of the differentiated Tensors does not require grad: input number {index}.")


def unused(index: int) -> RuntimeError:
    return RuntimeError(
        "One of the differentiated Tensors appears to not have been used in the graph: input number "
        f"{index}. Set allow_unused=True to get None for it."
    )


def checked_node_hook(node: Any, found: Any, wanted: int) -> tuple:
    """What a hook of a node returned: a tuple with a tensor or None for each gradient that it was given."""
    if not isinstance(found, tuple):
        raise TypeError(f"expected tuple, but a hook of {node.name()} returned '{type(found).__name__}'")
    if len(found) != wanted:
        raise RuntimeError(
            f"a hook of {node.name()} returned an incorrect number of values (got {len(found)}, expected {wanted})"
        )
    for value in found:
        if value is not None and not hasattr(value, "_array"):
            raise not_tensor(f"what a hook of {node.name()} returns in its tuple (or None)", value)
    return found


def invalid_gradient(found: Any, wanted: Any, into: Any) -> RuntimeError:
    return RuntimeError(
        f"a backward returned an invalid gradient - got {list(found)} but expected shape compatible with {list(wanted)} (on the "
        f"way to {into.name()})."
    )


def nan_found(node: Any, index: int) -> RuntimeError:
    stack = node.metadata.get("traceback_")
    made = "".join(stack) if stack else "(its forward did not run under detect_anomaly)"
    return RuntimeError(
        f"Function '{node.name()}' returned nan values in its {index}th output. Recorded by this forward call:\n{made}"
    )


def node_failed(node: Any) -> str:
    """The warning under anomaly detection, before the error itself goes on."""
    stack = node.metadata.get("traceback_")
    if not stack:
        return (
            f"Error detected in {node.name()}. No forward pass information available: run the forward under "
            "detect_anomaly() too."
        )
    return f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{''.join(stack)}"


def node_induced(node: Any) -> str:
    """The same for the node whose backward recorded the one that failed."""
    made = "".join(node.metadata.get("traceback_") or ["(its forward did not run under detect_anomaly)"])
    return (
        f"Previous calculation was induced by {node.name()}. Traceback of forward call that induced the previous "
        f"calculation:\n{made}"
    )


def renamed(old: str, new: str) -> property:
    """A property under its old name: what the new one gives, with a DeprecationWarning."""

    def get(self: Any) -> Any:
        warnings.warn(f"'{old}' is deprecated; use '{new}'", DeprecationWarning, stacklevel=2)
        return getattr(self, new)

    return property(get)
