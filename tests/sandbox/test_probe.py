"""Choosing a level, and what the levels say of themselves."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

import logician_graph.sandbox
from logician_graph.errors import SandboxError
from logician_graph.sandbox import IsolationLevel, probe_levels, select_sandbox
from logician_graph.sandbox.environment import child_environment, git_identity, search_path
from logician_graph.sandbox.grants import system_readable
from logician_graph.sandbox.output import OutputFollower, open_output


async def test_the_strongest_level_that_works_is_chosen() -> None:
    probes = await probe_levels()
    assert [probe.level for probe in probes] == list(IsolationLevel)
    assert all(probe.detail for probe in probes)
    strongest = next(probe.level for probe in probes if probe.available)
    assert (await select_sandbox()).level is strongest


async def test_a_forced_level_that_cannot_be_had_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    # There is no other way to have a machine without Landlock here.
    monkeypatch.setattr("logician_graph.sandbox.launcher.landlock.version", lambda: 0)
    with pytest.raises(SandboxError, match=r"'landlock'.*no Landlock"):
        await select_sandbox(forced=IsolationLevel.LANDLOCK)
    sandbox = await select_sandbox()
    assert sandbox.level is IsolationLevel.RLIMITS
    assert sandbox.warning is not None


async def test_the_weakest_level_needs_nothing_of_linux(tmp_path: Path) -> None:
    """The launcher with what macOS lacks taken away: no /proc, no pidfd, no waitid, no prctl."""
    launcher = Path(logician_graph.sandbox.__file__).parent / "launcher"
    program = f"""
import os, runpy, sys
del os.waitid, os.pidfd_open, os.O_PATH
import ctypes
class Refuses:
    def __init__(self, *a, **k): raise OSError("no such library")
ctypes.CDLL = Refuses
sys.argv = ["launcher", sys.argv[1]]
real = os.listdir
os.listdir = lambda path=".": (_ for _ in ()).throw(OSError()) if path == "/proc" else real(path)
os.access = lambda *a, **k: False
runpy.run_path({str(launcher)!r}, run_name="__main__")
"""
    for command, expected in (("echo hi; exit 3", {"exit_code": 3}), ("kill -9 $$", {"signal": 9})):
        assert await _report_of(program, command, tmp_path) == expected
    assert await _report_of(program, "sleep 60 & echo $! > child; wait", tmp_path, stop=True) == {"signal": 15}
    child = int((tmp_path / "child").read_text(encoding="utf-8"))
    await asyncio.sleep(0.1)
    assert not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text(encoding="utf-8")


async def _report_of(program: str, command: str, here: Path, *, stop: bool = False) -> dict[str, int]:
    report_read, report_write = os.pipe()
    job = {
        "level": "rlimits", "argv": ["/bin/bash", "-c", command], "cwd": str(here), "env": {"PATH": os.environ["PATH"]},
        "writable": [], "readable": [], "network": False, "memory_bytes": 2**31, "processes": 64, "file_bytes": 2**30,
        "report_fd": report_write, "import_path": [],
    }  # fmt: skip
    (here / "job.json").write_text(json.dumps(job), encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-c", program, str(here / "job.json"),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL, pass_fds=(report_write,),
    )  # fmt: skip
    os.close(report_write)
    assert process.stdin is not None
    if stop:
        for _ in range(200):
            if (here / "child").exists():
                break
            await asyncio.sleep(0.02)
        process.stdin.close()
    await asyncio.wait_for(process.wait(), 10)
    process.stdin.close()
    with os.fdopen(report_read) as file:
        return dict(json.loads(file.read().splitlines()[-1]))


def test_the_environment_is_an_allow_list(tmp_path: Path) -> None:
    parent = {
        "AWS_SECRET_ACCESS_KEY": "s",
        "LANG": "de_DE.UTF-8",
        "SSH_AUTH_SOCK": "/x",
        "PATH": "/evil",
        "HOME": "/root",
    }
    made = child_environment(parent, {"A": "1"}, path="/bin", home=tmp_path / "h", scratch=tmp_path / "t", marker="m")
    assert not {"AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK"} & made.keys()
    assert (made["LANG"], made["PATH"], made["HOME"], made["A"]) == ("de_DE.UTF-8", "/bin", f"{tmp_path}/h", "1")
    assert (made["PAGER"], made["GIT_TERMINAL_PROMPT"]) == ("cat", "0")


def test_the_search_path_holds_only_what_can_be_reached(tmp_path: Path) -> None:
    parent = {"PATH": f"{tmp_path}:relative:/usr/bin:/usr/bin:/no/such"}
    assert search_path(parent, [Path("/usr")]).split(":").count("/usr/bin") == 1
    assert str(tmp_path) not in search_path(parent, [Path("/usr")])
    assert search_path(parent, None).startswith(f"{tmp_path}:/usr/bin:")


def test_git_trusts_the_workspace_only() -> None:
    assert 'directory = "/w/a \\"b\\""' in git_identity(Path('/w/a "b"'))


def test_secrets_of_the_system_and_homes_are_not_granted(tmp_path: Path) -> None:
    granted = system_readable()
    for path in ("/", "/etc", "/root", "/home", "/var", "/run", "/tmp", "/etc/shadow", "/etc/ssl", str(Path.home())):
        assert Path(path) not in granted
    assert Path("/usr") in granted


def test_output_that_empties_itself_is_followed_on(tmp_path: Path) -> None:
    shown = bytearray()
    descriptor = open_output(tmp_path / "out")
    follower = OutputFollower(descriptor, 1000, shown.extend)
    os.write(descriptor, b"first")
    assert follower.poll()
    assert not follower.poll()
    os.ftruncate(descriptor, 0)
    os.write(descriptor, b"2nd")
    follower.poll()
    assert follower.finish("note") == 3 + len("\n[note]\n")
    os.close(descriptor)
    assert bytes(shown).startswith(b"first")
    assert bytes(shown).endswith(b"\n[note]\n")


def test_the_names_of_the_package_are_sorted_and_there() -> None:
    names = logician_graph.sandbox.__all__
    assert list(names) == sorted(names)
    assert all(hasattr(logician_graph.sandbox, name) for name in names)
