"""A real engine with a fake endpoint behind it, and pages run without a browser."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from logician_graph.engine import Engine
from logician_graph.settings import Settings, ensure_home
from storage import Run
from tests.fakes.openai_server import FakeOpenAI

SHELL = Path(__file__).resolve().parents[2] / "pages" / "shell.py"
PATIENCE_S = 30.0


@pytest.fixture(scope="package")
def fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as endpoint:
        yield endpoint


@pytest.fixture
def environment(fake: FakeOpenAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the engine is started with; a test may change it before it asks for the engine."""
    values = {"LOGICIAN_HOME": str(tmp_path / "home"), "LOGICIAN_INDEX_URL": "http://127.0.0.1:9/simple"}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    return values


@pytest.fixture
def engine(environment: dict[str, str], fake: FakeOpenAI) -> Iterator[Engine]:
    """A started engine whose endpoint was chosen on the settings page."""
    settings = Settings.load()
    ensure_home(settings)
    engine = Engine(settings)
    engine.save_settings({"base_url": fake.base_url, "model": "fake-model"}, api_key="first-key-1234")
    asyncio.run(engine.start())
    yield engine
    asyncio.run(engine.stop())


@pytest.fixture
def open_page(engine: Engine) -> Callable[..., AppTest]:
    """Opens a page by its file, in a session of its own."""

    def make(page: str | None = None, **query: str) -> AppTest:
        app = AppTest.from_file(str(SHELL), default_timeout=30)
        for name, value in query.items():
            app.query_params[name] = value
        app.run()
        if page is not None:
            app.switch_page(page)
            for name, value in query.items():
                app.query_params[name] = value
            app.run()
        assert not app.exception, app.exception
        return app

    return make


def wait_for(engine: Engine, run_id: str, *statuses: str) -> Run:
    """The run, once its status is one of these."""
    deadline = time.monotonic() + PATIENCE_S
    while (run := engine.run(run_id)).status not in statuses:
        assert time.monotonic() < deadline, f"still {run.status}"
        time.sleep(0.02)
    return run


def ask(engine: Engine, text: str, *, mode: str = "ask", until: tuple[str, ...] = ("done", "waiting")) -> Run:
    """Send a message to a new thread and wait until the run is done or waits."""
    run = engine.send(engine.new_thread(mode=mode).id, text)
    return wait_for(engine, run.id, *until)


def text_of(app: AppTest) -> str:
    """All prose of the page and the sidebar."""
    kinds = (app.markdown, app.caption, app.error, app.warning, app.success, app.info, app.title, app.subheader)
    return "\n".join(str(element.value) for kind in kinds for element in kind)
