"""A real engine on a temporary home, talking to the fake endpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.orchestrator.harness import Harness


@pytest.fixture
def fake() -> Iterator[FakeOpenAI]:
    """The endpoint that does what the person's text says."""
    with FakeOpenAI() as server:
        yield server


@pytest.fixture
def environment(fake: FakeOpenAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Settings as a person would make them, in the environment."""
    monkeypatch.setenv("LOGICIAN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LOGICIAN_BASE_URL", fake.base_url)
    monkeypatch.setenv("LOGICIAN_MODEL", "fake-model")
    monkeypatch.setenv("LOGICIAN_API_KEY", "sk-test-0123456789")
    return monkeypatch


@pytest.fixture
def build(fake: FakeOpenAI, environment: pytest.MonkeyPatch) -> Iterator[Callable[..., Harness]]:
    """Makes engines with settings of a test's own (``max_turns=3`` …); they are stopped at the end."""
    made: list[Harness] = []

    def make(**settings: object) -> Harness:
        for name, value in settings.items():
            environment.setenv(f"LOGICIAN_{name.upper()}", str(value))
        made.append(Harness(fake).start())
        return made[-1]

    yield make
    for harness in made:
        harness.stop()


@pytest.fixture
def h(build: Callable[..., Harness]) -> Harness:
    """An engine with default settings."""
    return build()
