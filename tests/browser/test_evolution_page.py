"""Evolution in a real browser: a study from the form, live, its candidates and tabs, replay, export, stop, resume."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from logician_graph.eoh import template
from tests.browser.seed import database
from tests.browser.server import Server
from tests.browser.study_seed import many_samples
from tests.browser.workbench import Workbench
from tests.eoh_study.conftest import writer
from tests.fakes.openai_server import FakeOpenAI, Reply


class Model:
    """The fake model, as slow as a test wants it."""

    def __init__(self) -> None:
        self.seconds = 0.05

    def __call__(self, body: Mapping[str, Any]) -> Reply:
        time.sleep(self.seconds)
        return writer(body)


@pytest.fixture(scope="module")
def model() -> Model:
    return Model()


@pytest.fixture(scope="module")
def own(make_server: Callable[..., Server], model: Model) -> Iterator[Server]:
    """A server with a problem that is measured in milliseconds, and a model that writes rules for it."""
    with FakeOpenAI(model, context_window=32_768) as endpoint:
        server = make_server(LOGICIAN_BASE_URL=endpoint.base_url)
        template("knapsack", server.home / "problems")
        yield server
        server.stop()


@pytest.fixture(scope="module")
def large(own: Server) -> str:
    """A finished study of 10,000 candidates."""
    with database(own) as opened:
        return many_samples(opened, 10_000)


@pytest.fixture
def bench(page: Page, own: Server) -> Workbench:
    return Workbench(page, own)


def start(bench: Workbench, *, samples: int | None = None, title: str = "") -> str:
    """A study from the form; returns its id."""
    bench.open("evolution?new=study&problem=knapsack").title("New study")
    expect(bench.page.locator(".st-key-problem_card")).to_contain_text("Half the capacity")
    if samples is not None:
        bench.field("new_samples").fill(str(samples))
        bench.field("new_samples").press("Enter")
        expect(bench.page.get_by_text(f"{samples} samples, each written")).to_be_visible()
    if title:
        bench.field("new_title").fill(title)
        bench.field("new_title").press("Enter")
    bench.button("start_study").click()
    bench.page.wait_for_url("**/evolution?study=*")
    return bench.address.partition("study=")[2]


def state(bench: Workbench) -> Locator:
    return bench.page.locator(".st-key-study_state")


def table(bench: Workbench, label: str) -> Locator:
    return bench.page.locator(f"table[aria-label='{label}'] tbody tr")


def tab(bench: Workbench, name: str) -> None:
    bench.page.get_by_role("tab", name=name, exact=True).click()


def at_rest(bench: Workbench) -> None:
    bench.page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')


def test_an_empty_list_teaches_and_a_study_is_made_and_followed(bench: Workbench) -> None:
    bench.open("evolution").title("Evolution")
    expect(bench.page.get_by_text("No studies yet")).to_be_visible()
    bench.button("first_study").click()
    bench.title("New study")
    start(bench, samples=24, title="Pack it well")
    bench.title("Pack it well")
    expect(state(bench)).to_contain_text("Running")
    metric = bench.page.get_by_test_id("stMetric").filter(has_text="Samples")
    expect(metric).to_contain_text("of 24")
    expect(state(bench)).to_contain_text("Completed")
    expect(metric.get_by_test_id("stMetricValue")).to_have_text("24")
    expect(bench.page.get_by_test_id("stMetric").filter(has_text="Best, training")).to_contain_text("%")
    expect(bench.page.locator(".js-plotly-plot .point").first).to_be_visible()
    with bench.page.expect_download() as download:
        bench.button("export_study").click()
    text = download.value.path().read_text(encoding="utf-8")
    assert "def priority" in text
    assert "arXiv:2401.02051" in text
    bench.go("Evolution").title("Evolution")
    expect(table(bench, "Studies").filter(has_text="Pack it well")).to_contain_text("24 / 24")


def test_a_candidate_is_opened_from_the_population_and_back_leads_to_it(bench: Workbench, large: str) -> None:
    bench.open(f"evolution?study={large}&view=Population").title("10,000 candidates")
    rows = table(bench, "Population")
    expect(rows).to_have_count(20)
    number = rows.first.get_attribute("data-id")
    rows.first.get_by_role("link").click()
    bench.title(f"Sample {number}")
    assert f"sample={number}" in bench.address
    expect(bench.page.get_by_test_id("stCode").first).to_contain_text("def priority")
    bench.page.get_by_text("Attempt 1").click()
    expect(bench.page.get_by_text(f"Write a better one ({number}).")).to_be_visible()
    bench.page.get_by_text("Change from sample").first.click()
    expect(bench.page.get_by_test_id("stCode").filter(has_text="+++ sample").first).to_be_visible()
    parent = table(bench, "Parents").first
    name = parent.get_attribute("data-id")
    parent.get_by_role("link").click()
    bench.title(f"Sample {name}")
    expect(table(bench, "Children").filter(has_text=str(number))).to_have_count(1)
    bench.page.go_back()
    bench.title(f"Sample {number}")
    bench.page.go_back()
    expect(rows).to_have_count(20)
    rows.first.click()
    bench.button("to_study").click()
    expect(rows).to_have_count(20)
    assert "view=Population" in bench.address


def test_the_log_is_filtered_in_the_url(bench: Workbench, large: str) -> None:
    bench.open(f"evolution?study={large}&view=Log&outcome=Timed+out&operator=M2&gen_to=100")
    rows = table(bench, "Samples")
    expect(rows.first).to_contain_text("Timed out")
    expect(rows.filter(has_text="M2")).to_have_count(rows.count())
    shown = bench.page.get_by_text(re.compile(r"^\d+ samples$"))
    before = shown.inner_text()
    bench.page.reload()
    expect(shown).to_have_text(before)
    bench.field("find").fill("variant 12")
    bench.field("find").press("Enter")
    bench.page.wait_for_url("**find=variant*")
    expect(bench.page.get_by_text("No sample matches these filters.")).to_be_visible()
    bench.button("clear_log").click()
    expect(bench.page.get_by_text("10,000 samples")).to_be_visible()
    bench.page.get_by_role("button", name="Page 2", exact=True).click()
    bench.page.wait_for_url("**log_page=2*")
    expect(rows.first).to_contain_text("9949")


def test_the_population_is_seen_as_it_stood(bench: Workbench, large: str) -> None:
    bench.open(f"evolution?study={large}&view=Population&follow=false&at=300")
    expect(bench.page.get_by_text("after record 300")).to_be_visible()
    expect(table(bench, "Population")).to_have_count(20)
    numbers = [int(str(row.get_attribute("data-id"))) for row in table(bench, "Population").all()]
    assert max(numbers) < 300


def test_a_point_of_the_genealogy_opens_its_candidate(bench: Workbench, large: str) -> None:
    bench.open(f"evolution?study={large}&view=Genealogy")
    point = bench.page.locator(".js-plotly-plot .point").first
    expect(point).to_be_visible()
    bench.page.locator(".js-plotly-plot .point").nth(150).click(force=True)
    bench.page.wait_for_url("**sample=*")
    expect(bench.page.get_by_role("heading", level=1)).to_contain_text("Sample")


def test_every_tab_draws(bench: Workbench, large: str) -> None:
    bench.open(f"evolution?study={large}")
    tab(bench, "Operators")
    expect(table(bench, "Operators")).to_have_count(7)
    tab(bench, "Failures")
    expect(table(bench, "Failures").first).to_contain_text("NameError")
    tab(bench, "Held-out")
    expect(bench.page.get_by_text("does not hold up on data")).to_be_visible()
    expect(table(bench, "Held-out").filter(has_text="baseline")).to_have_count(2)
    tab(bench, "Behaviour")
    expect(bench.page.get_by_text("valid candidates are drawn")).to_be_visible()


def test_a_study_is_stopped_resumed_with_a_budget_and_replayed(bench: Workbench, model: Model) -> None:
    model.seconds = 0.4
    start(bench, title="To be stopped")
    expect(bench.page.get_by_test_id("stMetricValue").nth(2)).to_have_text(re.compile("[3-9]"))
    bench.button("stop_study").click()
    expect(state(bench)).to_contain_text("Stopped")
    expect(bench.page.get_by_text("It can be resumed")).to_be_visible()
    model.seconds = 0.02
    bench.page.locator(".st-key-resume_menu button").first.click()
    bench.field("resume_samples").fill("30")
    bench.field("resume_samples").press("Enter")
    bench.button("resume_study").click()
    expect(state(bench)).to_contain_text("Completed")
    expect(bench.page.get_by_test_id("stMetricValue").nth(2)).to_have_text("30")
    first = bench.page.get_by_test_id("stMetricValue").first.inner_text()
    bench.button("replay_study").click()
    bench.title("Replay of To be stopped")
    expect(state(bench)).to_contain_text("Completed")
    expect(bench.page.get_by_test_id("stMetricValue").first).to_have_text(first)
    expect(bench.page.get_by_test_id("stMetricValue").nth(2)).to_have_text("30")


def test_a_study_is_renamed_deleted_and_brought_back(bench: Workbench) -> None:
    with database(bench.server) as opened:
        study = many_samples(opened, 40, title="Not needed")
    bench.open(f"evolution?study={study}").title("Not needed")
    bench.page.locator(".st-key-study_menu button").first.click()
    bench.button("rename_study").click()
    bench.field("study_title").fill("Needed after all")
    bench.field("study_title").press("Enter")
    bench.title("Needed after all")
    at_rest(bench)
    bench.page.locator(".st-key-study_menu button").first.click()
    bench.button("delete_study").click()
    bench.title("Evolution")
    expect(table(bench, "Studies").filter(has_text="Needed after all")).to_have_count(0)
    bench.button("undo_delete_study").click()
    bench.title("Needed after all")


def test_studies_are_compared(bench: Workbench, large: str) -> None:
    with database(bench.server) as opened:
        other = many_samples(opened, 200, title="The small one")
    bench.open("evolution").title("Evolution")
    for words in ("The small one", "10,000 candidates"):
        bench.field("to_compare").click()
        bench.page.get_by_role("option", name=words).click()
        bench.page.keyboard.press("Escape")
    bench.button("compare").click()
    bench.title("Compare studies")
    expect(table(bench, "Compared studies")).to_have_count(2)
    assert other in bench.address
    assert large in bench.address


def test_what_is_not_there_is_said(bench: Workbench, large: str) -> None:
    bench.open("evolution?study=01aaaaaaaaaaaaaaaa")
    expect(bench.page.get_by_text("There is no study")).to_be_visible()
    bench.open(f"evolution?study={large}&sample=123456")
    expect(bench.page.get_by_text("no sample 123456")).to_be_visible()
