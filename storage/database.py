"""The one way to the tables: read and write transactions on SQLite or PostgreSQL.

On SQLite (WAL, foreign keys, busy timeout) writes take one connection and start with BEGIN IMMEDIATE, so a write
never fails half-way because a reader turned into a writer. Every failure is raised: a lost write stops the caller.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import QueuePool
from sqlmodel import Session

from storage.errors import StorageError


def compact_json(value: Any) -> str:
    """JSON without padding and without escapes: what is kept should not outgrow what was said."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def default_url(home: Path) -> str:
    """URL of the embedded database below ``home``."""
    return f"sqlite:///{home / 'logician.db'}"


def _lower(text: str | None) -> str | None:
    return None if text is None else text.lower()


def _configure_sqlite(engine: Engine, begin: str) -> None:
    @event.listens_for(engine, "connect")
    def _on_connect(connection: Any, _record: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        connection.isolation_level = None  # the begin event below opens the transactions
        cursor = connection.cursor()
        cursor.execute("PRAGMA busy_timeout = 15000")
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = NORMAL")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()
        # SQLite's own lower() knows ASCII only; searching must not care about the case of any script.
        connection.create_function("lower", 1, _lower, deterministic=True)

    @event.listens_for(engine, "begin")
    def _on_begin(connection: Connection) -> None:  # pyright: ignore[reportUnusedFunction]
        connection.exec_driver_sql(begin)


class Database:
    """Read and write transactions on one database. Safe to use from any thread."""

    def __init__(self, url: str) -> None:
        self.url = make_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._write_lock = threading.Lock()
        if self.is_sqlite:
            options: dict[str, Any] = {
                "poolclass": QueuePool,
                "json_serializer": compact_json,
                "connect_args": {"check_same_thread": False, "timeout": 15},
            }
            self._reader = create_engine(self.url, pool_size=8, max_overflow=24, **options)
            self._writer = create_engine(self.url, pool_size=1, max_overflow=0, **options)
            _configure_sqlite(self._reader, "BEGIN")
            _configure_sqlite(self._writer, "BEGIN IMMEDIATE")
        else:
            self._writer = create_engine(
                self.url, pool_size=8, max_overflow=24, pool_pre_ping=True, json_serializer=compact_json
            )
            self._reader = self._writer.execution_options(isolation_level="REPEATABLE READ")

    @contextmanager
    def read(self) -> Generator[Session]:
        """A transaction that sees one consistent state; nothing may be written in it."""
        with self._session(self._reader) as session:
            yield session

    @contextmanager
    def write(self) -> Generator[Session]:
        """A transaction that commits when the block ends and rolls back when it raises."""
        if self.is_sqlite:
            with self._write_lock, self._session(self._writer) as session:
                yield session
        else:
            with self._session(self._writer) as session:
                yield session

    @contextmanager
    def _session(self, engine: Engine) -> Generator[Session]:
        try:
            with Session(engine, expire_on_commit=False, autoflush=False) as session, session.begin():
                yield session
        except SQLAlchemyError as error:
            cause = getattr(error, "orig", None) or error
            raise StorageError(
                f"The database {self.safe_url} refused: {cause}. Nothing of this step was kept."
            ) from error

    @property
    def safe_url(self) -> str:
        """The URL without its password."""
        return self.url.render_as_string(hide_password=True)

    @property
    def admin(self) -> Engine:
        """The SQLAlchemy engine for schema work (migrations); not for reading or writing rows."""
        return self._writer

    def close(self) -> None:
        """Close every pooled connection."""
        self._reader.dispose()
        self._writer.dispose()
