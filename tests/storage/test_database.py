"""Transactions: whole or not at all, and never a write that gets lost in silence."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import insert, text
from sqlmodel import select

from storage import Database, LostOwnership, Message, StorageError, Thread, ThreadStore, new_id, now
from storage.ids import _ALPHABET


def _thread(title: str) -> Thread:
    return Thread(id=new_id(), title=title, created_at=now(), updated_at=now())


def test_a_write_that_raises_keeps_nothing(database: Database) -> None:
    with pytest.raises(RuntimeError, match="in the middle"), database.write() as session:
        session.add(_thread("lost"))
        session.flush()
        raise RuntimeError("in the middle")
    assert ThreadStore(database).count() == 0


def test_a_refused_write_is_a_storage_error_and_keeps_nothing(database: Database) -> None:
    twin = _thread("first")
    with database.write() as session:
        session.add(twin)
    with pytest.raises(StorageError, match="refused"), database.write() as session:
        session.add(_thread("another"))
        session.add(Thread(id=twin.id, created_at=now(), updated_at=now()))
    assert [thread.title for thread in ThreadStore(database).search()] == ["first"]


def test_a_reader_sees_one_state_while_others_write(database: Database) -> None:
    with database.read() as session:
        assert session.exec(select(Thread)).all() == []
        with database.write() as writer:
            writer.add(_thread("new"))
        assert session.exec(select(Thread)).all() == []
    assert ThreadStore(database).count() == 1


def test_foreign_keys_hold(database: Database) -> None:
    with pytest.raises(StorageError, match=r"(?i)foreign key"), database.write() as session:
        session.connection().execute(
            insert(Message).values(id="m", thread_id="none", depth=0, role="user", text="", created_at=0.0)
        )


def test_sqlite_is_safe_and_fast_by_its_pragmas(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'x.db'}")
    with database.read() as session:
        assert session.connection().execute(text("PRAGMA journal_mode")).scalar_one() == "wal"
        assert session.connection().execute(text("PRAGMA foreign_keys")).scalar_one() == 1
        assert session.connection().execute(text("PRAGMA busy_timeout")).scalar_one() == 15000
    database.close()


def test_a_read_only_file_refuses_writes_by_name(tmp_path: Path, sqlite_template: Path) -> None:
    """The file is opened read-only by its URL, because root may write to files without write permission."""
    path = tmp_path / "logician.db"
    path.write_bytes(sqlite_template.read_bytes())
    sqlite3.connect(path).close()
    database = Database(f"sqlite:///file:{path}?mode=ro&uri=true")
    with pytest.raises(StorageError, match=r"logician\.db.*readonly"):
        ThreadStore(database).create()
    database.close()


def test_ownership_is_a_storage_error() -> None:
    assert issubclass(LostOwnership, StorageError)


def test_ids_sort_by_time_and_do_not_collide() -> None:
    ids = [new_id() for _ in range(20_000)]
    assert len(set(ids)) == len(ids)
    assert [made[:10] for made in ids] == sorted(made[:10] for made in ids)
    assert {len(made) for made in ids} == {18}
    assert set("".join(ids)) <= set(_ALPHABET)
