"""What a candidate's process gives up before it looks at the code, and the trial that tells what this machine allows.

Files, network, processes, threads, signals and limits go through two independent means (Landlock and the list of system
calls); memory, CPU time and descriptors through resource limits, which every machine has.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import sys
from dataclasses import dataclass

from logician_graph.eoh.evaluator.worker import syscalls
from logician_graph.sandbox.launcher import landlock
from logician_graph.sandbox.launcher.bpf import Program

RESULT, OUTPUT = 3, 1
"""Descriptors in the candidate's process. 0 reads nothing, 2 is the same as 1."""
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Means:
    """How candidates are confined here."""

    landlock: bool
    filter: Program | None

    def confine(self, *, seconds: float, memory_bytes: int | None) -> None:
        """Give up everything but computing and the two pipes. Raises OSError when the kernel refuses."""
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_FSIZE, 0)
        _limit(resource.RLIMIT_MEMLOCK, 0)
        # Nothing here may start anything, so what else the user runs does not matter.
        _limit(resource.RLIMIT_NPROC, 0)
        # The judge keeps the time; this is for the day on which the judge is dead.
        _limit(resource.RLIMIT_CPU, int(seconds) + 2)
        if memory_bytes is not None:
            _limit(resource.RLIMIT_AS, memory_bytes)
        if self.landlock:
            landlock.confine(readable=[], writable=[], network=False)
        _limit(resource.RLIMIT_NOFILE, RESULT + 1)
        if self.filter is not None:
            landlock.no_new_privileges()
            syscalls.install(self.filter)


def _limit(kind: int, value: int) -> None:
    try:
        resource.setrlimit(kind, (value, value))
    except (OSError, ValueError):
        return


def take_places(result: int, output: int) -> None:
    """Own session, own descriptors and no others, and the parent's death is this process's."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    # Duplicates above the places that are about to be overwritten.
    held = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, RESULT + 1) for descriptor in (nothing, output, result)]
    for place, descriptor in ((0, held[0]), (OUTPUT, held[1]), (2, held[1]), (RESULT, held[2])):
        os.dup2(descriptor, place)
    os.closerange(RESULT + 1, 1 << 16)
    parent = os.getppid()
    die_with_parent()
    if os.getppid() != parent:
        os._exit(1)


def die_with_parent() -> None:
    """Be killed when the parent ends (Linux; elsewhere the end of a pipe does the same later)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def first_to_go() -> None:
    """Where memory runs out, let the kernel choose this process and not the server."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:  # noqa: PTH123
            file.write("1000")
    except OSError:
        return


def address_space() -> int | None:
    """Bytes of address space in use by this process; None where that cannot be told."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return None


def strongest() -> Means:
    """The strongest means that a trial process could take and was really stopped by."""
    if sys.platform != "linux":
        return Means(landlock=False, filter=None)
    program = syscalls.compiled()
    locks = landlock.version() > 0
    for means in (Means(locks, program), Means(landlock=False, filter=program), Means(locks, None)):
        if _holds(means):
            return means
    return Means(landlock=False, filter=None)


def _holds(means: Means) -> bool:
    child = os.fork()
    if child == 0:
        try:
            means.confine(seconds=60, memory_bytes=None)
            os._exit(int(_something_is_open(means)))
        except BaseException:  # noqa: BLE001 -- this copy of the process must end here
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _something_is_open(means: Means) -> bool:
    for path in ("/", "/proc/self/status", __file__):
        try:
            os.close(os.open(path, os.O_RDONLY))
        except OSError:
            continue
        return True
    if means.filter is None:
        return False
    try:
        os.kill(os.getppid(), 0)
    except PermissionError:
        pass
    else:
        return True
    try:
        child = os.fork()
    except OSError:
        return False
    if child == 0:
        os._exit(0)
    return True
