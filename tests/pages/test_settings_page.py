"""The settings page: edits stick, bad values say why, the environment wins, keys never come back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from logician_graph.engine import Engine
from storage import Rule, now
from tests.fakes.openai_server import FakeOpenAI
from tests.pages.conftest import text_of

Open = Callable[..., AppTest]


def settings(open_page: Open, tab: str) -> AppTest:
    return open_page("settings.py", tab=tab)


def stored(engine: Engine) -> dict[str, object]:
    return engine.preferences.settings()


def test_a_limit_is_stored_the_first_time_and_told(open_page: Open, engine: Engine) -> None:
    app = settings(open_page, "Limits")
    app.number_input(key="setting_max_turns").set_value(12)
    app.button(key="save_limits").click().run()
    assert engine.settings.max_turns == 12
    assert "model calls is now 12. It applies to the next run" in text_of(app).replace("\\", "")
    assert "Chosen here. Default: 40" in text_of(app).replace("\\", "")
    assert app.number_input(key="setting_max_turns").value == 12
    assert settings(open_page, "Limits").number_input(key="setting_max_turns").value == 12


def test_emptying_a_field_goes_back_to_the_default(open_page: Open, engine: Engine) -> None:
    engine.save_settings({"max_turns": 12, "max_tokens": 5000})
    app = settings(open_page, "Limits")
    app.number_input(key="setting_max_turns").set_value(None)
    app.number_input(key="setting_max_tokens").set_value(None)
    app.button(key="save_limits").click().run()
    assert (engine.settings.max_turns, engine.settings.max_tokens) == (40, None)
    assert app.number_input(key="setting_max_turns").value == 40


def test_back_to_defaults_forgets_what_was_stored(open_page: Open, engine: Engine) -> None:
    engine.save_settings({"max_turns": 12})
    app = settings(open_page, "Limits")
    app.button(key="reset_limits").click().run()
    assert engine.settings.max_turns == 40
    assert "max_turns" not in stored(engine)


def test_a_bad_value_says_why_beside_its_field_and_stores_nothing(open_page: Open, engine: Engine) -> None:
    app = settings(open_page, "Model")
    app.text_input(key="setting_base_url").set_value("ftp://nowhere")
    app.button(key="save_endpoint").click().run()
    said = text_of(app).replace("\\", "")
    assert "it must be a full http:// or https:// address" in said
    assert "Nothing was saved: see the field" in said
    assert stored(engine)["base_url"] == engine.settings.base_url
    assert app.text_input(key="setting_base_url").value == "ftp://nowhere", "what was typed is still there to correct"


def test_the_environment_is_shown_and_cannot_be_edited(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("LOGICIAN_MAX_TURNS", "7")
    open_page: Open = request.getfixturevalue("open_page")
    engine: Engine = request.getfixturevalue("engine")
    app = settings(open_page, "Limits")
    field = app.number_input(key="setting_max_turns")
    assert field.disabled
    assert field.value == 7
    assert "LOGICIAN_MAX_TURNS" in text_of(app)
    app.session_state["setting_max_turns"] = 99  # as a forged message would
    app.button(key="save_limits").click().run()
    assert engine.settings.max_turns == 7
    assert "max_turns" not in stored(engine)


def test_a_mode_is_stored(open_page: Open, engine: Engine) -> None:
    app = settings(open_page, "Permissions")
    app.radio(key="setting_mode").set_value("plan")
    app.button(key="save_mode").click().run()
    assert engine.settings.mode == "plan"


def test_a_workspace_must_be_absolute_and_can_be_created(open_page: Open, engine: Engine, tmp_path: Path) -> None:
    app = settings(open_page, "Permissions")
    app.text_input(key="setting_workspace").set_value("some/where")
    app.button(key="save_workspace").click().run()
    assert "it must be an absolute path" in text_of(app).replace("\\", "")
    assert not [button for button in app.button if button.key == "create_workspace"]

    wanted = tmp_path / "new" / "project"
    app.text_input(key="setting_workspace").set_value(str(wanted))
    app.button(key="save_workspace").click().run()
    assert "there is no such folder" in text_of(app).replace("\\", "")
    app.button(key="create_workspace").click().run()
    assert wanted.is_dir()
    assert engine.settings.workspace == wanted


def test_a_workspace_that_is_a_file_is_refused(open_page: Open, engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x", encoding="utf-8")
    before = engine.settings.workspace
    app = settings(open_page, "Permissions")
    app.text_input(key="setting_workspace").set_value(str(file))
    app.button(key="save_workspace").click().run()
    assert "it is a file" in text_of(app).replace("\\", "")
    assert engine.settings.workspace == before


@pytest.mark.parametrize(
    ("mode", "command", "word"),
    [("plan", "rm -r build", "Denied"), ("ask", "ls", "Waits for you"), ("accept_all", "rm -r build", "Allowed")],
)
def test_the_rule_tester_asks_the_gate(open_page: Open, mode: str, command: str, word: str) -> None:
    app = settings(open_page, "Permissions")
    app.selectbox(key="try_mode").set_value(mode)
    app.text_input(key="try_text").set_value(command).run()
    assert f"**{word}**" in text_of(app)


def test_a_deleted_rule_can_be_had_back(open_page: Open, engine: Engine) -> None:
    engine.preferences.put_rule(Rule(id="r1", action="allow", tool="bash", argv_prefix=["make"], created_at=now()))
    app = settings(open_page, "Permissions")
    assert "Allow commands that start with `make`" in text_of(app)
    app.button(key="delete_rule_r1").click().run()
    assert engine.preferences.rules() == []
    app.button(key="undo_rule").click().run()
    assert [rule.id for rule in engine.preferences.rules()] == ["r1"]


def test_a_key_is_stored_and_never_kept_by_the_page(open_page: Open, engine: Engine) -> None:
    app = settings(open_page, "Model")
    assert app.text_input(key="new_api_key").value == ""
    app.text_input(key="new_api_key").set_value("sk-brand-new-key-777")
    app.button(key="save_endpoint").click().run()
    assert engine.settings.api_key is not None
    assert engine.settings.api_key.get_secret_value() == "sk-brand-new-key-777"
    assert "Saved, with the key" in text_of(app).replace("\\", "")
    assert app.text_input(key="new_api_key").value == ""
    assert "sk-brand-new-key-777" not in repr(app.session_state)
    app.button(key="remove_key").click().run()
    assert engine.settings.api_key is None


def test_an_endpoint_needs_a_model(open_page: Open, engine: Engine) -> None:
    engine.save_settings({"base_url": None, "model": None})
    app = settings(open_page, "Model")
    app.text_input(key="setting_base_url").set_value("http://127.0.0.1:9/v1")
    app.button(key="save_endpoint").click().run()
    assert "An endpoint needs a model name" in text_of(app)
    assert engine.settings.base_url is None


def test_the_test_button_asks_the_real_endpoint(open_page: Open, engine: Engine, fake: FakeOpenAI) -> None:
    app = settings(open_page, "Model")
    before = len(fake.requests)
    app.button(key="test_endpoint").click().run()
    assert len(fake.requests) > before
    said = text_of(app).replace("\\", "")
    assert "First token: **" in said
    assert "JSON schema: :orange[:material/close: does not work]" in said
    assert "fake-model" in app.selectbox(key="endpoint_model").options


def test_an_endpoint_that_is_not_there_says_what_to_mend(open_page: Open) -> None:
    app = settings(open_page, "Model")
    app.text_input(key="setting_base_url").set_value("http://127.0.0.1:9/v1")
    app.button(key="test_endpoint").click().run()
    assert app.error, "the failure is an error box"
    assert not app.exception


def test_back_to_the_built_in_model(open_page: Open, engine: Engine) -> None:
    app = settings(open_page, "Model")
    app.button(key="use_builtin").click().run()
    assert engine.models.default_ref() == "local:qwen2.5-coder-1.5b"
    assert "New chats use the built-in model" in text_of(app).replace("\\", "")
    app.button(key="use_qwen2.5-coder-0.5b").click().run()
    assert engine.models.default_ref() == "local:qwen2.5-coder-0.5b"


def test_storage_and_about_tell_where_things_are(open_page: Open, engine: Engine) -> None:
    app = settings(open_page, "Storage")
    assert str(engine.home) in "\n".join(code.value for code in app.code)
    assert [metric.label for metric in app.metric][:2] == ["Chats", "Runs"]
    assert "Logician" in text_of(settings(open_page, "About"))


def test_isolation_names_the_level_in_force(open_page: Open, engine: Engine) -> None:
    app = settings(open_page, "Isolation")
    assert "Commands run at level" in text_of(app) or "still choosing" in text_of(app)
