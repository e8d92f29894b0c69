"""Resource limits of one process and its heirs. A limit that this system refuses is skipped, never an error.

Limits hold per process; the sum over the group is watched by :mod:`.supervise`. ``RLIMIT_NPROC`` is not used: it
counts everything the user runs anywhere on the machine, so it would make unrelated load fail our commands.
"""

from __future__ import annotations

import resource

_OPEN_FILES = 4096
_ADDRESS_SPACE_FACTOR = 16
"""Address space is only reserved, not used: runtimes with a virtual heap (Go, Java, Node) take many times what they
touch. This bound stops what ``RLIMIT_DATA`` does not count (shared mappings) from growing without end."""


def limit_files(file_bytes: int) -> None:
    """Bound the size of any one file and the number of open ones; no core dumps."""
    _lower(resource.RLIMIT_FSIZE, file_bytes)
    _lower(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _lower(resource.RLIMIT_CORE, 0)


def limit_memory(memory_bytes: int) -> None:
    """Bound what one process can allocate: it gets an allocation failure it can report, not a kill."""
    _lower(resource.RLIMIT_DATA, memory_bytes)
    _lower(resource.RLIMIT_AS, memory_bytes * _ADDRESS_SPACE_FACTOR)


def _lower(kind: int, value: int) -> None:
    try:
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(kind, (value, value))
    except (OSError, ValueError):
        return
