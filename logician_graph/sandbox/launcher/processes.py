"""Finding, measuring and killing a tree of processes through ``/proc``. Where there is no ``/proc`` nothing is found.

Pids are read and signalled in two steps, so a pid can in theory be reused in between; for descendants of a subreaper
that is harmless in practice because their pids stay taken until the subreaper reaps them.
"""

from __future__ import annotations

import os
import signal
import time

_PR_SET_CHILD_SUBREAPER = 36


def become_subreaper() -> None:
    """Make orphans of this process's descendants its own children (Linux), so that none can escape by forking twice."""
    try:
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (OSError, AttributeError):
        return


def proc_is_there() -> bool:
    """Whether processes can be found at all."""
    return os.access("/proc/self/stat", os.R_OK)


def read_proc(pid: int, name: str) -> bytes:
    """A file of ``/proc/<pid>``; raises OSError when the process is gone or out of reach."""
    # Importing pathlib would add a tenth to the start of every command.
    with open(f"/proc/{pid}/{name}", "rb") as file:  # noqa: PTH123
        return file.read()


def _stat_fields(pid: int) -> tuple[str, int, int] | None:
    """State letter, parent pid and session of ``pid``; None when it is gone."""
    try:
        # The name may hold spaces and parentheses; the fields after the last one are plain.
        fields = read_proc(pid, "stat").rpartition(b")")[2].split()
        return fields[0].decode(), int(fields[1]), int(fields[3])
    except (OSError, IndexError, ValueError):
        return None


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 -- see read_proc
    except OSError:
        return []


def descendants(root: int, *, zombies: bool = False) -> list[int]:
    """Every process below ``root``, without ``root``; dead ones that wait to be reaped only with ``zombies``."""
    children: dict[int, list[int]] = {}
    dead: set[int] = set()
    for pid in _pids():
        fields = _stat_fields(pid)
        if fields is None:
            continue
        if fields[0] in "ZX":
            dead.add(pid)
        children.setdefault(fields[1], []).append(pid)
    found: list[int] = []
    todo = [root]
    while todo:
        below = children.get(todo.pop(), [])
        todo += below
        found += [pid for pid in below if zombies or pid not in dead]
    return found


def strays(session: int, marker: str) -> list[int]:
    """Processes of ``session`` or with ``marker`` in their first environment, wherever they hang in the tree."""
    found: list[int] = []
    for pid in _pids():
        fields = _stat_fields(pid)
        if fields is None or fields[0] in "ZX" or pid == os.getpid():
            continue
        if fields[2] == session:
            found.append(pid)
            continue
        try:
            if marker.encode() in read_proc(pid, "environ"):
                found.append(pid)
        except OSError:
            continue
    return found


def memory_of(pids: list[int]) -> int:
    """Bytes of anonymous and shared memory that ``pids`` hold; file-backed pages such as libraries do not count."""
    total = 0
    for pid in pids:
        try:
            for line in read_proc(pid, "status").splitlines():
                if line.startswith((b"RssAnon:", b"RssShmem:")):
                    total += int(line.split()[1]) * 1024
        except (OSError, ValueError, IndexError):
            continue
    return total


def threads_of(pid: int) -> int:
    """How many threads ``pid`` has; 0 when it is gone."""
    try:
        return int(read_proc(pid, "stat").rpartition(b")")[2].split()[17])
    except (OSError, IndexError, ValueError):
        return 0


def signal_all(pids: list[int], number: int) -> None:
    """Signal each; those that are gone or not ours are passed over."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue


def reap(pids: list[int]) -> None:
    """Collect those of ``pids`` that are dead children of this process."""
    for pid in pids:
        try:
            os.waitpid(pid, os.WNOHANG)
        except OSError:
            continue


def kill_tree(root: int, *, limit_s: float) -> bool:
    """Kill all below ``root`` until nothing is left or ``limit_s`` is over; says whether nothing is left.

    They are stopped before they are killed: a fork bomb cannot outrun a pass over processes that do not run.
    """
    deadline = time.monotonic() + limit_s
    while alive := descendants(root):
        if time.monotonic() > deadline:
            return False
        signal_all(alive, signal.SIGSTOP)
        signal_all(alive, signal.SIGKILL)
        time.sleep(0.002)
    return True
