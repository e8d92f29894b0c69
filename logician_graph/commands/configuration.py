"""The settings that a command works with: the environment's, then what the settings page stored, then defaults."""

from __future__ import annotations

from typing import Any

from logician_graph.secrets import SecretStore
from logician_graph.settings import Settings, ensure_home


def load_settings() -> Settings:
    """The settings in force. Raises SettingsError, and ``storage.StorageError`` when the database cannot be read."""
    settings = Settings.load()
    ensure_home(settings)
    stored = _stored(settings)
    key = SecretStore(settings.home).get("api_key")
    return Settings.load({**stored, "api_key": key} if key is not None else stored)


def _stored(settings: Settings) -> dict[str, Any]:
    """What the settings page stored. A home that was never served from has stored nothing, and is left so."""
    if settings.sources()["database_url"] == "default" and not (settings.home / "logician.db").exists():
        return {}
    from storage import Database, PreferenceStore, upgrade

    database = Database(settings.database_url)
    try:
        upgrade(database)
        return PreferenceStore(database).settings()
    finally:
        database.close()
