"""SIGKILL at every boundary: the run goes on, nothing happens twice, and what is unknown is said."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from logician_graph.settings import Settings
from storage import Database, Run, RunLedger
from tests.crash.conftest import Scene
from tests.fakes.openai_server import Reply
from tests.fakes.postgres import PostgresServer
from tests.orchestrator.harness import Harness

pytestmark = pytest.mark.crash

Sound = Callable[[Harness, Run], None]
ONCE = 'call once {"text": "a"}\nsay after'
AGAIN = 'call again {"text": "a"}\nsay after'
UNKNOWN = "Interrupted: Logician stopped while this call ran."


def go_on(scene: Scene, sound: Sound, crashes: int = 1) -> tuple[Harness, Run]:
    """Reopen after the child died and see the run to its end."""
    scene.died()
    h = scene.reopen()
    run = h.done(h.engine.run(scene.run_id))
    assert (run.outcome, h.answer(run)) == ("completed", "after"), run.reason
    assert (run.crashes, h.kinds(run).count("run.interrupted")) == (crashes, crashes)
    sound(h, run)
    return h, run


@pytest.mark.parametrize(
    ("kill", "text", "ran", "result"),
    [
        pytest.param(("before", "tool.started", 1), "a", 1, "did a", id="before the intent"),
        pytest.param(("after", "tool.started", 1), "a", 0, UNKNOWN, id="after the intent"),
        pytest.param(None, "die-before", 0, UNKNOWN, id="in the tool before its effect"),
        pytest.param(None, "die-after", 1, UNKNOWN, id="in the tool after its effect"),
        pytest.param(("before", "tool.finished", 1), "a", 1, UNKNOWN, id="after the effect"),
        pytest.param(("after", "tool.finished", 1), "a", 1, "did a", id="after the settlement"),
        pytest.param(("after", "leaf", 1), "a", 1, "did a", id="after the turn was closed"),
    ],
)
def test_a_call_that_must_not_run_twice(
    scene: Scene, sound: Sound, kill: Any, text: str, ran: int, result: str
) -> None:
    scene.begin(f'call once {{"text": "{text}"}}\nsay after', kill=kill, mode="accept_all")
    h, run = go_on(scene, sound)
    assert scene.executions == [f"once {text}"] * ran
    (shown,) = h.results(run).values()
    assert shown.startswith(result)
    (finished,) = h.of(run, "tool.finished")
    assert finished["status"] == ("interrupted" if result == UNKNOWN else "ok")
    assert run.usage["tool_calls"] == 1


@pytest.mark.parametrize(
    ("kill", "text", "ran"),
    [
        pytest.param(("after", "tool.started", 1), "a", 1, id="after the intent"),
        pytest.param(None, "die-after", 2, id="after the effect"),
        pytest.param(("after", "tool.finished", 1), "a", 1, id="after the settlement"),
    ],
)
def test_a_call_that_may_run_again(scene: Scene, sound: Sound, kill: Any, text: str, ran: int) -> None:
    scene.begin(f'call again {{"text": "{text}"}}\nsay after', kill=kill)
    h, run = go_on(scene, sound)
    assert scene.executions == [f"again {text}"] * ran
    assert list(h.results(run).values()) == [f"did {text}"]
    assert run.usage["tool_calls"] == 1


@pytest.mark.parametrize(
    ("kill", "requests"),
    [
        pytest.param(("before", "model.started", 1), 2, id="before the intent"),
        pytest.param(("after", "model.started", 1), 2, id="after the intent"),
        pytest.param(("before", "model.finished", 1), 3, id="before the settlement"),
        pytest.param(("after", "model.finished", 1), 2, id="after the settlement"),
        pytest.param(("after", "gate.decided", 1), 2, id="after the decision"),
        pytest.param(("after", "model.finished", 2), 2, id="after the answer"),
        pytest.param(("before", "run.finished", 1), 2, id="before the end"),
    ],
)
def test_a_model_call(scene: Scene, sound: Sound, kill: Any, requests: int) -> None:
    scene.begin(AGAIN, kill=kill)
    h, run = go_on(scene, sound)
    assert scene.executions == ["again a"]
    assert len(scene.fake.bodies) - 1 <= requests, "a settled reply is not asked for again"
    assert [data["call_id"] for data in h.of(run, "model.finished")] == ["model:1", "model:2"]
    assert run.answer_message_id == h.engine.threads.branch(h.of(run, "run.finished")[0]["answer_message_id"])[-1].id


def test_in_the_middle_of_the_answer(scene: Scene, sound: Sound) -> None:
    """What streamed before is void: nobody reads the beginning twice."""
    scene.begin("say slow 0.05 one two three four five six", kill=("after", "text.delta", 3))
    scene.died()
    h = scene.reopen()
    run = h.done(h.engine.run(scene.run_id))
    assert (run.outcome, h.answer(run)) == ("completed", "one two three four five six")
    assert len([m for m in h.branch(run.thread_id) if m.role == "assistant"]) == 1
    sound(h, run)


def test_two_calls_of_which_one_was_done(scene: Scene, sound: Sound) -> None:
    scene.begin(
        'call once {"text": "first"}; once {"text": "second"}\nsay after',
        kill=("after", "tool.finished", 1),
        mode="accept_all",
    )
    h, run = go_on(scene, sound)
    assert sorted(scene.executions) in (["once first", "once second"], ["once first"], ["once second"])
    results = list(h.results(run).values())
    assert all(text in ("did first", "did second") or text.startswith(UNKNOWN) for text in results)
    assert len(results) == 2


def test_a_refusal_is_written_once(scene: Scene, sound: Sound) -> None:
    scene.begin('call nonsense {"x": 1}; again {"text": "a"}\nsay after', kill=("after", "tool.finished", 1))
    h, run = go_on(scene, sound)
    refused = next(text for text in h.results(run).values() if text.startswith("Not run"))
    assert "nonsense" in refused
    assert scene.executions == ["again a"]


@pytest.mark.parametrize(
    "kill", [("after", "approval.requested", 1), ("before", "run.waiting", 1), ("after", "run.waiting", 1)]
)
def test_while_it_waits_for_a_person(scene: Scene, sound: Sound, kill: Any) -> None:
    scene.begin('call again {"text": "x"}; once {"text": "a"}\nsay after', kill=kill)
    scene.died()
    h = scene.reopen()
    (ask,) = h.asks(h.engine.run(scene.run_id))
    assert ask.request["arguments"] == {"text": "a"}
    assert scene.executions == []
    h.engine.answer_approval(ask.id, "allow")
    run = h.done(h.engine.run(scene.run_id))
    assert (run.outcome, h.answer(run)) == ("completed", "after")
    assert sorted(scene.executions) == ["again x", "once a"]
    assert len(h.engine.ledger.approvals(run_id=run.id)) == 1
    sound(h, run)


@pytest.mark.parametrize(
    "kill",
    [("after", "verify.started", 1), ("after", "verify.finished", 1), ("after", "message.added", 2)],
    ids=["while it is checked", "after the check", "after it was sent back"],
)
def test_while_the_work_is_checked(scene: Scene, sound: Sound, kill: Any) -> None:
    check = "test -e done.txt || { touch done.txt; echo not yet; exit 1; }"
    scene.begin("say after", kill=kill, verify=[check])
    scene.died()
    h = scene.reopen()
    run = h.done(h.engine.run(scene.run_id))
    assert run.outcome == "completed"
    passed = [data["passed"] for data in h.of(run, "verify.finished")]
    assert passed[-1] is True
    sound(h, run)


def test_a_stop_that_the_dead_engine_did_not_hear(scene: Scene, sound: Sound) -> None:
    """The call was cut off by the crash: stopping must not claim that it was never run."""
    scene.begin(ONCE, kill=("before", "tool.finished", 1), mode="accept_all")
    scene.died()
    database = Database(Settings.load().database_url)
    assert RunLedger(database).request_cancel(scene.run_id) == "running"
    database.close()
    h = scene.reopen()
    run = h.done(h.engine.run(scene.run_id))
    assert run.outcome == "cancelled"
    assert scene.executions == ["once a"]
    (text,) = h.results(run).values()
    assert text.startswith(UNKNOWN)
    sound(h, run)


def test_a_stop_after_many_steps_loses_none_of_them(scene: Scene, sound: Sound) -> None:
    lines = [f'call again {{"text": "{number}"}}' for number in range(3)]
    scene.begin("\n".join([*lines, ONCE]), kill=("before", "tool.finished", 4), mode="accept_all")
    scene.died()
    database = Database(Settings.load().database_url)
    RunLedger(database).request_cancel(scene.run_id)
    database.close()
    h = scene.reopen()
    run = h.done(h.engine.run(scene.run_id))
    assert (run.outcome, run.reason) == ("cancelled", "Stopped by the person.")
    *done, cut = h.results(run).values()
    assert done == ["did 0", "did 1", "did 2"]
    assert cut.startswith(UNKNOWN)
    assert scene.executions == ["again 0", "again 1", "again 2", "once a"]
    sound(h, run)


def test_what_a_person_denied_stays_denied(scene: Scene, sound: Sound) -> None:
    """The denial is older than the crash; by now the budget is spent, and nobody may be asked again."""
    text = 'call once {"text": "a"}\ncall again {"text": "b"}\nsay after'
    scene.begin(text, kill=("after", "tool.finished", 2), max_tool_calls=1)
    database = Database(Settings.load().database_url)
    ledger = RunLedger(database)
    deadline = time.monotonic() + 30
    while not (asks := ledger.approvals(run_id=scene.run_id, state="open")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    ledger.answer(asks[0].id, {"decision": "deny", "reason": "no"})
    database.close()
    h, run = go_on(scene, sound)
    assert scene.executions == ["again b"]
    denied, done = h.results(run).values()
    assert denied.startswith("Denied") and done == "did b"
    assert [data["tool"] for data in h.of(run, "gate.decided")] == ["once", "again"]
    assert len(h.engine.ledger.approvals(run_id=run.id)) == 1


def test_a_tool_that_is_gone_after_the_restart(scene: Scene, sound: Sound) -> None:
    scene.begin('call child_only {"text": "a"}\nsay after', kill=("before", "tool.finished", 1))
    h, run = go_on(scene, sound)
    (text,) = h.results(run).values()
    assert text.startswith(UNKNOWN)
    assert scene.executions == ["child_only a"]


def test_after_the_end_nothing_is_left_to_do(scene: Scene, sound: Sound) -> None:
    scene.begin("say after", kill=("after", "run.finished", 1))
    _, run = go_on(scene, sound, crashes=0)
    assert run.attempt == 1


def test_an_engine_beside_it_takes_over(scene: Scene, sound: Sound) -> None:
    """Two engines on one home: the second leaves the first's runs alone, and takes them when it dies."""
    replies = iter([Reply("word " * 300, delay_s=0.3)])
    obey = scene.fake.handler
    scene.fake.handler = lambda body: next(replies, Reply("after")) if "stream" in str(body["messages"]) else obey(body)
    scene.begin("stream")
    h = scene.reopen()
    h.event(h.engine.run(scene.run_id), "text.delta")
    assert h.run("say beside").outcome == "completed"
    assert h.engine.run(scene.run_id).status == "running"
    scene.signal(signal.SIGKILL)
    scene.died()
    run = h.done(h.engine.run(scene.run_id))
    assert (run.outcome, run.crashes, h.answer(run)) == ("completed", 1, "after")
    scene.fake.handler = obey
    sound(h, run)


@pytest.mark.postgres
@pytest.mark.parametrize("kill", [("before", "tool.finished", 1), ("after", "model.finished", 1)])
def test_the_same_on_postgresql(
    scene: Scene, sound: Sound, kill: Any, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", postgres.url(postgres.create()))
    scene.begin(ONCE, kill=kill, mode="accept_all")
    h, run = go_on(scene, sound)
    assert scene.executions == ["once a"]
    assert h.results(run)
