"""Threads, their messages as a tree, search, blobs and purging."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from sqlalchemy import func
from sqlmodel import select

from storage import (
    Approval,
    Change,
    Database,
    Intent,
    Message,
    Run,
    RunEvent,
    RunLedger,
    Thread,
    ThreadStore,
    new_id,
    next_depth,
)
from tests.storage import rows


@pytest.fixture
def thread(threads: ThreadStore) -> Thread:
    return threads.create()


def add(database: Database, *messages: Message) -> None:
    with database.write() as session:
        session.add_all(messages)


def chain(database: Database, thread: Thread, length: int, parent: Message | None = None) -> list[Message]:
    made: list[Message] = []
    for number in range(length):
        made.append(rows.message(thread, made[-1] if made else parent, f"m{number}"))
    add(database, *made)
    return made


# Threads


def test_a_thread_keeps_what_was_chosen_for_it(threads: ThreadStore) -> None:
    plain = threads.create()
    assert (plain.title, plain.titled_by, plain.leaf_id, plain.mode) == ("", "auto", None, None)
    chosen = threads.create(title="Mine", workspace="/w", model="endpoint:m", mode="plan")
    again = threads.get(chosen.id)
    assert again is not None
    assert (again.title, again.titled_by, again.workspace) == ("Mine", "person", "/w")
    assert (again.model, again.mode) == ("endpoint:m", "plan")
    assert threads.get("none") is None


def test_columns_can_be_set_where_there_is_a_thread(threads: ThreadStore, thread: Thread) -> None:
    assert threads.update(thread.id, title="New", titled_by="person") is True
    assert threads.get(thread.id).title == "New"  # type: ignore[union-attr]
    assert threads.update("none", title="New") is False


def test_deleted_threads_are_hidden_from_lists_but_not_gone(threads: ThreadStore) -> None:
    kept, gone = threads.create(title="kept"), threads.create(title="gone")
    threads.update(gone.id, deleted_at=1.0)
    assert [found.id for found in threads.search()] == [kept.id]
    assert threads.search("gone") == []
    assert threads.count() == 1
    assert threads.get(gone.id) is not None


def test_the_list_is_newest_first_and_comes_in_pages(threads: ThreadStore) -> None:
    made = [threads.create(title=f"t{number}") for number in range(5)]
    for number, thread in enumerate(made):
        threads.update(thread.id, updated_at=100.0 + number)
    threads.update(made[0].id, updated_at=200.0)
    expected = [made[0].id, made[4].id, made[3].id, made[2].id, made[1].id]
    assert [found.id for found in threads.search(limit=3)] == expected[:3]
    assert [found.id for found in threads.search(limit=3, offset=3)] == expected[3:]


# Search


@pytest.mark.parametrize(
    ("title", "text", "query"),
    [
        ("Plain words", "", "plain WORDS"),
        ("", "the needle is here", "NEEDLE"),
        ("100% sure", "", "100%"),
        ("snake_case_name", "", "snake_case"),
        ("", r"C:\Users\me", r"users\me"),
        ("", r"a \% b", r"\%"),
        ("Größe ändern", "", "grÖSSE".replace("SS", "ß")),
        ("", "ÜBER den Wolken", "über"),
        ("", "Привет, Мир", "привет"),
        ("", "日本語の文", "本語"),
        ("", "an emoji 🧪 here", "🧪"),
        ("'; DROP TABLE threads; --", "", "'; drop"),
        ('say "hi"', "", '"HI"'),
    ],
)
def test_search_finds_titles_and_messages(
    database: Database, threads: ThreadStore, title: str, text: str, query: str
) -> None:
    decoy = threads.create(title="something else entirely 1000 snakeXcase")
    add(database, rows.message(decoy, text="nothing to see, C:/Users/me"))
    thread = threads.create(title=title)
    add(database, rows.message(thread, text=text))
    assert [found.id for found in threads.search(query)] == [thread.id]


@pytest.mark.parametrize("query", ["100%d", "snake%name", "snakeXcase", "s_ake", "%", "_", "\\", "zzz"])
def test_wildcards_of_sql_are_plain_characters(database: Database, threads: ThreadStore, query: str) -> None:
    thread = threads.create(title="snake-case-name 100 sure")
    add(database, rows.message(thread, text="some text"))
    assert threads.search(query) == []


def test_an_empty_query_finds_everything(threads: ThreadStore, thread: Thread) -> None:
    assert [found.id for found in threads.search("  ")] == [thread.id]


# Branches


def test_a_branch_is_read_from_its_end(database: Database, threads: ThreadStore, thread: Thread) -> None:
    made = chain(database, thread, 30)
    assert [m.id for m in threads.branch(made[-1].id)] == [m.id for m in made]
    assert [m.id for m in threads.branch(made[-1].id, limit=7)] == [m.id for m in made[-7:]]
    assert [m.id for m in threads.branch(made[9].id, limit=100)] == [m.id for m in made[:10]]
    assert threads.branch("none") == []


def test_a_long_branch_costs_what_is_asked_of_it(database: Database, threads: ThreadStore, thread: Thread) -> None:
    made = chain(database, thread, 3000)
    branch = threads.branch(made[-1].id)
    assert [m.depth for m in branch] == list(range(3000))
    assert next_depth(branch[-1]) == 3000
    assert next_depth(None) == 0


def test_siblings_and_the_newest_end(database: Database, threads: ThreadStore, thread: Thread) -> None:
    stem = chain(database, thread, 2)
    old = rows.message(thread, stem[-1], "old", created_at=10.0)
    new = rows.message(thread, stem[-1], "new", created_at=20.0)
    old_end = rows.message(thread, old, "end of old", created_at=30.0)
    add(database, old, new, old_end)
    assert [m.id for m in threads.children(thread.id, [stem[-1].id])] == [old.id, new.id]
    assert [m.id for m in threads.children(thread.id, [None])] == [stem[0].id]
    both = threads.children(thread.id, [None, stem[-1].id])
    assert {m.id for m in both} == {stem[0].id, old.id, new.id}
    assert threads.children(thread.id, []) == []
    assert threads.newest_leaf(stem[0].id) == new.id
    assert threads.newest_leaf(old.id) == old_end.id
    assert threads.newest_leaf(old_end.id) == old_end.id
    assert [m.text for m in threads.branch(old_end.id)] == ["m0", "m1", "old", "end of old"]


def test_children_are_of_their_thread(database: Database, threads: ThreadStore, thread: Thread) -> None:
    other = threads.create()
    add(database, rows.message(thread, text="mine"), rows.message(other, text="yours"))
    assert [m.text for m in threads.children(thread.id, [None])] == ["mine"]


def test_every_branch_is_exported(database: Database, threads: ThreadStore, thread: Thread) -> None:
    stem = chain(database, thread, 2)
    twig = rows.message(thread, stem[0], "twig", created_at=stem[-1].created_at + 1)
    add(database, twig)
    assert [m.id for m in threads.all_messages(thread.id)][-1] == twig.id
    assert len(threads.all_messages(thread.id)) == 3
    assert set(threads.messages([stem[0].id, twig.id, "none"])) == {stem[0].id, twig.id}


def test_messages_come_back_as_written(database: Database, threads: ThreadStore, thread: Thread) -> None:
    extra = {"tool_calls": [{"id": "c", "arguments": {"text": "ü\n\\", "n": None}}]}
    written = rows.message(thread, text="line\nline\t", role="assistant", extra=extra)
    add(database, written)
    assert threads.message(written.id).model_dump() == written.model_dump()  # type: ignore[union-attr]
    bare = rows.message(thread)
    add(database, bare)
    assert threads.message(bare.id).extra is None  # type: ignore[union-attr]
    assert threads.message("none") is None


# Blobs


def test_a_blob_is_kept_once(threads: ThreadStore) -> None:
    threads.put_blob("a" * 64, "text")
    threads.put_blob("a" * 64, "text")
    threads.put_blob("b" * 64, "")
    assert threads.blobs(["a" * 64, "b" * 64, "c" * 64]) == {"a" * 64: "text", "b" * 64: ""}


def test_a_commit_brings_only_the_blobs_that_are_new(ledger: RunLedger, threads: ThreadStore) -> None:
    work = rows.claimed(ledger, threads)
    threads.put_blob("a" * 64, "first")
    ledger.commit(work.id, Change(blobs={"a" * 64: "ignored", "b" * 64: "second"}), owner="me")
    assert threads.blobs(["a" * 64, "b" * 64]) == {"a" * 64: "first", "b" * 64: "second"}


# Purging


def purge(threads: ThreadStore) -> list[str]:
    expired = threads.expired(deleted_before=1000.0)
    assert threads.purge(expired, deleted_before=1000.0)
    return expired


def test_purging_removes_what_belongs_to_a_thread_and_nothing_else(
    database: Database, ledger: RunLedger, threads: ThreadStore
) -> None:
    kept = rows.claimed(ledger, threads)
    gone = rows.claimed(ledger, threads)
    for work in (kept, gone):
        change = Change(
            events=[("e", {})], approvals=[rows.approval(work)], intents=[rows.intent(work)], run={"status": "done"}
        )
        ledger.commit(work.id, change, owner="me")
        threads.update(work.thread_id or "", deleted_at=500.0 if work is gone else 1500.0)
    assert purge(threads) == [gone.thread_id]
    with database.read() as session:
        for table, left in ((Thread, 1), (Run, 1), (RunEvent, 2), (Approval, 1), (Intent, 1), (Message, 1)):
            assert session.exec(select(func.count()).select_from(table)).one() == left, table
    assert ledger.get(kept.id) is not None
    assert purge(threads) == []


def named(ledger: RunLedger, work: Run, *blobs: str) -> None:
    """The run calls its model once with each of these as the frame, and is done."""
    for blob in blobs:
        event = ("model.started", {"request": {"frame": blob}})
        ledger.commit(work.id, Change(events=[event], blobs={blob: "x"}), owner=None)
    ledger.commit(work.id, Change(run={"status": "done", "finished_at": 400.0}), owner=None)


def test_blobs_go_with_the_last_run_that_names_them(ledger: RunLedger, threads: ThreadStore) -> None:
    gone, kept, working = (rows.claimed(ledger, threads) for _ in range(3))
    loose = rows.run(kind="evaluation")
    assert ledger.create(loose, [])
    named(ledger, gone, "alone", "alone-too", "shared", "working", "loose")
    named(ledger, kept, "shared", "other")
    named(ledger, loose, "loose")
    change = Change(events=[("model.started", {"request": {"frame": "working"}})], blobs={"working": "x"})
    ledger.commit(working.id, change, owner="me")
    threads.put_blob("nobody's", "another room's")
    threads.update(gone.thread_id or "", deleted_at=500.0)
    assert purge(threads) == [gone.thread_id]
    every = ["alone", "alone-too", "shared", "working", "loose", "other", "nobody's"]
    assert sorted(threads.blobs(every)) == ["loose", "nobody's", "other", "shared", "working"]


def test_a_blob_that_a_run_begins_to_name_meanwhile_stays(
    ledger: RunLedger, threads: ThreadStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, late = rows.claimed(ledger, threads), rows.claimed(ledger, threads)
    named(ledger, gone, "frame")
    threads.update(gone.thread_id or "", deleted_at=500.0)
    look = threads._blobs_of_these_alone  # pyright: ignore[reportPrivateUsage]

    def slowly(thread_ids: Collection[str]) -> set[str]:
        found = look(thread_ids)
        change = Change(events=[("model.started", {"request": {"frame": "frame"}})], blobs={"frame": "x"})
        ledger.commit(late.id, change, owner="me")
        return found

    monkeypatch.setattr(threads, "_blobs_of_these_alone", slowly)
    assert purge(threads) == [gone.thread_id]
    assert threads.blobs(["frame"]) == {"frame": "x"}


def test_a_thread_that_is_brought_back_meanwhile_is_not_purged(ledger: RunLedger, threads: ThreadStore) -> None:
    work = rows.claimed(ledger, threads)
    named(ledger, work, "frame")
    assert not threads.purge([work.thread_id or ""], deleted_before=1000.0)
    assert threads.get(work.thread_id or "") is not None and threads.blobs(["frame"]) == {"frame": "x"}


def test_a_thread_that_still_works_is_not_purged(ledger: RunLedger, threads: ThreadStore) -> None:
    work = rows.claimed(ledger, threads)
    threads.update(work.thread_id or "", deleted_at=1.0)
    assert purge(threads) == []
    ledger.commit(work.id, Change(run={"status": "done"}), owner="me")
    assert purge(threads) == [work.thread_id]


def test_runs_without_a_thread_do_not_hinder_purging(ledger: RunLedger, threads: ThreadStore) -> None:
    assert ledger.create(rows.run(kind="evaluation"), [])
    thread = threads.create()
    threads.update(thread.id, deleted_at=1.0)
    assert purge(threads) == [thread.id]
    assert threads.get(new_id()) is None
