"""Editing and answering again make versions beside what was there; nothing is lost."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.chat import Chat


def test_edit_makes_a_branch_and_switches_back(chat: Chat) -> None:
    chat.ask("say the first answer")
    chat.ask("say a follow-up")
    first = chat.questions.first
    first.locator("[class*='st-key-edit_'] button:visible").click()
    first.get_by_role("textbox").fill("say the edited answer")
    first.get_by_role("button", name="Send").click()
    expect(chat.questions).to_have_count(1)
    chat.finished()
    expect(chat.answer).to_contain_text("the edited answer")
    expect(chat.questions.first).to_contain_text("2/2")

    chat.page.locator("[class*='st-key-earlier_'] button:visible").first.click()
    expect(chat.questions).to_have_count(2)
    expect(chat.questions.first).to_contain_text("1/2")
    expect(chat.runs.first).to_contain_text("the first answer")
    expect(chat.answer).to_contain_text("a follow-up")
    chat.page.reload()
    expect(chat.questions.first).to_contain_text("1/2")


def test_cancelled_edit_changes_nothing(chat: Chat) -> None:
    chat.ask("say unchanged")
    message = chat.questions.first
    message.locator("[class*='st-key-edit_'] button:visible").click()
    message.get_by_role("textbox").fill("something else")
    message.get_by_role("button", name="Cancel").click()
    expect(message.get_by_role("textbox")).to_have_count(0)
    expect(message).to_contain_text("say unchanged")


def test_regenerate_keeps_both_answers(chat: Chat) -> None:
    chat.ask("say fine either way")
    chat.answer.locator("[class*='st-key-again_'] button:visible").click()
    expect(chat.answer).to_contain_text("2/2")
    chat.finished()
    chat.page.locator("[class*='st-key-earlier_'] button:visible").click()
    expect(chat.answer).to_contain_text("1/2")
    expect(chat.questions).to_have_count(1)


def test_a_failed_run_says_why_and_can_be_tried_again(chat: Chat) -> None:
    chat.ask("fail 400 x1")
    ending = chat.page.locator("[class*='st-key-ending_']")
    expect(ending).to_contain_text("The run failed.")
    expect(ending).to_contain_text("scripted failure 400")
    expect(ending).to_contain_text("Your message is kept")
    ending.get_by_role("button", name="Try again").click()
    expect(chat.answer).to_contain_text("Recovered.")


def test_a_provider_that_fails_for_a_while_shows_its_retries(chat: Chat) -> None:
    chat.ask("fail 500 x2")
    expect(chat.answer).to_contain_text("Recovered.")
    chat.work.click()
    retries = chat.steps("The provider failed; trying again")
    expect(retries).to_have_count(2)
    retries.first.click()
    expect(chat.answer).to_contain_text("scripted failure 500")


def test_an_answer_is_copied_as_it_was_written(chat: Chat) -> None:
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    chat.ask("say some **bold** words")
    chat.answer.locator("[class*='st-key-copy_'] button:visible").click()
    expect(chat.answer.get_by_label("Copied")).to_be_visible()
    assert chat.page.evaluate("navigator.clipboard.readText()") == "some **bold** words"
