"""``docs/settings.md`` says what the code does."""

from __future__ import annotations

from pathlib import Path

from logician_graph.settings import Settings, variable
from logician_graph.settings_reference import markdown

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"


def test_the_page_is_what_the_code_makes() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown(), "run `make docs`"


def test_every_setting_is_described() -> None:
    text = markdown()
    for name, field in Settings.model_fields.items():
        assert f"## `{variable(name)}`\n" in text
        assert field.description, name
