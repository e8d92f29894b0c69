"""Settings: where values come from, what is refused and how that is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from logician_graph.errors import SettingsError
from logician_graph.redaction import redact
from logician_graph.settings import STORABLE, Settings, ensure_home, variable


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


def test_defaults_follow_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings.load().home == tmp_path / ".logician"
    monkeypatch.setenv("LOGICIAN_HOME", "~/elsewhere")
    settings = Settings.load()
    assert settings.workspace == tmp_path / "elsewhere" / "workspace"
    assert settings.database_url == f"sqlite:///{tmp_path}/elsewhere/logician.db"
    assert (settings.host, settings.port) == ("127.0.0.1", 8501)


def test_the_environment_wins_over_what_is_stored_and_that_over_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGICIAN_MODEL", "from-environment")
    settings = Settings.load({"model": "stored", "max_turns": 7, "mode": None})

    assert (settings.model, settings.max_turns, settings.mode) == ("from-environment", 7, "accept_edits")
    sources = settings.sources()
    assert (sources["model"], sources["max_turns"], sources["mode"]) == ("environment", "stored", "default")


def test_an_empty_variable_is_no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGICIAN_BASE_URL", "")
    settings = Settings.load({"base_url": "http://stored/v1/"})
    assert settings.base_url == "http://stored/v1"
    assert settings.sources()["base_url"] == "stored"


def test_only_what_the_settings_page_may_store_is_taken_from_the_store() -> None:
    assert Settings.load({"host": "0.0.0.0", "auth": "always"}).host == "127.0.0.1"
    assert Settings.load({"api_key": "sk-stored-key"}).api_key is not None
    assert "api_key" not in STORABLE
    assert {"home", "host", "access_token", "database_url", "allowed_hosts"}.isdisjoint(STORABLE)
    assert set(Settings.model_fields) >= STORABLE


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("LOGICIAN_PORT", "eighty", "valid integer"),
        ("LOGICIAN_PORT", "70000", "less than or equal to 65535"),
        ("LOGICIAN_MODE", "yolo", "'plan', 'ask', 'accept_edits' or 'accept_all'"),
        ("LOGICIAN_BASE_URL", "api.openai.com/v1", "full http:// or https:// address"),
        ("LOGICIAN_MAX_TURNS", "0", "greater than or equal to 1"),
        ("DATABASE_URL", "mysql://me:topsecret@db/x", "it must be sqlite:///FILE or postgresql"),
        ("LOGICIAN_TRUSTED_PROXIES", "10.0.0.300", "LOGICIAN_TRUSTED_PROXIES"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_in_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as caught:
        Settings.load()
    message = str(caught.value)
    assert name in message
    assert said in message
    assert "from the environment" in message
    assert "topsecret" not in message
    assert "pydantic" not in message.lower()
    assert len(message.splitlines()) == 1


def test_a_stored_value_that_cannot_be_used_says_where_to_correct_it() -> None:
    with pytest.raises(SettingsError, match="The stored setting max_turns='many'.*settings page.*LOGICIAN_MAX_TURNS"):
        Settings.load({"max_turns": "many"})


def test_a_trusted_header_needs_a_trusted_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGICIAN_TRUSTED_USER_HEADER", "X-Forwarded-User")
    with pytest.raises(SettingsError, match="needs LOGICIAN_TRUSTED_PROXIES"):
        Settings.load()
    monkeypatch.setenv("LOGICIAN_TRUSTED_PROXIES", "10.0.0.0/8, ::1")
    assert [str(network) for network in Settings.load().trusted_proxies] == ["10.0.0.0/8", "::1/128"]


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_name_of_postgresql_is_understood(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.setenv("DATABASE_URL", f"{scheme}://me:hunter2@db/x")
    settings = Settings.load()
    assert settings.database_url == "postgresql+psycopg://me:hunter2@db/x"
    assert "hunter2" not in repr(settings)


def test_secrets_are_known_to_the_mask_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGICIAN_API_KEY", "  sk-settings-key  ")
    monkeypatch.setenv("LOGICIAN_ACCESS_TOKEN", "my-own-token")
    settings = Settings.load()
    assert settings.api_key is not None
    assert settings.api_key.get_secret_value() == "sk-settings-key"
    assert "sk-settings-key" not in repr(settings)
    assert redact("sk-settings-key my-own-token") == "[secret] [secret]"


def test_the_home_folder_is_made_private(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOGICIAN_HOME", str(tmp_path / "a" / "home"))
    settings = Settings.load()
    ensure_home(settings)
    assert settings.home.stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in settings.home.iterdir()) == ["artifacts", "models", "workspace"]


def test_a_home_that_cannot_be_made_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LOGICIAN_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(SettingsError, match="Not a directory.*LOGICIAN_HOME"):
        ensure_home(Settings.load())


def test_variables_are_named_as_other_programs_know_them() -> None:
    contract = {
        "home": "LOGICIAN_HOME",
        "port": "LOGICIAN_PORT",
        "host": "LOGICIAN_HOST",
        "base_url": "LOGICIAN_BASE_URL",
        "api_key": "LOGICIAN_API_KEY",
        "model": "LOGICIAN_MODEL",
        "workspace": "LOGICIAN_WORKSPACE",
        "database_url": "DATABASE_URL",
    }
    assert {name: variable(name) for name in contract} == contract
