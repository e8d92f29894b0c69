"""What was registered as a secret does not leave the process, in whatever shape it is written."""

from __future__ import annotations

import io
import json
import logging
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logician_graph import redaction
from logician_graph.redaction import MASK, SHORTEST, RedactingFilter, redact, register_secret

SECRET = st.text(st.characters(exclude_categories=["Cs"]), min_size=SHORTEST, max_size=40).filter(
    lambda text: len(text.strip()) >= SHORTEST
)


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is registered here would otherwise be masked in every later test."""
    monkeypatch.setattr(redaction, "_known", set())
    monkeypatch.setattr(redaction, "_pattern", None)


@given(SECRET, st.text(max_size=20))
def test_a_secret_is_masked_as_it_is_in_json_and_in_addresses(secret: str, around: str) -> None:
    secret = secret.strip()
    register_secret(secret)
    for text in (secret, json.dumps(secret), quote(secret, safe="")):
        shown = redact(f"{around} {text} {around}")
        assert MASK in shown
        assert text.strip('"') not in shown.replace(MASK, "")


def test_the_longer_of_two_secrets_is_masked_whole() -> None:
    register_secret("sk-prefix")
    register_secret("sk-prefix-and-more")
    assert redact("key=sk-prefix-and-more") == "key=[secret]"


def test_short_values_are_left_alone() -> None:
    register_secret("test")
    assert redact("a test") == "a test"


def test_log_records_are_masked_with_their_arguments_and_tracebacks() -> None:
    register_secret("sk-logged-key")
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.addFilter(RedactingFilter())
    logger = logging.getLogger("tests.redaction")
    logger.propagate = False
    logger.addHandler(handler)
    logger.warning("key %s and %r", "sk-logged-key", {"key": "sk-logged-key"})
    try:
        raise ValueError("refused sk-logged-key")
    except ValueError:
        logger.exception("it failed")
    text = out.getvalue()
    assert "sk-logged-key" not in text
    assert text.count(MASK) == 4
    assert "ValueError: refused [secret]" in text
