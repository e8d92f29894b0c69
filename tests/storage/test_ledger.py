"""The ledger's promises, one by one: what is accepted stays, who owns a run writes, each answer counts once."""

from __future__ import annotations

import pytest

from storage import Change, Database, LostOwnership, NotOpen, RunLedger, StorageError, ThreadStore, new_id
from tests.storage import rows


def test_accepted_work_is_durable_with_its_message(database: Database, ledger: RunLedger, threads: ThreadStore) -> None:
    work = rows.asked(ledger, threads, text="do it")
    again = RunLedger(database).get(work.id)
    assert again is not None and (again.status, again.attempt, again.last_seq) == ("queued", 0, 1)
    event = ledger.events(work.id)[0]
    assert (event.seq, event.type, event.data["input_message_id"]) == (1, "run.queued", work.input_message_id)
    thread = threads.get(work.thread_id or "")
    assert thread is not None and thread.leaf_id == work.input_message_id
    assert threads.branch(thread.leaf_id)[0].text == "do it"


def test_a_busy_thread_takes_no_second_run(ledger: RunLedger, threads: ThreadStore) -> None:
    work = rows.asked(ledger, threads)
    thread = threads.get(work.thread_id or "")
    assert thread is not None
    question = rows.message(thread)
    second = rows.run(thread, input_message_id=question.id)
    for status in ("queued", "running", "waiting"):
        ledger.commit(work.id, Change(run={"status": status}), owner=None)
        assert ledger.create(second, [question], leaf_id=question.id) is False
    assert threads.message(question.id) is None
    assert ledger.get(second.id) is None
    assert threads.get(thread.id).leaf_id == work.input_message_id  # type: ignore[union-attr]
    ledger.commit(work.id, Change(run={"status": "done"}), owner=None)
    assert ledger.create(second, [question], leaf_id=question.id) is True


def test_the_oldest_queued_run_is_claimed_first_and_only_once(ledger: RunLedger, threads: ThreadStore) -> None:
    works = [rows.asked(ledger, threads, created_at=100.0 + number) for number in range(3)]
    taken = [ledger.claim("me") for _ in range(4)]
    assert [run.id if run else None for run in taken] == [work.id for work in works] + [None]
    first = taken[0]
    assert first is not None
    assert (first.status, first.owner, first.attempt) == ("running", "me", 1)
    assert first.started_at is not None


def test_a_reserved_run_goes_to_its_engine_alone(ledger: RunLedger, threads: ThreadStore) -> None:
    free = rows.asked(ledger, threads, created_at=1.0)
    mine = rows.asked(ledger, threads, reserved_for="me", created_at=2.0)
    assert ledger.claim("me", reserved_only=True).id == mine.id  # type: ignore[union-attr]
    other = rows.asked(ledger, threads, reserved_for="me", created_at=0.5)
    assert ledger.claim("you").id == free.id  # type: ignore[union-attr]
    assert ledger.claim("you") is None
    assert ledger.claim("me").id == other.id  # type: ignore[union-attr]


def test_a_change_is_one_transaction(ledger: RunLedger, threads: ThreadStore) -> None:
    work = rows.claimed(ledger, threads)
    thread = threads.get(work.thread_id or "")
    assert thread is not None
    question = threads.message(work.input_message_id or "")
    reply = rows.message(thread, question, "hi", role="assistant", run_id=work.id, extra={"tool_calls": []})
    intent = rows.intent(work)
    ask = rows.approval(work)
    change = Change(
        events=[("message.added", {"message_id": reply.id}), ("model.finished", {"call_id": "model:1"})],
        messages=[reply],
        leaf=(thread.id, work.input_message_id, reply.id),
        intents=[intent],
        approvals=[ask],
        blobs={"a" * 64: "text"},
        run={"usage": {"model_calls": 1}, "answer_message_id": reply.id},
    )
    written = ledger.commit(work.id, change, owner="me")
    assert [(event.seq, event.type) for event in written] == [(2, "message.added"), (3, "model.finished")]
    stored = ledger.get(work.id)
    assert stored is not None and stored.usage == {"model_calls": 1} and stored.last_seq == 3
    assert threads.get(thread.id).leaf_id == reply.id  # type: ignore[union-attr]
    assert threads.message(reply.id).extra == {"tool_calls": []}  # type: ignore[union-attr]
    assert ledger.intent(work.id, "call-1").settled_at is None  # type: ignore[union-attr]
    assert ledger.approval_of_call(work.id, "call-1").id == ask.id  # type: ignore[union-attr]
    assert threads.blobs(["a" * 64]) == {"a" * 64: "text"}
    ledger.commit(work.id, Change(settle=["call-1"]), owner="me")
    assert ledger.intent(work.id, "call-1").settled_at is not None  # type: ignore[union-attr]


def test_a_change_that_cannot_be_written_whole_is_not_written(ledger: RunLedger, threads: ThreadStore) -> None:
    work = rows.claimed(ledger, threads)
    ledger.commit(work.id, Change(intents=[rows.intent(work)]), owner="me")
    heard: list[int] = []
    ledger.listen(lambda _run, events, _messages: heard.extend(event.seq for event in events))
    change = Change(
        events=[("tool.started", {})], blobs={"b" * 64: "x"}, run={"reason": "no"}, intents=[rows.intent(work)]
    )
    with pytest.raises(StorageError):
        ledger.commit(work.id, change, owner="me")
    stored = ledger.get(work.id)
    assert stored is not None and (stored.last_seq, stored.reason) == (1, None)
    assert rows.types(ledger, work.id) == ["run.queued"]
    assert threads.blobs(["b" * 64]) == {}
    assert heard == []


def test_the_leaf_moves_only_from_where_it_stands(ledger: RunLedger, threads: ThreadStore) -> None:
    work = rows.claimed(ledger, threads)
    thread_id = work.thread_id or ""
    ledger.commit(work.id, Change(leaf=(thread_id, "elsewhere", "x")), owner="me")
    assert threads.get(thread_id).leaf_id == work.input_message_id  # type: ignore[union-attr]
    ledger.commit(work.id, Change(leaf=(thread_id, work.input_message_id, "x")), owner="me")
    assert threads.get(thread_id).leaf_id == "x"  # type: ignore[union-attr]


def test_who_lost_a_run_writes_nothing(ledger: RunLedger, threads: ThreadStore) -> None:
    work = rows.claimed(ledger, threads, owner="old")
    assert ledger.requeue(work.id, [("run.interrupted", {"reason": "gone"})], statuses=("running",), crashed=True)
    assert ledger.claim("new").attempt == 2  # type: ignore[union-attr]
    change = Change(
        events=[("tool.finished", {})], intents=[rows.intent(work)], blobs={"c" * 64: "x"}, run={"status": "done"}
    )
    with pytest.raises(LostOwnership, match="'old'"):
        ledger.commit(work.id, change, owner="old")
    stored = ledger.get(work.id)
    assert stored is not None and (stored.status, stored.owner, stored.crashes) == ("running", "new", 1)
    assert rows.types(ledger, work.id) == ["run.queued", "run.interrupted"]
    assert ledger.intent(work.id, "call-1") is None
    assert threads.blobs(["c" * 64]) == {}


def test_an_engine_that_claims_its_own_run_again_leaves_the_first_claim_nothing(
    ledger: RunLedger, threads: ThreadStore
) -> None:
    """It was thought dead and was not: what still works on the first claim must not write beside the second."""
    work = rows.claimed(ledger, threads)
    assert ledger.requeue(work.id, [], statuses=("running",), attempt=1, crashed=True)
    assert ledger.claim("me").attempt == 2  # type: ignore[union-attr]
    with pytest.raises(LostOwnership, match="claim 1"):
        ledger.commit(work.id, Change(events=[("late", {})], run={"status": "done"}), owner="me", attempt=1)
    assert not ledger.requeue(work.id, [], statuses=("running",), attempt=1, crashed=True), "it is claimed again"
    ledger.commit(work.id, Change(events=[("right", {})]), owner="me", attempt=2)
    assert rows.types(ledger, work.id) == ["run.queued", "right"]
    stored = ledger.get(work.id)
    assert stored is not None and (stored.status, stored.owner, stored.crashes) == ("running", "me", 1)


def test_a_run_that_is_not_there_is_said(ledger: RunLedger) -> None:
    with pytest.raises(StorageError, match="'nope'"):
        ledger.commit("nope", Change(events=[("x", {})]), owner=None)
    with pytest.raises(LostOwnership):
        ledger.commit("nope", Change(events=[("x", {})]), owner="me")
    assert ledger.get("nope") is None
    assert ledger.request_cancel("nope") is None
    assert ledger.events("nope") == []


def test_requeue_needs_the_right_status(ledger: RunLedger, threads: ThreadStore) -> None:
    work = rows.claimed(ledger, threads)
    assert ledger.requeue(work.id, [("x", {})], statuses=("waiting",)) is False
    assert rows.types(ledger, work.id) == ["run.queued"]
    assert ledger.requeue(work.id, [("x", {})], statuses=("waiting", "running")) is True
    stored = ledger.get(work.id)
    assert stored is not None and (stored.status, stored.owner, stored.crashes) == ("queued", None, 0)
    assert rows.types(ledger, work.id) == ["run.queued", "x"]


# Answers


def test_an_answer_queues_the_run_and_counts_once(ledger: RunLedger, threads: ThreadStore) -> None:
    work, (ask,) = rows.waiting(ledger, threads, "call-1")
    ledger.answer(ask.id, {"decision": "allow", "reason": ""})
    stored = ledger.get(work.id)
    assert stored is not None and stored.status == "queued"
    answered = ledger.approval(ask.id)
    assert answered is not None and answered.state == "answered" and answered.answered_at is not None
    assert answered.answer == {"decision": "allow", "reason": ""}
    event = ledger.events(work.id)[-1]
    assert event.type == "approval.answered"
    assert event.data == {"approval_id": ask.id, "call_id": "call-1", "decision": "allow", "reason": ""}
    with pytest.raises(NotOpen, match="answered or withdrawn"):
        ledger.answer(ask.id, {"decision": "deny", "reason": ""})
    assert ledger.approval(ask.id).answer == {"decision": "allow", "reason": ""}  # type: ignore[union-attr]
    assert rows.types(ledger, work.id).count("approval.answered") == 1


def test_a_run_that_waits_for_two_is_queued_by_each(ledger: RunLedger, threads: ThreadStore) -> None:
    work, (one, two) = rows.waiting(ledger, threads, "call-1", "call-2")
    ledger.answer(two.id, {"text": "b"})
    assert ledger.get(work.id).status == "queued"  # type: ignore[union-attr]
    ledger.answer(one.id, {"text": "a"})
    assert ledger.get(work.id).status == "queued"  # type: ignore[union-attr]
    assert [a.answer for a in ledger.approvals(run_id=work.id, state="answered")] in (
        [{"text": "b"}, {"text": "a"}],
        [{"text": "a"}, {"text": "b"}],
    )


def test_an_answer_to_a_running_run_does_not_take_it_away(ledger: RunLedger, threads: ThreadStore) -> None:
    work = rows.claimed(ledger, threads)
    ask = rows.approval(work)
    ledger.commit(work.id, Change(approvals=[ask]), owner="me")
    ledger.answer(ask.id, {"text": "early"})
    stored = ledger.get(work.id)
    assert stored is not None and (stored.status, stored.owner) == ("running", "me")


def test_what_waits_is_withdrawn_when_the_run_ends(ledger: RunLedger, threads: ThreadStore) -> None:
    work, (ask,) = rows.waiting(ledger, threads, "call-1")
    assert ledger.count_open_approvals() == 1
    ledger.commit(work.id, Change(run={"status": "done"}, closes=("text.delta",)), owner=None)
    assert ledger.count_open_approvals() == 0
    with pytest.raises(StorageError, match="withdrawn"):
        ledger.answer(ask.id, {"text": "late"})


# Cancellation


def test_a_run_that_never_began_is_cancelled_at_once(ledger: RunLedger, threads: ThreadStore) -> None:
    work = rows.asked(ledger, threads)
    assert ledger.request_cancel(work.id) == "queued"
    stored = ledger.get(work.id)
    assert stored is not None and (stored.status, stored.outcome) == ("done", "cancelled")
    assert rows.types(ledger, work.id) == ["run.queued", "run.cancel_requested", "run.finished"]
    assert ledger.claim("me") is None


def test_a_running_run_is_asked_to_stop_once(ledger: RunLedger, threads: ThreadStore) -> None:
    work = rows.claimed(ledger, threads)
    assert ledger.request_cancel(work.id) == "running"
    assert ledger.request_cancel(work.id) == "running"
    stored = ledger.get(work.id)
    assert stored is not None and stored.cancel_requested and stored.status == "running"
    assert rows.types(ledger, work.id).count("run.cancel_requested") == 1


def test_a_waiting_run_is_queued_so_that_it_can_end(ledger: RunLedger, threads: ThreadStore) -> None:
    work, _ = rows.waiting(ledger, threads, "call-1")
    assert ledger.request_cancel(work.id) == "waiting"
    taken = ledger.claim("me")
    assert taken is not None and taken.id == work.id and taken.cancel_requested


def test_an_interrupted_run_in_the_queue_is_left_to_its_engine(ledger: RunLedger, threads: ThreadStore) -> None:
    work = rows.claimed(ledger, threads)
    ledger.requeue(work.id, [], statuses=("running",))
    assert ledger.request_cancel(work.id) == "queued"
    stored = ledger.get(work.id)
    assert stored is not None and (stored.status, stored.cancel_requested) == ("queued", True)


def test_a_done_run_cannot_be_cancelled(ledger: RunLedger, threads: ThreadStore) -> None:
    work = rows.claimed(ledger, threads)
    ledger.commit(work.id, Change(run={"status": "done", "outcome": "completed"}), owner="me")
    assert ledger.request_cancel(work.id) == "done"
    stored = ledger.get(work.id)
    assert stored is not None and (stored.outcome, stored.cancel_requested) == ("completed", False)


# Reading


def test_transient_events_go_and_the_rest_keeps_its_numbers(ledger: RunLedger, threads: ThreadStore) -> None:
    work = rows.claimed(ledger, threads)
    ledger.commit(work.id, Change(events=[("text.delta", {"text": "a"}), ("model.finished", {})]), owner="me")
    written = ledger.commit(work.id, Change(events=[("run.finished", {})], closes=("text.delta",)), owner="me")
    assert written[0].seq == 4
    kept = [(event.seq, event.type) for event in ledger.events(work.id)]
    assert kept == [(1, "run.queued"), (3, "model.finished"), (4, "run.finished")]
    assert ledger.commit(work.id, Change(events=[("later", {})]), owner="me")[0].seq == 5


def test_events_can_be_read_from_a_place(ledger: RunLedger, threads: ThreadStore) -> None:
    work = rows.claimed(ledger, threads)
    other = rows.claimed(ledger, threads)
    ledger.commit(work.id, Change(events=[("e", {"n": n}) for n in range(5)]), owner="me")
    assert [event.seq for event in ledger.events(work.id, after=3)] == [4, 5, 6]
    assert [event.seq for event in ledger.events(work.id, after=1, limit=2)] == [2, 3]
    both = ledger.events_of([work.id, other.id, "none"])
    assert [len(both[key]) for key in (work.id, other.id, "none")] == [6, 1, 0]


def test_lists_and_counts(ledger: RunLedger, threads: ThreadStore) -> None:
    first = rows.claimed(ledger, threads)
    ledger.commit(first.id, Change(run={"status": "done", "outcome": "failed"}), owner="me")
    second = rows.claimed(ledger, threads)
    third = rows.asked(ledger, threads)
    assert ledger.count_by_status() == {"done": 1, "running": 1, "queued": 1}
    assert [run.id for run in ledger.recent(limit=2)] == [third.id, second.id]
    assert [run.id for run in ledger.recent(limit=9, outcomes=["failed"])] == [first.id]
    assert [run.id for run in ledger.recent(limit=9, statuses=["running"])] == [second.id]
    assert [run.id for run in ledger.running_elsewhere({"you"})] == [second.id]
    assert ledger.running_elsewhere({"me"}) == []
    assert ledger.unfinished(second.thread_id or "")[0].id == second.id
    assert ledger.unfinished(first.thread_id or "") == []
    assert [run.id for run in ledger.asked_by([third.input_message_id or ""])] == [third.id]
    assert set(ledger.many([first.id, third.id])) == {first.id, third.id}
    assert ledger.writable() is True


def test_text_of_any_kind_comes_back_as_it_was(ledger: RunLedger, threads: ThreadStore) -> None:
    odd = 'tab\t quote" backslash\\ percent% ünïcode 日本語 🧪 \u2028 nul-free'
    work = rows.claimed(ledger, threads)
    ledger.commit(work.id, Change(events=[("e", {"text": odd, odd: [odd, None, 1.5, True]})]), owner="me")
    assert ledger.events(work.id)[-1].data == {"text": odd, odd: [odd, None, 1.5, True]}


def test_listeners_hear_what_was_stored_until_they_stop(ledger: RunLedger, threads: ThreadStore) -> None:
    heard: list[tuple[str, int, str]] = []
    stop = ledger.listen(lambda run_id, events, _: heard.extend((run_id, e.seq, e.type) for e in events))
    work, (ask,) = rows.waiting(ledger, threads, "call-1")
    ledger.answer(ask.id, {"text": "x"})
    ledger.request_cancel(work.id)
    stop()
    ledger.commit(work.id, Change(events=[("unheard", {})]), owner=None)
    stored = [(work.id, event.seq, event.type) for event in ledger.events(work.id)]
    assert heard == stored[:-1]


def test_a_run_needs_no_thread(ledger: RunLedger) -> None:
    work = rows.run(kind="evaluation")
    assert ledger.create(work, [])
    assert ledger.create(rows.run(kind="evaluation"), []) is True
    assert ledger.claim("me") is None
    assert ledger.claim("me", kind="evaluation").id == work.id  # type: ignore[union-attr]


def test_ids_of_intents_are_of_their_run(ledger: RunLedger, threads: ThreadStore) -> None:
    one, two = rows.claimed(ledger, threads), rows.claimed(ledger, threads)
    for work in (one, two):
        ledger.commit(work.id, Change(intents=[rows.intent(work, "model:1")]), owner="me")
    ledger.commit(one.id, Change(settle=["model:1"]), owner="me")
    assert ledger.intent(one.id, "model:1").settled_at is not None  # type: ignore[union-attr]
    assert ledger.intent(two.id, "model:1").settled_at is None  # type: ignore[union-attr]
    assert ledger.intent(one.id, new_id()) is None
