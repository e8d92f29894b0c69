"""The inbox in a real browser: requests are answered where they are listed, and stay answered."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from storage import RunLedger, ThreadStore
from tests.browser.seed import database, run_of, submit
from tests.browser.server import Server
from tests.browser.workbench import Workbench


@pytest.fixture(scope="module")
def own(make_server: Callable[..., Server]) -> Server:
    """A server where nothing else waits."""
    return make_server()


@pytest.fixture
def bench(page: Page, own: Server) -> Workbench:
    return Workbench(page, own)


def approval_of(server: Server, run_id: str) -> str:
    with database(server) as opened:
        return RunLedger(opened).approvals(run_id=run_id)[0].id


def ended(bench: Workbench, run_id: str, outcome: str) -> None:
    for _ in range(300):
        if run_of(bench.server, run_id).status == "done":
            break
        bench.page.wait_for_timeout(100)
    assert run_of(bench.server, run_id).outcome == outcome


def test_the_empty_inbox_teaches(bench: Workbench) -> None:
    bench.open("approvals").title("Approvals")
    expect(bench.page.get_by_text("Nothing waits for you")).to_be_visible()
    bench.page.get_by_role("link", name="Choose what needs approval").click()
    bench.title("Settings")
    expect(bench.page.get_by_role("tab", name="Permissions")).to_have_attribute("aria-selected", "true")


def test_requests_are_answered_in_the_inbox(bench: Workbench) -> None:
    bench.open("approvals").title("Approvals")
    command = submit(bench.server, 'call bash {"command": "python -m pytest -q tests/test_parser.py"}')
    change = submit(
        bench.server,
        'call write_file {"path": "CHANGELOG.md", "content": "# Changelog\\n\\n- The parser accepts empty input\\n"}',
    )
    question = submit(
        bench.server, 'call ask_user {"question": "Which folder should I tidy?", "choices": ["src", "docs"]}'
    )

    titles = (
        (command, "Fix the failing parser test"),
        (change, "Start a changelog"),
        (question, "Tidy up the project"),
    )
    with database(bench.server) as opened:
        for run, title in titles:
            ThreadStore(opened).update(str(run.thread_id), title=title)

    # They appear by themselves, newest first, with what exactly is asked.
    cards = bench.page.locator("[class*='st-key-approval_inbox_']")
    expect(cards).to_have_count(3)
    expect(cards.nth(0)).to_contain_text("Which folder should I tidy?")
    expect(cards.nth(1)).to_contain_text("+# Changelog")
    expect(cards.nth(2)).to_contain_text("python -m pytest -q tests/test_parser.py")
    bench.page.reload()
    expect(bench.page.get_by_role("link", name="Tidy up the project").first).to_be_visible()
    bench.picture("approvals.png")

    bench.button(f"inbox_{approval_of(bench.server, question.id)}_choice_1").click()
    expect(cards).to_have_count(2)
    key = f"inbox_{approval_of(bench.server, change.id)}"
    bench.field(f"{key}_reason").fill("put it in docs instead")
    bench.button(f"{key}_deny").click()
    expect(cards).to_have_count(1)
    bench.button(f"inbox_{approval_of(bench.server, command.id)}_allow").click()
    expect(bench.page.get_by_text("Nothing waits for you")).to_be_visible()
    for run in (question, change, command):
        ended(bench, run.id, "completed")

    bench.page.reload()
    history = bench.page.locator("[class*='st-key-decided_']")
    expect(history.filter(has_text="Answered")).to_have_count(1)
    denied = history.filter(has_text="Denied")
    denied.locator("summary").click()
    expect(denied).to_contain_text("Reason given: put it in docs instead")
    expect(history.filter(has_text="Allowed")).to_have_count(1)
    denied.get_by_role("link", name="Open the run").click()
    bench.title("Start a changelog")


def test_always_allow_keeps_a_rule_that_the_settings_show(bench: Workbench) -> None:
    first = submit(bench.server, 'call bash {"command": "make docs"}')
    bench.open("approvals")
    bench.page.locator("[class*='_always'] button").click()
    bench.page.get_by_role("menuitem").or_(bench.page.get_by_role("option")).first.click()
    expect(bench.page.get_by_text("Nothing waits for you")).to_be_visible()
    ended(bench, first.id, "completed")
    second = submit(bench.server, 'call bash {"command": "make docs"}', until=("done",))
    assert second.outcome == "completed", "nobody had to be asked"
    bench.open("settings?tab=Permissions")
    rules = bench.page.locator(".st-key-rules")
    expect(rules).to_contain_text("make")
    rules.get_by_role("button", name="Delete").click()
    expect(bench.page.get_by_text("No rules yet")).to_be_visible()
    bench.button("undo_rule").click()
    expect(rules).to_contain_text("make")
