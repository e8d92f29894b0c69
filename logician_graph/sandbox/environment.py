"""The child's environment: an allow-list, never a copy. Pure functions over mappings and paths.

Nothing that could be a secret passes: a variable is either named here, set here, or given by the caller of ``run``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

_PASSED_ON = ("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "LD_LIBRARY_PATH", "TZ")
_USUAL_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


def child_environment(
    parent: Mapping[str, str], extra: Mapping[str, str], *, path: str, home: Path, scratch: Path, marker: str
) -> dict[str, str]:
    """Environment of a command that nobody answers: no pager, no prompt, no colours, its own home and scratch folder.

    ``marker`` lets the room find the command's processes again if their supervisor is killed.
    """
    environment = {
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "DEBIAN_FRONTEND": "noninteractive",
        # A command's output is shown while it runs; Python holds it back when it is not a terminal.
        "PYTHONUNBUFFERED": "1",
        "USER": "agent",
        "LOGNAME": "agent",
        "PATH": path,
        "HOME": str(home),
        "TMPDIR": str(scratch),
        "TMP": str(scratch),
        "TEMP": str(scratch),
    }
    environment.update({name: parent[name] for name in _PASSED_ON if name in parent})
    environment.update(extra)
    environment["LOGICIAN_SANDBOX"] = marker
    return environment


def search_path(parent: Mapping[str, str], roots: Iterable[Path] | None) -> str:
    """The parent's PATH, the usual folders and this interpreter's, without repeats.

    With ``roots`` only folders below one of them: others would be found and then refused. None keeps all.
    """
    wanted = [*parent.get("PATH", "").split(os.pathsep), *_USUAL_PATH, str(Path(sys.executable).parent)]
    folders = [folder for folder in dict.fromkeys(wanted) if Path(folder).is_absolute() and Path(folder).is_dir()]
    if roots is not None:
        allowed = [str(root) for root in roots]
        folders = [folder for folder in folders if _below_any(folder, allowed)]
    return os.pathsep.join(folders)


def git_identity(cwd: Path) -> str:
    """Text of the private home's ``.gitconfig``: a fallback identity, and trust in the one workspace.

    A repository's own settings come first, so a person's identity set there is used.
    """
    return (
        "[user]\n\tname = Logician\n\temail = logician@localhost\n[init]\n\tdefaultBranch = main\n"
        f"[safe]\n\tdirectory = {_quoted(str(cwd))}\n"
    )


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _below_any(folder: str, roots: list[str]) -> bool:
    real = os.path.realpath(folder)
    return any(real == root or real.startswith(root.rstrip("/") + "/") for root in roots)
