"""Bounding what the model reads: the head and the tail of a long text, and how to read the rest."""

from __future__ import annotations

import os
from pathlib import Path

_HEAD_SHARE = 0.6


def bounded(text: str, limit: int, saved: str) -> str:
    """``text`` itself when it fits; else head and tail around a line that says where the rest is.

    ``saved`` is the path by which the model can read the whole, as in ``saved/call_1.txt``.
    """
    if len(text) <= limit:
        return text
    head_size = int(limit * _HEAD_SHARE)
    head = _whole_lines(text[:head_size], end=True)
    tail = _whole_lines(text[-(limit - head_size) :], end=False)
    return _joined(head, tail, f"{len(text) - len(head) - len(tail):,} characters", saved, head.count("\n") + 1)


def bounded_file(path: Path, limit: int, saved: str) -> tuple[str, bool]:
    """The text of a file of any size, bounded like :func:`bounded`; and whether anything was left out.

    Invalid UTF-8 is shown as the replacement character. Reads at most ``4 * limit`` bytes at either end.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= limit * 4:
            text = file.read().decode(errors="replace")
            return bounded(text, limit, saved), len(text) > limit
        head_size = int(limit * _HEAD_SHARE)
        head = _whole_lines(file.read(head_size).decode(errors="replace"), end=True)
        file.seek(head_size - limit, os.SEEK_END)
        tail = _whole_lines(file.read().decode(errors="replace"), end=False)
    return _joined(head, tail, f"{size - limit:,} bytes", saved, head.count("\n") + 1), True


def _joined(head: str, tail: str, left_out: str, saved: str, next_line: int) -> str:
    note = f"[… {left_out} left out. The rest: read_file path={saved} offset={next_line} …]"
    return f"{head.rstrip(chr(10))}\n{note}\n{tail}"


def _whole_lines(text: str, *, end: bool) -> str:
    """Cut a half line off, unless that would cost more than half of the text."""
    cut = text.rfind("\n") + 1 if end else text.find("\n") + 1
    kept = text[:cut] if end else text[cut:]
    return kept if len(kept) * 2 >= len(text) else text
