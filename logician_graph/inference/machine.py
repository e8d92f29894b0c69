"""How much of this machine a model server may use."""

from __future__ import annotations

import math
import os
from pathlib import Path

_CPU_MAX = Path("/sys/fs/cgroup/cpu.max")


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
