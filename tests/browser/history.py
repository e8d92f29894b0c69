"""Writes a long chat straight into a server's database, as so many runs would have left it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from storage import Change, Database, Message, Run, RunLedger, ThreadStore, new_id, now

MARKDOWN = (
    "Here is what I found in **part {n}**:\n\n- the first thing\n- the second, with `code`\n\n"
    "```python\ndef part_{n}():\n    return {n}\n```\n\n| name | value |\n|---|---|\n| part | {n} |\n"
)


def write_history(home: Path, turns: int) -> str:
    """A thread of ``turns`` questions with answers; returns its id."""
    database = Database(f"sqlite:///{home / 'logician.db'}")
    threads, ledger = ThreadStore(database), RunLedger(database)
    thread = threads.create(title=f"A chat of {turns * 2:,} messages", workspace=str(home / "workspace"))
    parent: str | None = None
    for number in range(turns):
        question = _message(thread.id, parent, number * 2, "user", f"Question {number}: what about part {number}?")
        run = Run(
            id=new_id(),
            thread_id=thread.id,
            input_message_id=question.id,
            options={"model": "endpoint:fake-model", "workspace": str(home / "workspace")},
            usage={},
            created_at=now(),
        )
        assert ledger.create(run, [question], leaf_id=question.id)
        answer = _message(thread.id, question.id, number * 2 + 1, "assistant", MARKDOWN.format(n=number), run.id)
        ledger.commit(run.id, _finished(run, answer), owner=None)
        parent = answer.id
    database.close()
    return thread.id


def _message(
    thread_id: str, parent_id: str | None, depth: int, role: str, text: str, run_id: str | None = None
) -> Message:
    return Message(
        id=new_id(),
        thread_id=thread_id,
        parent_id=parent_id,
        depth=depth,
        role=role,
        text=text,
        run_id=run_id,
        created_at=now(),
    )


def _finished(run: Run, answer: Message) -> Change:
    usage: dict[str, Any] = {"model_calls": 1, "input_tokens": 900, "output_tokens": 80, "seconds": 1.5}
    started = {
        "attempt": 1,
        "model": "endpoint:fake-model",
        "mode": "accept_edits",
        "workspace": "",
        "isolation": "full",
    }
    ended = {"outcome": "completed", "reason": "", "usage": usage, "answer_message_id": answer.id}
    return Change(
        events=[("run.started", started), ("message.added", {"message_id": answer.id}), ("run.finished", ended)],
        messages=[answer],
        leaf=(answer.thread_id, answer.parent_id, answer.id),
        run={"status": "done", "outcome": "completed", "reason": "", "usage": usage, "finished_at": now()},
    )
