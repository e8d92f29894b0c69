"""What lies around the agent when a message comes: the workspace's files, listed in few words."""

from __future__ import annotations

import os
from pathlib import Path

SKIPPED = frozenset(
    {".git", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
)
MOST_FILES = 40
MOST_VISITED = 2000


def list_workspace(workspace: Path) -> str | None:
    """The files below ``workspace`` with their sizes, nearest first; None when it is empty or cannot be read."""
    names: list[str] = []
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
            names.append(f"{path.relative_to(workspace).as_posix()} ({_size(size)})")
        if visited >= MOST_VISITED:
            break
    if not names:
        return None
    shown = sorted(names, key=lambda name: (name.count("/"), name))[:MOST_FILES]
    more = f", and {len(names) - len(shown)} more (list_files shows them)" if len(names) > len(shown) else ""
    return f"<workspace_files>\n{', '.join(shown)}{more}\n</workspace_files>"


def _size(size: int) -> str:
    return f"{size} B" if size < 1000 else f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1e6:.1f} MB"
