"""Runs in a real browser: ten thousand of them, filters in the URL, one run in every detail, live."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.seed import many_runs, submit
from tests.browser.server import Server
from tests.browser.workbench import Workbench

COUNT_TRACES = """() => {
  window.most = 0
  const look = () => {
    const hosts = [...document.querySelectorAll('[class*="st-key-trace"]')]
    window.most = Math.max(window.most, hosts.length)
    requestAnimationFrame(look)
  }
  look()
}"""


@pytest.fixture(scope="module")
def crowded(make_server: Callable[..., Server]) -> Server:
    server = make_server()
    many_runs(server, 10_000)
    return server


@pytest.fixture
def bench(page: Page, server: Server) -> Workbench:
    return Workbench(page, server)


def rows(bench: Workbench) -> int:
    return bench.page.locator("table[aria-label='Runs'] tbody tr").count()


def test_ten_thousand_runs_open_quickly_and_are_paged(page: Page, crowded: Server) -> None:
    bench = Workbench(page, crowded).open("approvals").title("Approvals")
    started = time.monotonic()
    bench.go("Runs")
    expect(page.locator("table[aria-label='Runs'] tbody tr")).to_have_count(50)
    assert time.monotonic() - started < 20
    expect(page.get_by_text("10,000 runs")).to_be_visible()
    first = page.locator("table[aria-label='Runs'] tbody tr").first.get_attribute("data-run")
    page.get_by_role("button", name="Page 2", exact=True).click()
    expect(page.locator("table[aria-label='Runs'] tbody tr").first).not_to_have_attribute("data-run", str(first))
    assert "page=2" in bench.address


def test_filters_are_in_the_url_and_survive_reload_and_back(page: Page, crowded: Server) -> None:
    bench = Workbench(page, crowded).open("runs").title("Runs")
    bench.field("q").fill("parser test 4")
    bench.field("q").press("Enter")
    page.wait_for_url("**/runs?*q=parser*")
    page.locator(".st-key-state input").click()
    page.get_by_role("option", name="Failed").click()
    page.keyboard.press("Escape")
    table = page.locator("table[aria-label='Runs'] tbody")
    expect(table.get_by_text("Completed")).to_have_count(0)
    expect(table.locator("tr").first).to_contain_text("Fix the failing parser test 4")
    page.wait_for_url("**/runs?*state=Failed*")
    assert "q=parser" in bench.address
    shown = rows(bench)
    page.reload()
    expect(table.locator("tr")).to_have_count(shown)
    expect(table.get_by_text("Completed")).to_have_count(0)
    table.locator("tr").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Fix the failing parser test 4")
    page.go_back()  # one step: the filters left the URL together with the list
    expect(table.locator("tr")).to_have_count(shown)
    assert "q=parser" in bench.address


def test_a_link_opens_a_run_with_its_trace(bench: Workbench) -> None:
    run = submit(bench.server, 'call write_file {"path": "a.txt", "content": "hi"}', mode="accept_edits")
    bench.open(f"runs?run={run.id}").title("call write_file")
    lines = bench.page.locator("ol[aria-label='Trace of the run'] li")
    expect(lines.filter(has_text="a.txt +1").first).to_be_visible()
    model = lines.filter(has_text="Model call 1")
    model.locator("summary").click()
    expect(model.locator("pre").first).to_contain_text('"type": "model.started"')
    model.get_by_role("button", name="Show what was sent to the model").click()
    bench.title("Sent to the model")
    expect(bench.page.get_by_text("word for word")).to_be_visible()
    expect(bench.page.get_by_test_id("stCode").filter(has_text='call write_file {"path"').first).to_be_visible()
    assert "request=" in bench.address
    bench.page.go_back()
    bench.title("call write_file")
    with bench.page.expect_download() as download:
        bench.button("run_events").click()
    events = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert [event["seq"] for event in events] == sorted(event["seq"] for event in events)
    assert events[-1]["type"] == "run.finished"


def test_a_link_to_a_step_opens_it(bench: Workbench) -> None:
    run = submit(bench.server, 'call list_files {"path": "."}')
    bench.open(f"runs?run={run.id}&step=model:2").title("call list_files")
    opened = bench.page.locator("ol[aria-label='Trace of the run'] details[open]")
    expect(opened).to_have_count(1)
    expect(opened).to_contain_text("Model call 2")


def test_an_unknown_run_is_said(bench: Workbench) -> None:
    bench.open("runs?run=01aaaaaaaaaaaaaaaa")
    expect(bench.page.get_by_text("There is no run")).to_be_visible()
    bench.page.get_by_text("All runs").click()
    bench.page.wait_for_url("**/runs")


def test_a_working_run_is_followed_and_stopped(bench: Workbench) -> None:
    run = submit(bench.server, "say slow 0.3 " + "word " * 200, until=("running",))
    bench.open(f"runs?run={run.id}")
    lines = bench.page.locator("ol[aria-label='Trace of the run'] li")
    expect(lines.filter(has_text="Streams text")).to_be_visible()
    lines.filter(has_text="Model call 1").locator("summary").click()
    bench.page.evaluate(COUNT_TRACES)
    bench.button("stop_run").click()
    expect(lines.filter(has_text="Ended: cancelled")).to_be_visible()
    assert bench.page.evaluate("window.most") == 1, "the trace is never drawn twice"
    expect(bench.button("stop_run")).to_have_count(0)
    expect(lines.filter(has_text="Model call 1").locator("details")).to_have_attribute("open", "")
    expect(bench.page.locator(".st-key-run_state")).to_contain_text("Stopped")
