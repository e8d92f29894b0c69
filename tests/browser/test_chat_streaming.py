"""A run is followed live, survives reloads, tabs and page changes, and can be stopped from anywhere."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.server import Server

SLOW = "say slow 0.15 " + " ".join(f"token{number}" for number in range(400))


def test_first_visit_says_what_it_is_and_an_example_works(chat: Chat) -> None:
    expect(chat.page.get_by_text("Logician is a workbench")).to_be_visible()
    expect(chat.page.locator("[class*='st-key-example_'] button")).to_have_count(3)
    chat.page.locator(".st-key-example_primes button").click()
    expect(chat.questions).to_have_count(1)
    chat.finished()
    expect(chat.answer).to_contain_text("You said: Create the file primes.py")
    expect(chat.page).to_have_title(re.compile("Create the file primes.py.*Logician"))


def test_a_message_streams_in_and_stays(chat: Chat) -> None:
    chat.send("say slow 0.1 **Bold** words and `code` " + "and more " * 20)
    expect(chat.live).to_contain_text("Bold words and code")
    expect(chat.live.locator("strong")).to_have_text("Bold")
    assert chat.stop.count() == 1, "it was seen while it streamed"
    thread = chat.thread_id
    chat.finished()
    assert chat.live.count() == 0
    expect(chat.answer.get_by_test_id("stMarkdown").locator("strong")).to_have_text("Bold")
    facts = chat.answer.get_by_text("fake-model ·")
    expect(facts).to_contain_text("cost unknown")
    expect(facts).to_contain_text(re.compile(r"\d+ in · \d+ out"))
    expect(chat.work).to_contain_text("Worked for")
    assert chat.thread_id == thread


def test_text_never_doubles_or_vanishes_when_the_run_ends(chat: Chat) -> None:
    chat.page.evaluate(
        """() => {
          Object.assign(window, { seen: [], looking: true })
          const words = (node) => (node.innerText.match(/zanzibar/g) || []).length
          const look = () => {
            const main = document.querySelector('[data-testid="stMain"]')
            const answers = [...main.querySelectorAll('[class*="st-key-run_"] [data-testid="stMarkdown"]')]
            const roots = [...main.querySelectorAll('*')].map((element) => element.shadowRoot)
            const lives = roots.map((root) => root?.querySelector('.text')).filter(Boolean)
            const count = [...answers, ...lives].reduce((sum, node) => sum + words(node), 0)
            if (window.seen.at(-1) !== count) window.seen.push(count)
            if (window.looking) requestAnimationFrame(look)
          }
          look()
        }"""
    )
    chat.ask("say slow 0.1 one two three zanzibar four five")
    chat.page.wait_for_timeout(500)
    assert chat.page.evaluate("(window.looking = false, window.seen)") == [0, 1]


def test_stop_keeps_what_was_written_also_after_a_reload(chat: Chat) -> None:
    chat.send(SLOW)
    expect(chat.live).to_contain_text("token3")
    began = time.monotonic()
    chat.stop.click()
    expect(chat.stopped).to_be_visible()
    assert time.monotonic() - began < 15
    chat.finished()
    for _ in range(2):
        expect(chat.answer).to_contain_text("token3")
        expect(chat.answer).not_to_contain_text("token399")
        expect(chat.stopped).to_be_visible()
        chat.page.reload()
        expect(chat.answer).to_be_visible()
    chat.ask("say the thread goes on")
    expect(chat.answer).to_contain_text("the thread goes on")


def test_escape_stops(chat: Chat) -> None:
    chat.send(SLOW)
    expect(chat.live).to_contain_text("token2")
    chat.page.locator(".st-key-search input").focus()
    chat.page.keyboard.press("Escape")
    expect(chat.stopped).to_be_visible()


def test_reload_in_the_middle_shows_the_text_from_its_first_token(chat: Chat) -> None:
    chat.send(SLOW)
    expect(chat.live).to_contain_text("token4")
    chat.page.reload()
    expect(chat.live).to_contain_text("token0 token1 token2 token3 token4")
    assert chat.stop.count() == 1
    expect(chat.live).to_contain_text("token15")
    chat.stop.click()
    chat.finished()


def test_a_second_tab_follows_and_can_stop(chat: Chat, new_page: Callable[..., Page], server: Server) -> None:
    chat.send(SLOW)
    expect(chat.live).to_contain_text("token2")
    second = Chat(new_page(), server).open_thread(chat.thread_id)
    expect(second.live).to_contain_text("token0 token1 token2")
    second.stop.click()
    expect(second.stopped).to_be_visible()
    expect(chat.stopped).to_be_visible()
    chat.finished()


def test_an_idle_second_tab_notices_a_new_run(chat: Chat, new_page: Callable[..., Page], server: Server) -> None:
    chat.ask("say first")
    second = Chat(new_page(), server).open_thread(chat.thread_id)
    expect(second.answer).to_contain_text("first")
    chat.ask("say another answer")
    expect(second.answer).to_contain_text("another answer")


def test_page_change_and_back_in_the_middle(chat: Chat) -> None:
    chat.send(SLOW)
    expect(chat.live).to_contain_text("token2")
    sidebar = chat.page.get_by_test_id("stSidebar")
    sidebar.get_by_role("link", name="Approvals").click()
    expect(chat.page.get_by_test_id("stMain").get_by_role("heading", name="Approvals")).to_be_visible()
    sidebar.get_by_role("link", name="Chat").click()
    expect(chat.live).to_contain_text("token0 token1 token2 token3")
    chat.stop.click()
    chat.finished()


def test_a_run_goes_on_when_its_tab_is_closed(chat: Chat, new_page: Callable[..., Page], server: Server) -> None:
    chat.send("say slow 0.1 it was finished with nobody looking")
    thread = chat.thread_id
    chat.page.close()
    later = Chat(new_page(), server).open_thread(thread).finished()
    expect(later.answer).to_contain_text("it was finished with nobody looking")
