"""The frame: sign-in, a stopped engine, numbers of the day."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from logician_graph.engine import Engine
from pages.components.sidebar import cost_today, tokens_today
from storage import UsageSum
from tests.pages.conftest import SHELL, ask, text_of

Open = Callable[..., AppTest]


def test_an_unknown_cost_is_never_shown_as_zero() -> None:
    def of(**values: float) -> UsageSum:
        return UsageSum(**{"runs": 1, "input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0, "unknown_tokens": 0,
                           "unknown_cost": 0, **values})  # type: ignore[arg-type]  # fmt: skip

    assert cost_today(of()) == "Cost today: $0"
    assert cost_today(of(unknown_cost=1)) == "Cost today: unknown"
    assert cost_today(of(unknown_cost=1, cost_usd=0.5)) == "Cost today: over $0.50"
    assert tokens_today(of(unknown_tokens=1)) == "Tokens today: unknown"
    assert tokens_today(of(unknown_tokens=1, input_tokens=1200)) == "Tokens today: over 1.2 k"
    assert tokens_today(of(input_tokens=1200, output_tokens=300)) == "Tokens today: 1.5 k"


def test_the_sidebar_tells_model_use_and_health(open_page: Open, engine: Engine) -> None:
    ask(engine, "say hello")
    said = text_of(open_page("runs.py")).replace("\\", "")
    assert "fake-model" in said
    assert "Cost today: unknown" in said
    assert "Tokens today: " in said
    assert "Engine ready" in said or "Engine is starting" in said


def test_a_stopped_engine_is_said_on_every_page(open_page: Open, engine: Engine) -> None:
    engine.problem = "OSError: the disk is full"
    for page in ("approvals.py", "runs.py", "settings.py"):
        app = open_page(page)
        banner = [error.value.replace("\\", "") for error in app.error]
        assert any("the disk is full" in words and "start Logician again" in words for words in banner)
        assert "Engine stopped" in text_of(app)


@pytest.fixture
def oidc(monkeypatch: pytest.MonkeyPatch) -> None:
    """An identity provider is configured. AppTest's own secrets do not reach the function that looks for it."""
    monkeypatch.setattr("logician_graph.gateway.oidc_configured", lambda: True)


@pytest.mark.usefixtures("oidc")
def test_nothing_is_shown_before_sign_in(engine: Engine) -> None:
    ask(engine, "say a secret of the house")
    app = AppTest.from_file(str(SHELL), default_timeout=30)
    app.user = {"is_logged_in": False}
    app.run()
    assert not app.exception
    assert [button.label for button in app.button] == ["Sign in"]
    assert app.get("page_link") == []
    assert "secret" not in text_of(app)


@pytest.mark.usefixtures("oidc")
def test_who_is_signed_in_is_shown_and_named_in_answers(engine: Engine) -> None:
    ask(engine, 'call bash {"command": "make all"}')
    approval = engine.ledger.approvals(state="open")[0]
    app = AppTest.from_file(str(SHELL), default_timeout=30)
    app.user = {"is_logged_in": True, "email": "ada@example.org"}
    app.run()
    app.switch_page("approvals.py").run()
    assert not app.exception
    assert "ada@example.org" in text_of(app).replace("\\", "")
    assert "sign_out" in [button.key for button in app.button]
    app.button(key=f"inbox_{approval.id}_allow").click().run()
    assert engine.approval(approval.id).answer == {"decision": "allow", "reason": "", "by": "ada@example.org"}


def test_search_finds_chats_and_runs(open_page: Open, engine: Engine) -> None:
    run = ask(engine, "say the quick brown fox")

    def found(query: str) -> list[str]:
        app = open_page("settings.py")
        app.text_input(key="search").set_value(query).run()
        return [link.proto.label for link in app.get("page_link")]

    assert "say the quick brown fox" in found("BROWN")
    assert f"Run {run.id}" in found(run.id[:10])
    app = open_page("settings.py")
    app.text_input(key="search").set_value("no such thing").run()
    assert "Nothing found" in text_of(app)


def test_the_assets_are_there() -> None:
    assets = Path(SHELL).parent / "assets"
    assert {path.name for path in assets.iterdir()} >= {"logician-mark.svg", "logician-light.svg", "logician-dark.svg"}
