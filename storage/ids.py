"""Sortable ids: 48 bits of milliseconds and 40 random bits, 18 characters of Crockford base 32.

Ids made later sort later (to the millisecond), fit in an URL, and are never reused.
"""

from __future__ import annotations

import secrets
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def _encode(value: int, length: int) -> str:
    characters: list[str] = []
    for _ in range(length):
        characters.append(_ALPHABET[value & 31])
        value >>= 5
    return "".join(reversed(characters))


def new_id() -> str:
    """A new id of 18 lower-case characters."""
    return _encode(int(time.time() * 1000), 10) + _encode(secrets.randbits(40), 8)


def first_id(at: float) -> str:
    """The least id that can have been made at the time ``at`` or later."""
    return _encode(max(0, int(at * 1000)), 10) + _ALPHABET[0] * 8


def now() -> float:
    """Seconds since the Unix epoch, UTC, to the millisecond: the one clock of the tables."""
    return round(time.time(), 3)
