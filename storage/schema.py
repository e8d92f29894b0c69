"""Bringing a database to the schema this version needs, by Alembic migrations.

A database of an older version is copied first (SQLite); one of a newer version is refused, never touched.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import inspect, text
from sqlalchemy.exc import SQLAlchemyError

from storage.database import Database
from storage.errors import StorageError
from storage.ids import now

HEAD = "0002"
"""The newest revision in ``migrations/versions``."""


def upgrade(database: Database) -> str | None:
    """Bring the schema to :data:`HEAD`; returns the path of the copy made before a migration, else None.

    Raises ``StorageError`` when the database cannot be opened or belongs to a newer version.
    """
    try:
        current = _current(database)
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        raise StorageError(f"Cannot open the database {database.safe_url}: {cause}.") from error
    if current == HEAD:
        return None
    if current is not None and current > HEAD:
        raise StorageError(
            f"The database {database.safe_url} was written by a newer Logician (schema {current!r}, this one knows "
            f"{HEAD!r}). Update Logician; nothing was changed."
        )
    copy = _copy(database) if current is not None else None
    _migrate(database, copy)
    return copy


def _current(database: Database) -> str | None:
    with database.admin.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def _copy(database: Database) -> str | None:
    if not database.is_sqlite or not database.url.database:
        return None
    source = Path(database.url.database)
    target = source.with_name(f"{source.stem}.before-{HEAD}-{int(now())}{source.suffix}")
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
    return str(target)


def _migrate(database: Database, copy: str | None) -> None:
    from alembic import command  # imported here: only a migration needs it
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    try:
        with database.admin.begin() as connection:
            if not database.is_sqlite:  # two engines that start at once migrate one after the other
                connection.execute(text("SELECT pg_advisory_xact_lock(4921071)"))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except (SQLAlchemyError, CommandError) as error:
        cause = getattr(error, "orig", None) or error
        kept = f" A copy from before is {copy!r}." if copy else ""
        raise StorageError(
            f"The database {database.safe_url} could not be brought to schema {HEAD!r}: {cause}. It is as it was.{kept}"
        ) from error
