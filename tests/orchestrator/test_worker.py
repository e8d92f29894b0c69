"""The worker: gives up on runs that kill it, loses runs loudly, and survives a database that goes away."""

from __future__ import annotations

import gc
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from logician_graph.orchestrator.runner import MAX_CRASHES
from logician_graph.sandbox import IsolationLevel, launch
from logician_graph.settings import Settings
from logician_graph.tools import ToolBus
from storage import Change, Database, RunLedger
from tests.fakes.postgres import PostgresServer, available
from tests.orchestrator.harness import Harness


def test_a_run_that_killed_every_engine_is_given_up(build: Callable[..., Harness]) -> None:
    first = build()
    run = first.ask('call deploy {"text": "a"}\nsay never')
    first.asks(run)
    first.stop()
    database = Database(Settings.load().database_url)
    ledger = RunLedger(database)
    for _ in range(MAX_CRASHES + 1):
        ledger.commit(run.id, Change(run={"status": "running", "owner": "dead"}), owner=None)
        assert ledger.requeue(run.id, [], statuses=("running",), crashed=True)
    database.close()
    second = build()
    done = second.done(run)
    assert done.outcome == "failed" and "not tried again" in (done.reason or "")
    assert second.engine.ledger.count_open_approvals() == 0
    assert second.run("say fine", run.thread_id).outcome == "completed"
    second.check_thread(run.thread_id)


def test_a_run_that_another_engine_took_is_left_alone(h: Harness, caplog: pytest.LogCaptureFixture) -> None:
    run = h.ask("say slow 0.1 one two three four five six seven")
    h.event(run, "text.delta", 2)
    h.engine.ledger.commit(run.id, Change(run={"owner": "another"}), owner=None)
    h.until(lambda: "no longer belongs" in caplog.text, "the loss to be noticed")
    events = len(h.events(run))
    time.sleep(0.3)
    assert len(h.events(run)) == events
    assert h.engine.run(run.id).status == "running"
    assert h.run("say fine").outcome == "completed"


def test_an_engine_that_gets_its_own_run_again_goes_on_with_the_newer_claim_alone(h: Harness) -> None:
    """Another engine thought that this one was dead and gave its run back while it still streamed."""
    run = h.ask('call slow {"seconds": 2}\nsay after')
    h.event(run, "tool.started")
    assert h.engine.ledger.requeue(run.id, [("run.interrupted", {"reason": "thought dead"})], statuses=("running",))
    done = h.done(run)
    assert (done.outcome, h.answer(run), done.attempt) == ("completed", "after", 2), done.reason
    at = {event["type"]: event["at"] for event in h.events(run)}
    assert h.kinds(run).count("tool.finished") == 1
    assert at["tool.finished"] - at["run.started"] > 1.95, "the call of the older claim was given up"
    h.check_thread(run.thread_id)
    assert h.run("say fine").outcome == "completed"


def test_a_run_that_nobody_works_on_any_more_is_taken_up(h: Harness) -> None:
    """Its end could not be written: the row says that this engine runs it, and no task does."""
    run = h.ask('call deploy {"text": "a"}\nsay after')
    (ask,) = h.asks(run)
    mine = {"status": "running", "owner": h.engine.registry.id}
    h.engine.ledger.commit(run.id, Change(run=mine), owner=None)
    (same,) = h.asks(run)
    assert same.id == ask.id
    assert "could not be written" in h.of(run, "run.interrupted")[0]["reason"]
    h.engine.answer_approval(ask.id, "allow")
    assert h.done(run).outcome == "completed"


def test_what_the_first_call_needs_is_loaded_beside_the_loop(
    build: Callable[..., Harness], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []
    monkeypatch.setattr(ToolBus, "warm", lambda _bus: threads.append(threading.current_thread().name))
    h = build()
    h.until(lambda: threads, "the tools to be warmed")
    assert threads[0] != "logician-engine" and len(threads) == 1


def test_an_engine_that_is_stopped_at_once_leaves_nothing(
    build: Callable[..., Harness], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stopped while it tries out the sandbox: the command that was being started is given up."""
    starting, started = threading.Event(), threading.Event()

    def slowly(level: IsolationLevel, command: launch.Command) -> launch.Launch:
        """Patched in, because the moment is too short to be met by chance."""
        launched = launch.launch(level, command)
        starting.set()
        time.sleep(0.3)
        started.set()
        return launched

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setattr("logician_graph.sandbox.runner.launch", slowly)
    harness = build()
    assert starting.wait(20)
    harness.stop()
    assert started.wait(5)
    time.sleep(0.2)
    gc.collect()  # a file that was left open is an error here
    assert list(scratch.iterdir()) == []


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    if (missing := available()) is not None:
        pytest.skip(missing)
    with PostgresServer() as server:
        yield server


@pytest.mark.postgres
def test_a_database_that_goes_away_is_waited_for(
    own_server: PostgresServer,
    environment: pytest.MonkeyPatch,
    build: Callable[..., Harness],
    caplog: pytest.LogCaptureFixture,
) -> None:
    environment.setenv("DATABASE_URL", own_server.url(own_server.create()))
    h = build()
    assert h.run("say before").outcome == "completed"
    run = h.ask("say slow 0.1 one two three four five six seven eight nine ten")
    h.event(run, "text.delta")
    own_server.stop()
    time.sleep(1.5)
    own_server.serve()
    done = h.done(run)
    assert done.outcome == "failed" and (done.reason or "").startswith("StorageError: The database"), "it ends loudly"
    assert "trying again" in caplog.text
    assert h.engine.problem is None
    assert h.run("say after", run.thread_id).outcome == "completed"
    h.check_thread(run.thread_id)
