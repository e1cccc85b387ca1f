"""Reading and writing with a deadline, over a socket or over a process's pipes."""

from __future__ import annotations

import queue
import socket
import subprocess
import threading
import time
from typing import Protocol


class Stream(Protocol):
    """Bytes to and from a child. TimeoutError at the deadline, ConnectionError when the child is gone.

    After a TimeoutError of `read`, the same `read` goes on where it was.
    """

    def read(self, length: int, deadline: float) -> bytes: ...

    def write(self, data: bytes, deadline: float) -> None: ...

    def close(self) -> None: ...


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class SocketStream:
    """Over a connected socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._rest = bytearray()

    def read(self, length: int, deadline: float) -> bytes:
        while len(self._rest) < length:
            self._socket.settimeout(_left(deadline))
            part = self._socket.recv(min(length - len(self._rest), 1 << 20))
            if not part:
                raise ConnectionError("the child has ended")
            self._rest += part
        data = bytes(self._rest[:length])
        del self._rest[:length]
        return data

    def write(self, data: bytes, deadline: float) -> None:
        self._socket.settimeout(_left(deadline))
        self._socket.sendall(data)

    def close(self) -> None:
        self._socket.close()


class PipeStream:
    """Over a process's standard input and output, which cannot be waited for on every system: a thread reads."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._parts: queue.Queue[bytes] = queue.Queue(maxsize=64)
        self._rest = b""
        self._closed = False
        threading.Thread(target=self._pump, daemon=True).start()

    def _pump(self) -> None:
        assert self._process.stdout is not None
        part = b"start"
        while part and not self._closed:
            part = self._process.stdout.read1(1 << 16)  # type: ignore[attr-defined]
            self._parts.put(part)

    def read(self, length: int, deadline: float) -> bytes:
        while len(self._rest) < length:
            try:
                part = self._parts.get(timeout=_left(deadline))
            except queue.Empty:
                raise TimeoutError from None
            if not part:
                self._parts.put(b"")
                raise ConnectionError("the child has ended")
            self._rest += part
        data, self._rest = self._rest[:length], self._rest[length:]
        return data

    def write(self, data: bytes, deadline: float) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def close(self) -> None:
        self._closed = True
        while not self._parts.empty():
            self._parts.get_nowait()
