"""Paths that a model wrote, held inside the workspace.

Invariants: what is opened lies beneath the workspace (or a folder that may also be read) at the moment it is opened:
every component is opened by its own descriptor without following links, so a link that appears between check and use
is refused too. Links that stay inside are resolved first and work. Says nothing about permission rules.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from logician_graph.tools.types import ToolFailed

SAVED = "saved"
"""First component by which the model names the thread's folder of saved outputs and attachments."""
_MAX_DEPTH = 100
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Inside:
    """A checked path: ``root`` is real and absolute, ``parts`` are the components below it, free of links."""

    root: Path
    parts: tuple[str, ...]
    prefix: str = ""
    """``saved`` for the folder of saved outputs, "" for the workspace."""

    @property
    def shown(self) -> str:
        """As the model and the person should read it: relative to the workspace, or below ``saved/``."""
        return self.show(self.parts)

    def show(self, parts: Sequence[str]) -> str:
        """Components below the same root, shown in the same way."""
        return "/".join((self.prefix, *parts) if self.prefix else parts) or "."

    @property
    def path(self) -> Path:
        """The absolute path, for messages and for walking; to open it use :func:`open_beneath`."""
        return self.root.joinpath(*self.parts)


def resolve_inside(workspace: Path, path: str, *, also_readable: Sequence[Path] = ()) -> Inside:
    """Resolve ``path`` below ``workspace`` or one of ``also_readable``; raises ToolFailed when it leads elsewhere.

    Relative paths start at the workspace; absolute ones are fine when they lie inside. The target need not exist.
    """
    _check_text(path)
    root = _real(workspace)
    names_saved = Path(path).parts[:1] == (SAVED,) and bool(also_readable) and not os.path.lexists(root / SAVED)
    if not names_saved and (inside := _within(root, root / path, "")):
        return inside
    for other in also_readable:
        base = _real(other)
        wanted = base.joinpath(*Path(path).parts[1:]) if names_saved else base / path
        if inside := _within(base, wanted, SAVED):
            return inside
    raise ToolFailed(
        f"The path {path!r} is outside the workspace. Use a path relative to the workspace, such as 'notes.txt'."
    )


def open_beneath(inside: Inside, flags: int, mode: int = 0o666) -> int:
    """Open the file or folder without following any link; raises OSError (ELOOP or ENOTDIR where a link appeared)."""
    if not inside.parts:
        return os.open(inside.root, _FOLDER_FLAGS)
    folder = open_folder(inside.root, inside.parts[:-1])
    try:
        return os.open(inside.parts[-1], flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, mode, dir_fd=folder)
    finally:
        os.close(folder)


def open_folder(root: Path, parts: Sequence[str], *, create: bool = False) -> int:
    """A descriptor of the folder ``parts`` below ``root``, made on the way when ``create``."""
    descriptor = os.open(root, _FOLDER_FLAGS)
    try:
        for part in parts:
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=descriptor)
            below = os.open(part, _FOLDER_FLAGS, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def open_file(inside: Inside) -> int:
    """A descriptor for reading a regular file; raises ToolFailed that says what is there instead."""
    try:
        descriptor = open_beneath(inside, os.O_RDONLY)
    except OSError as error:
        raise failure(error, inside) from error
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISREG(kind):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(kind):
        raise ToolFailed(f"{inside.shown!r} is a folder. List it: list_files path={inside.shown}")
    raise ToolFailed(f"{inside.shown!r} is not a regular file (a pipe, socket or device), so it is not opened.")


def failure(error: OSError, inside: Inside) -> ToolFailed:
    """What an operating-system error means for the model."""
    shown = inside.shown
    match error.errno:
        case errno.ENOENT:
            return ToolFailed(f"There is no {shown!r}.{_similar(inside)}")
        case errno.ELOOP:
            return ToolFailed(f"{shown!r} became a link while it was opened, so it was left alone.")
        case errno.ENOTDIR:
            return ToolFailed(f"A part of {shown!r} is a file or a link, not a folder.")
        case errno.EISDIR:
            return ToolFailed(f"{shown!r} is a folder. List it: list_files path={shown}")
        case errno.EACCES | errno.EPERM:
            return ToolFailed(f"The system does not allow access to {shown!r}.")
        case errno.ENAMETOOLONG:
            return ToolFailed(f"The name {shown[:60] + '…'!r} is too long. Use a shorter one.")
        case errno.ENOSPC | errno.EDQUOT:
            return ToolFailed(f"The disk is full: {shown!r} was not written and is as it was. Free space first.")
        case errno.EROFS:
            return ToolFailed(f"{shown!r} lies on a read-only disk and was not written.")
        case _:
            return ToolFailed(f"{shown!r}: {error.strerror or error}.")


def _check_text(path: str) -> None:
    if not path.strip():
        raise ToolFailed("The path is empty. Use a path relative to the workspace, such as 'notes.txt', or '.'.")
    if "\0" in path:
        raise ToolFailed("The path holds a NUL character. Use a plain path such as 'notes.txt'.")
    if path.count("/") > _MAX_DEPTH:
        raise ToolFailed(f"The path has more than {_MAX_DEPTH} levels. Use a shorter one.")
    if path.startswith("~"):
        raise ToolFailed(f"{path!r} names a home folder. Use a path relative to the workspace, such as 'notes.txt'.")


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))


def _within(root: Path, wanted: Path, prefix: str) -> Inside | None:
    try:
        # A link loop or an over-long name stays unresolved here and fails with its own message when it is opened.
        real = Path(os.path.realpath(wanted))
    except (OSError, ValueError):
        return None
    try:
        parts = real.relative_to(root).parts
    except ValueError:
        return None
    return Inside(root, parts, prefix)


def _similar(inside: Inside) -> str:
    """Names in the same folder that look like the missing one, or where the same name is found nearby."""
    from difflib import get_close_matches

    folder = inside.path.parent
    try:
        names = sorted(entry.name for entry in os.scandir(folder))[:2000]
    except OSError:
        return " Its folder does not exist either; list_files shows what there is."
    close = get_close_matches(inside.parts[-1] if inside.parts else "", names, n=3, cutoff=0.6)
    if not close:
        return " list_files shows what there is."
    above = inside.shown.rpartition("/")[0]
    return f" Did you mean {' or '.join(repr(f'{above}/{name}' if above else name) for name in close)}?"
