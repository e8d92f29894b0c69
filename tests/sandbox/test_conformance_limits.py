"""What a command can take and what it gets to know, at every level."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
from pathlib import Path

import pytest

from logician_graph.sandbox import IsolationLevel, Sandbox
from tests.sandbox.conftest import CONFINING, Runner
from tests.sandbox.test_conformance_ends import is_alive

MiB = 2**20


# Bounded by itself: at most 1,023 processes, so that a sandbox that fails this test does not take the machine with it.
BOMB = "bomb() { if [ $1 = 0 ]; then sleep 60; else bomb $(($1-1)) & bomb $(($1-1)) & wait; fi; }; bomb 9"


async def test_a_fork_bomb_is_limited_and_leaves_nothing(sandbox: Sandbox, run: Runner) -> None:
    peak = 0
    task = asyncio.create_task(run(sandbox, BOMB, timeout_s=2.0, processes=60))
    while not task.done():
        peak = max(peak, len(processes_below(run.workspace)))
        await asyncio.sleep(0.05)
    # Calls that were allowed a moment ago are not yet in the count: a few more than the limit may get through.
    assert 20 < peak <= 100
    assert (await task).duration_s < 6
    assert processes_below(run.workspace) == []


async def test_as_many_processes_as_allowed_do_run(sandbox: Sandbox, run: Runner) -> None:
    result = await run(sandbox, "for i in $(seq 20); do sleep 0.5 & done; wait; echo all", processes=30)
    assert result.exit_code == 0
    assert run.output == "all\n"


async def test_memory_of_one_process_is_limited(sandbox: Sandbox, run: Runner) -> None:
    result = await run(
        sandbox, ["python3", "-c", "x = bytearray(600 * 2**20); print('had it')"], memory_bytes=256 * MiB
    )
    assert result.exit_code != 0
    assert "had it" not in run.output


@pytest.mark.parametrize("shared", [False, True])
async def test_memory_of_the_group_is_limited(sandbox: Sandbox, run: Runner, shared: bool) -> None:
    take = "import mmap; x = mmap.mmap(-1, N); x.write(b'1' * N)" if shared else "x = b'1' * N"
    program = f"N = 120 * 2**20; {take}; import time; time.sleep(4); print('had it')"
    command = f'for i in 1 2 3 4; do python3 -c "{program}" & done; wait'
    await run(sandbox, command, memory_bytes=300 * MiB)
    assert run.output.splitlines().count("had it") < 4


async def test_what_is_within_the_memory_limit_works(sandbox: Sandbox, run: Runner) -> None:
    result = await run(sandbox, ["python3", "-c", "x = b'1' * (150 * 2**20); print('had it')"], memory_bytes=400 * MiB)
    assert result.exit_code == 0
    assert run.output == "had it\n"


async def test_the_size_of_a_file_is_limited(sandbox: Sandbox, run: Runner) -> None:
    await run(sandbox, "head -c 9000000 /dev/zero > big; ls", file_bytes=MiB)
    assert (run.workspace / "big").stat().st_size <= MiB


async def test_no_secret_of_the_app_reaches_the_command(
    sandbox: Sandbox, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGICIAN_API_KEY", "canary-0451")
    await run(sandbox, "env; cat /proc/self/environ /proc/$PPID/environ /proc/$PPID/cmdline", env={"GIVEN": "yes"})
    assert "canary-0451" not in run.output
    assert "GIVEN=yes" in run.output


async def test_no_process_of_the_app_can_be_read(confining: Sandbox, run: Runner) -> None:
    with subprocess.Popen(["sleep", "30"], env={"LOGICIAN_API_KEY": "canary-0451"}) as other:
        await run(confining, f"cat /proc/{other.pid}/environ; cat /proc/[0-9]*/environ; cat /proc/{other.pid}/mem")
        other.kill()
    assert "canary-0451" not in run.output


async def test_the_environment_suits_a_command_that_nobody_answers(sandbox: Sandbox, run: Runner) -> None:
    await run(
        sandbox, "echo $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT $TERM; touch $HOME/a $TMPDIR/b; echo $HOME; echo $TMPDIR"
    )
    first, home, scratch = run.output.splitlines()
    assert first == "cat cat 0 dumb"
    assert home != scratch
    for folder in (home, scratch):
        assert folder.startswith(tempfile.gettempdir())
        assert not Path(folder).exists(), "private folders go with the command"


async def test_ordinary_work_is_possible(sandbox: Sandbox, run: Runner) -> None:
    result = await run(
        sandbox,
        """
        set -e
        git init -q repo && cd repo && echo a > a.txt && git add . && git commit -qm first && git log --oneline | wc -l
        cat <(echo substituted) | tee copy
        python3 -c 'import multiprocessing, socket; multiprocessing.Lock(); socket.socketpair(); print("python")'
        mv copy ../moved; ln -s moved ../link; rm a.txt; mkdir -p x/y; echo done > /dev/null
        python3 -c 'import tempfile; tempfile.TemporaryFile().write(b"x")'
        cat ../link
        """,
    )
    assert result.exit_code == 0, run.output
    assert run.output == "1\nsubstituted\npython\nsubstituted\n"


async def test_this_interpreter_and_its_packages_are_there(sandbox: Sandbox, run: Runner) -> None:
    import sys

    result = await run(sandbox, [sys.executable, "-c", "import pytest; print(pytest.__name__)"])
    assert (result.exit_code, run.output) == (0, "pytest\n")


def test_a_level_that_leaves_something_open_says_so(sandbox: Sandbox) -> None:
    if sandbox.level is IsolationLevel.RLIMITS:
        assert sandbox.warning is not None
        assert "NOT confined" in sandbox.warning
    elif sandbox.level is IsolationLevel.FULL:
        assert sandbox.warning is None
    assert sandbox.level in {*CONFINING, IsolationLevel.RLIMITS}


def processes_below(folder: Path) -> list[int]:
    """Live processes that work in ``folder``."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink().is_relative_to(folder) and is_alive(int(entry.name)):
                found.append(int(entry.name))
        except OSError:
            continue
    return found
