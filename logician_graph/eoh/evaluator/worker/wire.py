"""What goes over the pipes. Towards a candidate's judge nothing is ever unpickled.

A candidate's process writes frames: a kind, the length of a JSON text, the length of raw bytes, then both. Arrays stand
in the JSON as a place in the raw bytes. Sizes are checked from the header, before anything is read or allocated.
"""

from __future__ import annotations

import json
import math
import os
import struct
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

SOLUTION, FAILURE, DONE = b"S", b"F", b"D"
HEADER = struct.Struct("<cIQ")
MAX_JSON = 8 * 1024**2
MAX_RAW = 128 * 1024**2
_LENGTH = struct.Struct("<I")
_KINDS = "biufc"
_MAX_DIMENSIONS = 32


def encode(solution: Any) -> tuple[bytes, list[NDArray[np.uint8]]]:
    """JSON and raw bytes of plain data: None, numbers, text, lists, tuples, dicts, numeric numpy arrays.

    Raises TypeError for anything else and ValueError past the size limits.
    """
    encoder = _Encoder()
    text = json.dumps(encoder.plain(solution), separators=(",", ":")).encode()
    if len(text) > MAX_JSON:
        raise ValueError(f"the solution is too large: {len(text)} bytes of text, at most {MAX_JSON}; use arrays")
    return text, encoder.raw


def decode(text: bytes, raw: bytes) -> Any:
    """The solution. Raises ValueError for whatever :func:`encode` would not have written."""
    try:
        return _restored(json.loads(text), raw)
    except (RecursionError, TypeError, KeyError, OverflowError) as error:
        raise ValueError(f"not a solution: {error}") from error


class _Encoder:
    """One solution."""

    def __init__(self) -> None:
        self.raw: list[NDArray[np.uint8]] = []
        self._size = 0
        self._room = MAX_JSON // 2
        """Entries of lists that can still fit: each takes two characters at least."""

    def plain(self, value: Any) -> Any:
        """What JSON can hold of it; arrays go to ``raw``."""
        # Exact types: a subclass could bring methods of its own to the ones called here.
        kind = cast("type[Any]", type(value))
        if value is None or kind in {bool, int, float, str}:
            return value
        if kind is list or kind is tuple:
            self._room -= len(value)
            if self._room < 0:
                raise ValueError(f"the solution is too large: more than {MAX_JSON // 2} entries in lists; use arrays")
            return [self.plain(one) for one in cast("list[Any]", value)]
        if kind is dict:
            return {"map": [[self.plain(key), self.plain(one)] for key, one in cast("dict[Any, Any]", value).items()]}
        if isinstance(value, np.generic) and cast("Any", value).dtype.kind in "biuf":
            number = cast("Any", value)
            return self.plain(number.item()) if number.dtype.itemsize <= 8 else float(number)
        if kind is np.ndarray:
            return self._placed(cast("NDArray[Any]", value))
        raise TypeError(f"a solution holds numbers, text, lists, dicts and numeric arrays, not {kind.__name__}")

    def _placed(self, array: NDArray[Any]) -> dict[str, Any]:
        if array.dtype.kind not in _KINDS:
            raise TypeError(f"a solution's arrays are numeric, not of type {array.dtype}")
        offset = self._size
        self._size += array.nbytes
        if self._size > MAX_RAW:
            raise ValueError(f"the solution is too large: {self._size} bytes in arrays, at most {MAX_RAW}")
        if array.nbytes:
            self.raw.append(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        return {"array": [array.dtype.str, list(array.shape), offset]}


def _restored(value: Any, raw: bytes) -> Any:
    if isinstance(value, list):
        return [_restored(one, raw) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    ((tag, content),) = cast("dict[str, Any]", value).items()
    if tag == "map":
        return {_key(key): _restored(one, raw) for key, one in content}
    if tag == "array":
        dtype, shape, offset = content
        return _array(dtype, shape, offset, raw)
    raise ValueError("not a solution: unknown tag")


def _key(key: Any) -> Any:
    return tuple(map(_key, cast("list[Any]", key))) if isinstance(key, list) else key


def _array(dtype: Any, shape: Any, offset: Any, raw: bytes) -> NDArray[Any]:
    if not isinstance(dtype, str) or len(dtype) > 4 or dtype[1:2] not in _KINDS or dtype[:1] not in "<>|=":
        raise ValueError("not a solution: bad array type")
    if len(shape) > _MAX_DIMENSIONS or not all(type(size) is int and 0 <= size <= MAX_RAW for size in [*shape, offset]):
        raise ValueError("not a solution: bad array shape")
    kind = np.dtype(dtype)
    count = math.prod(shape)
    if offset + count * kind.itemsize > len(raw):
        raise ValueError("not a solution: array beyond the end")
    flat = np.frombuffer(raw, np.uint8, count * kind.itemsize, offset)
    # A forged truth value of 2 would count twice in a sum.
    found: NDArray[Any] = flat != 0 if kind.kind == "b" else flat.copy().view(kind)
    return found.reshape(shape)


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write all of it, however much the pipe takes at once."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def read_exactly(descriptor: int, count: int) -> bytes:
    """So many bytes. Raises EOFError when the other side is gone before."""
    parts: list[bytes] = []
    while count:
        part = os.read(descriptor, min(count, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def send_message(descriptor: int, message: dict[str, Any]) -> None:
    """One JSON object between server and judge, which trust each other."""
    data = json.dumps(message).encode()
    write_all(descriptor, _LENGTH.pack(len(data)) + data)


def receive_message(descriptor: int) -> dict[str, Any]:
    """The next object. Raises EOFError at the end."""
    (length,) = _LENGTH.unpack(read_exactly(descriptor, _LENGTH.size))
    return json.loads(read_exactly(descriptor, length))
