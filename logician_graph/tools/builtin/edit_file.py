"""edit_file: replaces a piece of text that must be there exactly once, or everywhere when asked.

Differences of white space alone are forgiven. Errors show what is in the file instead, because a small model repairs
its call from what it sees. After a crash the edit may have been made, so it is never repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from logician_graph.tools.arguments import described
from logician_graph.tools.diffs import counts, unified
from logician_graph.tools.files import TextFile, exists, read_text, replace_file
from logician_graph.tools.matching import Match, apply, find, nearest
from logician_graph.tools.paths import Inside, resolve_inside
from logician_graph.tools.types import ToolContext, ToolDeclaration, ToolFailed, ToolOutput
from logician_graph.tools.well_formed import flaw

_CONTEXT = 3
_SHOWN_LINES = 40
_SHOWN_CANDIDATES = 5


class EditFile:
    """Keeps line ends, byte-order mark, mode and every byte outside the replaced text."""

    declaration = ToolDeclaration(
        name="edit_file",
        description=described(
            "Replace old_text by new_text in a file. old_text must be in the file exactly once.",
            {"path": "notes.txt", "old_text": "blue car", "new_text": "red car"},
        ),
        parameters={
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "old_text": {"type": "string", "minLength": 1},
                "new_text": {"type": "string"},
                "replace_all": {"type": "boolean", "description": "every occurrence"},
            },
            "required": ["path", "old_text", "new_text"],
            "additionalProperties": False,
        },
        effect="write",
        parallel_safe=False,
        replay="never",
        timeout_s=30.0,
        icon=":material/edit:",
    )

    def describe(self, arguments: Mapping[str, Any]) -> str:
        """The file."""
        every = " (every occurrence)" if arguments.get("replace_all") is True else ""
        return f"edit_file {arguments.get('path', '')}{every}"[:200]

    def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> str | None:
        """The diff it would make, or why it would fail."""
        path, old, new = (arguments.get(name) for name in ("path", "old_text", "new_text"))
        if not isinstance(path, str) or not isinstance(old, str) or not isinstance(new, str):
            return None
        try:
            inside = resolve_inside(context.workspace, path)
            before, after, _ = _edit(inside, old, new, everywhere=arguments.get("replace_all") is True)
        except ToolFailed as failed:
            return str(failed)
        return unified(inside.shown, before.text, after.text)

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Edit in a thread."""
        inside = resolve_inside(context.workspace, arguments["path"])
        return await asyncio.to_thread(_run, inside, arguments)


def _run(inside: Inside, arguments: Mapping[str, Any]) -> ToolOutput:
    everywhere = bool(arguments.get("replace_all", False))
    before, after, matches = _edit(inside, arguments["old_text"], arguments["new_text"], everywhere=everywhere)
    replace_file(inside, after.encoded())
    diff = unified(inside.shown, before.text, after.text)
    places = f" in {len(matches)} places" if len(matches) > 1 else ""
    first = matches[0]
    wrong = flaw(inside.shown, after.text)
    return ToolOutput(
        f"Edited {inside.shown}{places}. It now reads, from line {_first_line(first)}:\n{_shown(after, first)}"
        + (f"\n{wrong}" if wrong else ""),
        summary=f"{inside.shown} {counts(diff)}",
        diff=diff,
        data={"replacements": len(matches), "line": first.line},
    )


def _edit(inside: Inside, old: str, new: str, *, everywhere: bool) -> tuple[TextFile, TextFile, list[Match]]:
    if not old.strip("\r\n"):
        raise ToolFailed(
            "old_text is empty. Copy the text to replace from the file; to write a whole file use write_file."
        )
    if not exists(inside):
        raise ToolFailed(f"There is no {inside.shown!r} to edit. Create it with write_file, or look with list_files.")
    before = read_text(inside)
    matches = find(before.text, old, new)
    if not matches:
        raise ToolFailed(_not_found(inside, before.text, old, new))
    if len(matches) > 1 and not everywhere:
        raise ToolFailed(_ambiguous(inside, before.text, matches))
    after = TextFile(apply(before.text, matches), before.marked)
    if after.text == before.text:
        raise ToolFailed(f"old_text and new_text are the same, so {inside.shown} would not change.")
    return before, after, matches


def _not_found(inside: Inside, text: str, old: str, new: str) -> str:
    if new.strip() and new in text:
        return f"old_text is not in {inside.shown}, but new_text is: the change seems to be made already."
    close = nearest(text, old)
    if close is None:
        return f"old_text is not in {inside.shown}. Read it first: read_file path={inside.shown}"
    line, part = close
    return (
        f"old_text is not in {inside.shown}. The nearest text, from line {line}, is:\n{part}\nCopy old_text from there."
    )


def _ambiguous(inside: Inside, text: str, matches: Sequence[Match]) -> str:
    lines = text.splitlines()
    candidates = [
        f"line {match.line}:\n" + "\n".join(lines[max(0, match.line - 2) : match.line + 1])
        for match in matches[:_SHOWN_CANDIDATES]
    ]
    return (
        f"old_text is in {inside.shown} {len(matches)} times:\n"
        + "\n".join(candidates)
        + "\nAdd the lines around the one you mean to old_text, or set replace_all to true."
    )


def _first_line(match: Match) -> int:
    return max(1, match.line - _CONTEXT)


def _shown(after: TextFile, match: Match) -> str:
    """The first changed lines with some around them, as they are now."""
    first = _first_line(match)
    last = match.line - 1 + len(match.replacement.splitlines()) + _CONTEXT
    lines = after.text.splitlines()[first - 1 : min(last, first + _SHOWN_LINES)]
    return "\n".join(lines)
