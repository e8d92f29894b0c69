"""What a start removes: the rest of chats that were deleted long ago, and of runs that ended just before a crash."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest

from logician_graph.settings import Settings
from storage import Change, Database, RunLedger, ThreadStore
from tests.orchestrator.harness import Harness


def test_the_files_of_a_deleted_chat_go_first_and_its_rows_with_its_blobs_last(
    build: Callable[..., Harness], caplog: pytest.LogCaptureFixture
) -> None:
    first = build()
    gone, stuck = (first.run("say fine", files=[("a.txt", b"text")]).thread_id or "" for _ in range(2))
    folders = {thread_id: first.engine.artifacts(thread_id) for thread_id in (gone, stuck)}
    assert all((folder / "attachments").is_dir() for folder in folders.values())
    first.stop()
    folders[stuck].rename(first.workspace / "elsewhere")
    folders[stuck].write_text("not a folder: it cannot be removed as one", encoding="utf-8")
    database = Database(Settings.load().database_url)
    for thread_id in (gone, stuck):
        ThreadStore(database).update(thread_id, deleted_at=1.0)
    database.close()
    second = build()
    second.until(lambda: second.engine.threads.get(gone) is None, "the chat to be purged")
    assert not folders[gone].exists()
    assert "kept until its files can be removed" in caplog.text
    assert second.engine.threads.get(stuck) is not None, "it is tried again at the next start"


def test_checkpoints_of_a_run_that_ended_before_a_crash_go(build: Callable[..., Harness]) -> None:
    first = build()
    ended, waits = (first.ask('call deploy {"text": "a"}\nsay after') for _ in range(2))
    (ask,) = [first.asks(run) for run in (ended, waits)][1]
    first.stop()
    database = Database(Settings.load().database_url)
    RunLedger(database).commit(ended.id, Change(run={"status": "done", "outcome": "completed"}), owner=None)
    database.close()
    path = Settings.load().home / "checkpoints.db"

    def kept() -> set[str]:
        with closing(sqlite3.connect(path)) as connection:
            return {row[0] for row in connection.execute("SELECT thread_id FROM checkpoints")}

    assert kept() == {ended.id, waits.id}
    second = build()
    second.until(lambda: kept() == {waits.id}, "the checkpoints to be removed")
    second.engine.answer_approval(ask.id, "allow")
    assert second.done(waits).outcome == "completed"
    second.until(lambda: not kept(), "its own checkpoints to be removed")
