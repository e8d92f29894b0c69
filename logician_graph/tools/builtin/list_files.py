"""list_files: what is in a folder, a few levels deep. Bounded in entries and time; never follows links."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from logician_graph.tools.arguments import described
from logician_graph.tools.paths import Inside, failure, open_beneath, resolve_inside
from logician_graph.tools.types import ToolContext, ToolDeclaration, ToolFailed, ToolOutput
from logician_graph.tools.walk import SKIPPED, Entry, children

_MAX_ENTRIES = 300
_TIME_LIMIT_S = 5.0


class ListFiles:
    """Breadth first, so that a bound cuts the depths and not the top."""

    declaration = ToolDeclaration(
        name="list_files",
        description=described("List files and folders.", {"path": ".", "depth": 2}),
        parameters={
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "folder, default ."},
                "depth": {"type": "integer", "minimum": 1, "maximum": 20, "description": "levels, default 3"},
            },
            "additionalProperties": False,
        },
        effect="read",
        parallel_safe=True,
        replay="safe",
        timeout_s=20.0,
        icon=":material/folder_open:",
    )

    def describe(self, arguments: Mapping[str, Any]) -> str:
        """The folder."""
        return f"list_files {arguments.get('path', '.')}"[:200]

    def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> str | None:
        """Reading needs no preview."""
        return None

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """List in a thread: a network disk may be slow."""
        inside = resolve_inside(context.workspace, arguments.get("path", "."), also_readable=(context.artifacts,))
        return await asyncio.to_thread(_list, inside, int(arguments.get("depth", 3)))


def _list(inside: Inside, depth: int) -> ToolOutput:
    _check_is_folder(inside)
    deadline = time.monotonic() + _TIME_LIMIT_S
    lines: list[str] = []
    left_out = 0
    todo: deque[tuple[tuple[str, ...], int]] = deque([(inside.parts, 1)])
    while todo:
        folder, level = todo.popleft()
        if time.monotonic() > deadline:
            left_out += 1
            break
        for entry in children(inside.root, folder):
            if len(lines) >= _MAX_ENTRIES:
                left_out += 1
                continue
            lines.append(_line(entry, inside))
            if entry.kind == "folder" and entry.name not in SKIPPED and level < depth:
                todo.append((entry.parts, level + 1))
    text = "\n".join(sorted(lines)) or "(empty)"
    if left_out:
        text += f"\n[{left_out} or more entries not shown. List one folder: list_files path=FOLDER]"
    return ToolOutput(text, summary=f"{len(lines)} entries", data={"entries": len(lines), "complete": not left_out})


def _check_is_folder(inside: Inside) -> None:
    try:
        descriptor = open_beneath(inside, os.O_RDONLY | os.O_DIRECTORY)
    except NotADirectoryError as error:
        raise ToolFailed(f"{inside.shown!r} is a file. Read it: read_file path={inside.shown}") from error
    except OSError as error:
        raise failure(error, inside) from error
    os.close(descriptor)


def _line(entry: Entry, inside: Inside) -> str:
    name = inside.show(entry.parts)
    if entry.kind == "folder":
        return f"{name}/ (not listed)" if entry.name in SKIPPED else f"{name}/"
    return f"{name} (link)" if entry.kind == "link" else name
