"""Finding the strongest isolation level that this machine really gives: each is tried, none is assumed.

The trial runs a small program under the level; the program tries to write and read outside its folder and to connect
to a listener of ours. A level counts only when the program ran and everything it must not do was refused.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from logician_graph.errors import SandboxError
from logician_graph.sandbox.launcher import landlock, seccomp
from logician_graph.sandbox.runner import LaunchedSandbox
from logician_graph.sandbox.types import IsolationLevel, Sandbox, SandboxPolicy

_TRIAL_TIMEOUT_S = 20.0
_TRIAL = """
import json, _socket, sys
outside, secret, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
def tries(action):
    try:
        action()
        return True
    except OSError:
        return False
def connect():
    s = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    s.connect(("127.0.0.1", port))
print(json.dumps({
    "inside": tries(lambda: open("inside", "w").close()),
    "write": tries(lambda: open(outside, "w").close()),
    "read": tries(lambda: open(secret).close()),
    "connect": tries(connect),
}))
"""
_RLIMITS_WARNING = (
    "Commands are NOT confined to the workspace: this machine allows resource limits only, so a command can read and "
    "write your files and use the network. On Linux 5.13 or newer commands are confined."
)


@dataclass(frozen=True, slots=True)
class LevelProbe:
    """What the trial of one level found."""

    level: IsolationLevel
    available: bool
    detail: str
    """For a person: what the level gives here or why it cannot be had."""


async def select_sandbox(*, forced: IsolationLevel | None = None) -> Sandbox:
    """The strongest level that works here, or ``forced``; raises SandboxError when that one does not work."""
    probe = LevelProbe(IsolationLevel.RLIMITS, available=False, detail="")
    for level in IsolationLevel if forced is None else (forced,):
        probe = await probe_level(level)
        if probe.available:
            return LaunchedSandbox(level, warning_of(level))
    raise SandboxError(f"The isolation level {probe.level.value!r} cannot be had on this machine: {probe.detail}")


async def probe_levels() -> tuple[LevelProbe, ...]:
    """Every level, strongest first, for ``doctor`` and the settings page."""
    return tuple([await probe_level(level) for level in IsolationLevel])


def warning_of(level: IsolationLevel) -> str | None:
    """What ``level`` leaves open on this machine, for a person; None when nothing that matters."""
    if level is IsolationLevel.RLIMITS:
        return _RLIMITS_WARNING
    gaps = landlock.gaps(landlock.version()) if level is IsolationLevel.LANDLOCK else []
    return f"Commands are confined with gaps: {'; '.join(gaps)}." if gaps else None


async def probe_level(level: IsolationLevel) -> LevelProbe:
    """Try ``level`` for real."""
    if missing := _missing(level):
        return LevelProbe(level, available=False, detail=missing)
    folder = Path(tempfile.mkdtemp(prefix="logician-probe-"))
    try:
        return await _trial(level, folder)
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _missing(level: IsolationLevel) -> str | None:
    """What can be told without a trial."""
    if level is IsolationLevel.RLIMITS:
        return None
    if sys.platform != "linux":
        return "needs Linux"
    if landlock.version() == 0:
        return "this kernel has no Landlock, or it is switched off (needs Linux 5.13, 'landlock' in the lsm= list)"
    if level is IsolationLevel.LANDLOCK and not seccomp.supported():
        return f"no system-call filter for the processor {os.uname().machine!r}"
    if level is IsolationLevel.FULL:
        from importlib.util import find_spec

        if find_spec("sandlock") is None:
            return "the package 'sandlock' is not installed"
    return None


async def _trial(level: IsolationLevel, folder: Path) -> LevelProbe:
    inside, outside, secret, output = (folder / name for name in ("inside", "outside", "secret", "output"))
    inside.mkdir()
    secret.write_text("x", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        argv = [sys.executable, "-I", "-S", "-c", _TRIAL, str(outside), str(secret), str(listener.getsockname()[1])]
        try:
            result = await LaunchedSandbox(level).run(
                argv,
                cwd=inside,
                policy=SandboxPolicy(writable=(inside,), output_bytes=64 * 1024),
                output_path=output,
                timeout_s=_TRIAL_TIMEOUT_S,
            )
        except SandboxError as error:
            return LevelProbe(level, available=False, detail=f"{error}{_advice(level)}")
    text = output.read_text(encoding="utf-8", errors="replace").strip()
    try:
        did = json.loads(text.splitlines()[-1])
    except (ValueError, IndexError):
        ending = f"exit {result.exit_code}, signal {result.signal}, {result.ended}"
        return LevelProbe(level, available=False, detail=f"the trial did not run ({ending}): {text[-300:]}")
    if not did["inside"]:
        return LevelProbe(level, available=False, detail="writing inside the workspace was refused")
    leaks = [name for name in ("write", "read", "connect") if did[name]]
    if level is not IsolationLevel.RLIMITS and leaks:
        return LevelProbe(level, available=False, detail=f"the trial was not refused: {', '.join(leaks)}")
    return LevelProbe(level, available=True, detail=_gives(level))


def _gives(level: IsolationLevel) -> str:
    text = {
        IsolationLevel.FULL: "files, network, processes and memory are confined",
        IsolationLevel.LANDLOCK: "files and network are confined; processes and memory are watched",
        IsolationLevel.RLIMITS: "resource limits only; files and network are NOT confined",
    }[level]
    gaps = landlock.gaps(landlock.version()) if level is IsolationLevel.LANDLOCK else []
    return f"{text}; {'; '.join(gaps)}" if gaps else text


def _advice(level: IsolationLevel) -> str:
    if level is not IsolationLevel.FULL:
        return ""
    return " In a container it may need '--cap-add SYS_PTRACE'."
