"""Every wall of the sandbox, outermost first.

1. bubblewrap (`bubblewrap_command`): the zygote sees the Python runtime, read-only, and nothing else of this machine:
   no home, no course, no submissions, no results; no network, an empty environment, its own process numbers.
2. `drop_root`: run by root, the zygote becomes a user that owns nothing.
3. A child for each submission: own user, process and mount namespaces (`fork_into_namespaces`), a scratch folder in
   memory of its own, no /proc (`furnish`), no capabilities.
4. `limit`: address space, files, open files, threads.
5. seccomp.py: the list of system calls there are. No processes, no programs, no sockets.

Where namespaces are denied, 1 and 3 are missing; landlock.py then stands in for the file view of 1, where the kernel has it.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from collections.abc import Sequence
from pathlib import Path

SCRATCH = "/scratch"
SCRATCH_BYTES = 64 << 20
OPEN_FILES = 128
THREADS = 64

_NEW_USER, _NEW_PROCESSES, _NEW_MOUNTS = 0x10000000, 0x20000000, 0x00020000
_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_EXEC = 1, 2, 4, 8
_SET_DUMPABLE, _SET_KEEPCAPS, _CAP_DAC_READ_SEARCH = 4, 8, 2
_CLONE = {"x86_64": 56, "aarch64": 220}

libc = ctypes.CDLL(None, use_errno=True)
libc.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]


def bubblewrap_command(visible: Sequence[Path], hidden: Sequence[Path], command: Sequence[str]) -> list[str]:
    """The command that runs `command` where only the `visible` paths exist, without the `hidden` ones among them."""
    walls = ["bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    walls += ["--new-session", "--clearenv", "--hostname", "sandbox"]
    if os.geteuid() != 0:
        walls += ["--unshare-user"]
    for folder in sorted({parent for path in visible for parent in path.parents if parent != Path("/")}):
        walls += ["--perms", "0755", "--dir", str(folder)]  # else as closed as it is outside, to other users
    for path in visible:
        walls += ["--ro-bind", str(path), str(path)]
    for link in ("/lib", "/lib64", "/lib32", "/bin"):
        if os.path.islink(link):
            walls += ["--symlink", os.readlink(link), link]
    for path in hidden:
        walls += (
            ["--tmpfs", str(path), "--remount-ro", str(path)]
            if path.is_dir()
            else ["--ro-bind", "/dev/null", str(path)]
        )
    walls += ["--proc", "/proc", "--dir", SCRATCH, "--perms", "0755", "--dir", "/dev"]
    for device in ("null", "zero", "full", "random", "urandom"):
        walls += ["--dev-bind", f"/dev/{device}", f"/dev/{device}"]
    if not any(str(path).startswith("/tmp/") for path in visible):
        walls += ["--symlink", SCRATCH, "/tmp"]
    for name, value in environment().items():
        walls += ["--setenv", name, value]
    return [*walls, "--remount-ro", "/", "--chdir", SCRATCH, "--", *command]


def environment(scratch: str = SCRATCH) -> dict[str, str]:
    """All that a submission finds in its environment."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    place = dict.fromkeys(("HOME", "TMPDIR", "MPLCONFIGDIR", "XDG_CACHE_HOME"), scratch)
    return {**one, **place, "PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "USER": "student", "MPLBACKEND": "agg"}


def drop_root(uid: int, keep_reading: bool = False) -> None:
    """Become the user `uid` for good. RLIMIT_NPROC does not bind root, and root may read everything.

    `keep_reading` keeps the right to read any file, for a runtime that only root can read: landlock must then confine
    each child, or `drop_capabilities` take the right away.
    """
    os.setgroups([])
    libc.prctl(_SET_KEEPCAPS, int(keep_reading), 0, 0, 0)
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    libc.prctl(_SET_DUMPABLE, 1, 0, 0, 0)  # the change took it away, and without it /proc/self belongs to root
    if keep_reading:
        _set_capabilities(1 << _CAP_DAC_READ_SEARCH)


def fork_into_namespaces() -> int:
    """fork() into new user, process and mount namespaces: 0 in the child, the child's process number in the parent."""
    flags = _NEW_USER | _NEW_PROCESSES | _NEW_MOUNTS | signal.SIGCHLD
    uid, gid = os.getuid(), os.getgid()
    api = ctypes.pythonapi
    api.PyOS_BeforeFork()
    pid = libc.syscall(_CLONE[os.uname().machine], flags, 0, 0, 0, 0)
    error = ctypes.get_errno()
    if pid != 0:
        api.PyOS_AfterFork_Parent()
        if pid < 0:
            raise OSError(error, f"no namespaces for a submission: {os.strerror(error)}")
        return pid
    api.PyOS_AfterFork_Child()
    # An unmapped user would own files that cannot be made (EOVERFLOW).
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    return 0


def furnish() -> None:
    """In the child's own mount namespace: an empty scratch folder in memory, and nothing in /proc."""
    options = f"size={SCRATCH_BYTES},nr_inodes=4096,mode=700".encode()
    _mount(SCRATCH, _NO_SUID | _NO_DEVICES | _NO_EXEC, options)
    _mount("/proc", _NO_SUID | _NO_DEVICES | _NO_EXEC | _READ_ONLY, b"size=4096,mode=555")
    os.chdir(SCRATCH)
    drop_capabilities()


def _mount(place: str, flags: int, options: bytes) -> None:
    if libc.mount(b"tmpfs", place.encode(), b"tmpfs", flags, options):
        error = ctypes.get_errno()
        raise OSError(error, f"cannot mount {place}: {os.strerror(error)}")


def drop_capabilities() -> None:
    """Give up every capability. No program is ever started from here, so none comes back."""
    _set_capabilities(0)


def _set_capabilities(low: int) -> None:
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    sets = (ctypes.c_uint32 * 6)(low, low, 0, 0, 0, 0)  # effective, permitted, inheritable; then the high halves
    if libc.capset(ctypes.byref(header), ctypes.byref(sets)):
        raise OSError(ctypes.get_errno(), "cannot drop the capabilities")


def mapped_bytes() -> int:
    """The address space that this process has mapped."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def limit(address_space: int) -> None:
    """Limits of the process that a submission runs in; `address_space` in bytes, what the zygote maps included."""
    limits = {
        resource.RLIMIT_AS: address_space,
        resource.RLIMIT_FSIZE: SCRATCH_BYTES,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_NPROC: THREADS,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    for which, value in limits.items():
        resource.setrlimit(which, (value, value))
