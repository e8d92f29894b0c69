"""What browser tests share: one fake endpoint, one real server process, one Chromium, and for the chat one tab.

Everything lives as long as this package's tests: the browser's own event loop must be gone before
other suites run theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.browser.chat import Chat
from tests.browser.server import Server
from tests.fakes.openai_server import FakeOpenAI

CHROMIUM = Path("/usr/bin/chromium")
PATIENCE_MS = 30_000
SIZE = {"width": 1280, "height": 800}
_EXPECTED = (
    "/_stcore/health",
    "WebSocket",
    "disconnected from server",
    "internet?",
    "ERR_",
    "Failed to load resource",
    "net::",
    "Could not connect",
    "reconnect",
)
"""Console errors of a connection that a test cuts on purpose."""

expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.browser)
            if not CHROMIUM.exists():
                item.add_marker(pytest.mark.skip(reason=f"{CHROMIUM} is not installed"))


@pytest.fixture(scope="package")
def fake() -> Iterator[FakeOpenAI]:
    """The endpoint: its prompts are its script (see ``tests.fakes.openai_prompts``)."""
    with FakeOpenAI(context_window=32_768) as endpoint:
        yield endpoint


@pytest.fixture(scope="package")
def make_server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Server]]:
    """Starts servers that talk to the fake endpoint."""
    started: list[Server] = []

    def make(**environment: str) -> Server:
        home = tmp_path_factory.mktemp("home") / "logician"
        endpoint = {"LOGICIAN_BASE_URL": fake.base_url, "LOGICIAN_MODEL": "fake-model", "LOGICIAN_API_KEY": "test-key"}
        server = Server(home, {**endpoint, **environment})
        started.append(server)
        return server.start()

    yield make
    for server in started:
        server.stop()


@pytest.fixture(scope="package")
def server(make_server: Callable[..., Server]) -> Server:
    """The server that most tests use."""
    return make_server()


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """One browser process."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def profile(chromium: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Browser profiles by their options. They are shared, so that scripts and fonts are fetched once."""
    contexts: dict[str, BrowserContext] = {}

    def get(**options: Any) -> BrowserContext:
        wanted = {"viewport": SIZE, "reduced_motion": "reduce", **options}
        key = repr(sorted(wanted.items()))
        if key not in contexts:
            contexts[key] = chromium.new_context(**wanted)
        return contexts[key]

    yield get
    for context in contexts.values():
        context.close()


class _Watched:
    """Opens tabs and keeps what went wrong in their scripts."""

    def __init__(self, profile: Callable[..., BrowserContext]) -> None:
        self._profile = profile
        self.pages: list[Page] = []
        self.problems: list[str] = []

    def open(self, **options: Any) -> Page:
        page = self._profile(**options).new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.pages.append(page)
        return page

    def _note(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not any(word in message.text for word in _EXPECTED):
            self.problems.append(message.text)

    def check(self) -> None:
        problems, self.problems = self.problems, []
        assert problems == []


@pytest.fixture
def new_page(profile: Callable[..., BrowserContext]) -> Iterator[Callable[..., Page]]:
    """Opens tabs, each a session of its own for the server; a script error in any of them fails the test."""
    watched = _Watched(profile)
    yield watched.open
    for page in watched.pages:
        page.close()
    watched.check()


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """A tab."""
    return new_page()


@pytest.fixture(scope="package")
def tab(profile: Callable[..., BrowserContext]) -> _Watched:
    """The tab that stays open from test to test, as a person's does."""
    return _Watched(profile)


@pytest.fixture
def chat(tab: _Watched, server: Server) -> Iterator[Chat]:
    """The chat page on a new chat, in the tab that stays open."""
    used = tab.pages[-1] if tab.pages and not tab.pages[-1].is_closed() else None
    yield Chat(used, server).new() if used is not None else Chat(tab.open(), server).open()
    tab.check()
