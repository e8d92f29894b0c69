"""What waits for the person is a card in the chat: allowed, always allowed, denied with a reason, answered."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat


def card(chat: Chat) -> Locator:
    return chat.page.locator("[class*='st-key-approval_']")


def run_command(command: str) -> str:
    return f'call bash {{"command": "{command}"}}\nsay The command is over.'


def test_allow_once_survives_a_reload(chat: Chat) -> None:
    chat.send(run_command("mkdir -p first-run && exit 3"))
    expect(card(chat)).to_contain_text("mkdir -p first-run && exit 3")
    expect(chat.work).to_contain_text("Waiting for you")
    chat.page.reload()
    expect(card(chat)).to_contain_text("mkdir -p first-run && exit 3")
    assert chat.stop.count() == 1
    chat.button("Allow once").click()
    expect(card(chat)).to_have_count(0)
    chat.finished()
    expect(chat.answer).to_contain_text("The command is over.")
    chat.work.click()
    step = chat.steps("mkdir -p first-run")
    expect(step).to_contain_text("exit 3")
    step.click()
    body = chat.answer.get_by_test_id("stCode")
    expect(body.first).to_contain_text("mkdir -p first-run")
    expect(chat.answer).to_contain_text("Allowed once by you.")


def test_deny_with_a_reason(chat: Chat) -> None:
    chat.send(run_command("mkdir -p never-run"))
    expect(card(chat)).to_be_visible()
    card(chat).get_by_placeholder("If you deny").fill("use the other folder")
    chat.button("Deny").click()
    chat.finished()
    chat.work.click()
    step = chat.steps("mkdir -p never-run")
    expect(step).to_contain_text("denied")
    step.click()
    expect(chat.answer).to_contain_text("You denied it: use the other folder")


def test_always_allow_asks_once_only(chat: Chat) -> None:
    chat.send(run_command("mkdir -p allowed-for-good"))
    expect(card(chat)).to_be_visible()
    chat.button("Always allow").click()
    chat.page.get_by_role("menuitem").or_(chat.page.get_by_role("option")).first.click()
    chat.finished()
    chat.ask(run_command("mkdir -p allowed-for-good again"))
    expect(chat.answer).to_contain_text("The command is over.")
    assert card(chat).count() == 0


def test_a_question_is_answered_by_a_choice_or_in_words(chat: Chat) -> None:
    question = 'call ask_user {"question": "Which colour shall it be?", "choices": ["Green", "Blue"]}'
    chat.send(f"{question}\nsay Noted.")
    expect(card(chat)).to_contain_text("Which colour shall it be?")
    chat.button("Blue").click()
    chat.finished()
    expect(chat.answer).to_contain_text("Noted.")
    chat.work.click()
    chat.steps("Which colour").click()
    expect(chat.answer).to_contain_text("Blue")

    chat.send(f"{question}\nsay Noted again.")
    card(chat).get_by_placeholder("Or answer in your own words").fill("a warm red")
    chat.button("Answer").click()
    chat.finished()
    expect(chat.answer).to_contain_text("Noted again.")


def test_a_waiting_run_can_be_stopped(chat: Chat) -> None:
    chat.send(run_command("mkdir -p stopped-before"))
    expect(card(chat)).to_be_visible()
    chat.stop.click()
    chat.finished()
    expect(card(chat)).to_have_count(0)
    expect(chat.stopped).to_be_visible()
