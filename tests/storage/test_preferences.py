"""Settings and standing rules."""

from __future__ import annotations

from typing import Any

import pytest

from storage import PreferenceStore, Rule, new_id, now


@pytest.mark.parametrize("value", ["text", 3, 0.5, False, ["a", 1], {"k": None}, ""])
def test_a_setting_is_stored_replaced_and_removed(preferences: PreferenceStore, value: Any) -> None:
    preferences.put_setting("name", "before")
    preferences.put_setting("name", value)
    assert preferences.settings() == {"name": value}
    preferences.put_setting("name", None)
    preferences.put_setting("never stored", None)
    assert preferences.settings() == {}


def rule(**values: Any) -> Rule:
    return Rule(**{"id": new_id(), "action": "allow", "tool": "bash", "created_at": now(), **values})


def test_rules_are_kept_in_order_and_whole(preferences: PreferenceStore) -> None:
    first = rule(argv_prefix=["git", "log"], workspace="/w", note="git log …", created_at=1.0)
    second = rule(action="deny", tool="write_file", path_prefix="secret/", created_at=2.0)
    preferences.put_rule(second)
    preferences.put_rule(first)
    assert [stored.model_dump() for stored in preferences.rules()] == [first.model_dump(), second.model_dump()]


def test_a_rule_is_replaced_and_removed(preferences: PreferenceStore) -> None:
    made = rule()
    preferences.put_rule(made)
    preferences.put_rule(Rule(**{**made.model_dump(), "action": "ask"}))
    assert [stored.action for stored in preferences.rules()] == ["ask"]
    assert preferences.delete_rule(made.id) is True
    assert preferences.delete_rule(made.id) is False
    assert preferences.rules() == []
