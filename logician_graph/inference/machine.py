"""How much of this machine a model server may use."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import NamedTuple

_CPU_MAX = Path("/sys/fs/cgroup/cpu.max")


class Threads(NamedTuple):
    """Threads of a model server for its two kinds of work."""

    writing: int
    reading: int


def threads_for(cpus: int) -> Threads:
    """One CPU is left to everybody else while the model writes, none while it reads its prompt.

    llama.cpp's threads meet after every layer and spin there: when something else (the browser, the engine, a tool)
    takes one CPU for a while, all of them wait. Measured on two busy CPUs with the 135M model: 12 to 28 tokens/s with
    one thread, 0.7 to 3 with two; reading 580 tokens shows no such difference, for it meets less often.
    """
    return Threads(writing=max(1, cpus - 1), reading=cpus)


def usable_cpus(cpu_max: Path = _CPU_MAX) -> int:
    """CPUs that this process may really use: its affinity, bounded by the container's quota (cgroup v2)."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        count = os.cpu_count() or 1
    try:
        quota, period = cpu_max.read_text(encoding="ascii").split()
        return max(1, min(count, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError):  # no cgroup v2, or "max": no quota
        return max(1, count)
