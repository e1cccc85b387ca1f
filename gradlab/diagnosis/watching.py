"""watch(): follow every call that touches a tensor, and answer from what was seen."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import threading
from types import FrameType
from typing import Any

from gradlab.diagnosis.hunting import Hunter
from gradlab.diagnosis.ledger import EXITS, ZEROING, Finding, Ledger
from gradlab.diagnosis.places import LOOKER, OPTIMIZER, USER, kind_of, place_of, shown, user_frame
from gradlab.diagnosis.probes import Probe, probe_named
from gradlab.graphs.records import Log


class Follower:
    """Turns the calls of one engine into ledger entries. Looking is switched off while the ledger itself works."""

    def __init__(self, probe: Probe, nan: bool):
        self.probe = probe
        self.ledger: Ledger = Hunter(probe) if nan else Ledger(probe)
        self.nan = nan
        self.keepsake: Any = None  # a scripts.Keepsake while `gradlab why` runs a script
        self.trouble: str | None = None
        self.busy = False

    def after(self, name: str, args: tuple, kwargs: dict, result: Any, frame: FrameType) -> None:
        """A call that has returned. Never raises: a fault of watch must not stop the program it watches."""
        if self.busy:
            return
        self.busy = True
        try:
            self._after(name, args, kwargs, result, frame)
        except Exception as error:
            self._note(name, error)
        finally:
            self.busy = False

    def _note(self, what: str, error: Exception) -> None:
        first = (str(error).splitlines() or [""])[0][:160]
        self.trouble = self.trouble or f"watch could not follow {what}: {type(error).__name__}: {first}"

    def grad_read(self, tensor: Any, grad: Any, by_user: bool) -> None:
        """Somebody read a tensor's .grad."""
        if not self.busy:
            self.ledger.grad_read(tensor, grad, by_user)

    def _after(self, name: str, args: tuple, kwargs: dict, result: Any, frame: FrameType) -> None:
        ledger = self.ledger
        if name in EXITS:
            if self._is_tensor(args[0]) and not self._is_tensor(result):
                ledger.exit(name, args[0], result, frame)
        elif name == "grad=":
            ledger.mark("grad=", args[0], frame, none=args[1] is None)
        elif name in ("requires_grad=", "requires_grad_"):
            flag = args[1] if len(args) > 1 else kwargs.get("requires_grad", True)
            if not flag or ledger.known(args[0]) is not None:
                ledger.mark("requires_grad=", args[0], frame, flag=bool(flag))
        elif name == "data=":
            ledger.mark("data=", args[0], frame)
        elif name == "switch":
            self._switch(args[0], frame)
        else:
            self._call(name, args, kwargs, result, frame)

    def _switch(self, on: bool, frame: FrameType) -> None:
        user, between = user_frame(frame)
        if not on and between not in (LOOKER, OPTIMIZER):
            self.ledger.switch = place_of(user)

    def _call(self, name: str, args: tuple, kwargs: dict, result: Any, frame: FrameType) -> None:
        if not self.nan and name not in ZEROING and kind_of(frame.f_code.co_filename) == OPTIMIZER:
            return
        outputs = self._tensors((result,))
        inputs = self._tensors(args)
        if kwargs:
            inputs += self._tensors(tuple(kwargs.values()))
        if name in ("__setitem__", "_foreach_zero_") or (result is None and name.endswith("_") and inputs):
            outputs = self._tensors(args[:1])
        if outputs:
            numbers = _numbers(args) + _numbers(tuple(kwargs.values()))
            self.ledger.call(name, inputs, outputs, frame, numbers)
            if self.keepsake is not None:
                self.keepsake.call(inputs, outputs, frame)

    def _is_tensor(self, thing: Any) -> bool:
        return isinstance(thing, self.probe.tensor_type)

    def _tensors(self, things: tuple, depth: int = 3) -> list[Any]:
        found, tensor_type = [], self.probe.tensor_type
        for thing in things:
            if isinstance(thing, tensor_type):
                found.append(thing)
            elif depth and isinstance(thing, (tuple, list)):
                found += self._tensors(tuple(thing), depth - 1)
            elif depth and isinstance(thing, dict):
                found += self._tensors(tuple(thing.values()), depth - 1)
        return found

    # -- backward --------------------------------------------------------------------------------

    def before_backward(self, kind: str, roots: Any, inputs: Any, frame: FrameType, keeps: bool = False) -> Any:
        """Write down who will be reached and follow custom Functions; the result is for after_backward."""
        if self.busy:
            return None
        self.busy = True
        try:
            roots = self._tensors((roots,))
            if self.keepsake is not None and kind == "backward":
                self.keepsake.backward(roots, user_frame(frame)[0])
            return _Run(self.ledger, kind, roots, None if inputs is None else self._targets(inputs), frame, keeps)
        except Exception as error:
            self._note("a backward", error)
        finally:
            self.busy = False
        return None

    def _targets(self, inputs: Any) -> list[Any]:
        """The tensors that a backward was told to reach; gradlab's engine names leaves by (AccumulateGrad, 0)."""
        edges = (
            [edge for edge in inputs if isinstance(edge, tuple) and len(edge) == 2]
            if isinstance(inputs, (list, tuple))
            else []
        )
        return self._tensors((inputs,)) + [edge[0].variable for edge in edges if hasattr(edge[0], "variable")]

    def after_backward(self, run: Any, failed: bool) -> None:
        if run is not None:
            run.finish(failed)


class _Run:
    """One backward: the walk before it, hooks on custom Functions (all nodes under nan=True) while it lasts."""

    def __init__(self, ledger: Ledger, kind: str, roots: list, inputs: list | None, frame: FrameType, keeps: bool):
        self.ledger, self.keeps = ledger, keeps
        self.handles: list[Any] = []
        self.sequences: list[int] = []
        self.none: list[dict[str, Any]] = []
        self.custom: list[tuple[int, str]] = []
        self.event: Any = None
        self.user, between = user_frame(frame)
        if between != LOOKER:
            numbers = [ledger.seen(root, self.user).number for root in roots]
            only = None if inputs is None else [ledger.seen(tensor, self.user).number for tensor in inputs]
            reached = self._walk(roots)
            self.event = ledger.write(
                "backward", place_of(self.user), numbers, [],
                kind=kind, reached=reached, only=only, none=self.none, custom=self.custom,
            )  # fmt: skip

    def _walk(self, roots: list[Any]) -> list[int]:
        """Visit every node once; returns the numbers of the leaves that are reached."""
        reached = [self._leaf(root) for root in roots if root.grad_fn is None and root.requires_grad]
        stack = [root.grad_fn for root in roots if root.grad_fn is not None]
        met = set(stack)
        while stack:
            node = stack.pop()
            leaf = getattr(node, "variable", None)
            if leaf is not None:
                reached.append(self._leaf(leaf))
                continue
            self._visit(node)
            for target, _ in node.next_functions:
                if target is not None and target not in met:
                    met.add(target)
                    stack.append(target)
        return reached

    def _leaf(self, leaf: Any) -> int:
        known = self.ledger.seen(leaf, self.user)
        known.version, known.grad_read = leaf._version, -1
        return known.number

    def _visit(self, node: Any) -> None:
        sequence = self.ledger.probe.sequence(node)
        self.sequences.append(sequence)
        if isinstance(self.ledger, Hunter):
            self.handles.append(node.register_hook(self.ledger.backward_check(node.name(), sequence)))
        forward = getattr(node, "_forward_cls", None)
        if forward is not None:
            self.custom.append((sequence, forward.__name__))
            self.handles.append(node.register_hook(self._none_check(forward, sequence, node)))

    def _none_check(self, forward: type, sequence: int, node: Any) -> Any:
        wanted = [target is not None for target, _ in node.next_functions]

        def check(grad_inputs: tuple, grad_outputs: tuple) -> None:
            for place, grad in enumerate(grad_inputs):
                if grad is None and place < len(wanted) and wanted[place] and any(g is not None for g in grad_outputs):
                    self.none.append(
                        {
                            "node": sequence,
                            "input": place,
                            "function": forward.__name__,
                            "where": _return_line(forward, place),
                        }
                    )

        return check

    def finish(self, failed: bool) -> None:
        self.user = None
        for handle in self.handles:
            handle.remove()
        if self.event is not None:
            self.event.details["failed"] = failed
            if isinstance(self.ledger, Hunter) and not self.keeps and not failed:
                self.ledger.freed(self.sequences)


def _return_line(forward: type, place: int) -> tuple[str, int] | None:
    """The return statement of a Function's backward that gives None for an input, or its first line."""
    import ast
    import textwrap

    try:
        lines, first = inspect.getsourcelines(forward.backward)  # type: ignore[attr-defined]
        file = inspect.getsourcefile(forward.backward)  # type: ignore[attr-defined]
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return None
    function = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    found = 0
    for node in ast.walk(function):
        if isinstance(node, ast.Return):
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            part = parts[place] if place < len(parts) else None
            if part is None or (isinstance(part, ast.Constant) and part.value is None):
                found = max(node.lineno, found)
    return (file or "", first + (found or function.body[-1].lineno) - 1)  # without a return, the end of the function


def _numbers(things: tuple, depth: int = 2) -> list[float]:
    found: list[float] = []
    for thing in things:
        if isinstance(thing, float):
            found.append(thing)
        elif depth and isinstance(thing, (tuple, list)) and len(thing) <= 64:
            found += _numbers(tuple(thing), depth - 1)
    return found


def _torch_mode(follower: Follower) -> Any:
    """A TorchFunctionMode that reports to a follower."""
    from torch.overrides import TorchFunctionMode

    class Watching(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
            kwargs = kwargs or {}
            name = _torch_name(func)
            if name is None:
                return func(*args, **kwargs)
            if name == "grad":  # by far the most frequent: an optimizer reads each .grad several times
                result = func(*args, **kwargs)
                follower.grad_read(args[0], result, kind_of(sys._getframe(1).f_code.co_filename) == USER)
                return result
            if name in ("backward", "autograd.grad"):
                return _torch_backward(follower, name, func, args, kwargs, sys._getframe(1))
            result = func(*args, **kwargs)
            follower.after(name, args, kwargs, result, sys._getframe(1))
            return result

    return Watching()


_ATTRIBUTES = {
    "data": "data",
    "grad": "grad",
    "T": "T",
    "mT": "mT",
    "H": "H",
    "mH": "mH",
    "real": "real",
    "imag": "imag",
}
_ASSIGNED = {"data": "data=", "grad": "grad=", "requires_grad": "requires_grad="}
_UNTOLD = frozenset(
    (
        "__repr__",
        "__format__",
        "__len__",
        "__bool__",
        "size",
        "dim",
        "stride",
        "numel",
        "is_floating_point",
        "is_complex",
        "retain_grad",
        "register_hook",
        "_record_function_enter_new",
        "_RecordFunction",
        "__hash__",
        "element_size",
        "get_device",
        "is_contiguous",
        "data_ptr",
        "storage_offset",
        "untyped_storage",
    )
)


def _torch_name(func: Any) -> str | None:
    """The plain name of an intercepted call; None when there is nothing to note."""
    name = getattr(func, "__name__", None)
    if name == "__get__":
        return _ATTRIBUTES.get(func.__self__.__name__)
    if name in ("__set__", "__delete__"):
        return _ASSIGNED.get(func.__self__.__name__)
    if name == "_set_grad_enabled":
        return "switch"
    if name == "grad":
        return "autograd.grad"
    return None if name is None or name in _UNTOLD else name


@functools.lru_cache(maxsize=16)
def _signature(func: Any) -> inspect.Signature:
    return inspect.signature(func)


def _torch_backward(follower: Follower, name: str, func: Any, args: tuple, kwargs: dict, frame: FrameType) -> Any:
    bound: dict[str, Any] = {}
    with contextlib.suppress(TypeError, ValueError):  # the call itself will say what is wrong
        bound = _signature(func).bind(*args, **kwargs).arguments
    roots = bound.get("self", bound.get("tensors", bound.get("outputs", args[:1])))
    keeps = bool(bound.get("retain_graph")) or bool(bound.get("create_graph"))
    kind = "grad" if name == "autograd.grad" else "backward"
    run = follower.before_backward(kind, roots, bound.get("inputs"), frame, keeps)
    failed = True
    try:
        result = func(*args, **kwargs)
        failed = False
        return result
    finally:
        follower.after_backward(run, failed)


def _gradlab_watcher(follower: Follower, outer: Any) -> Any:
    """What the engine calls after each event; an outer watch is told first."""
    runs: list[Any] = []

    def watcher(name: str, arguments: Any, result: Any) -> None:
        if outer is not None:
            outer(name, arguments, result)
        frame = sys._getframe(1)
        if name == "backward":
            roots, into, kind, keeps = arguments
            runs.append(follower.before_backward(kind, roots, into, frame, keeps))
        elif name == "backward-done":
            follower.after_backward(runs.pop(), sys.exc_info()[0] is not None)
        else:
            follower.after(name, tuple(arguments), {}, result, frame)

    return watcher


class watch:
    """Follow every call that touches a tensor, and say where a gradient was lost.

    `with gradlab.watch() as w:` around the forward and the backward; then `w.why(x, loss)` answers with file and line
    (in a notebook: cell and line). torch and gradlab tensors are followed. Nothing is kept alive: tensors are
    known by weak reference, and the newest 50,000 calls are remembered.

    With `nan=True` it also says where a NaN or an infinity was born (forward value or backward node) and which in-place
    edit will break a later backward; see `w.findings`. That reads every result and costs accordingly.

    What it cannot see: other threads; `Variable(x)`, `nn.Parameter(x)` and `torch.Tensor([...])` themselves (they are
    recognised by shared memory, or by the names in the source); `Function.apply` (its result is connected through the
    graph); what a custom backward, a hook or a checkpoint's second forward computes; the switch of `inference_mode`
    (its results are recognised); compiled or scripted code.

    A watch is entered once, and left in the thread that entered it; watches may be nested.

    >>> import gradlab
    >>> x = gradlab.tensor([1.0, 2.0], requires_grad=True)
    >>> with gradlab.watch() as w:
    ...     loss = (x * 2).detach().sum()
    >>> w.why(x, loss).cause
    'detached'
    """

    def __init__(self, nan: bool = False):
        self.nan = nan
        self.followers: dict[str, Follower] = {}
        self._closers: list[Any] = []
        self._thread: int | None = None

    def __enter__(self) -> watch:
        if self._thread is not None:
            raise RuntimeError("this watch was entered before: each `with gradlab.watch() as w:` needs a new one")
        self._thread = threading.get_ident()
        if "torch" in sys.modules:
            self._follow_torch()
        self._follow_gradlab()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if threading.get_ident() != self._thread:
            raise RuntimeError("a watch must be left in the thread that entered it: it follows that thread only")
        while self._closers:
            self._closers.pop()(kind, error, trace)

    def _follow_torch(self) -> None:
        follower = self.followers["torch"] = Follower(probe_named("torch"), self.nan)
        mode = _torch_mode(follower)
        mode.__enter__()
        self._closers.append(mode.__exit__)

    def _follow_gradlab(self) -> None:
        from gradlab.engine import modes

        follower = self.followers["gradlab"] = Follower(probe_named("gradlab"), self.nan)
        before = modes.set(watcher=_gradlab_watcher(follower, modes.watcher))
        self._closers.append(lambda *_: modes.set(**before))

    @property
    def log(self) -> Log:
        """What was seen, as plain data (of the engine that was used, torch first)."""
        used = [f for f in self.followers.values() if f.ledger.count]
        return used[0].ledger.log() if used else Log(next(iter(self.followers), "gradlab"))

    @property
    def findings(self) -> list[Finding]:
        """What `nan=True` noticed: births of NaN and infinities, and edits that will break a backward."""
        return [finding for follower in self.followers.values() for finding in follower.ledger.findings]

    def why(self, x: Any, loss: Any = None) -> Any:
        """As `gradlab.why`, with the exact place where the gradient was lost.

        Without `loss` it speaks of the last backward that was watched.
        """
        from gradlab.diagnosis.asking import ask

        return ask(x, loss, self.followers, sys._getframe(1))

    def __repr__(self) -> str:
        calls = sum(follower.ledger.count for follower in self.followers.values())
        lines = [f"watch: {calls} events seen"]
        lines += [f"  {shown(finding.where)}: {finding.text}" for finding in self.findings]
        lines += [f"  {follower.trouble}" for follower in self.followers.values() if follower.trouble]
        return "\n".join(lines)
