"""One suite over both databases: every test that asks for ``database`` runs on SQLite and on PostgreSQL."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import SQLModel

from storage import Database, PreferenceStore, RunLedger, ThreadStore, default_url, upgrade
from tests.fakes.postgres import PostgresServer


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated file to copy: migrating once per test would take most of the suite's time."""
    folder = tmp_path_factory.mktemp("template")
    database = Database(default_url(folder))
    upgrade(database)
    database.close()
    return folder / "logician.db"


@pytest.fixture(scope="session")
def postgres_migrated(postgres: PostgresServer) -> str:
    """One migrated database for all tests: emptying it costs far less than making another."""
    name = postgres.create()
    database = Database(postgres.url(name))
    upgrade(database)
    database.close()
    return name


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database with the current schema."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("sqlite_template"), tmp_path / "logician.db")
        return default_url(tmp_path)
    server: PostgresServer = request.getfixturevalue("postgres")
    name: str = request.getfixturevalue("postgres_migrated")
    server.wipe(name, keep=[table.name for table in SQLModel.metadata.sorted_tables])
    return server.url(name)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without a schema."""
    if request.param == "sqlite":
        return default_url(tmp_path)
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.url(server.create())


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    opened = Database(url)
    yield opened
    opened.close()


@pytest.fixture
def ledger(database: Database) -> RunLedger:
    return RunLedger(database)


@pytest.fixture
def threads(database: Database) -> ThreadStore:
    return ThreadStore(database)


@pytest.fixture
def preferences(database: Database) -> PreferenceStore:
    return PreferenceStore(database)
