"""How a command ends, at every level: exit, signal, time, cancellation, output bound; and that nothing stays behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from logician_graph.errors import SandboxError
from logician_graph.sandbox import IsolationLevel, Sandbox
from tests.sandbox.conftest import Runner

IGNORES_TERM = "trap '' TERM; echo ready; while true; do sleep 0.2; done"
# Two forks and a new session: out of the group, out of the session, no longer a child of the shell.
ESCAPES = "(setsid bash -c 'trap \"\" TERM; echo $$ > escaped; sleep 60' &) ; sleep 60 & echo $! > child; "


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in {"Z", "X"}


async def pid_in(file: Path) -> int:
    for _ in range(200):
        if file.exists() and (text := file.read_text(encoding="utf-8").strip()):
            return int(text)
        await asyncio.sleep(0.02)
    raise AssertionError(f"{file.name} was never written")


async def test_exit_code_and_output_are_reported(sandbox: Sandbox, run: Runner) -> None:
    result = await run(sandbox, "echo out; echo err >&2; echo out again; exit 3")
    assert (result.exit_code, result.signal, result.ended) == (3, None, "exited")
    assert run.output == "out\nerr\nout again\n"
    assert result.output_bytes == len(run.output)
    assert 0 < result.duration_s < 10


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
async def test_a_signal_is_reported(sandbox: Sandbox, run: Runner, number: signal.Signals) -> None:
    result = await run(sandbox, f"echo before; kill -{int(number)} $$")
    assert (result.exit_code, result.signal, result.ended) == (None, number, "exited")
    assert run.output == "before\n"


async def test_a_pipe_ends_as_in_a_terminal(sandbox: Sandbox, run: Runner) -> None:
    await run(sandbox, "yes | head -n 1; echo ${PIPESTATUS[0]}")
    assert run.output == f"y\n{128 + signal.SIGPIPE}\n"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("echo b > /dev/stderr", "b\n"),
        ("echo b > /dev/stdout", "b\n"),
        ("echo b >> /dev/fd/2", "b\n"),
        ("echo b > /proc/self/fd/1", "b\n"),
        ("exec 3>&1; echo b > /dev/fd/3", "b\n"),
        ("echo b | tee /dev/stderr", "b\nb\n"),
        (": > /dev/stdout", ""),
        ("bash -c 'echo b > /dev/stderr' | cat", "b\n"),
        (f"{sys.executable} -c \"open('/dev/stderr', 'w').write('b\\n')\"", "b\n"),
    ],
)
async def test_the_names_of_the_output_lead_to_it_and_empty_nothing(
    sandbox: Sandbox, run: Runner, line: str, shown: str
) -> None:
    result = await run(sandbox, f"echo a; {line}; echo c $?")
    assert result.exit_code == 0
    assert run.output == f"a\n{shown}c 0\n"


async def test_there_is_no_terminal(sandbox: Sandbox, run: Runner) -> None:
    await run(sandbox, "echo x > /dev/tty")
    assert run.output.rstrip().endswith("/dev/tty: No such device or address")


async def test_output_that_cannot_be_kept_is_said_and_hangs_nothing(sandbox: Sandbox, run: Runner) -> None:
    run.output_path = Path("/dev/full")
    with pytest.raises(SandboxError, match="could not be kept: No space left"):
        await run(sandbox, "yes | head -c 300000; echo done > file")
    assert (run.workspace / "file").read_text(encoding="utf-8") == "done\n"


async def test_a_command_that_outruns_the_reader_waits_for_it(sandbox: Sandbox, run: Runner) -> None:
    result = await run(sandbox, "seq 1 400000")
    assert run.output == "".join(f"{number}\n" for number in range(1, 400_001))
    assert result.output_bytes == len(run.output)


async def test_stdin_is_closed(sandbox: Sandbox, run: Runner) -> None:
    started = time.monotonic()
    result = await run(sandbox, "cat; read answer; echo status $?; python3 -c 'input()'; true")
    assert result.exit_code == 0
    assert "status 1" in run.output
    assert time.monotonic() - started < 5


async def test_the_bytes_of_the_output_are_kept(sandbox: Sandbox, run: Runner) -> None:
    seen = bytearray()
    command = r"printf 1; printf '\xff\xfe\x00\x80caf\xe9\n'"
    result = await run(sandbox, command, on_output=seen.extend)
    assert run.output_path.read_bytes() == b"1\xff\xfe\x00\x80caf\xe9\n"
    assert bytes(seen) == run.output_path.read_bytes()
    assert result.output_bytes == len(seen)


async def test_output_is_shown_while_it_grows(sandbox: Sandbox, run: Runner) -> None:
    times: list[float] = []
    await run(sandbox, "echo one; sleep 1; echo two", on_output=lambda _part: times.append(time.monotonic()))
    assert len(times) == 2
    assert times[1] - times[0] > 0.7


async def test_a_background_child_that_keeps_the_output_open_delays_nothing(sandbox: Sandbox, run: Runner) -> None:
    started = time.monotonic()
    result = await run(sandbox, ESCAPES + "while [ ! -s escaped ]; do sleep 0.01; done; exit 0")
    assert time.monotonic() - started < 5
    assert result.exit_code == 0
    assert not is_alive(await pid_in(run.workspace / "child"))
    assert not is_alive(await pid_in(run.workspace / "escaped"))


async def test_a_timeout_kills_everything_the_command_started(sandbox: Sandbox, run: Runner) -> None:
    started = time.monotonic()
    result = await run(sandbox, ESCAPES + "echo started; wait; sleep 60", timeout_s=1.0)
    assert (result.ended, result.exit_code) == ("timeout", None)
    assert time.monotonic() - started < 5
    assert run.output == "started\n"
    assert not is_alive(await pid_in(run.workspace / "child"))
    assert not is_alive(await pid_in(run.workspace / "escaped"))


async def test_a_timeout_lets_a_command_tidy_up_first(sandbox: Sandbox, run: Runner) -> None:
    result = await run(sandbox, "trap 'echo tidied; exit 0' TERM; sleep 60 & wait", timeout_s=0.5)
    assert result.ended == "timeout"
    assert run.output == "tidied\n"


async def test_ignoring_sigterm_does_not_help(sandbox: Sandbox, run: Runner) -> None:
    started = time.monotonic()
    result = await run(sandbox, IGNORES_TERM, timeout_s=0.5)
    assert (result.ended, result.signal) == ("timeout", signal.SIGKILL)
    assert time.monotonic() - started < 4


async def test_cancelling_returns_within_half_a_second(sandbox: Sandbox, run: Runner) -> None:
    cancelled = asyncio.Event()
    ready = asyncio.Event()
    task = asyncio.create_task(
        run(sandbox, ESCAPES + IGNORES_TERM, cancelled=cancelled, on_output=lambda _part: ready.set())
    )
    await asyncio.wait_for(ready.wait(), 10)
    escaped = await pid_in(run.workspace / "escaped")
    asked = time.monotonic()
    cancelled.set()
    result = await task
    assert time.monotonic() - asked < 5
    assert (result.ended, result.exit_code) == ("cancelled", None)
    assert run.output == "ready\n"
    assert not is_alive(escaped)


async def test_an_event_that_is_already_set_stops_at_once(sandbox: Sandbox, run: Runner) -> None:
    cancelled = asyncio.Event()
    cancelled.set()
    result = await run(sandbox, "sleep 60", cancelled=cancelled)
    assert result.ended == "cancelled"
    assert result.duration_s < 10


async def test_cancelling_the_task_ends_the_command(sandbox: Sandbox, run: Runner) -> None:
    task = asyncio.create_task(run(sandbox, "echo $$ > pid; exec sleep 60"))
    pid = await pid_in(run.workspace / "pid")
    asked = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - asked < 5
    while is_alive(pid):
        assert time.monotonic() - asked < 10, "the command outlived its cancelled task"
        await asyncio.sleep(0.02)


async def test_the_command_dies_with_the_app(sandbox: Sandbox, run: Runner) -> None:
    program = f"""
import asyncio
from pathlib import Path
from logician_graph.sandbox import IsolationLevel, SandboxPolicy, select_sandbox
async def main():
    sandbox = await select_sandbox(forced=IsolationLevel({sandbox.level.value!r}))
    here = Path({str(run.workspace)!r})
    await sandbox.run(["bash", "-c", "trap '' TERM; echo $HOME > home; echo $$ > pid; sleep 60; sleep 60"], cwd=here,
        policy=SandboxPolicy(writable=(here,)), output_path=here / "out", timeout_s=60)
asyncio.run(main())
"""
    paths = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])
    app = await asyncio.create_subprocess_exec(sys.executable, "-c", program, env={**os.environ, "PYTHONPATH": paths})
    pid = await pid_in(run.workspace / "pid")
    app.kill()
    await app.wait()
    killed = time.monotonic()
    while is_alive(pid):
        assert time.monotonic() - killed < 10, "the command outlived the app"
        await asyncio.sleep(0.02)
    private = Path((run.workspace / "home").read_text(encoding="utf-8").strip()).parent
    while private.exists():
        assert time.monotonic() - killed < 10, "its private folder was left"
        await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    "command",
    [
        "yes",
        "yes & yes & sleep 60",
        "head -c 50000000 /dev/zero | tr '\\0' x; sleep 60",
        "trap '' TERM; while :; do echo spam spam spam spam spam; done",
    ],
)
async def test_output_past_its_bound_is_cut_and_the_command_ends(sandbox: Sandbox, run: Runner, command: str) -> None:
    bound = 200_000
    started = time.monotonic()
    result = await run(sandbox, command, output_bytes=bound)
    assert result.ended == "output_limit"
    assert result.exit_code is None
    assert time.monotonic() - started < 10
    text = run.output_path.read_bytes()
    assert bound <= len(text) <= bound + 200
    assert text.rstrip().endswith(b"[stopped: more than 200000 bytes of output]")
    assert result.output_bytes == len(text)


async def test_output_past_its_bound_is_cut_even_when_the_command_is_done_at_once(
    sandbox: Sandbox, run: Runner
) -> None:
    result = await run(sandbox, "head -c 3000000 /dev/zero", output_bytes=100_000)
    assert result.ended == "output_limit"
    assert run.output_path.stat().st_size <= 100_200


async def test_an_app_that_runs_many_commands_stays_responsive(sandbox: Sandbox, run: Runner, tmp_path: Path) -> None:
    lags: list[float] = []

    async def heartbeat() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            lags.append(time.monotonic() - before - 0.01)

    beat = asyncio.create_task(heartbeat())

    async def one(number: int) -> None:
        here = tmp_path / f"many-{number}"
        here.mkdir()
        await Runner(here)(sandbox, f"echo {number}; sleep 0.3")
        assert (here / "output.txt").read_text(encoding="utf-8") == f"{number}\n"

    await asyncio.gather(*(one(number) for number in range(12)))
    beat.cancel()
    assert max(lags) < 0.4


async def test_a_command_that_kills_its_supervisor_gains_nothing(run: Runner) -> None:
    from tests.sandbox.conftest import sandbox_or_skip

    result = await run(sandbox_or_skip(IsolationLevel.RLIMITS), ESCAPES + "sleep 0.3; kill -9 $PPID; sleep 60")
    assert result.signal == signal.SIGKILL
    assert "supervisor was killed" in run.output
    for name in ("child", "escaped"):
        pid = await pid_in(run.workspace / name)
        for _ in range(100):
            if not is_alive(pid):
                break
            await asyncio.sleep(0.02)
        assert not is_alive(pid), name


async def test_what_cannot_be_started_is_an_error_that_names_it(sandbox: Sandbox, run: Runner, tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="'no-such-program'"):
        await run(sandbox, ["no-such-program"])
    with pytest.raises(SandboxError, match="no command"):
        await run(sandbox, [])
    with pytest.raises(SandboxError, match="missing"):
        await run(sandbox, ["true"], writable=(tmp_path / "missing",))
    run.output_path = tmp_path / "absent" / "output.txt"
    with pytest.raises(SandboxError, match=r"output\.txt"):
        await run(sandbox, ["true"])


async def test_an_output_path_that_is_a_link_is_not_followed(sandbox: Sandbox, run: Runner, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("keep", encoding="utf-8")
    run.output_path.symlink_to(precious)
    with pytest.raises(SandboxError):
        await run(sandbox, "echo overwritten")
    assert precious.read_text(encoding="utf-8") == "keep"
