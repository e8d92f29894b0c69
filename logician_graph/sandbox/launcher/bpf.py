"""The few classic BPF instructions that seccomp filters need. Source: ``linux/filter.h``, ``linux/seccomp.h``."""

from __future__ import annotations

import ctypes
import struct

Instruction = bytes

ALLOW, USER_NOTIFY, ERRNO = 0x7FFF0000, 0x7FC00000, 0x00050000
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06


def load_number() -> Instruction:
    """Load the number of the system call."""
    return _instruction(_LOAD, 0)


def load_architecture() -> Instruction:
    """Load the architecture whose table the number belongs to."""
    return _instruction(_LOAD, 4)


def load_argument(index: int) -> Instruction:
    """Load the lower half of an argument (both machines are little-endian)."""
    return _instruction(_LOAD, 16 + 8 * index)


def masked(mask: int) -> Instruction:
    """Keep only the bits of ``mask``."""
    return _instruction(_AND, mask)


def equal(value: int, if_true: int, if_false: int) -> Instruction:
    """Skip as many instructions as the outcome says."""
    return _instruction(_JUMP_EQUAL, value, if_true, if_false)


def at_least(value: int, if_true: int, if_false: int) -> Instruction:
    """Like :func:`equal` for ``>=``."""
    return _instruction(_JUMP_AT_LEAST, value, if_true, if_false)


def any_bit(mask: int, if_true: int, if_false: int) -> Instruction:
    """Like :func:`equal` for "has a bit of ``mask``"."""
    return _instruction(_JUMP_ANY_BIT, mask, if_true, if_false)


def returns(action: int) -> Instruction:
    """End with ``action``."""
    return _instruction(_RETURN, action)


class _Header(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("filter", ctypes.c_char_p)]


class Program:
    """Instructions in the form that the kernel takes; ``header`` is valid as long as the program is kept."""

    def __init__(self, instructions: list[Instruction]) -> None:
        self.code = b"".join(instructions)
        self.header = _Header(length=len(instructions), filter=self.code)


def _instruction(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> Instruction:
    return struct.pack("=HBBI", code, if_true, if_false, operand)
