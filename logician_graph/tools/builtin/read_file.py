"""read_file: text of a file, from a line on. Of any size; binary files are named, not shown.

Lines carry no numbers: small models copy them into ``old_text`` of edit_file, where they match nothing. The part that
is shown is named at the end instead.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import IO, Any

from logician_graph.tools.arguments import described
from logician_graph.tools.files import check_is_text
from logician_graph.tools.paths import Inside, open_file, resolve_inside
from logician_graph.tools.types import ToolContext, ToolDeclaration, ToolOutput

_LIMIT = 400
_MAX_CHARS = 11_000
"""Less than the declaration's bound, so that the bus never has to cut a page of a file."""
_MAX_LINE = 2000
_CHUNK = 1 << 20
_COUNTED_BYTES = 50 << 20
"""Lines of larger files are not counted to the end, and longer lines are not measured."""


class ReadFile:
    """Reads below the workspace and below the thread's saved outputs."""

    declaration = ToolDeclaration(
        name="read_file",
        description=described("Read a text file.", {"path": "notes.txt"}),
        parameters={
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "offset": {"type": "integer", "minimum": 1, "description": "first line, default 1"},
                "limit": {"type": "integer", "minimum": 1, "description": f"lines, default {_LIMIT}"},
            },
            "required": ["path"],
            "additionalProperties": False,
        },
        effect="read",
        parallel_safe=True,
        replay="safe",
        timeout_s=30.0,
        icon=":material/description:",
    )

    def describe(self, arguments: Mapping[str, Any]) -> str:
        """The file and where reading starts."""
        offset = arguments.get("offset")
        return f"read_file {arguments.get('path', '')}{f' from line {offset}' if offset else ''}"[:200]

    def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> str | None:
        """Reading needs no preview."""
        return None

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Read in a thread: finding a line far into a large file takes a while."""
        inside = resolve_inside(context.workspace, arguments["path"], also_readable=(context.artifacts,))
        return await asyncio.to_thread(_read, inside, arguments.get("offset", 1), arguments.get("limit", _LIMIT))


def _read(inside: Inside, offset: int, limit: int) -> ToolOutput:
    with os.fdopen(open_file(inside), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        check_is_text(inside, file.read(8192), size)
        file.seek(0)
        if not size:
            return ToolOutput("(empty file)", summary=f"{inside.shown}, empty", data={"bytes": 0, "lines": 0})
        skipped = _skip_lines(file, offset - 1)
        lines = _take_lines(file, limit) if skipped == offset - 1 else []
        at = file.tell()
        total = skipped + len(lines) + _rest_lines(file, size) if size <= _COUNTED_BYTES else None
    last = skipped + len(lines)
    if not lines:
        text = f"[{inside.shown} has only {skipped} lines; offset {offset} is past its end.]"
    else:
        text = "".join(lines)
        if offset > 1 or at < size:
            text += _note(inside, offset, last, total, size, more=at < size)
    of = f" of {total}" if total is not None else ""
    data = {"bytes": size, "lines": total, "first_line": offset, "last_line": last}
    return ToolOutput(text, summary=f"{inside.shown} lines {offset}–{last}{of}", data=data)


def _note(inside: Inside, first: int, last: int, total: int | None, size: int, *, more: bool) -> str:
    whole = f"{total} lines" if total is not None else f"{size:,} bytes"
    then = f" Go on: read_file path={inside.shown} offset={last + 1}" if more else ""
    return f"\n[Lines {first}-{last} of {whole}.{then}]"


def _skip_lines(file: IO[bytes], count: int) -> int:
    """Move past ``count`` lines; returns how many there were."""
    skipped, last = 0, b"\n"
    while skipped < count:
        position = file.tell()
        chunk = file.read(_CHUNK)
        if not chunk:
            return skipped + (last != b"\n")
        last = chunk[-1:]
        newlines = chunk.count(b"\n")
        if skipped + newlines < count:
            skipped += newlines
            continue
        at = -1
        for _ in range(count - skipped):
            at = chunk.index(b"\n", at + 1)
        file.seek(position + at + 1)
        return count
    return skipped


def _take_lines(file: IO[bytes], limit: int) -> list[str]:
    """At most ``limit`` lines and about ``_MAX_CHARS`` characters; over-long lines are cut and say so."""
    lines: list[str] = []
    used = 0
    while len(lines) < limit and used < _MAX_CHARS:
        position = file.tell()
        raw = file.readline(_MAX_LINE * 4)
        if not raw:
            break
        line = raw.decode("utf-8-sig" if position == 0 else "utf-8", "replace").replace("\r\n", "\n")
        if len(line) > _MAX_LINE or not raw.endswith(b"\n"):
            rest = _finish_line(file) if not raw.endswith(b"\n") else 0
            if rest is None:
                line = f"{line[:_MAX_LINE]} [… this line goes on for very long]\n"
            elif len(line) > _MAX_LINE or rest:
                line = f"{line[:_MAX_LINE]} [… {len(line) - len(line[:_MAX_LINE]) + rest:,} more on this line]\n"
        if lines and used + len(line) > _MAX_CHARS:
            file.seek(position)
            break
        lines.append(line)
        used += len(line)
    return lines


def _finish_line(file: IO[bytes]) -> int | None:
    """Move to the end of the current line; returns the bytes passed over, None when it does not end soon."""
    passed = 0
    while chunk := file.readline(_CHUNK):
        passed += len(chunk)
        if chunk.endswith(b"\n"):
            break
        if passed > _COUNTED_BYTES:
            file.seek(0, os.SEEK_END)
            return None
    return passed


def _rest_lines(file: IO[bytes], size: int) -> int:
    count, last = 0, b"\n"
    while chunk := file.read(_CHUNK):
        count += chunk.count(b"\n")
        last = chunk[-1:]
    return count + (last != b"\n")
