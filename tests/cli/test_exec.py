"""``logician exec`` against a fake endpoint, as programs call it."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Run, Start
from tests.fakes.openai_server import FakeOpenAI

TASK = 'call write_file {"path":"b.txt","content":"hi"}\nsay It is written.'


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def test_text_goes_to_stdout_and_steps_to_stderr(run: Run, endpoint: dict[str, str], workspace: Path) -> None:
    done = run("exec", TASK, "--workspace", str(workspace), "--verify", "test -s b.txt", env=endpoint)

    assert (done.code, done.out) == (0, "It is written.\n")
    assert (workspace / "b.txt").read_text() == "hi"
    notes = done.err.splitlines()
    assert notes[0].startswith("> ")
    assert "b.txt" in notes[0]
    assert any(note.startswith("  ok: ") for note in notes)
    assert "check passed: test -s b.txt" in notes
    assert notes[-1].startswith("completed · ")


def test_json_tells_every_event_and_last_the_result(run: Run, endpoint: dict[str, str], workspace: Path) -> None:
    done = run("exec", TASK, "--json", "--workspace", str(workspace), env=endpoint)

    *events, result = done.lines()
    assert done.code == 0
    assert done.err == ""
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert {tuple(event) for event in events} == {("v", "seq", "at", "type", "run_id", "data")}
    kinds = [event["type"] for event in events]
    assert (kinds[0], kinds[-1]) == ("run.queued", "run.finished")
    assert "text.delta" in kinds
    assert kinds.index("tool.started") < kinds.index("tool.finished")
    assert result["type"] == "result"
    assert (result["outcome"], result["answer"]) == ("completed", "It is written.")
    assert result["run_id"] == events[0]["run_id"]
    assert result["usage"]["model_calls"] == 2
    assert result["usage"]["input_tokens"] > 0
    assert (workspace / "b.txt").read_text() == "hi"


def test_lines_come_while_the_run_goes_on(start: Start, endpoint: dict[str, str]) -> None:
    child = start("exec", "say slow 0.3 one two three four five six", "--json", env=endpoint)
    assert child.stdout is not None
    seen = [(json.loads(line)["type"], time.monotonic()) for line in child.stdout]
    first = next(at for kind, at in seen if kind == "text.delta")
    last = next(at for kind, at in seen if kind == "run.finished")

    assert child.wait(10) == 0
    assert last - first > 0.8


@pytest.mark.parametrize(
    ("task", "options", "outcome", "code"),
    [
        ("fail 400", (), "failed", 1),
        ('call bash {"command":"rm -rf b"}\nsay no', ("--mode", "ask"), "needs_input", 3),
        ('call ask_user {"question":"Which one?"}\nsay no', (), "needs_input", 3),
        (
            'call read_file {"path":"a"}\ncall read_file {"path":"b"}\nsay no',
            ("--max-turns", "1"),
            "blocked",
            4,
        ),
        ("say done", ("--verify", "exit 7"), "failed", 1),
    ],
)
def test_the_exit_code_says_the_outcome(
    run: Run, endpoint: dict[str, str], task: str, options: tuple[str, ...], outcome: str, code: int
) -> None:
    done = run("exec", task, "--json", *options, env=endpoint)

    assert (done.code, done.lines()[-1]["outcome"]) == (code, outcome)
    assert done.lines()[-1]["reason"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_run_and_the_result_keeps_what_came(
    start: Start, endpoint: dict[str, str], number: signal.Signals
) -> None:
    child = start("exec", "say slow 0.2 " + "word " * 200, "--json", env=endpoint)
    assert child.stdout is not None
    for line in child.stdout:
        if json.loads(line)["type"] == "text.delta":
            break
    asked = time.monotonic()
    child.send_signal(number)
    rest = child.stdout.read()

    assert child.wait(20) == 130
    assert time.monotonic() - asked < 8
    result = json.loads(rest.splitlines()[-1])
    assert (result["type"], result["outcome"]) == ("result", "cancelled")
    assert result["answer"].startswith("word")


def test_a_reader_that_leaves_stops_the_run(start: Start, endpoint: dict[str, str], tmp_path: Path) -> None:
    child = start("exec", "say slow 0.2 " + "word " * 200, "--json", env=endpoint)
    assert child.stdout is not None
    child.stdout.readline()
    child.stdout.close()

    assert child.wait(30) == 130
    assert child.stderr is not None
    assert "Traceback" not in child.stderr.read()
    with sqlite3.connect(tmp_path / "home" / "logician.db") as database:
        assert database.execute("select status, outcome from runs").fetchall() == [("done", "cancelled")]
    database.close()


def test_the_task_may_come_from_stdin(run: Run, endpoint: dict[str, str]) -> None:
    assert run("exec", "-", env=endpoint, given="say From a pipe.").out == "From a pipe.\n"


def test_a_model_named_on_the_command_line_is_used(run: Run, endpoint: dict[str, str], fake: FakeOpenAI) -> None:
    fake.models = ("fake-model", "other-model")

    assert run("exec", "say hi", "--model", "other-model", env=endpoint).code == 0
    assert {request.body["model"] for request in fake.requests if request.body} == {"other-model"}


def test_a_revoked_key_is_said_and_never_shown(run: Run, endpoint: dict[str, str], fake: FakeOpenAI) -> None:
    fake.api_key = "another"
    done = run("exec", "say hi", "--json", env={**endpoint, "LOGICIAN_LOG_LEVEL": "debug"})

    assert done.code == 1
    assert "key" in done.lines()[-1]["reason"]
    assert "sk-fake-0123456789" not in done.out + done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("exec",), "the following arguments are required: TASK"),
        (("exec", " "), "The task is empty"),
        (("exec", "x", "--workspace", "/does/not/exist"), "'/does/not/exist' is not a folder"),
        (("exec", "x", "--mode", "yolo"), "invalid choice: 'yolo'"),
        (("exec", "x", "--max-turns", "0"), "'0' is not a whole number of at least 1"),
        (("exec", "x", "--model", "endpoint:gpt"), "needs an endpoint"),
        (("exec", "x", "--wrong"), "unrecognized arguments: --wrong"),
        (("run", "--port", "99999"), "'99999' is not a whole number from 0 to 65535"),
        (("frobnicate",), "invalid choice: 'frobnicate'"),
        ((), "the following arguments are required: COMMAND"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_exit_code_2(run: Run, arguments: tuple[str, ...], said: str) -> None:
    done = run(*arguments)

    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_unusable_settings_are_one_line_and_exit_code_1(run: Run, environment: dict[str, str]) -> None:
    done = run("exec", "x", env={**environment, "LOGICIAN_MAX_TURNS": "many"})

    assert done.code == 1
    assert done.err.startswith("logician: LOGICIAN_MAX_TURNS='many' from the environment cannot be used")
    assert len(done.err.splitlines()) == 1


def test_a_damaged_database_is_one_line_and_exit_code_1(run: Run, endpoint: dict[str, str], tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "logician.db").write_bytes(b"this is no database" * 100)
    done = run("exec", "x", env=endpoint)

    assert done.code == 1
    assert "file is not a database" in done.err
    assert len(done.err.splitlines()) == 1


def test_help_says_the_exit_codes_and_loads_nothing_heavy(run: Run) -> None:
    done = run("exec", "--help")

    assert done.code == 0
    assert "130  it was stopped" in done.out
    code = "import logician_graph.cli, sys; print({'langgraph', 'sqlalchemy', 'streamlit'} & set(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert loaded.stdout == "set()\n"
