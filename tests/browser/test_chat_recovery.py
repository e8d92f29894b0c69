"""The server dies and comes back: an open tab recovers by itself, and the run is closed or goes on honestly."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.server import Server


def test_an_open_tab_recovers_when_the_server_was_killed(
    new_page: Callable[..., Page], make_server: Callable[..., Server]
) -> None:
    server = make_server()
    chat = Chat(new_page(), server).open()
    chat.ask("say before the crash")
    chat.send("say slow 0.1 " + " ".join(f"token{number}" for number in range(40)))
    expect(chat.live).to_contain_text("token5")
    server.kill()
    chat.page.wait_for_timeout(1500)
    server.start()
    expect(chat.answer).to_contain_text("token0 token1", timeout=60_000)
    expect(chat.answer).to_contain_text("token39", timeout=60_000)
    chat.finished()
    expect(chat.runs.first).to_contain_text("before the crash")
    chat.work.click()
    expect(chat.steps("Interrupted")).to_be_visible()
    chat.ask("say it goes on as before")
    expect(chat.answer).to_contain_text("it goes on as before")
