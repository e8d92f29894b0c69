"""Migrations: they make what the models say, once, and never touch what they do not understand."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text
from sqlmodel import SQLModel

import storage
from storage import Database, StorageError, ThreadStore, upgrade
from storage.schema import HEAD

NEXT_REVISION = '''"""A column more."""

import sqlalchemy as sa
from alembic import op

revision = "9998"
down_revision = "{head}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("threads", sa.Column("colour", sa.String(), nullable=True))
    {ending}
'''


def _tables(database: Database) -> set[str]:
    with database.admin.connect() as connection:
        return set(inspect(connection).get_table_names())


def test_migrations_make_exactly_the_models(empty_url: str) -> None:
    database = Database(empty_url)
    upgrade(database)
    with database.admin.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, SQLModel.metadata) == []
    database.close()


def test_the_newest_revision_is_the_one_that_the_code_names() -> None:
    versions = Path(storage.__file__).parent / "migrations" / "versions"
    assert max(path.name[:4] for path in versions.glob("0*.py")) == HEAD


def test_upgrading_again_changes_nothing(empty_url: str) -> None:
    database = Database(empty_url)
    assert upgrade(database) is None
    thread = ThreadStore(database).create(title="kept")
    before = _tables(database)
    assert upgrade(database) is None
    assert _tables(database) == before
    assert [found.id for found in ThreadStore(database).search()] == [thread.id]
    database.close()


def test_two_engines_that_start_at_once_migrate_once(empty_url: str) -> None:
    databases = [Database(empty_url) for _ in range(4)]
    start = threading.Barrier(len(databases))
    failures: list[Exception] = []

    def go(database: Database) -> None:
        start.wait()
        try:
            upgrade(database)
        except Exception as error:  # noqa: BLE001 - what it raised is what the test looks at
            failures.append(error)

    workers = [threading.Thread(target=go, args=(database,)) for database in databases]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert failures == []
    with databases[0].admin.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all() == [HEAD]
    for database in databases:
        database.close()


def test_a_newer_schema_is_refused_and_untouched(empty_url: str) -> None:
    database = Database(empty_url)
    with database.admin.begin() as connection:
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
        connection.execute(text("INSERT INTO alembic_version VALUES ('9999')"))
    with pytest.raises(StorageError, match=r"newer Logician.*'9999'"):
        upgrade(database)
    assert _tables(database) == {"alembic_version"}
    database.close()


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "logician.db"
    path.write_bytes(b"this is not a database at all, " * 100)
    database = Database(f"sqlite:///{path}")
    with pytest.raises(StorageError, match=r"logician\.db.*not a database"):
        upgrade(database)
    database.close()
    assert path.read_bytes().startswith(b"this is not")


@pytest.mark.postgres
def test_the_password_of_a_database_is_not_in_the_message(tmp_path: Path) -> None:
    database = Database(f"postgresql+psycopg://someone:hunter22@/nowhere?host={tmp_path}")
    with pytest.raises(StorageError) as caught:
        upgrade(database)
    database.close()
    assert "hunter22" not in str(caught.value)


def _next_version(folder: Path, ending: str) -> Path:
    """The storage room of a later version of Logician, in a folder of its own."""
    shutil.copytree(Path(storage.__file__).parent, folder / "storage", ignore=shutil.ignore_patterns("__pycache__"))
    revision = NEXT_REVISION.format(head=HEAD, ending=ending)
    (folder / "storage" / "migrations" / "versions" / "9998_colour.py").write_text(revision, encoding="utf-8")
    schema = folder / "storage" / "schema.py"
    schema.write_text(schema.read_text("utf-8").replace(f'HEAD = "{HEAD}"', 'HEAD = "9998"'), encoding="utf-8")
    return folder


def _upgrade_with(folder: Path, url: str) -> subprocess.CompletedProcess[str]:
    program = "import sys\nfrom storage import Database, upgrade\nprint(upgrade(Database(sys.argv[1])))"
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", program, url],
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
        cwd=folder,
        env=environment,
    )


def _version(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("SELECT version_num FROM alembic_version").fetchone()[0])


@pytest.fixture
def filled(sqlite_template: Path, tmp_path: Path) -> Path:
    """A home of this version with one thread in it."""
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(sqlite_template, home / "logician.db")
    database = Database(storage.default_url(home))
    ThreadStore(database).create(title="before")
    database.close()
    return home


def test_an_older_database_is_copied_before_it_is_migrated(filled: Path, tmp_path: Path) -> None:
    done = _upgrade_with(_next_version(tmp_path / "next", "pass"), storage.default_url(filled))
    assert done.returncode == 0, done.stderr
    copy = Path(done.stdout.strip())
    assert copy.parent == filled
    assert (_version(copy), _version(filled / "logician.db")) == (HEAD, "9998")
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT title FROM threads").fetchall() == [("before",)]


def test_a_migration_that_fails_leaves_everything_as_it_was(filled: Path, tmp_path: Path) -> None:
    later = _next_version(tmp_path / "next", 'op.execute("INSERT INTO no_such_table VALUES (1)")')
    done = _upgrade_with(later, storage.default_url(filled))
    assert done.returncode != 0
    assert "StorageError: The database" in done.stderr
    assert "It is as it was. A copy from before is" in done.stderr
    assert _version(filled / "logician.db") == HEAD
    with closing(sqlite3.connect(filled / "logician.db")) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(threads)")]
        assert "colour" not in columns
        assert connection.execute("SELECT title FROM threads").fetchall() == [("before",)]
