"""A gate before every new process: the kernel asks this program first, so a fork bomb cannot outrun it.

A seccomp filter with a listener (Linux 5.5): ``fork``, ``vfork``, ``clone`` and ``clone3`` wait until the launcher
answers. It counts what lives below it and answers "go on" or EAGAIN. ``RLIMIT_NPROC`` cannot do this: it does not bind
root, and for others it counts everything that the user runs anywhere on the machine. A closed gate answers nothing, so
that nothing new can appear while what is left is being killed. When the launcher dies the calls fail with ENOSYS.
Source: ``seccomp_unotify(2)``, ``linux/seccomp.h``. Only call numbers are looked at, never the caller's memory.
"""

from __future__ import annotations

import _thread
import ctypes
import errno
import fcntl
import os
import struct
import time

from logician_graph.sandbox.launcher import processes
from logician_graph.sandbox.launcher.bpf import ALLOW, USER_NOTIFY, Instruction, Program, equal, load_number, returns

_SECCOMP = {"x86_64": 317, "aarch64": 277}
_MAKERS = {"x86_64": (56, 57, 58, 435), "aarch64": (220, 435)}
_SET_MODE_FILTER, _NEW_LISTENER = 1, 1 << 3
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_NOTIFICATION_SIZE = 80
_CONTINUE = 1
_COUNT_EVERY_S = 0.02
_TASKS_PER_PROCESS = 8
"""Threads are bounded too, at so many times the processes: they take from the same table of the kernel."""


def install() -> int:
    """Filter the calling process and its heirs; returns the descriptor that :class:`ForkGate` listens on.

    ``no_new_privs`` must be set. Raises OSError when the kernel refuses.
    """
    machine = os.uname().machine
    if machine not in _SECCOMP:
        raise OSError(f"no call numbers for the processor {machine!r}")
    code: list[Instruction] = [load_number()]
    for number in _MAKERS[machine]:
        code += [equal(number, 0, 1), returns(USER_NOTIFY)]
    program = Program([*code, returns(ALLOW)])
    libc = ctypes.CDLL(None, use_errno=True)
    listener = libc.syscall(_SECCOMP[machine], _SET_MODE_FILTER, _NEW_LISTENER, ctypes.byref(program.header))
    if listener < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"the gate for new processes was refused: {os.strerror(error)}")
    return int(listener)


class ForkGate:
    """Answers the kernel from a thread of its own, because a question that is withdrawn would block who reads it."""

    def __init__(self, listener: int, limit: int) -> None:
        self._listener = listener
        self._limit = limit
        self._budget = 0
        self._counted_at = 0.0
        self._open = True
        self.refused = False
        """Whether a new process was ever refused."""
        _thread.start_new_thread(self._serve, ())

    def close(self) -> None:
        """From now on nobody gets an answer: who wants a new process waits until it is killed."""
        self._open = False

    def _serve(self) -> None:
        while True:
            question = bytearray(_NOTIFICATION_SIZE)
            try:
                fcntl.ioctl(self._listener, _RECEIVE, question)
            except OSError as error:
                if error.errno in {errno.EINTR, errno.ENOENT}:
                    continue
                return
            if not self._open:
                continue
            granted = self._may_grow()
            self.refused = self.refused or not granted
            identity = bytes(question[:8])
            answer = struct.pack("=qiI", 0, 0, _CONTINUE) if granted else struct.pack("=qiI", 0, -errno.EAGAIN, 0)
            try:
                fcntl.ioctl(self._listener, _SEND, identity + answer)
            except OSError:
                # The caller was killed or interrupted meanwhile; it asks again if it still wants to.
                continue

    def _may_grow(self) -> bool:
        """Grant from what the last count left over; count again only when that is used up."""
        if self._budget <= 0:
            # Processes allowed a moment ago may not be there to be counted yet; and a bomb must not keep us counting.
            time.sleep(max(0.0, self._counted_at + _COUNT_EVERY_S - time.monotonic()))
            self._counted_at = time.monotonic()
            there = processes.descendants(os.getpid(), zombies=True)
            tasks = sum(processes.threads_of(pid) for pid in there)
            self._budget = min(self._limit - len(there), self._limit * _TASKS_PER_PROCESS - tasks)
        self._budget -= 1
        return self._budget >= 0
