"""How soon a token is on screen and how soon Stop works. Bounds are wide for busy machines; the numbers are printed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.server import Server

WATCH = """
window.delays = []
const Stream = window.EventSource
window.EventSource = class extends Stream {
  set onmessage(handle) {
    super.onmessage = (event) => {
      handle(event)
      const { type, at } = JSON.parse(event.data)
      if (type !== "text.delta") return
      requestAnimationFrame(() => requestAnimationFrame(() => window.delays.push(Date.now() - at * 1000)))
    }
  }
}
"""


def test_tokens_are_on_screen_soon_after_their_event(new_page: Callable[..., Page], server: Server) -> None:
    page = new_page()
    page.add_init_script(WATCH)
    chat = Chat(page, server).open()
    chat.ask("say one to warm up")
    page.evaluate("window.delays.length = 0")
    chat.ask("say slow 0.03 " + " ".join(f"token{number}" for number in range(200)))
    delays = sorted(page.evaluate("window.delays"))
    assert len(delays) > 20
    p95 = delays[int(len(delays) * 0.95)]
    print(f"token on screen: median {statistics.median(delays):.0f} ms, p95 {p95:.0f} ms, n={len(delays)}")
    assert statistics.median(delays) < 4000
    assert p95 < 10000


def test_stop_works_soon(chat: Chat) -> None:
    chat.ask("say one to warm up")
    waits: list[float] = []
    for _ in range(3):
        chat.send("say slow 0.05 " + " ".join(f"token{number}" for number in range(600)))
        expect(chat.live).to_contain_text("token5")
        began = time.monotonic()
        chat.stop.click()
        expect(chat.stopped).to_be_visible()
        waits.append(time.monotonic() - began)
        chat.finished()
    print(f"Stop: from click to mark {min(waits):.2f} s to {max(waits):.2f} s")
    assert min(waits) < 12
