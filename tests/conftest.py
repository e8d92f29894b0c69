"""What every suite shares: an environment without the machine's own settings, and a private PostgreSQL server."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.fakes.postgres import PostgresServer, available

KEPT = frozenset({"LOGICIAN_TEST_MODELS"})

settings.register_profile("logician", deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("logician")


@pytest.fixture(autouse=True)
def _own_settings_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the machine reaches a test: each sets what it needs."""
    for name in list(os.environ):
        if (name.startswith("LOGICIAN_") or name == "DATABASE_URL") and name not in KEPT:
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One private server for the whole session."""
    if (missing := available()) is not None:
        pytest.skip(missing)
    with PostgresServer() as server:
        yield server
