"""Moving a command's output into its file, following the file and cutting it at its bound."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

_CHUNK = 256 * 1024


class OutputFollower:
    """Hands new bytes of a file to a callback. Reads are small, local and bounded, so they may run on an event loop."""

    def __init__(self, descriptor: int, limit: int, on_output: Callable[[bytes], None] | None) -> None:
        self._descriptor = descriptor
        self._limit = limit
        self._on_output = on_output
        self._shown = 0
        self._size = 0
        self._moved = 0
        self.problem: str | None = None
        """Why output could not be kept, or None."""

    def move(self, pipe: int) -> bool:
        """Move at most one chunk from the pipe into the file; False when there is none, or none is wanted any more.

        What comes after a failed write is read and dropped, so that the command does not hang.
        """
        if self._moved > self._limit:
            return False
        try:
            chunk = os.read(pipe, _CHUNK)
        except BlockingIOError:
            return False
        self._moved += len(chunk)
        rest = chunk if self.problem is None else b""
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            self.problem = error.strerror or str(error)
        return bool(chunk)

    def poll(self) -> bool:
        """Show at most one chunk of what is new; says whether the file grew since the last poll."""
        size = os.fstat(self._descriptor).st_size
        grew = size != self._size
        self._size = size
        # Somebody else can have emptied the file; go on from where it stands now.
        self._shown = min(self._shown, size)
        self._show_chunk()
        return grew

    @property
    def over_limit(self) -> bool:
        """Whether the file has grown past its bound."""
        return self._size > self._limit

    def finish(self, note: str | None) -> int:
        """Cut the file at its bound, append ``note`` as its own line, show the rest; returns the bytes in the file."""
        if os.fstat(self._descriptor).st_size > self._limit:
            os.ftruncate(self._descriptor, self._limit)
        if note:
            size = os.fstat(self._descriptor).st_size
            lead = b"\n" if size and os.pread(self._descriptor, 1, size - 1) != b"\n" else b""
            os.write(self._descriptor, lead + f"[{note}]\n".encode())
        self._size = os.fstat(self._descriptor).st_size
        self._shown = min(self._shown, self._size)
        while self._on_output is not None and self._shown < self._size:
            self._show_chunk()
        return self._size

    def _show_chunk(self) -> None:
        if self._on_output is None or self._shown >= self._size:
            return
        chunk = os.pread(self._descriptor, min(_CHUNK, self._size - self._shown), self._shown)
        self._shown += len(chunk)
        if chunk:
            self._on_output(chunk)
        else:
            self._shown = self._size


def open_output(path: Path) -> int:
    """A fresh output file, readable by this user alone. Appending, so that writers cannot overwrite one another."""
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, 0o600)
