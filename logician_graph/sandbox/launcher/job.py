"""What the app tells the launcher, and what the launcher tells the app: two JSON objects.

The job is a file that only this user can read; the report is one line per object on the report descriptor: first
``{"pid": …}``, last how the command ended. Nothing here is ever seen by the command itself.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class Job(TypedDict):
    """One command and everything it may touch. All paths are absolute and exist."""

    level: Literal["full", "landlock", "rlimits"]
    argv: list[str]
    cwd: str
    env: dict[str, str]
    writable: list[str]
    readable: list[str]
    network: bool
    memory_bytes: int
    processes: int
    file_bytes: int
    report_fd: int
    import_path: list[str]
    """Folders to import third-party packages from; needed by the full level only."""


class Report(TypedDict):
    """How the command ended. Exactly one of ``exit_code``, ``signal`` and ``error`` is there in the last object."""

    pid: NotRequired[int]
    exit_code: NotRequired[int]
    signal: NotRequired[int]
    error: NotRequired[str]
    """Why the command could not be started."""
    note: NotRequired[str]
    """Why the launcher killed it, for the end of its output."""


STOP_GENTLY = b"g"
"""On the control pipe: TERM, ``GENTLE_GRACE_S``, KILL. Closing the pipe, as the app's death does, stops at once."""
STOP_FAST = b"f"
"""On the control pipe: TERM, ``FAST_GRACE_S``, KILL."""
GENTLE_GRACE_S = 1.0
FAST_GRACE_S = 0.15
SWEEP_LIMIT_S = 3.0
"""Longest that killing what is left may take before the launcher gives up and says so."""
