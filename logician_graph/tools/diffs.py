"""Unified diffs of text, bounded, and how many lines they add and remove."""

from __future__ import annotations

import difflib

_MAX_CHARS = 100_000
_MAX_LINES = 20_000
"""Comparing takes quadratic time at worst; longer texts are only counted."""


def unified(path: str, before: str, after: str) -> str:
    """Unified diff with ``a/`` and ``b/`` paths; cut with a closing note when it is long."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if len(old) + len(new) > _MAX_LINES:
        return f"--- a/{path}\n+++ b/{path}\n[{len(old):,} lines became {len(new):,}; too long to compare]\n"
    pieces: list[str] = []
    length = 0
    for line in difflib.unified_diff(old, new, f"a/{path}", f"b/{path}"):
        piece = line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        length += len(piece)
        if length > _MAX_CHARS:
            pieces.append("[the rest of the diff is left out]\n")
            break
        pieces.append(piece)
    return "".join(pieces)


def counts(diff: str) -> str:
    """``+12 −3`` for a unified diff."""
    lines = diff.splitlines()
    added = sum(line.startswith("+") and not line.startswith("+++ b/") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("--- a/") for line in lines)
    return f"+{added} −{removed}"
