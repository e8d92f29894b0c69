"""grep: lines that match a regular expression, in a file or below a folder. Bounded in time, matches and line length.

Matching runs in a thread, outside the interpreter lock and with a deadline, so no expression can hang the app. An
expression that is not valid is searched as plain text, because that is what a small model usually means by ``foo(``.
"""

from __future__ import annotations

import asyncio
import fnmatch
import os
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import regex

from logician_graph.tools.arguments import described
from logician_graph.tools.paths import Inside, failure, open_beneath, resolve_inside
from logician_graph.tools.types import ToolContext, ToolDeclaration, ToolOutput
from logician_graph.tools.walk import SKIPPED, children

_TIME_LIMIT_S = 10.0
_SEARCH_LIMIT_S = 3.0
"""For one search in one piece of a file: an expression that needs longer never ends."""
_MAX_MATCHES = 100
_MAX_LINE = 500
_CHUNK = 4 << 20
"""Files are searched in pieces of so many bytes, cut at line ends; context lines do not reach across a cut."""
_MAX_FILES = 20_000


class Grep:
    """Skips binary files, links and the folders that list_files skips."""

    declaration = ToolDeclaration(
        name="grep",
        description=described("Search file contents by regular expression.", {"pattern": "blue car"}),
        parameters={
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "minLength": 1},
                "path": {"type": "string", "description": "file or folder, default ."},
                "glob": {"type": "string", "description": "file names, such as *.py"},
                "ignore_case": {"type": "boolean"},
                "context": {"type": "integer", "minimum": 0, "maximum": 10, "description": "lines around, default 0"},
            },
            "required": ["pattern"],
            "additionalProperties": False,
        },
        effect="read",
        parallel_safe=True,
        replay="safe",
        timeout_s=_TIME_LIMIT_S + 10.0,
        icon=":material/search:",
    )

    def describe(self, arguments: Mapping[str, Any]) -> str:
        """The expression and where."""
        return f"grep {arguments.get('pattern', '')!r} in {arguments.get('path', '.')}"[:200]

    def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> str | None:
        """Reading needs no preview."""
        return None

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Search in a thread until the deadline, the bound or the cancellation."""
        inside = resolve_inside(context.workspace, arguments.get("path", "."), also_readable=(context.artifacts,))
        search = _Search(
            _compiled(arguments["pattern"], ignore_case=arguments.get("ignore_case", False)),
            around=arguments.get("context", 0),
            cancelled=context.cancelled,
        )
        return await asyncio.to_thread(_run, search, inside, arguments)


@dataclass(slots=True)
class _Search:
    expression: regex.Pattern[str]
    around: int
    cancelled: asyncio.Event
    deadline: float = field(default_factory=lambda: time.monotonic() + _TIME_LIMIT_S)
    lines: list[str] = field(default_factory=list[str])
    matches: int = 0
    files: int = 0
    notes: list[str] = field(default_factory=list[str])

    def is_full(self) -> bool:
        """Whether no more matches are taken."""
        return self.matches >= _MAX_MATCHES

    def over(self) -> bool:
        """Whether it has to end; says why in the notes."""
        if self.is_full():
            self.notes.append(f"only the first {_MAX_MATCHES} matches are shown; narrow the pattern, path or glob")
        elif time.monotonic() > self.deadline:
            self.notes.append(f"stopped after {_TIME_LIMIT_S:g} s; narrow the path or glob")
        elif self.cancelled.is_set():
            self.notes.append("stopped by the person")
        else:
            return False
        return True


def _compiled(pattern: str, *, ignore_case: bool) -> regex.Pattern[str]:
    flags = regex.MULTILINE | (regex.IGNORECASE if ignore_case else 0)
    try:
        return regex.compile(pattern, flags)
    except (regex.error, ValueError, OverflowError, RecursionError):
        return regex.compile(regex.escape(pattern), flags)


def _run(search: _Search, inside: Inside, arguments: Mapping[str, Any]) -> ToolOutput:
    for parts in _files(search, inside, arguments.get("glob")):
        if search.over():
            break
        try:
            _search_file(search, Inside(inside.root, parts, inside.prefix))
        except TimeoutError:
            search.notes.append("stopped: the pattern is too slow, use a simpler one")
            break
    text = "\n".join(search.lines) or "(no matches)"
    if search.notes:
        text += f"\n[{'; '.join(dict.fromkeys(search.notes))}]"
    data = {"matches": search.matches, "files": search.files, "complete": not search.notes}
    return ToolOutput(text, summary=f"{search.matches} matches in {search.files} files", data=data)


def _files(search: _Search, inside: Inside, glob: str | None) -> Iterator[tuple[str, ...]]:
    """Files to search: the one named, or those below the folder, breadth first."""
    try:
        os.close(open_beneath(inside, os.O_RDONLY | os.O_DIRECTORY))
    except NotADirectoryError:
        yield inside.parts
        return
    except OSError as error:
        raise failure(error, inside) from error
    seen = 0
    todo = deque([inside.parts])
    while todo and time.monotonic() < search.deadline:
        for entry in children(inside.root, todo.popleft()):
            if entry.kind == "folder" and entry.name not in SKIPPED:
                todo.append(entry.parts)
            if entry.kind != "file" or not _named(entry.parts[len(inside.parts) :], glob):
                continue
            seen += 1
            if seen > _MAX_FILES:
                search.notes.append(f"only the first {_MAX_FILES:,} files were searched; narrow the path or glob")
                return
            yield entry.parts


def _named(parts: tuple[str, ...], glob: str | None) -> bool:
    if not glob:
        return True
    glob = glob.removeprefix("./").removeprefix("**/")
    return fnmatch.fnmatch("/".join(parts) if "/" in glob else parts[-1], glob)


def _search_file(search: _Search, inside: Inside) -> None:
    before = search.matches
    try:
        with os.fdopen(open_beneath(inside, os.O_RDONLY), "rb") as file:
            lines_before = 0
            while (data := file.read(_CHUNK)) and not search.is_full():
                if not lines_before and b"\0" in data[:8192]:
                    return
                data += file.readline(_CHUNK)
                _search_text(search, inside.shown, data.decode("utf-8", "replace").replace("\r\n", "\n"), lines_before)
                lines_before += data.count(b"\n")
    except TimeoutError:
        # An OSError too, but this one comes from the search.
        raise
    except OSError:
        return
    finally:
        search.files += search.matches > before


def _search_text(search: _Search, name: str, text: str, lines_before: int) -> None:
    position, shown_to = 0, -1
    while position < len(text) and not search.is_full():
        # The library counts processor time, which on a busy machine is a part of the clock's.
        left = max(0.001, min(_SEARCH_LIMIT_S, search.deadline - time.monotonic()))
        found = search.expression.search(text, position, concurrent=True, timeout=left)
        if found is None or found.start() == len(text):
            return
        start = text.rfind("\n", 0, found.start()) + 1
        end = text.find("\n", found.start())
        end = len(text) if end < 0 else end
        search.matches += 1
        shown_to = _show(search, name, text, lines_before, (start, end, shown_to))
        position = end + 1


def _show(search: _Search, name: str, text: str, lines_before: int, place: tuple[int, int, int]) -> int:
    """Add the matching line with its context; returns the end of what is shown so far."""
    start, end, shown_to = place
    first, last = start, end
    for _ in range(search.around):
        first = text.rfind("\n", 0, first - 1) + 1 if first else 0
        following = text.find("\n", last + 1)
        last = max(last, len(text) - text.endswith("\n")) if following < 0 else following
    first = max(first, min(start, shown_to + 1)) if shown_to >= 0 else first
    if search.around and shown_to >= 0 and first > shown_to + 1:
        search.lines.append("--")
    number = lines_before + text.count("\n", 0, first) + 1
    for line in text[first:last].split("\n"):
        mark = ":" if first == start else "-"
        search.lines.append(f"{name}{mark}{number}{mark} {line if len(line) <= _MAX_LINE else line[:_MAX_LINE] + '…'}")
        first += len(line) + 1
        number += 1
    return last
