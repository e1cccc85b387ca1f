"""The warm parent in the sandbox: it imports what submissions use, once, and then forks a child for each.

It never runs a line of a submission, and holds nothing worth stealing: no course, no name, no environment.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import random
import re
import signal
import socket
import sys
import types
from pathlib import Path
from typing import Any

from gradlab.grading.sandbox import child, landlock, seccomp, walls

_HUGE_PAGE, _MADV_COLLAPSE = 2 << 20, 25
_FOLDER_FOR_SCRATCH = 0o700


def main(descriptor: int) -> None:
    """Serve the grader on the socket `descriptor` until it is closed."""
    control = socket.socket(fileno=descriptor)
    setup = json.loads(control.recv(1 << 20))
    if setup["uid"] is not None:
        walls.drop_root(setup["uid"], keep_reading=setup["level"] != "full")
    warm_up(setup["blocked"])
    setup["address_space"] = walls.mapped_bytes() + setup["memory"]
    seccomp.program(1)  # kept for the children, each of which is process 1 of its namespace
    children: set[int] = set()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 4096, 1)
        if not message:
            break
        request = json.loads(message)
        if request["op"] == "fork":
            pid = _fork(setup, descriptors[0], control, request.get("scratch"))
            children.add(pid)
            os.close(descriptors[0])
            reply: dict[str, Any] = {"pid": pid}
        elif request["op"] == "waited":
            reply = {"seconds": _waited(request["pid"])}
        else:
            children.discard(request["pid"])
            reply = _end(request["pid"])
        control.send(json.dumps(reply).encode())
    for pid in children:
        _end(pid)


def warm_up(blocked: list[str]) -> None:
    """Import what a submission may use, and arrange the memory so that forking is cheap."""
    gc.disable()  # an import makes much and drops little
    stand_in = types.ModuleType("gradlab.exercises")
    vars(stand_in).update(child.teaching_words())
    sys.modules["gradlab.exercises"] = stand_in
    for name in blocked:
        sys.modules[name] = None  # type: ignore[assignment]
    for name in ("numpy", "torch", "gradlab", "gradlab.nn", "gradlab.optim", "gradlab.graphs", "gradlab.drawing"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)  # before any operation: else a forked child hangs in its first matmul
        x = torch.ones(2, 2, requires_grad=True)
        (x @ x).tanh().sum().backward()
    _seed()
    gc.collect()
    gc.freeze()
    gc.enable()
    _collapse_memory()


def _collapse_memory() -> None:
    """Move the heap into huge pages: a fork then copies hundreds of table entries and not tens of thousands."""
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    try:
        areas = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return
    for area in areas:
        found = re.match(r"(\w+)-(\w+) rw\S+ \S+ \S+ 0\s*(\[heap\])?$", area)
        if found:
            start = -(-int(found[1], 16) // _HUGE_PAGE) * _HUGE_PAGE
            for page in range(
                start, int(found[2], 16) - _HUGE_PAGE + 1, _HUGE_PAGE
            ):  # one by one: the first refused ends a call
                libc.madvise(page, _HUGE_PAGE, _MADV_COLLAPSE)  # an older kernel refuses, and forks more slowly


def _fork(setup: dict[str, Any], connection: int, control: socket.socket, scratch: str | None) -> int:
    namespaces = setup["level"] == "full"
    pid = walls.fork_into_namespaces() if namespaces else os.fork()
    if pid:
        return pid
    try:
        control.close()
        os.dup2(1, 2)  # 0 and 1 are /dev/null; 2 is where the zygote says why it cannot start
        os.dup2(connection, 3)
        os.closerange(4, 4096)
        _enclose(setup, scratch)
        child.serve(3, 3)
    finally:
        os._exit(0)


def _enclose(setup: dict[str, Any], scratch: str | None) -> None:
    walls.limit(setup["address_space"])
    if scratch is None:
        walls.furnish()
    else:
        os.mkdir(scratch, _FOLDER_FOR_SCRATCH)
        os.chdir(scratch)
        os.environ.update(walls.environment(scratch))
        readable, hidden = ([Path(path) for path in setup[name]] for name in ("visible", "hidden"))
        if not landlock.restrict(readable, hidden, [Path(scratch)]):
            walls.drop_capabilities()
    seccomp.install(walls.libc, os.getpid())


def _seed() -> None:
    """The same random numbers for everyone: an answer that draws some gets the same verdict twice."""
    random.seed(0)
    for name, function in (("numpy", "random.seed"), ("torch", "random.manual_seed")):
        module = sys.modules.get(name)
        if module is not None:
            room, _, call = function.partition(".")
            getattr(getattr(module, room), call)(0)


def _waited(pid: int) -> float:
    """The seconds that a child has been ready to run and had no processor, 0 where the kernel does not say."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def _end(pid: int) -> dict[str, Any]:
    """Kill a child, and with it all that its process namespace holds. The status is how it ended, if it had."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    try:
        _, status, usage = os.wait4(pid, 0)
    except ChildProcessError:
        return {"status": 0, "seconds": 0.0}
    return {"status": status, "seconds": usage.ru_utime + usage.ru_stime}
