"""write_file: a whole file, new or replaced at once. Writing the same twice is the same, so it may be repeated."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from logician_graph.tools.arguments import described
from logician_graph.tools.diffs import counts, unified
from logician_graph.tools.files import exists, read_text, replace_file
from logician_graph.tools.paths import Inside, resolve_inside
from logician_graph.tools.types import ToolContext, ToolDeclaration, ToolFailed, ToolOutput
from logician_graph.tools.well_formed import flaw


class WriteFile:
    """Makes the folders on the way; an existing file keeps its mode."""

    declaration = ToolDeclaration(
        name="write_file",
        description=described(
            "Create or overwrite a file with the whole content. To change a part, use edit_file.",
            {"path": "notes.txt", "content": "First line\nSecond line\n"},
        ),
        parameters={
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string", "contentMediaType": "text/plain"}},
            "required": ["path", "content"],
            "additionalProperties": False,
        },
        effect="write",
        parallel_safe=False,
        replay="safe",
        timeout_s=30.0,
        icon=":material/edit_document:",
    )

    def describe(self, arguments: Mapping[str, Any]) -> str:
        """The file and how much goes into it."""
        content = arguments.get("content", "")
        lines = len(content.splitlines()) if isinstance(content, str) else 0
        return f"write_file {arguments.get('path', '')} ({lines} lines)"[:200]

    def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> str | None:
        """The diff it would make."""
        path, content = arguments.get("path"), arguments.get("content")
        if not isinstance(path, str) or not isinstance(content, str):
            return None
        try:
            inside = resolve_inside(context.workspace, path)
            return unified(inside.shown, _current(inside) or "", content)
        except ToolFailed as failed:
            return str(failed)

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Write in a thread."""
        inside = resolve_inside(context.workspace, arguments["path"])
        return await asyncio.to_thread(_write, inside, arguments["content"])


def _write(inside: Inside, content: str) -> ToolOutput:
    before = _current(inside)
    data = content.encode("utf-8", "replace")
    if before == content:
        return ToolOutput(
            f"{inside.shown} already has exactly this content: go on with the next step, or answer.",
            summary=f"{inside.shown} unchanged",
            diff="",
        )
    replace_file(inside, data)
    diff = unified(inside.shown, before or "", content)
    verb = "Created" if before is None else "Overwrote"
    lines = len(content.splitlines())
    wrong = flaw(inside.shown, content)
    return ToolOutput(
        f"{verb} {inside.shown} ({lines} lines, {len(data)} bytes)." + (f" {wrong}" if wrong else ""),
        summary=f"{inside.shown} {counts(diff)}",
        diff=diff,
        data={"bytes": len(data), "lines": lines, "created": before is None},
    )


def _current(inside: Inside) -> str | None:
    """Text of the file as it is, "" for one that is not text, None when there is none."""
    if not exists(inside):
        return None
    try:
        return read_text(inside).text
    except ToolFailed:
        return ""
