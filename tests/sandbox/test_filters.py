"""The seccomp filter, instruction by instruction, for both processors: run here by a small BPF machine."""

from __future__ import annotations

import errno
import struct

import pytest

from logician_graph.sandbox.launcher import landlock, seccomp
from logician_graph.sandbox.launcher.bpf import ALLOW, ERRNO, Program

ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
NUMBERS = {
    "x86_64": {
        "read": 0, "socket": 41, "socketpair": 53, "clone": 56, "execve": 59, "ptrace": 101, "mount": 165,
        "unshare": 272, "openat": 257, "io_uring_setup": 425, "clone3": 435, "bpf": 321, "connect": 42,
    },
    "aarch64": {
        "read": 63, "socket": 198, "socketpair": 199, "clone": 220, "execve": 221, "ptrace": 117, "mount": 40,
        "unshare": 97, "openat": 56, "io_uring_setup": 425, "clone3": 435, "bpf": 280, "connect": 203,
    },
}  # fmt: skip
REFUSED = ERRNO | errno.EPERM
UNIX, INET, INET6, NETLINK, PACKET, VSOCK = 1, 2, 10, 16, 17, 40
STREAM, DGRAM, CLOEXEC = 1, 2, 0o2000000
THREAD_FLAGS = 0x3D0F00


def verdict(
    machine: str, call: str | int, *arguments: int, network: bool = False, architecture: int | None = None
) -> int:
    number = NUMBERS[machine][call] if isinstance(call, str) else call
    values = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=iIQ6Q", number, architecture or ARCHITECTURE[machine], 0, *values)
    code = list(struct.iter_unpack("=HBBI", Program(seccomp.build(machine, network=network)).code))
    accumulator, at = 0, 0
    while True:
        operation, if_true, if_false, operand = code[at]
        at += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, operand)
        elif operation == 0x54:
            accumulator &= operand
        elif operation == 0x06:
            return operand
        else:
            holds = {0x15: accumulator == operand, 0x35: accumulator >= operand, 0x45: bool(accumulator & operand)}[
                operation
            ]
            at += if_true if holds else if_false


@pytest.fixture(params=ARCHITECTURE)
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_ordinary_calls_pass(machine: str) -> None:
    for call in ("read", "execve", "openat", "connect"):
        assert verdict(machine, call) == ALLOW


def test_the_ways_out_are_refused(machine: str) -> None:
    for call in ("ptrace", "mount", "unshare", "io_uring_setup", "bpf"):
        assert verdict(machine, call) == REFUSED


def test_sockets(machine: str) -> None:
    for family in (UNIX, INET, INET6, NETLINK, PACKET, VSOCK):
        assert verdict(machine, "socket", family, STREAM) == REFUSED
    for family in (INET, INET6, NETLINK):
        assert verdict(machine, "socket", family, STREAM, network=True) == ALLOW
    for family in (UNIX, PACKET, VSOCK):
        assert verdict(machine, "socket", family, STREAM, network=True) == REFUSED


def test_the_upper_half_of_an_argument_changes_nothing(machine: str) -> None:
    assert verdict(machine, "socket", INET | 7 << 32, network=True) == ALLOW
    assert verdict(machine, "socket", UNIX | 2 << 32, network=True) == REFUSED


def test_socket_pairs_are_streams(machine: str) -> None:
    assert verdict(machine, "socketpair", UNIX, STREAM | CLOEXEC) == ALLOW
    assert verdict(machine, "socketpair", UNIX, DGRAM | CLOEXEC) == REFUSED


def test_new_processes_and_threads_but_no_namespaces(machine: str) -> None:
    assert verdict(machine, "clone", 17) == ALLOW
    assert verdict(machine, "clone", THREAD_FLAGS) == ALLOW
    assert verdict(machine, "clone", 0x10000000 | 17) == REFUSED
    assert verdict(machine, "clone", 0x00020000) == REFUSED
    assert verdict(machine, "clone3") == ERRNO | errno.ENOSYS


def test_calls_of_another_architecture_are_refused(machine: str) -> None:
    assert verdict(machine, "read", architecture=0x40000003) == REFUSED
    assert verdict("x86_64", 0x40000000 | 41, INET, network=True) == REFUSED


def test_what_an_old_kernel_leaves_open_is_told() -> None:
    assert len(landlock.gaps(1)) == 2
    assert len(landlock.gaps(5)) == 1
    assert landlock.gaps(6) == []
