"""What lies around the agent when a message comes: the workspace's files, listed in few words.

A small model acts before it looks, so it may be shown the contents of small files as well.
"""

from __future__ import annotations

import os
from pathlib import Path

SKIPPED = frozenset(
    {".git", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
)
MOST_FILES = 40
MOST_VISITED = 2000
SMALL_FILE = 1500
"""Bytes up to which a file's content is shown, where contents are shown at all."""
MOST_SHOWN = 4000
"""Bytes of contents shown in all."""


def list_workspace(workspace: Path, *, contents: bool = False) -> str | None:
    """The files below ``workspace`` with their sizes, nearest first; None when it is empty or cannot be read.

    With ``contents`` the small text files follow with what is in them.
    """
    found: list[tuple[str, int]] = []
    visited = 0
    for folder, subfolders, files in os.walk(workspace):
        subfolders[:] = sorted(name for name in subfolders if name not in SKIPPED and not name.startswith("."))
        for name in sorted(files):
            visited += 1
            path = Path(folder, name)
            try:
                size = path.lstat().st_size
            except OSError:
                continue
            found.append((path.relative_to(workspace).as_posix(), size))
        if visited >= MOST_VISITED:
            break
    if not found:
        return None
    shown = sorted(found, key=lambda entry: (entry[0].count("/"), entry[0]))[:MOST_FILES]
    more = f", and {len(found) - len(shown)} more (list_files shows them)" if len(found) > len(shown) else ""
    listing = ", ".join(f"{name} ({_size(size)})" for name, size in shown)
    parts = [f"<workspace_files>\n{listing}{more}\n</workspace_files>"]
    return "\n".join(parts + (_contents(workspace, shown) if contents else []))


def _contents(workspace: Path, files: list[tuple[str, int]]) -> list[str]:
    parts: list[str] = []
    left = MOST_SHOWN
    for name, size in files:
        path = workspace / name
        if not 0 < size <= min(SMALL_FILE, left) or path.is_symlink():
            continue
        try:
            text = path.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if "\x00" not in text:
            parts.append(f'<file path="{name}">\n{text.rstrip()}\n</file>')
            left -= size
    return parts


def _size(size: int) -> str:
    return f"{size} B" if size < 1000 else f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1e6:.1f} MB"
