"""What the rest of the house knows about running things it does not trust.

One policy type for every isolation level; a probe picks the strongest level this machine allows. The room does not
decide *whether* a command may run (that is the permission gate's work) and does not parse commands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol


class IsolationLevel(StrEnum):
    """Strongest first. The level in force is shown by ``doctor`` and on the settings page."""

    FULL = "full"
    """Files, network, processes and memory are confined (sandlock: Landlock + seccomp + supervisor)."""
    LANDLOCK = "landlock"
    """Landlock for files, a seccomp filter for network and ptrace, rlimits for the rest."""
    RLIMITS = "rlimits"
    """Resource limits only: files and network are NOT confined. Always shown with a warning."""


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """What a child may touch. Paths are absolute; a writable path is readable too."""

    writable: tuple[Path, ...]
    readable: tuple[Path, ...] = ()
    """On top of the system's own programs and libraries and this interpreter's prefix."""
    network: bool = False
    memory_bytes: int = 2 * 1024**3
    processes: int = 256
    file_bytes: int = 1024**3
    """Largest single file the child may write."""
    output_bytes: int = 64 * 1024**2
    """Output past this many bytes is cut and the group is killed; the output says so."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended. ``exit_code`` is None unless it exited by itself; ``signal`` when it was killed."""

    exit_code: int | None
    signal: int | None
    duration_s: float
    ended: Literal["exited", "timeout", "cancelled", "output_limit"]
    output_path: Path
    """File with stdout and stderr interleaved, as bytes, complete up to the policy's bound."""
    output_bytes: int


class Sandbox(Protocol):
    """Runs commands under one isolation level."""

    level: IsolationLevel
    warning: str | None
    """Shown to the person when the level leaves something open, else None."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        policy: SandboxPolicy,
        output_path: Path,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        cancelled: asyncio.Event | None = None,
        on_output: Callable[[bytes], None] | None = None,
    ) -> CommandResult:
        """Run ``argv`` to its end, its timeout or its cancellation; returns within a bounded time in every case.

        stdin is closed; output goes through a pipe to ``output_path``, and the pipe's end is never waited for: what
        stays behind cannot hold up the caller. The child leads its own session; at the end of time TERM then KILL go
        to the whole group, and left-over background children are killed too. ``on_output`` sees new output while it
        grows, at most about ten times a second. The child's environment is an allow-list plus ``env``: no key of this
        process leaks. Raises ``SandboxError`` when the child cannot be made or its output cannot be kept.
        """
        ...
