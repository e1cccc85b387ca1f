"""The system calls that a submission may make, as a seccomp filter assembled here (classic BPF, x86-64 and arm64).

A list of what is allowed: whatever is not on it, and whatever a newer kernel adds, does not exist in the sandbox. A
submission can compute, use threads and write in its scratch folder; it cannot start a process or a program, open a
socket, change namespaces, look into another process or send it a signal. man 2 seccomp, man 2 bpf.
"""

from __future__ import annotations

import ctypes
import platform
import struct
from functools import lru_cache

# name, number on x86-64, number on arm64 ("-": not there)
_ALLOWED = """
# files
read 0 63, write 1 64, open 2 -, openat 257 56, close 3 57, stat 4 -, fstat 5 80, lstat 6 -, lseek 8 62
pread64 17 67, pwrite64 18 68, readv 19 65, writev 20 66, preadv 295 69, pwritev 296 70, access 21 -
faccessat 269 48, faccessat2 439 439, dup 32 23, dup2 33 -, dup3 292 24, fcntl 72 25, flock 73 32, fsync 74 82, fdatasync 75 83
truncate 76 45, ftruncate 77 46, getdents 78 -, getdents64 217 61, getcwd 79 17, chdir 80 49, fchdir 81 50
rename 82 -, renameat 264 38, renameat2 316 276, mkdir 83 -, mkdirat 258 34, rmdir 84 -, creat 85 -, link 86 -
linkat 265 37, unlink 87 -, unlinkat 263 35, symlink 88 -, symlinkat 266 36, readlink 89 -, readlinkat 267 78
chmod 90 -, fchmod 91 52, fchmodat 268 53, umask 95 166, newfstatat 262 79, statx 332 291, statfs 137 43
fstatfs 138 44, utimensat 280 88, utime 132 -, utimes 235 -, futimesat 261 -, fallocate 285 47, fadvise64 221 223
readahead 187 213, copy_file_range 326 285, sendfile 40 71, close_range 436 436
# memory
mmap 9 222, mprotect 10 226, munmap 11 215, brk 12 214, mremap 25 216, msync 26 227, mincore 27 232, madvise 28 233
membarrier 324 283
# signals, of its own
rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigpending 127 136, rt_sigtimedwait 128 137
rt_sigsuspend 130 133, sigaltstack 131 132, restart_syscall 219 128, pause 34 -, alarm 37 -, getitimer 36 102
setitimer 38 103
# waiting, pipes to itself
poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72, epoll_create 213 -, epoll_create1 291 20, epoll_ctl 233 21
epoll_wait 232 -, epoll_pwait 281 22, eventfd 284 -, eventfd2 290 19, timerfd_create 283 85, timerfd_settime 286 86
timerfd_gettime 287 87, pipe 22 -, pipe2 293 59, sendto 44 206, recvfrom 45 207, shutdown 48 210, getsockname 51 204
wait4 61 260, waitid 247 95
# time
nanosleep 35 101, clock_nanosleep 230 115, gettimeofday 96 169, time 201 -, times 100 153, clock_gettime 228 113
clock_getres 229 114
# itself, its threads
sched_yield 24 124, getpid 39 172, getppid 110 173, gettid 186 178, getuid 102 174, geteuid 107 175, getgid 104 176
getegid 108 177, getresuid 118 148, getresgid 120 150, getgroups 115 158, getpgid 121 155, getpgrp 111 -
getsid 124 156, getrlimit 97 163, setrlimit 160 164, getrusage 98 165, sysinfo 99 179, uname 63 160
getrandom 318 278, sched_getaffinity 204 123, sched_getparam 143 121, sched_getscheduler 145 120
sched_get_priority_max 146 125, sched_get_priority_min 147 126, getpriority 140 141, getcpu 309 168, futex 202 98
set_robust_list 273 99, get_robust_list 274 100, set_tid_address 218 96, rseq 334 293, arch_prctl 158 -, exit 60 93
exit_group 231 94
"""
_REFUSED = """
socket 41 198, connect 42 203, bind 49 200, fork 57 -, vfork 58 -, execve 59 221, execveat 322 281, ptrace 101 117
unshare 272 97, setns 308 268, mount 165 40, umount2 166 39, process_vm_readv 310 270, process_vm_writev 311 271
memfd_create 319 279, tkill 200 130, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240, pidfd_send_signal 424 424
setsid 112 157, setpgid 109 154, chroot 161 51, pivot_root 155 41, bpf 321 280, shmget 29 194, msgget 68 186
"""
_CONDITIONAL = """
clone 56 220, kill 62 129, tgkill 234 131, prctl 157 167, ioctl 16 29, prlimit64 302 261, sched_setaffinity 203 122
socketpair 53 199
"""

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = _ERRNO | 1, _ERRNO | 38
_NUMBER, _ARCH, _ARG = 0, 4, (16, 24, 32)  # offsets in struct seccomp_data; the low halves of the arguments

_CLONE_THREAD = 0x00010000
_DEADLY = (6, 9, 11, 15)
# The values that the named argument may have.
_ONLY = {
    "prctl": (0, (15, 16, 3, 0x53564D41)),  # set and get a thread's name, get dumpable, name a memory area
    "ioctl": (1, (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)),  # is it a terminal, its size, bytes waiting, flags
    "socketpair": (1, (1, 0x801, 0x80001, 0x80801)),  # streams: a datagram could be sent to a socket outside
}


def _numbers(table: str, machine: str) -> dict[str, int]:
    column = 1 if machine == "x86_64" else 2
    rows = [entry.split() for line in table.splitlines() if not line.startswith("#") for entry in line.split(",")]
    return {row[0]: int(row[column]) for row in rows if len(row) == 3 and row[column] != "-"}


@lru_cache(4)
def program(pid: int, machine: str | None = None) -> bytes:
    """The filter for the process `pid`, as an array of struct sock_filter.

    >>> len(program(1, "x86_64")) % 8
    0
    """
    machine = machine or platform.machine()
    if machine not in _AUDIT_ARCH:
        raise NotImplementedError(f"no seccomp filter for {machine}: x86_64 and aarch64 are known")
    code: list[tuple[int, int, int, int]] = []

    def emit(op: int, k: int, yes: int = 0, no: int = 0) -> None:
        code.append((op, yes, no, k))

    def answer(value: int, verdict: int, op: int = _JUMP_EQUAL) -> None:
        emit(op, value, 0, 1)
        emit(_RETURN, verdict)

    emit(_LOAD, _ARCH)
    emit(_JUMP_EQUAL, _AUDIT_ARCH[machine], 1, 0)
    emit(_RETURN, _KILL)
    emit(_LOAD, _NUMBER)
    answer(0x40000000, _KILL, _JUMP_GREATER_EQUAL)  # the x32 calls would pass under other numbers
    for number in sorted(_numbers(_ALLOWED, machine).values()):
        answer(number, _ALLOW)
    for number in sorted(_numbers(_REFUSED, machine).values()):
        answer(number, _EPERM)
    for name, number in _numbers(_CONDITIONAL, machine).items():
        tests = _condition(name, pid)
        emit(_JUMP_EQUAL, number, 0, len(tests))
        code.extend(tests)
    emit(_RETURN, _ENOSYS)  # clone3 too: the C library then falls back to clone
    return b"".join(struct.pack("=HBBI", op, yes, no, k) for op, yes, no, k in code)


def _condition(name: str, pid: int) -> list[tuple[int, int, int, int]]:
    """Instructions that end in a verdict on the arguments of one call."""
    allow, refuse = (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _EPERM)
    if name == "clone":  # threads only
        return [(_LOAD, 0, 0, _ARG[0]), (_JUMP_ANY_BIT, 0, 1, _CLONE_THREAD), allow, refuse]
    position, values = _ONLY.get(name, (0, (0, pid)))
    tests = [(_LOAD, 0, 0, _ARG[position])]
    for value in values:
        tests += [(_JUMP_EQUAL, 0, 1, value), allow]
    if name not in ("kill", "tgkill"):
        return [*tests, refuse]
    # Itself only. As process 1 of its namespace it would survive its own SIGKILL, so here the filter kills it.
    tests = [(_LOAD, 0, 0, _ARG[0]), (_JUMP_EQUAL, 1, 0, pid), refuse, (_LOAD, 0, 0, _ARG[1 if name == "kill" else 2])]
    for signal in _DEADLY:
        tests += [(_JUMP_EQUAL, 0, 1, signal), (_RETURN, 0, 0, _KILL)]
    return [*tests, allow]


def install(libc: ctypes.CDLL, pid: int) -> None:
    """Put the filter on this thread and all that it starts; there is no way back. OSError when the kernel refuses."""
    filters = program(pid)
    buffer = ctypes.create_string_buffer(filters, len(filters))
    fprog = struct.pack("HxxxxxxP", len(filters) // 8, ctypes.addressof(buffer))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_char_p(fprog), 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel refused the seccomp filter")
