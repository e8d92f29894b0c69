"""Chats are found again: links, search, rename, delete with undo, export, and the choices kept with each."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.chat import Chat


def test_deep_link_opens_the_chat_and_brings_the_run_into_view(chat: Chat) -> None:
    for number in range(3):
        chat.ask(f"say long {1200 + number}")
    thread = chat.thread_id
    first = chat.runs.first.get_attribute("class") or ""
    run_id = re.search(r"st-key-run_([0-9a-z]+)", first)
    assert run_id is not None
    chat.page.goto("about:blank")
    chat.open_thread(thread)
    expect(chat.answer).to_be_in_viewport()
    chat.page.goto("about:blank")
    chat.open_thread(thread, run_id[1])
    expect(chat.runs.first).to_be_in_viewport()
    chat.page.wait_for_timeout(600)
    expect(chat.runs.first).to_be_in_viewport()
    expect(chat.answer).not_to_be_in_viewport()


def test_unknown_and_deleted_chats_say_so_and_lead_on(chat: Chat) -> None:
    chat.page.goto(f"{chat.server.url}/?thread=nosuchthread")
    expect(chat.page.get_by_text("This chat is not here")).to_be_visible()
    chat.button("Start a new chat").click()
    expect(chat.page.get_by_text("Logician is a workbench")).to_be_visible()

    chat.ask("say soon to be deleted")
    thread = chat.thread_id
    chat.menu(thread, "Delete").click()
    expect(chat.thread_row(thread)).to_have_count(0)
    chat.page.goto(f"{chat.server.url}/?thread={thread}")
    expect(chat.page.get_by_text("This chat was deleted")).to_be_visible()
    chat.button("Bring it back").click()
    expect(chat.answer).to_contain_text("soon to be deleted")


def test_delete_can_be_undone(chat: Chat) -> None:
    chat.ask("say keep me after all")
    thread = chat.thread_id
    chat.menu(thread, "Delete").click()
    undo = chat.page.locator(".st-key-undo_delete")
    expect(undo).to_contain_text("Deleted")
    expect(chat.thread_row(thread)).to_have_count(0)
    expect(chat.page.get_by_text("Logician is a workbench")).to_be_visible()
    undo.get_by_role("button", name="Undo").click()
    expect(chat.thread_row(thread)).to_be_visible()
    expect(chat.answer).to_contain_text("keep me after all")
    assert chat.thread_id == thread


def test_rename_and_search_titles_and_messages(chat: Chat) -> None:
    chat.ask("say the quokka is a small marsupial")
    thread = chat.thread_id
    chat.menu(thread, "Rename").click()
    title = chat.page.locator(f".st-key-title_{thread} input")
    title.fill("Animals of the island")
    title.press("Enter")
    expect(chat.thread_row(thread)).to_contain_text("Animals of the island")
    expect(chat.page).to_have_title(re.compile("Animals of the island"))
    chat.page.locator(".st-key-new_chat button:visible").click()
    expect(chat.page.get_by_text("Logician is a workbench")).to_be_visible()
    for words in ("of the island", "quokka"):
        chat.page.locator(".st-key-search input").fill(words)
        found = chat.page.locator(".st-key-search_results").get_by_role("link", name="Animals of the island")
        expect(found).to_be_visible()
    found.click()
    expect(chat.answer).to_contain_text("small marsupial")


def test_attachment_is_sent_shown_and_read(chat: Chat, tmp_path: Path) -> None:
    file = tmp_path / "inventory.csv"
    file.write_text("item,count\nlamp,4\n", encoding="utf-8")
    chat.attach(file)
    chat.ask("what is in the file?")
    attachment = chat.questions.first.locator("[class*='st-key-file_'] summary")
    expect(attachment).to_contain_text("inventory.csv · 18 characters")
    attachment.click()
    expect(chat.questions.first).to_contain_text("lamp,4")


def test_binary_attachment_is_refused_and_the_words_are_kept(chat: Chat, tmp_path: Path) -> None:
    file = tmp_path / "picture.txt"
    file.write_bytes(b"\x89PNG\x00\x00\x00")
    chat.attach(file)
    chat.box.fill("look at this")
    chat.box.press("Enter")
    expect(chat.page.get_by_text("is not a text file")).to_be_visible()
    expect(chat.box).to_have_value("look at this")
    assert chat.questions.count() == 0


def test_export_as_markdown_and_json(chat: Chat) -> None:
    chat.ask("say exported words")
    thread = chat.thread_id
    texts = {}
    for name in ("Markdown", "JSON"):
        entry = chat.menu(thread, f"Export as {name}")
        with chat.page.expect_download() as download:
            entry.click()
        texts[name] = Path(download.value.path()).read_text(encoding="utf-8")
        chat.page.keyboard.press("Escape")
    assert "exported words" in texts["Markdown"]
    assert json.loads(texts["JSON"])["thread"]["id"] == thread


def test_mode_is_kept_with_the_chat(chat: Chat) -> None:
    chat.page.locator(".st-key-mode_picker button:visible").click()
    chat.page.get_by_test_id("stPopoverBody").get_by_text("Plan", exact=True).click()
    expect(chat.page.locator(".st-key-mode_picker button:visible")).to_contain_text("Plan")
    chat.page.keyboard.press("Escape")
    chat.ask('call write_file {"path": "not-in-plan-mode.txt", "content": "x"}\nsay done')
    chat.work.click()
    expect(chat.steps("not-in-plan-mode.txt")).to_contain_text("denied")
    chat.page.reload()
    expect(chat.page.locator(".st-key-mode_picker button:visible")).to_contain_text("Plan")


def test_context_meter_tells_what_fills_the_window(chat: Chat) -> None:
    chat.ask("say short")
    meter = chat.page.locator(".st-key-context_meter button:visible")
    expect(meter).to_contain_text("% of the window")
    meter.click()
    body = chat.page.get_by_test_id("stPopoverBody")
    for part in ("Instructions", "Tools", "Messages and results", "free of 32,768"):
        expect(body).to_contain_text(part)
