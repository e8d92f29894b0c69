"""The system calls that a candidate may make: memory, time, its own pipes, its own end. All others fail with EPERM.

An allow-list, unlike the sandbox room's filter, because a candidate only computes: with no call that opens, connects,
starts, signals or changes a limit there is nothing to forget. Memory that can be executed cannot be had either, so what
``evaluate.py`` compiles (numba) must be compiled when it is imported. Numbers: ``asm/unistd_64.h`` (x86_64) and
``asm-generic/unistd.h`` (aarch64). Filters: ``seccomp(2)``.
"""

from __future__ import annotations

import ctypes
import errno
import os

from logician_graph.sandbox.launcher.bpf import (
    ALLOW,
    ERRNO,
    Instruction,
    Program,
    any_bit,
    equal,
    load_architecture,
    load_argument,
    load_number,
    returns,
)

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_PROT_EXEC = 4
_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_ALLOWED = {
    "x86_64": (
        # Descriptors: read, write, close, fstat, poll, lseek, readv, writev.
        *(0, 1, 3, 5, 7, 8, 19, 20),
        # Memory: munmap, brk, mremap, madvise.
        *(11, 12, 25, 28),
        # Signals: rt_sigaction, rt_sigprocmask, rt_sigreturn, sigaltstack, restart_syscall. Locks: futex,
        # set_robust_list, rseq.
        *(13, 14, 15, 131, 219, 202, 273, 334),
        # Waiting: sched_yield, sched_getaffinity, getcpu, membarrier, nanosleep, clock_nanosleep
        *(24, 204, 309, 324, 35, 230),
        # Clocks and facts: clock_gettime, clock_getres, gettimeofday, times, getrusage, uname, sysinfo, getrandom
        *(228, 229, 96, 100, 98, 63, 99, 318),
        # Itself: getpid, getppid, gettid, getuid, getgid, geteuid, getegid, exit, exit_group
        *(39, 110, 186, 102, 104, 107, 108, 60, 231),
    ),
    "aarch64": (
        *(63, 64, 57, 80, 73, 62, 65, 66),
        *(215, 214, 216, 233),
        *(134, 135, 139, 132, 128, 98, 99, 293),
        *(124, 123, 168, 283, 101, 115),
        *(113, 114, 169, 153, 165, 160, 179, 278),
        *(172, 173, 178, 174, 176, 175, 177, 93, 94),
    ),
}
_MAP_AND_PROTECT = {"x86_64": (9, 10), "aarch64": (222, 226)}


def compiled() -> Program | None:
    """The filter for this machine, or None where its processor is not known here."""
    machine = os.uname().machine
    if machine not in _ALLOWED:
        return None
    refuse = returns(ERRNO | errno.EPERM)
    code: list[Instruction] = [load_architecture(), equal(_ARCHITECTURE[machine], 1, 0), refuse, load_number()]
    for number in _MAP_AND_PROTECT[machine]:
        # Both take the protection as their third argument.
        code += [equal(number, 0, 4), load_argument(2), any_bit(_PROT_EXEC, 0, 1), refuse, returns(ALLOW)]
    for number in _ALLOWED[machine]:
        code += [equal(number, 0, 1), returns(ALLOW)]
    return Program([*code, refuse])


def install(program: Program) -> None:
    """From here on the calling thread can do no more than this. ``no_new_privs`` must be set. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program.header), 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"the filter for system calls was refused: {os.strerror(error)}")
