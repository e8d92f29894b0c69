"""The exit codes of ``logician``. They are a contract with the programs that call it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType


class ExitCode(IntEnum):
    """How a command ended."""

    COMPLETED = 0
    FAILED = 1
    USAGE = 2
    NEEDS_INPUT = 3
    BLOCKED = 4
    CANCELLED = 130


OF_OUTCOME: Mapping[str, ExitCode] = MappingProxyType(
    {
        "completed": ExitCode.COMPLETED,
        "failed": ExitCode.FAILED,
        "needs_input": ExitCode.NEEDS_INPUT,
        "blocked": ExitCode.BLOCKED,
        "cancelled": ExitCode.CANCELLED,
    }
)
