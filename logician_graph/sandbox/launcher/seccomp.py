"""A seccomp filter: no sockets (or Internet sockets only), no tracing, no namespaces, no kernel administration.

Landlock guards files; this guards the ways around it. Installed with ``prctl``, which any process may do after
``no_new_privs``, also inside an unprivileged container. Calls are refused with EPERM, so programs see an ordinary
failure. Numbers are those of ``asm/unistd_64.h`` (x86_64) and ``asm-generic/unistd.h`` (aarch64). Unix sockets are
refused too: the Docker socket or a session bus would be a way out; socket pairs stay.
"""

from __future__ import annotations

import ctypes
import errno
import os

from logician_graph.sandbox.launcher.bpf import (
    ALLOW,
    ERRNO,
    Instruction,
    Program,
    any_bit,
    at_least,
    equal,
    load_architecture,
    load_argument,
    load_number,
    masked,
    returns,
)

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_ALL_NAMESPACES = 0x7E020000
_X32_BIT = 0x40000000
_SOCK_DGRAM = 2
_INTERNET = (2, 10, 16)
"""AF_INET, AF_INET6 and AF_NETLINK, which the C library asks for the machine's addresses."""

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SPECIAL = {  # socket, socketpair, clone, clone3
    "x86_64": (41, 53, 56, 435),
    "aarch64": (198, 199, 220, 435),
}
_REFUSED = {
    "x86_64": (
        # Other processes' memory and descriptors, io_uring (its sockets pass no filter), tracing, handles, keys.
        *(101, 310, 311, 312, 438, 440, 425, 426, 427, 298, 321, 323, 303, 304, 248, 249, 250, 300),
        # Mounts, namespaces, roots.
        *(155, 161, 165, 166, 272, 308, 428, 429, 430, 431, 432, 433, 442),
        # Modules, kexec, reboot, swap, accounting, quotas, clocks, host names, the kernel log, ports, page moves.
        *(175, 176, 313, 246, 320, 169, 167, 168, 163, 179, 443, 159, 164, 227, 305, 170, 171, 103, 172, 173, 153, 279),
        # System V memory, semaphores, queues and POSIX queues: shared with every process of the user.
        *(29, 64, 68, 240),
    ),
    "aarch64": (
        *(117, 270, 271, 272, 438, 440, 425, 426, 427, 241, 280, 282, 264, 265, 217, 218, 219, 262),
        *(51, 41, 40, 39, 97, 268, 428, 429, 430, 431, 432, 433, 442),
        *(105, 106, 273, 104, 294, 142, 224, 225, 89, 60, 443, 171, 170, 112, 266, 161, 162, 116, 58, 239),
        *(194, 190, 186, 180),
    ),
}


def supported() -> bool:
    """Whether this machine's architecture is known here."""
    return os.uname().machine in _AUDIT_ARCH


def install(*, network: bool) -> None:
    """Filter the calling thread and all it will start. ``no_new_privs`` must be set. Raises OSError when refused."""
    program = Program(build(os.uname().machine, network=network))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program.header), 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"the seccomp filter was refused: {os.strerror(error)}")


def build(machine: str, *, network: bool) -> list[Instruction]:
    """The filter for ``machine`` (a key of the tables above). Pure."""
    socket, socketpair, clone, clone3 = _SPECIAL[machine]
    refuse = returns(ERRNO | errno.EPERM)
    # A call through another architecture's table (such as 32-bit) would have other numbers: refuse it whole.
    code = [load_architecture(), equal(_AUDIT_ARCH[machine], 1, 0), refuse, load_number()]
    if machine == "x86_64":
        code += [at_least(_X32_BIT, 0, 1), refuse]
    for number in _REFUSED[machine]:
        code += [equal(number, 0, 1), refuse]
    # The flags of clone3 lie in memory, out of a filter's reach; "not there" makes the C library fall back to clone.
    code += [equal(clone3, 0, 1), returns(ERRNO | errno.ENOSYS)]
    code += _when(clone, [load_argument(0), any_bit(_ALL_NAMESPACES, 0, 1), refuse])
    # A datagram pair can still send to any path, so it is a Unix socket in disguise.
    code += _when(socketpair, [load_argument(1), masked(0xF), equal(_SOCK_DGRAM, 0, 1), refuse])
    families = [load_argument(0)]
    if network:
        for family in _INTERNET:
            families += [equal(family, 0, 1), returns(ALLOW)]
    return [*code, *_when(socket, [*families, refuse]), returns(ALLOW)]


def _when(number: int, then: list[Instruction]) -> list[Instruction]:
    """``then`` and an allowance for system call ``number``; skipped, number still loaded, for every other."""
    return [equal(number, 0, len(then) + 1), *then, returns(ALLOW)]
