"""Server-sent events out of bytes, as many at a time as have come (HTML standard, 9.2.6). Pure.

Only ``data`` matters here; names, ids and comments are skipped. One network read gives one list, so that a fast sender
costs one turn of the event loop for many events.
"""

from __future__ import annotations


class EventSplitter:
    """Feed bytes; each call gives the data of the events that are complete."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, raw: bytes) -> list[str]:
        """Data of the events that ``raw`` completes."""
        raw = self._rest + raw
        if b"\r" in raw:
            # A lone CR at the end may be the first half of CRLF: it waits for the next bytes.
            held = raw.endswith(b"\r")
            raw = (raw[:-1] if held else raw).replace(b"\r\n", b"\n").replace(b"\r", b"\n") + (b"\r" if held else b"")
        *lines, self._rest = raw.split(b"\n")
        return self._events(lines)

    def finish(self) -> list[str]:
        """Data of an event whose last blank line is missing; servers that forget it are common."""
        rest, self._rest = self._rest.rstrip(b"\r"), b""
        return self._events([rest, b""])

    def _events(self, lines: list[bytes]) -> list[str]:
        events: list[str] = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif not line and self._data:
                events.append(b"\n".join(self._data).decode("utf-8", "replace"))
                self._data = []
        return events
