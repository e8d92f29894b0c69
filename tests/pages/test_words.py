"""Numbers and texts for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.components import words
from pages.components.rule_words import rule_sentence


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, "unknown"), (0, "$0"), (0.00042, "$0.0004"), (1234.5, "$1,234.50")],
)
def test_money(value: float | None, expected: str) -> None:
    assert words.money(value) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(None, "unknown"), (0.34, "340 ms"), (2.44, "2.4 s"), (59.97, "1 min"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_duration(seconds: float | None, expected: str) -> None:
    assert words.duration(seconds) == expected


def test_counts_carry_separators_and_units() -> None:
    assert words.count(1240, "token") == "1,240 tokens"
    assert words.count(1, "token") == "1 token"
    assert words.count(None, "token") == "unknown"
    assert words.short_count(12_400) == "12.4 k"
    assert words.size(1_117_320_768) == "1.1 GB"


def test_times_are_relative_and_exact_in_the_persons_zone() -> None:
    assert words.ago(0, 5) == "just now"
    assert words.ago(0, 90) == "1 minute ago"
    assert words.ago(0, 3 * 86400) == "3 days ago"
    assert words.exact(0, "Europe/Berlin") == "1970-01-01 01:00:00 CET"
    assert words.exact(0, "Nowhere/Else").endswith("UTC")
    assert words.midnight(1_700_000_000, "Asia/Tokyo") % 86400 == 15 * 3600


@given(st.text(alphabet="`*_[](){}#+-!|~$:<>\\ab.", max_size=40))
def test_plain_text_keeps_its_characters_and_loses_its_meaning(text: str) -> None:
    shown = words.plain(text)
    unescaped = shown[:0]
    position = 0
    while position < len(shown):
        if shown[position] == "\\":
            unescaped += shown[position + 1]
            position += 2
            continue
        assert shown[position] not in "`*_[]<$:!", "a character with a meaning is left bare"
        unescaped += shown[position]
        position += 1
    assert unescaped == text


@given(st.text(alphabet="`a b", min_size=1, max_size=20))
def test_inline_code_cannot_be_left(text: str) -> None:
    shown = words.code(text)
    fence = len(shown) - len(shown.lstrip("`"))
    if text.strip():
        inside = shown[fence:-fence]
        assert "`" * fence not in inside


def test_rules_read_as_sentences() -> None:
    rule = {"action": "allow", "tool": "bash", "argv_prefix": ["git", "status"], "path_prefix": None, "workspace": None}
    assert rule_sentence(rule) == "Allow commands that start with `git status` in every workspace"
    rule = {
        "action": "deny",
        "tool": "write_file",
        "argv_prefix": None,
        "path_prefix": "src",
        "workspace": "/home/me/x",
    }
    assert rule_sentence(rule) == "Deny `write_file` in `src` in the workspace `x`"
