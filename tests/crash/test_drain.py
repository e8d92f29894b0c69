"""SIGTERM: the engine stops at a clean point and soon; the run goes on at the next start as if nothing had been."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest

from logician_graph.orchestrator.worker import DRAIN_S
from logician_graph.settings import Settings
from storage import Database, Run, RunLedger
from tests.crash.conftest import Scene
from tests.orchestrator.harness import Harness

pytestmark = pytest.mark.crash

Sound = Callable[[Harness, Run], None]


def terminate(scene: Scene, event: str, number: int = 1) -> float:
    """SIGTERM once ``event`` is stored; returns the seconds until the child had exited with 0."""
    database = Database(Settings.load().database_url)
    ledger = RunLedger(database)
    deadline = time.monotonic() + 30
    while [e.type for e in ledger.events(scene.run_id)].count(event) < number:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    database.close()
    started = time.monotonic()
    scene.signal(signal.SIGTERM)
    assert scene.wait() == 0
    return time.monotonic() - started


def finished(scene: Scene, answer: str) -> tuple[Harness, Run]:
    h = scene.reopen()
    run = h.done(h.engine.run(scene.run_id))
    assert (run.outcome, h.answer(run)) == ("completed", answer)
    return h, run


def test_while_it_streams(scene: Scene, sound: Sound) -> None:
    words = " ".join(str(number) for number in range(30))
    scene.begin(f"say slow 0.2 {words}")
    assert terminate(scene, "text.delta") < DRAIN_S + 3
    h, run = finished(scene, words)
    assert run.crashes == 0
    (data,) = h.of(run, "run.interrupted")
    assert "shutting down" in data["reason"]
    assert [m.text for m in h.branch(run.thread_id)][-1] == words
    sound(h, run)


def test_while_a_tool_is_about_to_finish(scene: Scene, sound: Sound) -> None:
    scene.begin('call steady {"seconds": 1.0}\ncall again {"text": "a"}\nsay after')
    assert terminate(scene, "tool.started") < DRAIN_S + 3
    h, run = finished(scene, "after")
    assert scene.executions == ["again a"]
    assert h.of(run, "tool.finished")[0]["status"] == "ok"
    assert len(h.of(run, "tool.started")) == 2, "what was finished while draining is not done again"
    assert run.crashes == 0
    sound(h, run)


def test_a_tool_that_takes_too_long_is_given_up_and_said(scene: Scene, sound: Sound) -> None:
    scene.begin('call stubborn {"seconds": 60}\nsay after', mode="accept_all")
    assert terminate(scene, "tool.started") < DRAIN_S + 4
    h, run = finished(scene, "after")
    (text,) = h.results(run).values()
    assert text.startswith("Interrupted")
    sound(h, run)


def test_while_it_waits_for_a_person(scene: Scene, sound: Sound) -> None:
    scene.begin('call once {"text": "a"}\nsay after')
    assert terminate(scene, "run.waiting") < 3
    h = scene.reopen()
    (ask,) = h.asks(h.engine.run(scene.run_id))
    h.engine.answer_approval(ask.id, "allow")
    run = h.done(h.engine.run(scene.run_id))
    assert (run.outcome, scene.executions) == ("completed", ["once a"])
    assert h.of(run, "run.interrupted") == []
    sound(h, run)


def test_with_nothing_to_do(scene: Scene) -> None:
    scene.begin("say after")
    assert terminate(scene, "run.finished") < 3
