"""Watching one command to its end, and leaving nothing of it behind.

Ends when the command's first process exits, when the app says stop, when the app is gone (its end of the control pipe
closes) or when the group as a whole takes more memory than it may. Whatever the reason, every process below this one
is then killed, also those that changed session or forked twice: this process is their subreaper, and the fork gate is
closed first. Where there is no ``/proc`` (macOS) only the command's process group can be found.
"""

from __future__ import annotations

import os
import select
import signal
import time

from logician_graph.sandbox.launcher import processes
from logician_graph.sandbox.launcher.forkgate import ForkGate
from logician_graph.sandbox.launcher.job import (
    FAST_GRACE_S,
    GENTLE_GRACE_S,
    STOP_FAST,
    STOP_GENTLY,
    SWEEP_LIMIT_S,
    Job,
    Report,
)
from logician_graph.sandbox.launcher.start import Started

_WATCH_EVERY_S = 0.1
_WATCH_SHARE = 20
"""Watching may take one part in so many of the time: on a machine with many processes it is done less often."""
_POLL_S = 0.02
_LEFTOVER_GRACE_S = 0.05
_HAS_PROC = processes.proc_is_there()


def supervise(started: Started, control: int, job: Job) -> Report:
    """Watch the command until it ends or must end; kill all that is left; say how it ended."""
    first = _First(started.pid)
    gate = ForkGate(started.gate, job["processes"]) if started.gate is not None else None
    grace_s, note = _watch(first, control, job)
    _terminate(first, grace_s)
    if gate is not None:
        gate.close()
    clean = processes.kill_tree(os.getpid(), limit_s=SWEEP_LIMIT_S)
    code = first.exit_code()
    processes.reap(processes.descendants(os.getpid(), zombies=True))
    report: Report = {}
    if code is None or code < 0:
        report["signal"] = -(code or -signal.SIGKILL)
    else:
        report["exit_code"] = code
    if not clean:
        note = "some processes of this command could not be killed"
    elif gate is not None and gate.refused and not note:
        note = f"limited: new processes were refused above {job['processes']}"
    if note:
        report["note"] = note
    return report


def _watch(first: _First, control: int, job: Job) -> tuple[float, str]:
    """Return when the watching is over: how long what is left may take to end, and why it must if nobody asked."""
    poll = select.poll()
    poll.register(control, select.POLLIN | select.POLLHUP)
    pidfd = _pidfd(first.pid)
    if pidfd is not None:
        poll.register(pidfd, select.POLLIN)
    sandlock_watches = job["level"] == "full"
    next_watch = time.monotonic()
    while True:
        ready = dict(poll.poll((_POLL_S if pidfd is None else _WATCH_EVERY_S) * 1000))
        if first.exit_code() is not None:
            return _LEFTOVER_GRACE_S, ""
        if control in ready:
            return {STOP_GENTLY: GENTLE_GRACE_S, STOP_FAST: FAST_GRACE_S}.get(os.read(control, 1), FAST_GRACE_S), ""
        now = time.monotonic()
        if not sandlock_watches and now >= next_watch:
            if processes.memory_of(processes.descendants(os.getpid())) > job["memory_bytes"]:
                return 0.0, f"killed: more than {job['memory_bytes'] // 2**20} MiB of memory"
            next_watch = now + max(_WATCH_EVERY_S, (time.monotonic() - now) * _WATCH_SHARE)


def _terminate(first: _First, grace_s: float) -> None:
    """Ask all that is left to end and wait for it, at most ``grace_s``."""
    deadline = time.monotonic() + grace_s
    if not _HAS_PROC:
        _signal_group(first.pid, signal.SIGTERM)
        while time.monotonic() < deadline and first.exit_code() is None:
            time.sleep(_POLL_S)
        _signal_group(first.pid, signal.SIGKILL)
        return
    alive = processes.descendants(os.getpid())
    processes.signal_all(alive, signal.SIGTERM)
    while alive and time.monotonic() < deadline:
        time.sleep(0.005)
        alive = processes.descendants(os.getpid())


def _signal_group(pid: int, number: int) -> None:
    # The first process is not reaped before the end, so its id cannot name another group.
    try:
        os.killpg(pid, number)
    except OSError:
        return


class _First:
    """The command's first process. It stays unreaped to the end where the system can look without reaping."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None

    def exit_code(self) -> int | None:
        """How it ended (minus the signal when it was killed); None while it runs."""
        if self._code is None:
            self._code = self._look()
        return self._code

    def _look(self) -> int | None:
        try:
            if hasattr(os, "waitid"):
                seen = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if seen is None:
                    return None
                return seen.si_status if seen.si_code == os.CLD_EXITED else -seen.si_status
            # macOS before Python 3.13.
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return os.waitstatus_to_exitcode(status) if pid else None
        except ChildProcessError:
            return -signal.SIGKILL


def _pidfd(pid: int) -> int | None:
    """A descriptor that becomes readable when ``pid`` ends; None where the system has none, then polling does."""
    opener = getattr(os, "pidfd_open", None)
    if opener is None:
        return None
    try:
        return int(opener(pid))
    except OSError:
        return None
