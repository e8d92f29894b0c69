"""A malformed file is noticed when it is written; no content makes the check fail or hang."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logician_graph.tools.well_formed import flaw


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        (
            "config.json",
            "debug: true\nport: 8080",
            "not valid JSON (Expecting value at line 1, column 1). Mend that now.",
        ),
        ("a/B.JSON", '{"a": 1,}', "not valid JSON"),
        ("pyproject.toml", "a = = 1", "not valid TOML"),
        ("app.py", "def f(:\n    pass\n", "not valid Python ("),
        ("app.py", "x = 1\nreturn x\n", "not valid Python ('return' outside function at line 2"),
        ("app.py", "-" * 90_000 + "1", "cannot be read"),
        ("app.py", "a\x00b", "But it "),
    ],
)
def test_what_is_wrong_is_said_with_its_place(path: str, text: str, words: str) -> None:
    assert words in str(flaw(path, text))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.json", '{"a": [1, null]}'),
        ("a.py", "print('hello')\n"),
        ("a.py", ""),
        ("a.toml", "[a]\nb = 1\n"),
        ("a.txt", "{"),
        ("Makefile", "{"),
        ("a.py", "(" * 200_000),
    ],
)
def test_what_is_right_or_not_known_is_left_alone(path: str, text: str) -> None:
    assert flaw(path, text) is None


@given(st.sampled_from(["a.py", "a.json", "a.toml"]), st.text())
def test_it_never_raises(path: str, text: str) -> None:
    assert flaw(path, text) is None or str(flaw(path, text)).startswith("But it ")
