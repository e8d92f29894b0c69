"""The pages beside the chat as a person uses them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self

from playwright.sync_api import Locator, Page, expect

from tests.browser.server import Server

PICTURES_WANTED = os.environ.get("LOGICIAN_SCREENSHOTS") == "1"
"""Read here: no variable of the machine reaches a test."""
IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"


class Workbench:
    """One tab."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page = page
        self.server = server

    def open(self, path: str) -> Self:
        self.page.goto(f"{self.server.url}/{path}")
        expect(self.page.get_by_test_id("stSidebar").get_by_text("Engine ready")).to_be_visible()
        return self

    def go(self, name: str) -> Self:
        """Follow a link of the navigation."""
        self.page.get_by_test_id("stSidebar").get_by_role("link", name=name).click()
        return self

    @property
    def address(self) -> str:
        return str(self.page.evaluate("location.pathname + location.search"))

    def title(self, words: str) -> Self:
        expect(self.page.get_by_role("heading", level=1, name=words)).to_be_visible()
        return self

    def field(self, key: str) -> Locator:
        return self.page.locator(f".st-key-{key} input").first

    def button(self, key: str) -> Locator:
        return self.page.locator(f".st-key-{key} button").first

    def picture(self, name: str) -> None:
        """Write a picture for the documentation, when that is asked for."""
        if PICTURES_WANTED:
            IMAGES.mkdir(parents=True, exist_ok=True)
            self.page.mouse.move(1270, 790)  # no tooltip in the picture
            self.page.wait_for_timeout(600)
            self.page.screenshot(path=IMAGES / name)
