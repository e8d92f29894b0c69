"""Looking into folders without following links, also not one that appears in between."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from logician_graph.tools.paths import open_folder

SKIPPED = frozenset({
    ".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".pytest_cache",
    ".ruff_cache", ".tox", ".nox", ".eggs", "site-packages", ".gradle", ".terraform", ".next", ".cache",
})  # fmt: skip
"""Folders that tools make and nobody reads: they are named, but not entered."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Something in a folder; ``parts`` are its components below the root it was looked up from."""

    parts: tuple[str, ...]
    kind: Literal["file", "folder", "link", "other"]

    @property
    def name(self) -> str:
        """The last component."""
        return self.parts[-1]


def children(root: Path, parts: tuple[str, ...]) -> list[Entry]:
    """Entries of a folder by name; none where it cannot be opened or is no folder (any more)."""
    try:
        descriptor = open_folder(root, parts)
    except OSError:
        return []
    try:
        with os.scandir(descriptor) as found:
            return sorted((Entry((*parts, entry.name), _kind(entry)) for entry in found), key=lambda entry: entry.parts)
    except OSError:
        return []
    finally:
        os.close(descriptor)


def _kind(entry: os.DirEntry[str]) -> Literal["file", "folder", "link", "other"]:
    try:
        if entry.is_symlink():
            return "link"
        if entry.is_dir(follow_symlinks=False):
            return "folder"
        return "file" if entry.is_file(follow_symlinks=False) else "other"
    except OSError:
        return "other"
