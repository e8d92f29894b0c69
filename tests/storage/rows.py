"""Rows for storage tests, valid by default, with only what a test cares about spelled out."""

from __future__ import annotations

from typing import Any

from storage import Approval, Change, Intent, Message, Run, RunLedger, Thread, ThreadStore, new_id, next_depth, now


def message(thread: Thread, parent: Message | None = None, text: str = "hello", **values: Any) -> Message:
    return Message(
        id=values.pop("id", None) or new_id(),
        thread_id=thread.id,
        parent_id=parent.id if parent else None,
        depth=next_depth(parent),
        role=values.pop("role", "user"),
        text=text,
        created_at=values.pop("created_at", None) or now(),
        **values,
    )


def run(thread: Thread | None = None, **values: Any) -> Run:
    return Run(
        id=new_id(),
        thread_id=thread.id if thread else None,
        options=values.pop("options", {}),
        usage=values.pop("usage", {}),
        created_at=values.pop("created_at", None) or now(),
        **values,
    )


def approval(of: Run, call_id: str = "call-1", **values: Any) -> Approval:
    return Approval(
        id=new_id(),
        run_id=of.id,
        thread_id=of.thread_id,
        call_id=call_id,
        kind=values.pop("kind", "approval"),
        request=values.pop("request", {"tool": "bash"}),
        created_at=now(),
        **values,
    )


def intent(of: Run, call_id: str = "call-1", **values: Any) -> Intent:
    return Intent(
        run_id=of.id,
        call_id=call_id,
        kind="tool",
        name="bash",
        args_sha256="0" * 64,
        replay=values.pop("replay", "never"),
        message_id=new_id(),
        created_at=now(),
        **values,
    )


def asked(ledger: RunLedger, threads: ThreadStore, text: str = "hello", **values: Any) -> Run:
    """A new thread with one message and the queued run that answers it."""
    thread = threads.create()
    question = message(thread, text=text)
    work = run(thread, input_message_id=question.id, **values)
    assert ledger.create(work, [question], leaf_id=question.id)
    return work


def claimed(ledger: RunLedger, threads: ThreadStore, owner: str = "me") -> Run:
    """A run that ``owner`` works on."""
    work = asked(ledger, threads)
    taken = ledger.claim(owner)
    assert taken is not None and taken.id == work.id
    return taken


def waiting(ledger: RunLedger, threads: ThreadStore, *calls: str) -> tuple[Run, list[Approval]]:
    """A run that waits for answers about ``calls``."""
    work = claimed(ledger, threads)
    asks = [approval(work, call) for call in calls]
    ledger.commit(work.id, Change(approvals=asks), owner="me")
    ledger.commit(work.id, Change(run={"status": "waiting", "owner": None}), owner="me")
    return work, asks


def types(ledger: RunLedger, run_id: str) -> list[str]:
    return [event.type for event in ledger.events(run_id)]
