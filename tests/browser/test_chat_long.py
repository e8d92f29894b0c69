"""Long chats and long texts stay usable: only the newest part is drawn, more comes on demand."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.history import write_history
from tests.browser.server import Server

TURNS = 500


@pytest.fixture(scope="module")
def long_thread(server: Server) -> str:
    return write_history(server.home, TURNS)


def test_a_thread_of_a_thousand_messages(new_page: Callable[..., Page], server: Server, long_thread: str) -> None:
    chat = Chat(new_page(), server).open()
    chat.page.goto("about:blank")
    began = time.monotonic()
    chat.open_thread(long_thread)
    expect(chat.answer).to_contain_text(f"part {TURNS - 1}")
    opened = time.monotonic() - began
    drawn = chat.questions.count()
    assert 15 <= drawn <= 22
    expect(chat.answer).to_be_in_viewport()

    sent: list[float] = []
    for number in range(3):
        chat.box.fill(f"say one more {number}")
        began = time.monotonic()
        chat.box.press("Enter")
        expect(chat.page.get_by_text(f"say one more {number}").locator("visible=true").last).to_be_visible()
        sent.append(time.monotonic() - began)
        chat.finished()
    print(f"1,000 messages: opened in {opened:.2f} s, sent in {min(sent):.2f} s")
    assert opened < 40
    assert min(sent) < 12

    before = chat.questions.first.inner_text()
    chat.button("Show earlier messages").click()
    expect(chat.questions.nth(30)).to_be_attached()
    assert chat.questions.first.inner_text() != before


def test_wide_long_and_foreign_text_stays_in_its_column(chat: Chat) -> None:
    table = "| " + " | ".join(f"column {n}" for n in range(30)) + " |\\n" + "|---" * 30 + "|"
    wide = "x" * 600
    chat.ask(f"say مرحبا بالعالم 🎉 **שלום** {wide} `{wide}` {table}")
    expect(chat.answer).to_contain_text("مرحبا بالعالم 🎉")
    main = chat.page.get_by_test_id("stMain")
    assert main.evaluate("(node) => node.scrollWidth <= node.clientWidth + 1")


def test_an_answer_of_a_hundred_kilobytes(chat: Chat) -> None:
    chat.ask("say long 13000")
    expect(chat.answer).to_contain_text("word12999")
    chat.ask("say still quick")
    expect(chat.answer).to_contain_text("still quick")


def test_model_text_never_becomes_markup(chat: Chat) -> None:
    hostile = "<img src=x onerror=window.owned=1> <script>window.owned=1</script> ![pixel](http://127.0.0.1:9/x.png)"
    requests: list[str] = []
    chat.page.on("request", lambda request: requests.append(request.url))
    chat.send(f"say slow 0.05 {hostile} [click](javascript:window.owned=1) " + "and on " * 20)
    expect(chat.live).to_contain_text("<img src=x")
    assert chat.live.locator("img, script, a[href^='javascript']").count() == 0
    chat.finished()
    expect(chat.answer).to_contain_text("<script>window.owned=1</script>")
    assert chat.answer.locator("[data-testid=stMarkdown] img, a[href^='javascript']").count() == 0
    assert chat.page.evaluate("window.owned") is None
    assert not [url for url in requests if "x.png" in url]
