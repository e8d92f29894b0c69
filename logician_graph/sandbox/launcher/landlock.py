"""Landlock: this process and its heirs may touch the granted files only, and no TCP. Irreversible.

Own code on three system calls because the launcher runs without third-party packages and must work from the first
Landlock version (Linux 5.13) on. Source: the kernel's ``Documentation/userspace-api/landlock.rst`` and
``include/uapi/linux/landlock.h``. What a version lacks is told by :func:`gaps`. Does not cover sockets other than TCP,
system calls or resources.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_ALL_OF_VERSION_1 = (1 << 13) - 1
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_NET_BIND_AND_CONNECT = 0b11
_SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11


class _RulesetAttr(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathBeneathAttr(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("allowed", ctypes.c_uint64), ("parent_fd", ctypes.c_int32)]


def version() -> int:
    """The kernel's Landlock version; 0 where there is none."""
    if sys.platform != "linux":
        return 0
    try:
        found = _libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))
    except (OSError, AttributeError):
        return 0
    return max(0, found)


def gaps(found: int) -> list[str]:
    """What Landlock ``found`` leaves open, in words for a person; empty when nothing that matters here."""
    missing: list[str] = []
    if found < 3:
        missing.append("files outside can be emptied (needs Linux 6.2)")
    if found < 6:
        missing.append("other processes of this user can be signalled (needs Linux 6.12)")
    return missing


def confine(*, readable: list[str], writable: list[str], network: bool) -> None:
    """Restrict the calling thread and all it will start. Raises OSError when the kernel refuses."""
    found = version()
    if found == 0:
        raise OSError("this kernel has no Landlock")
    handled = _ALL_OF_VERSION_1
    handled |= (_REFER if found >= 2 else 0) | (_TRUNCATE if found >= 3 else 0) | (_IOCTL_DEV if found >= 5 else 0)
    attr = _RulesetAttr(fs=handled)
    size = 8
    if found >= 4:
        size = 16
        attr.net = 0 if network else _NET_BIND_AND_CONNECT
    if found >= 6:
        size = 24
        attr.scoped = _SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS
    ruleset = _call(_CREATE_RULESET, ctypes.byref(attr), ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        for path in readable:
            _grant(ruleset, path, handled & _READ)
        for path in writable:
            _grant(ruleset, path, handled & ~(_MAKE_CHAR | _MAKE_BLOCK))
        no_new_privileges()
        _call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def no_new_privileges() -> None:
    """No program that this process starts gains rights (set-user-id and the like); filters need it set."""
    if _libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs was refused")


def _grant(ruleset: int, path: str, rights: int) -> None:
    try:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        # Gone or unreachable: what cannot be opened needs no grant.
        return
    try:
        if not stat.S_ISDIR(os.fstat(beneath).st_mode):
            rights &= _ON_FILES
        rule = _PathBeneathAttr(allowed=rights, parent_fd=beneath)
        _call(
            _ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_RULE_PATH_BENEATH), ctypes.byref(rule), ctypes.c_uint32(0)
        )
    finally:
        os.close(beneath)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: object) -> int:
    result = _libc().syscall(number, *arguments)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"Landlock call {number} failed: {os.strerror(error)}")
    return result
