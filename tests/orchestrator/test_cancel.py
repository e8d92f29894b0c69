"""Stop: heard at once wherever the run is, keeps what there is, and the next message works."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from logician_graph.errors import NotFound
from logician_graph.settings import Settings
from storage import Database, Run, RunLedger
from tests.orchestrator.harness import Harness

AT_ONCE_S = 4.0


def stop(h: Harness, run: Run) -> Run:
    """Stop a run and check that it was quick, that the history is valid and that the thread goes on."""
    started = time.monotonic()
    h.engine.cancel(run.id)
    ended = h.done(run)
    assert time.monotonic() - started < AT_ONCE_S
    assert ended.outcome == "cancelled"
    assert h.engine.ledger.count_open_approvals() == 0
    assert all(step.state not in ("running", "waiting") for step in h.view(run).steps)
    h.check_thread(run.thread_id)
    return ended


def goes_on(h: Harness, run: Run) -> None:
    after = h.run("say still here", run.thread_id)
    assert (after.outcome, h.answer(after)) == ("completed", "still here")
    h.check_thread(run.thread_id)


def test_in_the_queue(build: Callable[..., Harness]) -> None:
    h = build(max_concurrent_runs=1)
    busy = h.ask("say slow 0.3 a b c d e")
    h.event(busy, "run.started")
    queued = h.ask("say never")
    ended = stop(h, queued)
    assert ended.reason == "Stopped before it began."
    assert h.kinds(queued) == ["run.queued", "run.cancel_requested", "run.finished"]
    h.done(busy)
    goes_on(h, queued)
    assert "say never" in [m.text for m in h.branch(queued.thread_id)], "what the person wrote stays"


def test_while_text_streams_keeps_the_partial(h: Harness) -> None:
    run = h.ask("say slow 0.1 one two three four five six seven eight nine ten")
    h.event(run, "text.delta", 3)
    ended = stop(h, run)
    message = h.branch(run.thread_id)[-1]
    assert message.role == "assistant" and (message.extra or {})["partial"] is True
    assert message.text.startswith("one two") and "ten" not in message.text
    assert h.answer(run) == message.text
    assert ended.answer_message_id == message.id
    assert ended.usage["unreported_calls"] == 1, "an interrupted call reported nothing"
    request = h.fake.requests[-1]
    h.until(lambda: request.disconnected_at, "the connection to be closed", 2)
    goes_on(h, run)
    sent = h.fake.bodies[-1]["messages"]
    assert "[Stopped here by the person.]" in sent[2]["content"]


def test_before_the_first_word(h: Harness) -> None:
    run = h.ask("wait 20 say never")
    h.event(run, "model.started")
    stop(h, run)
    assert [m.role for m in h.branch(run.thread_id)] == ["user"]
    goes_on(h, run)


def test_while_the_provider_is_waited_for(h: Harness) -> None:
    run = h.ask("fail 503 x9 after 20")
    h.event(run, "model.retry")
    stop(h, run)
    goes_on(h, run)


def test_while_a_tool_runs(h: Harness) -> None:
    run = h.ask('call slow {"seconds": 20}; slow_single {"seconds": 20}; count {}\nsay never')
    h.event(run, "tool.started")
    stop(h, run)
    first, second, third = h.results(run).values()
    assert first == "stopped early"
    assert second.startswith("Not run") and third.startswith("Not run")
    assert h.slow_single.calls == [] and h.count.calls == []
    assert len(h.fake.bodies) == 1
    goes_on(h, run)


def test_while_a_command_runs(h: Harness) -> None:
    run = h.ask('call bash {"command": "echo begun; sleep 20"}\nsay never', mode="accept_all")
    h.event(run, "tool.output")
    stop(h, run)
    goes_on(h, run)


def test_while_it_waits_for_a_person(h: Harness) -> None:
    run = h.ask('call count {"text": "x"}; deploy {"text": "a"}\nsay never')
    (ask,) = h.asks(run)
    stop(h, run)
    assert h.deploy.calls == [] and h.count.calls == []
    assert h.engine.approval(ask.id).state == "withdrawn"
    goes_on(h, run)


def test_while_the_work_is_checked(h: Harness) -> None:
    run = h.ask("say finished", verify=("sleep 20",))
    h.event(run, "verify.started")
    stop(h, run)
    assert [m.text for m in h.branch(run.thread_id)] == ["say finished", "finished"]
    goes_on(h, run)


def test_a_stop_while_it_comes_to_wait_is_heard(h: Harness) -> None:
    """Neither the run's own signal nor its row may be missed in the moment in which it is handed to the person."""
    for _ in range(8):
        run = h.ask('call deploy {"text": "a"}\nsay never')
        h.event(run, "approval.requested")
        stop(h, run)


@pytest.fixture
def elsewhere() -> Iterator[RunLedger]:
    """The ledger as another process on the same home has it."""
    database = Database(Settings.load().database_url)
    yield RunLedger(database)
    database.close()


@pytest.mark.parametrize("busy", [False, True])
def test_a_stop_by_another_process_is_heard_within_a_second(h: Harness, elsewhere: RunLedger, busy: bool) -> None:
    """Also by an engine that is woken so often that it never rests for the length of a poll."""
    run = h.ask('call slow {"seconds": 20}\nsay never')
    h.event(run, "tool.started")
    over = threading.Event()

    def keep_awake() -> None:
        while not over.wait(0.05 if busy else 20):
            h.engine.conversations._wake()  # pyright: ignore[reportPrivateUsage]

    waking = threading.Thread(target=keep_awake)
    waking.start()
    try:
        time.sleep(0.3)
        started = time.monotonic()
        assert elsewhere.request_cancel(run.id) == "running"
        done = h.status(run, "done")
        assert time.monotonic() - started < 1.0 and done.outcome == "cancelled"
    finally:
        over.set()
        waking.join()


def test_an_answer_by_another_process_is_heard_within_a_second_while_a_run_is_active(
    h: Harness, elsewhere: RunLedger
) -> None:
    active = h.ask('call slow {"seconds": 5}\nsay fine')
    run = h.ask('call deploy {"text": "a"}\nsay after')
    (ask,) = h.asks(run)
    h.event(active, "tool.started")
    started = time.monotonic()
    elsewhere.answer(ask.id, {"decision": "allow", "reason": ""})
    assert h.done(run).outcome == "completed"
    assert time.monotonic() - started < 1.0
    assert h.engine.run(active.id).status == "running"
    stop(h, active)


def test_stopping_twice_and_what_is_over(h: Harness) -> None:
    run = h.ask("say slow 0.1 one two three four five six")
    h.event(run, "text.delta")
    h.engine.cancel(run.id)
    h.engine.cancel(run.id)
    assert h.done(run).outcome == "cancelled"
    h.engine.cancel(run.id)
    assert h.kinds(run).count("run.cancel_requested") == 1
    finished = h.run("say done")
    h.engine.cancel(finished.id)
    assert h.engine.run(finished.id).outcome == "completed"
    with pytest.raises(NotFound):
        h.engine.cancel("nothing")
