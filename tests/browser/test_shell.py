"""The frame around the pages: navigation, search, keys, the badge, and both themes."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.seed import run_of, submit
from tests.browser.server import Server
from tests.browser.workbench import Workbench


@pytest.fixture
def bench(page: Page, server: Server) -> Workbench:
    return Workbench(page, server)


def test_a_nav_click_keeps_what_was_open_and_back_works(bench: Workbench) -> None:
    run = submit(bench.server, "say a run to come back to")
    bench.open(f"?thread={run.thread_id}")
    bench.go("Approvals").title("Approvals")
    bench.open(f"runs?run={run.id}").title("say a run to come back to")
    bench.go("Settings").title("Settings")
    assert bench.address == "/settings"
    bench.go("Runs").title("say a run to come back to")
    assert bench.address == f"/runs?run={run.id}"
    bench.page.go_back()
    bench.title("Settings")
    bench.go("Runs").title("say a run to come back to")
    bench.page.get_by_text("All runs").click()
    bench.title("Runs")
    assert bench.address == "/runs"
    bench.page.reload()
    bench.title("Runs")


def test_search_leads_to_chats_and_runs(bench: Workbench) -> None:
    run = submit(bench.server, "say find the purple elephant")
    bench.open("settings")
    box = bench.field("search")
    box.press_sequentially("purple eleph")
    bench.page.get_by_test_id("stSidebar").get_by_role("link", name="say find the purple elephant").click()
    expect(bench.page.get_by_test_id("stChatInputTextArea")).to_be_visible()
    assert f"thread={run.thread_id}" in bench.address
    expect(box).to_have_value("")
    box.fill(run.id)
    bench.page.get_by_test_id("stSidebar").get_by_role("link", name=f"Run {run.id}").click()
    bench.title("say find the purple elephant")
    assert bench.address == f"/runs?run={run.id}"


def test_keys_work_where_nobody_types(bench: Workbench) -> None:
    bench.open("runs").title("Runs")
    expect(bench.page.locator("html[data-logician-keys]")).to_have_count(1)
    bench.page.keyboard.press("?")
    expect(bench.page.get_by_role("dialog")).to_contain_text("Search chats and runs")
    bench.page.keyboard.press("Escape")
    expect(bench.page.get_by_role("dialog")).to_have_count(0)
    bench.page.keyboard.press("/")
    expect(bench.field("search")).to_be_focused()
    bench.page.keyboard.type("n/?")
    expect(bench.field("search")).to_have_value("n/?")
    assert bench.address == "/runs"
    bench.field("search").fill("")
    bench.field("search").blur()
    bench.page.keyboard.press("n")
    expect(bench.page.get_by_test_id("stChatInputTextArea")).to_be_visible()
    assert "thread=" not in bench.address


def test_the_badge_tells_what_waits_without_a_reload(bench: Workbench) -> None:
    bench.open("settings?tab=Limits")
    link = bench.page.get_by_test_id("stSidebar").get_by_role("link", name="Approvals")
    bench.field("setting_max_turns").fill("17")
    run = submit(bench.server, 'call bash {"command": "make all"}', until=("waiting",))
    expect(link).to_contain_text(re.compile(r"\d"))
    expect(bench.field("setting_max_turns")).to_have_value("17")
    bench.open(f"runs?run={run.id}")
    bench.button("stop_run").click()
    expect(bench.page.locator(".st-key-run_state")).to_contain_text("Stopped")
    assert run_of(bench.server, run.id).outcome == "cancelled"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_have_their_logo(new_page: Callable[..., Page], server: Server, scheme: str) -> None:
    page = new_page(color_scheme=scheme)
    Workbench(page, server).open("approvals")
    word = page.locator("[data-testid='stSidebarHeader'] img")
    expect(word).to_be_visible()
    drawn = page.evaluate("async (url) => (await fetch(url)).text()", word.get_attribute("src"))
    assert {"light": "#1B2130", "dark": "#E6E9F0"}[scheme] in drawn
    background = page.get_by_test_id("stApp").evaluate("node => getComputedStyle(node).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 21, 28)"}[scheme]
