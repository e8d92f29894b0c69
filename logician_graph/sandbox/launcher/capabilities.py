"""Root keeps its file rights and loses the rest: no tracing, mounting, raw sockets, raising of limits.

For the containers and machines where the app runs as root. Landlock says *which* files, so the rights that only
concern file ownership stay: a workspace mounted from the host belongs to somebody else. Other users have nothing to
lose here. Source: ``capabilities(7)``, ``linux/capability.h``.
"""

from __future__ import annotations

import ctypes
import os
import struct

from logician_graph.sandbox.launcher import processes

_CAPSET = {"x86_64": 126, "aarch64": 91}
_PR_CAPBSET_DROP = 24
_VERSION_3 = 0x20080522
_KEPT = 1 << 0 | 1 << 1 | 1 << 3 | 1 << 4
"""CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID."""


def drop_all_but_files() -> None:
    """Drop for the calling thread and its heirs; does nothing for an ordinary user. Raises OSError when refused."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(64):
        if not _KEPT >> capability & 1:
            libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = struct.pack("=II", _VERSION_3, 0)
    permitted = _permitted() & _KEPT
    data = struct.pack("=IIIIII", permitted, permitted, permitted, 0, 0, 0)
    if libc.syscall(_CAPSET[os.uname().machine], header, data) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"dropping root's capabilities was refused: {os.strerror(error)}")


def _permitted() -> int:
    for line in processes.read_proc(os.getpid(), "status").splitlines():
        if line.startswith(b"CapPrm:"):
            return int(line.split()[1], 16)
    return 0
