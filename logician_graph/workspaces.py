"""Whether a folder can be a workspace: the one place that says so, and that makes it when a person asks."""

from __future__ import annotations

import os
from pathlib import Path

from logician_graph.errors import SettingsError


def usable_workspace(text: str, *, create: bool = False) -> Path:
    """The folder that ``text`` names, ready to be worked in. Raises SettingsError saying what to do instead.

    ``~`` is the home folder of the person who runs Logician. A folder that is not there is made only with ``create``.
    """
    path = Path(text.strip()).expanduser() if text.strip() else None
    if path is None or not path.is_absolute():
        raise _unusable(text, "it must be an absolute path, such as /home/you/project")
    if path.parent == path:
        raise _unusable(text, "the whole machine cannot be a workspace: choose a folder in it")
    if not path.exists():
        if not create:
            raise _unusable(text, "there is no such folder. Create it, or choose one that exists")
        try:
            path.mkdir(parents=True)
        except OSError as error:
            raise _unusable(text, f"it could not be created ({error.strerror})") from error
    if not path.is_dir():
        raise _unusable(text, "it is a file, not a folder")
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise _unusable(text, "this user may not write there")
    return path


def missing_workspace(text: str) -> bool:
    """True for an absolute path at which nothing is, so that a folder may be made there."""
    path = Path(text.strip()).expanduser() if text.strip() else None
    return path is not None and path.is_absolute() and not path.exists()


def _unusable(text: str, reason: str) -> SettingsError:
    sentence = f"The workspace {text!r} cannot be used: {reason}."
    return SettingsError(sentence, problems={"workspace": sentence})
