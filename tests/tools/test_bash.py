"""bash in the machine's own sandbox."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from logician_graph.sandbox import IsolationLevel
from tests.tools.conftest import Place


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(500):
        if holds():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came to hold")


async def test_output_and_exit_code(place: Place) -> None:
    output = await place("bash", command="echo out; echo err >&2; pwd; exit 3")
    assert output.text == f"out\nerr\n{place.workspace}\n[exit code 3]"
    assert output.status == "error"
    assert re.fullmatch(r"exit code 3 in \d+\.\d s", output.summary)
    assert output.data["exit_code"] == 3
    assert list(place.artifacts.iterdir()) == [], "what is shown whole is not kept"


async def test_success_without_output(place: Place) -> None:
    output = await place("bash", command="true")
    assert (output.text, output.status) == ("(no output)\n[exit code 0]", "ok")


async def test_it_writes_in_the_workspace_and_nowhere_else(place: Place) -> None:
    output = await place("bash", command="echo hi > a.txt && cat a.txt")
    assert output.text == "hi\n[exit code 0]"
    if place.sandbox.level is not IsolationLevel.RLIMITS:
        await place("bash", command=f"echo x > {place.root}/escaped; echo x > {place.artifacts}/escaped")
        assert not (place.root / "escaped").exists()
        assert not (place.artifacts / "escaped").exists()


async def test_reading_stdin_ends_at_once(place: Place) -> None:
    started = time.monotonic()
    output = await place("bash", command="cat; read x; python3 -c 'input()' 2>&1 | tail -n 1")
    assert "EOFError" in output.text
    assert time.monotonic() - started < 5


async def test_a_timeout_says_how_long_it_was(place: Place) -> None:
    started = time.monotonic()
    output = await place("bash", command="echo begun; trap '' TERM; sleep 60; sleep 60", timeout_s=1)
    assert output.text.startswith("begun\n[stopped after 1 s.")
    assert output.status == "error"
    assert time.monotonic() - started < 5


async def test_a_forking_command_that_ignores_sigterm_is_stopped_with_the_run(place: Place) -> None:
    command = "(setsid bash -c 'trap \"\" TERM; sleep 60' &); trap '' TERM; echo ready; sleep 60; sleep 60"
    task = asyncio.create_task(place("bash", command=command))
    await until(lambda: bool(place.shown))
    asked = time.monotonic()
    place.cancelled.set()
    output = await task
    assert time.monotonic() - asked < 5
    assert (output.text, output.status) == ("ready\n[stopped by the person]", "cancelled")


async def test_fifty_megabytes_are_a_preview(place: Place) -> None:
    output = await place("bash", command="yes 'a line of output' | head -c 50000000; echo the end")
    assert len(output.text) < 9000
    assert output.text.startswith("a line of output\n")
    assert output.text.endswith("the end\n[exit code 0]")
    assert output.saved_path is not None
    assert Path(output.saved_path).stat().st_size > 50_000_000
    assert output.data["bytes"] > 50_000_000
    found = re.search(r"read_file path=(\S+) offset=(\d+)", output.text)
    assert found is not None
    rest = await place("read_file", path=found[1], offset=int(found[2]), limit=2)
    assert rest.text.startswith("a line of output\na line of output\n")
    last = await place("grep", pattern="the end$", path=found[1])
    assert "the end" in last.text
    assert sum(map(len, place.shown)) < 60_000, "live output is bounded"


async def test_endless_output_ends(place: Place) -> None:
    started = time.monotonic()
    output = await place("bash", command="yes")
    assert "too much output" in output.text
    assert output.status == "error"
    assert time.monotonic() - started < 20


async def test_invalid_utf8_is_shown_and_kept(place: Place) -> None:
    output = await place("bash", command=r"printf 'caf\xe9 \xff\n'")
    assert output.text == "caf\ufffd \ufffd\n[exit code 0]"
    assert "".join(place.shown) == "caf\ufffd \ufffd\n"


async def test_output_is_shown_while_it_comes(place: Place) -> None:
    task = asyncio.create_task(place("bash", command="printf 'fir\\303'; sleep 0.5; printf '\\251st'; sleep 5"))
    await until(lambda: "".join(place.shown) == "firést")
    place.cancelled.set()
    await task


async def test_a_signal_is_named(place: Place) -> None:
    assert (await place("bash", command="kill -SEGV $$")).text.endswith("[killed by signal 11]")


async def test_a_workspace_that_is_gone_is_a_plain_failure(place: Place) -> None:
    place.workspace.rmdir()
    output = await place("bash", command="ls")
    assert (output.status, "does not exist" in output.text) == ("error", True)


@pytest.mark.parametrize("command", ["echo a\0b", "x" * 200_000])
async def test_commands_that_no_program_can_be_given_fail_plainly(place: Place, command: str) -> None:
    output = await place("bash", command=command)
    assert output.status == "error"
    assert "defect" not in output.text


def test_the_preview_is_the_exact_command(place: Place) -> None:
    assert place.preview("bash", command="rm -rf build\nls") == "rm -rf build\nls"
    tool = place.bus.get("bash")
    assert tool is not None
    assert tool.describe({"command": "rm -rf build\nls"}) == "rm -rf build …"
