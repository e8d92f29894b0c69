"""Settings in a real browser: an endpoint is tested and stored, its key never comes back, edits survive a reload."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, WebSocket, expect

from tests.browser.server import Server
from tests.browser.workbench import Workbench
from tests.fakes.openai_server import FakeOpenAI

KEY = "sk-never-to-be-seen-4711"


@pytest.fixture(scope="module")
def own(make_server: Callable[..., Server]) -> Server:
    """A server on which no endpoint is configured and no model can be downloaded."""
    nothing = {"LOGICIAN_BASE_URL": "", "LOGICIAN_MODEL": "", "LOGICIAN_API_KEY": ""}
    return make_server(**nothing, LOGICIAN_INDEX_URL="http://127.0.0.1:9/simple")


@pytest.fixture
def bench(page: Page, own: Server) -> Workbench:
    return Workbench(page, own)


def test_an_endpoint_is_tested_and_stored_and_its_key_never_comes_back(bench: Workbench, fake: FakeOpenAI) -> None:
    received: list[str] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: received.append(repr(frame)))

    bench.page.on("websocket", listen)
    bench.open("settings?tab=Model").title("Settings")
    expect(bench.page.locator(".st-key-model_in_use")).to_contain_text("built-in model")
    bench.field("setting_base_url").fill(fake.base_url)
    bench.field("new_api_key").fill(KEY)
    bench.button("test_endpoint").click()
    expect(bench.page.locator(".st-key-endpoint")).to_contain_text("Choose one above")
    bench.field("endpoint_model").click()
    bench.page.get_by_role("option", name="fake-model").click()
    bench.button("save_endpoint").click()
    expect(bench.page.locator(".st-key-model_in_use")).to_contain_text("fake-model")
    expect(bench.button("remove_key")).to_be_visible()
    expect(bench.field("new_api_key")).to_have_value("")
    bench.button("test_endpoint").click()
    expect(bench.page.locator(".st-key-check_facts")).to_contain_text("First token")
    bench.picture("settings.png")
    assert any(KEY in header for request in fake.requests for header in request.headers.values()), "the key was used"

    bench.page.reload()
    expect(bench.page.locator(".st-key-model_in_use")).to_contain_text("fake-model")
    assert KEY not in bench.page.content()
    assert received, "the listener hears the server"
    assert not any(KEY in frame for frame in received)
    assert KEY not in bench.server.log.read_text(encoding="utf-8")
    assert KEY in (bench.server.home / "secrets.json").read_text(encoding="utf-8")


def test_a_bad_value_is_explained_and_a_good_one_sticks_the_first_time(bench: Workbench) -> None:
    bench.open("settings?tab=Model")
    bench.field("setting_base_url").fill("not an address")
    bench.button("save_endpoint").click()
    expect(bench.page.locator(".st-key-endpoint")).to_contain_text("it must be a full http:// or https:// address")
    expect(bench.field("setting_base_url")).to_have_value("not an address")

    bench.page.get_by_role("tab", name="Limits").click()
    bench.field("setting_max_turns").fill("33")
    bench.button("save_limits").click()
    expect(bench.page.locator(".st-key-limits")).to_contain_text("model calls is now 33")
    assert "tab=Limits" in bench.address
    bench.page.reload()
    expect(bench.field("setting_max_turns")).to_have_value("33")


def test_the_environment_locks_its_settings(page: Page, server: Server) -> None:
    bench = Workbench(page, server).open("settings?tab=Model")
    expect(bench.field("setting_base_url")).to_be_disabled()
    expect(bench.page.locator(".st-key-endpoint")).to_contain_text("LOGICIAN_BASE_URL")
    expect(bench.field("new_api_key")).to_be_disabled()
    assert "test-key" not in bench.page.content()


def test_a_workspace_is_created_from_the_page(bench: Workbench, tmp_path: Path) -> None:
    bench.open("settings?tab=Permissions")
    wanted = tmp_path / "a new project"
    bench.field("setting_workspace").fill(str(wanted))
    bench.button("save_workspace").click()
    bench.button("create_workspace").click()
    expect(bench.page.locator(".st-key-workspace")).to_contain_text("It applies to the next run")
    assert wanted.is_dir()


def test_the_rule_tester_answers_while_one_types(bench: Workbench) -> None:
    bench.open("settings?tab=Permissions")
    box = bench.field("try_text")
    box.press_sequentially("git push --force")
    expect(bench.page.locator(".st-key-rule_tester")).to_contain_text("Waits for you")
    box.fill("ls -la")
    expect(bench.page.locator(".st-key-rule_tester")).to_contain_text("Allowed")


def test_a_download_that_fails_says_so_and_can_be_tried_again(bench: Workbench) -> None:
    bench.open("settings?tab=Model")
    card = bench.page.locator("[class*='st-key-model_smollm2']")
    card.get_by_role("button", name="Download").click()
    expect(card.get_by_test_id("stAlert")).to_be_visible()
    expect(card.get_by_role("button", name="Try again")).to_be_visible()
