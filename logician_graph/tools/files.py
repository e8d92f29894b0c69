"""Reading and replacing text files without changing what was not asked for: bytes, line ends, mark, mode.

Bytes that are not UTF-8 survive a round trip (they are held as surrogate escapes and never shown as such).
"""

from __future__ import annotations

import mimetypes
import os
import secrets
import stat
from dataclasses import dataclass

from logician_graph.tools.paths import Inside, failure, open_file, open_folder
from logician_graph.tools.types import ToolFailed

_SNIFF = 8192
_MARK = b"\xef\xbb\xbf"
MAX_EDIT_BYTES = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text as it is on disk: ``text`` keeps its line ends, ``marked`` says whether a byte-order mark came first."""

    text: str
    marked: bool = False

    def encoded(self) -> bytes:
        """The bytes again."""
        return (_MARK if self.marked else b"") + self.text.encode("utf-8", "surrogateescape")


def read_text(inside: Inside) -> TextFile:
    """The whole text of a file that is to be changed; raises ToolFailed for binary and for very large files."""
    descriptor = open_file(inside)
    with os.fdopen(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        if size > MAX_EDIT_BYTES:
            raise ToolFailed(
                f"{inside.shown!r} has {size:,} bytes, too large to edit here. Use bash with sed or python."
            )
        data = file.read()
    check_is_text(inside, data[:_SNIFF], size)
    marked = data.startswith(_MARK)
    return TextFile(data[len(_MARK) if marked else 0 :].decode("utf-8", "surrogateescape"), marked)


def check_is_text(inside: Inside, start: bytes, size: int) -> None:
    """Raise ToolFailed that names size and type when the file's first bytes are binary."""
    if b"\0" not in start:
        return
    kind = mimetypes.guess_type(inside.shown)[0] or "binary data"
    raise ToolFailed(f"{inside.shown!r} is not text: {kind}, {size:,} bytes. It cannot be read or edited as text.")


def replace_file(inside: Inside, data: bytes) -> None:
    """Write ``data`` as the whole file at once, making its folders; readers see the old or the new, never a part.

    An existing file keeps its mode. Raises ToolFailed; then the file is as it was.
    """
    if not inside.parts:
        raise ToolFailed("The path names the workspace itself. Name a file in it, such as 'notes.txt'.")
    try:
        folder = open_folder(inside.root, inside.parts[:-1], create=True)
    except OSError as error:
        raise failure(error, inside) from error
    temporary = f".{secrets.token_hex(8)}.tmp"
    try:
        mode = _mode_of(inside, folder)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                os.fchmod(file.fileno(), mode)
            os.replace(temporary, inside.parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(temporary, dir_fd=folder)
            raise
    except OSError as error:
        raise failure(error, inside) from error
    finally:
        os.close(folder)


def exists(inside: Inside) -> bool:
    """Whether something is there."""
    if not inside.parts:
        return True
    try:
        folder = open_folder(inside.root, inside.parts[:-1])
    except OSError:
        return False
    try:
        os.stat(inside.parts[-1], dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise failure(error, inside) from error
    finally:
        os.close(folder)
    return True


def _mode_of(inside: Inside, folder: int) -> int:
    """Mode for the new file: that of the old one, else what the process's mask leaves of 0666."""
    try:
        found = os.stat(inside.parts[-1], dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return 0o666 & ~_MASK
    if stat.S_ISREG(found.st_mode):
        return stat.S_IMODE(found.st_mode)
    kind = "a folder" if stat.S_ISDIR(found.st_mode) else "not a regular file"
    raise ToolFailed(f"{inside.shown!r} is {kind}, so it was not overwritten.")


def _read_mask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


_MASK = _read_mask()
"""Read once at import: asking for it changes it for a moment, which would race with other threads."""
