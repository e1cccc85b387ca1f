"""The grader's end of the sandbox: start it at the best level there is, fork children, ask them, end them."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gradlab.grading.plain import MAX_BYTES
from gradlab.grading.sandbox import view
from gradlab.grading.sandbox.streams import PipeStream, SocketStream, Stream

LEVELS = ("full", "user", "process")
START_SECONDS = 120.0
_CLOSE_SECONDS = 5.0
_MOST_FORGIVEN = 5.0  # times its limit that a step may be late because the machine is busy
_WORTH_WAITING = 0.05
_MAX_ANSWER = 2 * MAX_BYTES


class SandboxError(RuntimeError):
    """The sandbox itself does not work: it could not start, or no child came up."""


@dataclass(frozen=True)
class Reply:
    """What came back for one step.

    `kind` is "done", "error", "state", "value" or "unreadable" (said by the child, hostile like `body`), or "timeout",
    "killed" (it ended) or "flooded" (it sent too much), which the grader saw itself.
    """

    kind: str
    body: bytes = b""

    @property
    def alive(self) -> bool:
        """True when the child can be asked again."""
        return self.kind not in ("timeout", "killed", "flooded")


_KINDS = {b"d": "done", b"e": "error", b"s": "state", b"v": "value", b"u": "unreadable"}


class Child:
    """One process with one submission's code in it."""

    def __init__(self, stream: Stream, end: Callable[[], float], waited: Callable[[], float] = lambda: 0.0) -> None:
        self._stream, self._end, self._waited = stream, end, waited
        self._forgiven = 0.0

    def ask(self, kind: bytes, body: bytes, seconds: float) -> Reply:
        """Have the child do one step. Whatever it sends that is no answer to this step is dropped."""
        from gradlab.grading.sandbox.child import HEADER

        token = secrets.token_bytes(16)
        deadline = time.monotonic() + seconds
        latest = deadline + _MOST_FORGIVEN * seconds
        budget = _MAX_ANSWER
        try:
            self._stream.write(HEADER.pack(len(body), token, kind) + body, deadline)
            while budget > 0:
                head, deadline = self._read(HEADER.size, deadline, latest)
                length, whose, answer = HEADER.unpack(head)
                budget -= HEADER.size + length
                if budget < 0:
                    break
                content, deadline = self._read(length, deadline, latest)
                if secrets.compare_digest(whose, token) and answer in _KINDS:
                    return Reply(_KINDS[answer], content)
        except TimeoutError:
            return Reply("timeout")
        except OSError:
            return Reply("killed")
        return Reply("flooded")

    def _read(self, length: int, deadline: float, latest: float) -> tuple[bytes, float]:
        """Read, and move the deadline by the time that the child waited for a processor: that is not its doing."""
        while True:
            try:
                return self._stream.read(length, deadline), deadline
            except TimeoutError:
                waited = self._waited()
                more = min(waited - self._forgiven, latest - deadline)
                self._forgiven = waited
                if more < _WORTH_WAITING:
                    raise
                deadline += more

    def wait_until_ready(self, seconds: float = START_SECONDS) -> bool:
        """True when the child stands behind its walls; nothing of a submission has run by then."""
        from gradlab.grading.sandbox.child import HEADER, READY

        try:
            head = self._stream.read(HEADER.size, time.monotonic() + seconds)
        except OSError:
            return False
        return head == HEADER.pack(0, b"\0" * 16, READY)

    def end(self) -> float:
        """Kill it, and all that it left behind. The processor seconds it took, where that is known."""
        self._stream.close()
        return self._end()


class Sandbox:
    """A warm parent, and children of it.

    `level` is "full", "user", "process" or "best" (the first of these that works here); `isolation` is the one in use.
    `hidden` are paths that no submission may see, `blocked` modules that do not exist inside.
    """

    def __init__(
        self, memory_mb: int = 1024, hidden: Iterable[Path] = (), blocked: Sequence[str] = (), level: str = "best"
    ) -> None:
        self.memory_mb, self.hidden, self.blocked = memory_mb, tuple(hidden), tuple(blocked)
        self.isolation, self.reason = "", ""
        reasons = []
        for candidate in LEVELS if level == "best" else (level,):
            try:
                self._start(candidate)
            except (SandboxError, OSError) as error:
                self.close()
                reasons.append(f"{candidate}: {error}")
                continue
            self.isolation, self.reason = candidate, "; ".join(reasons)
            return
        raise SandboxError("no sandbox could be started. " + "; ".join(reasons))

    # -- starting ------------------------------------------------------------------------------------------------

    def _start(self, level: str) -> None:
        self._folder: str | None = None
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._level = level
        uid = _another_user()
        if level == "user" and uid is None:
            raise SandboxError("only root on Linux can give a submission to another user")
        if level == "full" and not sys.platform.startswith("linux"):
            raise SandboxError("bubblewrap is for Linux")
        if level == "full" and shutil.which("bwrap") is None:
            raise SandboxError("bubblewrap is not installed (Debian, Ubuntu: apt install bubblewrap)")
        if level == "process" and not sys.platform.startswith("linux"):
            self._try_child()
            return
        self._start_zygote(level, uid)
        self._try_child()

    def _start_zygote(self, level: str, uid: int | None) -> None:
        from gradlab.grading.sandbox import walls

        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = ours
        visible, hidden = view.visible_paths(), view.hidden_paths(self.hidden, self.blocked)
        code = f"from gradlab.grading.sandbox.zygote import main; main({theirs.fileno()})"
        command = python_command(code, _inside(view.import_path(), visible))
        setup: dict[str, Any] = {"level": level, "uid": uid, "memory": self.memory_mb << 20, "blocked": self.blocked}
        if level == "full":
            command = walls.bubblewrap_command(visible, hidden, command)
        else:
            self._folder = tempfile.mkdtemp(prefix="gradlab-scratch-")
            if uid is not None:
                os.chown(self._folder, uid, uid)
            setup |= {"visible": [str(path) for path in visible], "hidden": [str(path) for path in hidden]}
        with theirs, tempfile.TemporaryFile() as complaints:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                env={} if level == "full" else walls.environment(self._folder or "/"),
                cwd="/",
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
            self._complaints = os.dup(complaints.fileno())
        try:
            ours.send(json.dumps(setup).encode())
        except OSError:
            raise SandboxError(self._why()) from None

    def _try_child(self) -> None:
        """A first child, to see that the walls can be put up here."""
        child = self.fork()
        child.end()

    def _why(self) -> str:
        """What the zygote said on its way out."""
        size = min(os.fstat(self._complaints).st_size, 1 << 16)
        lines = os.pread(self._complaints, size, 0).decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it ended without a word"

    # -- children ------------------------------------------------------------------------------------------------

    def fork(self) -> Child:
        """A fresh child behind its walls. SandboxError when none comes up."""
        if self._control is None:
            return self._plain_child()
        ours, theirs = socket.socketpair()
        scratch = None if self._folder is None else os.path.join(self._folder, secrets.token_hex(8))
        request = json.dumps({"op": "fork", "scratch": scratch}).encode()
        try:
            with theirs:
                socket.send_fds(self._control, [request], [theirs.fileno()])
            pid = self._answer()["pid"]
        except OSError:
            ours.close()
            raise SandboxError(self._why()) from None
        child = Child(SocketStream(ours), lambda: self._end(pid, scratch), lambda: self._ask("waited", pid))
        if not child.wait_until_ready():
            child.end()
            raise SandboxError(f"the walls for a submission cannot be put up: {self._why()}")
        return child

    def _answer(self) -> dict[str, Any]:
        assert self._control is not None
        self._control.settimeout(START_SECONDS)
        answer = self._control.recv(4096)
        if not answer:
            raise ConnectionError("the zygote has ended")
        return json.loads(answer)

    def _ask(self, op: str, pid: int) -> float:
        """Ask the zygote about a child, or to end it; the answer is in seconds."""
        with contextlib.suppress(OSError):
            assert self._control is not None
            self._control.send(json.dumps({"op": op, "pid": pid}).encode())
            return self._answer()["seconds"]
        return 0.0

    def _end(self, pid: int, scratch: str | None) -> float:
        seconds = self._ask("end", pid)
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)
        return seconds

    def _plain_child(self) -> Child:
        """Where there is no fork to rely on: a new Python for each child."""
        folder = tempfile.mkdtemp(prefix="gradlab-scratch-")
        command = python_command("from gradlab.grading.sandbox.plainly import main; main()", view.import_path())
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder
        )

        def end() -> float:
            process.kill()
            process.wait()
            shutil.rmtree(folder, ignore_errors=True)
            return 0.0

        child = Child(PipeStream(process), end)
        if not child.wait_until_ready():
            child.end()
            raise SandboxError("a Python for a submission did not start")
        return child

    def close(self) -> None:
        """End the zygote and every child of it."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            try:
                self._process.wait(_CLOSE_SECONDS)  # the zygote ends by itself when its socket is closed
            except subprocess.TimeoutExpired:
                with contextlib.suppress(OSError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
            self._process = None
            os.close(self._complaints)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def python_command(code: str, path: Sequence[str]) -> list[str]:
    """A Python that takes nothing from its surroundings but this import path."""
    return [sys.executable, "-I", "-S", "-B", "-c", f"import sys; sys.path[:] = {list(path)!r}; {code}"]


def _another_user() -> int | None:
    """The number of a user that owns nothing and that this process may become; another for each worker."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return None
    uid = 61000 + os.getpid() % 4000
    ranges = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    return uid if any(int(first) <= uid < int(first) + int(count) for first, _, count in ranges) else None


def _inside(path: Sequence[str], visible: Sequence[Path]) -> list[str]:
    """The entries of an import path that exist in the sandbox, or hold something that does."""
    return [entry for entry in path if any(Path(entry) in (v, *v.parents) or v in Path(entry).parents for v in visible)]


@cache
def isolation() -> tuple[str, str]:
    """The isolation level that this machine gives a submission, and why it is no higher ("" for full)."""
    sandbox = Sandbox()
    try:
        return sandbox.isolation, sandbox.reason
    finally:
        sandbox.close()
