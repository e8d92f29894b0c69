"""Keys at rest: private, replaced whole, and never in a message."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from logician_graph import secrets
from logician_graph.errors import SettingsError
from logician_graph.redaction import redact
from logician_graph.secrets import SecretStore


def test_a_key_is_kept_private_and_read_back(tmp_path: Path) -> None:
    store = SecretStore(tmp_path)
    assert store.get("api_key") is None
    store.put("api_key", " sk-kept-key ")
    store.put("other", "another-key")

    again = SecretStore(tmp_path)
    key = again.get("api_key")
    assert key is not None
    assert key.get_secret_value() == "sk-kept-key"
    assert again.names() == ["api_key", "other"]
    assert again.path.stat().st_mode & 0o777 == 0o600
    assert redact("sk-kept-key") == "[secret]"
    again.delete("api_key")
    again.delete("never-there")
    assert SecretStore(tmp_path).names() == ["other"]


def test_an_empty_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="'api_key' is empty"):
        SecretStore(tmp_path).put("api_key", "  ")


@pytest.mark.parametrize("text", ['{"api_key": "sk-half', "[1]", '{"api_key": 7}', ""])
def test_a_damaged_file_is_said_without_its_content_and_not_overwritten(tmp_path: Path, text: str) -> None:
    (tmp_path / "secrets.json").write_text(text)
    store = SecretStore(tmp_path)
    for action in (store.names, lambda: store.put("api_key", "sk-new")):
        with pytest.raises(SettingsError, match="is damaged") as caught:
            action()
        assert "sk-half" not in str(caught.value)
    assert (tmp_path / "secrets.json").read_text() == text


def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    names = [f"key{number}" for number in range(12)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: SecretStore(tmp_path).put(name, f"value-of-{name}"), names))
    assert json.loads((tmp_path / "secrets.json").read_text()) == {name: f"value-of-{name}" for name in names}


def test_a_lock_that_is_held_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_LOCK_SECONDS", 0.05)
    with FileLock(tmp_path / "secrets.lock"), pytest.raises(SettingsError, match="nothing was changed. Try again"):
        SecretStore(tmp_path).put("api_key", "sk-waiting")


def test_a_folder_that_takes_no_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="could not be"):
        SecretStore(tmp_path / "file" / "home").put("api_key", "sk-homeless")
