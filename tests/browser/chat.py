"""The chat page as a person uses it: what can be seen and pressed, by words and stable keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Self

from playwright.sync_api import Error, Locator, Page, expect

from tests.browser.server import Server

_FINISHED = """() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)]
  const runs = all('[class*="st-key-run_"]')
  return (
    runs.length > 0 &&
    runs.length === all('[class*="st-key-message_"]').length &&
    all('[class*="st-key-past_"]', runs.at(-1)).length > 0 &&
    all(".st-key-stop").length === 0 &&
    all('[data-testid="stChatInputTextArea"]:enabled').length > 0 &&
    document.querySelector('[data-testid="stApp"]').dataset.testScriptState === "notRunning"
  )
}"""


class Chat:
    """One tab on the chat page."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page = page
        self.server = server

    def open(self, query: str = "") -> Self:
        self.page.goto(f"{self.server.url}/{query}")
        expect(self.box).to_be_visible()
        return self

    def new(self) -> Self:
        """Begin a new chat in this tab, wherever it is."""
        try:
            self.page.locator(".st-key-new_chat button:visible").click(timeout=5000)
            expect(self.page.get_by_text("Logician is a workbench")).to_be_visible(timeout=10_000)
            expect(self.questions).to_have_count(0)
        except (AssertionError, Error):  # the last test left the tab elsewhere
            return self.open()
        return self

    def open_thread(self, thread_id: str, run_id: str | None = None) -> Self:
        return self.open(f"?thread={thread_id}" + (f"&run={run_id}" if run_id else ""))

    # What is there

    @property
    def box(self) -> Locator:
        return self.page.get_by_test_id("stChatInputTextArea")

    @property
    def stop(self) -> Locator:
        return self.page.locator(".st-key-stop button:visible")

    @property
    def thread_id(self) -> str:
        found = re.search(r"[?&]thread=([0-9a-z]+)", str(self.page.evaluate("location.href")))
        assert found is not None, "no thread is open"
        return found[1]

    @property
    def questions(self) -> Locator:
        return self.page.locator("[class*='st-key-message_']")

    @property
    def runs(self) -> Locator:
        return self.page.locator("[class*='st-key-run_']")

    @property
    def answer(self) -> Locator:
        """The last run: its work, its answer, its facts."""
        return self.runs.last

    @property
    def live(self) -> Locator:
        return self.page.locator(".live .text")

    @property
    def work(self) -> Locator:
        """The one line about the work of the last run."""
        return self.answer.locator("[class*='st-key-work_'] summary, [class*='st-key-past_'] summary").first

    @property
    def stopped(self) -> Locator:
        """The mark of a run that the person stopped."""
        return self.answer.get_by_test_id("stCaptionContainer").filter(has_text="Stopped")

    def steps(self, text: str) -> Locator:
        return self.answer.locator("[class*='st-key-step_'] summary").filter(has_text=text)

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def thread_row(self, thread_id: str) -> Locator:
        return self.page.locator(f".st-key-thread_{thread_id}")

    # What a person does

    def send(self, text: str) -> Self:
        expect(self.box).to_be_enabled()
        count = self.questions.count()
        self.box.fill(text)
        self.box.press("Enter")
        expect(self.questions).to_have_count(count + 1)
        return self

    def finished(self) -> Self:
        """Wait until every message has a run that is done, and the page is at rest."""
        self.page.wait_for_function(_FINISHED)
        return self

    def attach(self, file: Path) -> Self:
        """Give a file with the next message."""
        self.page.locator("[data-testid='stChatInput'] input[type=file]").set_input_files(file)
        expect(self.page.get_by_test_id("stChatInput")).to_contain_text(file.name)
        expect(self.page.get_by_test_id("stChatInputSubmitButton")).to_be_enabled()
        return self

    def ask(self, text: str) -> Self:
        return self.send(text).finished()

    def menu(self, thread_id: str, entry: str) -> Locator:
        """Open a thread's menu; the entry in it."""
        self.page.locator(f".st-key-menu_{thread_id} button").first.click()
        return self.page.get_by_test_id("stPopoverBody").get_by_text(entry, exact=True)
