"""The reply is shown while it is written, whatever the pieces it comes in."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from logician_graph.inference import ReasoningDelta, TextDelta, ToolCallProgress
from logician_graph.inference.answer_stream import AnswerStream


def shown(pieces: Iterable[str]) -> tuple[str, str, list[ToolCallProgress]]:
    stream = AnswerStream()
    parts = [part for piece in pieces for part in stream.feed(piece)]
    text = "".join(part.text for part in parts if isinstance(part, TextDelta))
    reasoning = "".join(part.text for part in parts if isinstance(part, ReasoningDelta))
    return text, reasoning, [part for part in parts if isinstance(part, ToolCallProgress)]


def cut(text: str, sizes: list[int]) -> list[str]:
    pieces: list[str] = []
    for size in sizes:
        pieces.append(text[:size])
        text = text[size:]
    return [*pieces, text]


SIZES = st.lists(st.integers(1, 5), max_size=60)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(TEXT, TEXT, SIZES, st.booleans(), st.sampled_from([None, 2]))
def test_the_answer_is_shown_exactly(text: str, thought: str, sizes: list[int], ascii_only: bool, indent: Any) -> None:
    reply = {"thought": thought, "tool": "answer", "arguments": {"text": text}}
    written = json.dumps(reply, ensure_ascii=ascii_only, indent=indent)
    assert shown(cut(written, sizes)) == (text, thought, [])


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(TEXT, JSON, max_size=4), SIZES)
def test_a_call_is_counted_and_never_shown(arguments: dict[str, Any], sizes: list[int]) -> None:
    written = json.dumps({"tool": "write_file", "arguments": {"text": "x", **arguments}})
    text, reasoning, progress = shown(cut(written, sizes))
    assert (text, reasoning) == ("", "")
    counts = [part.characters for part in progress]
    assert counts == sorted(counts)
    assert {part.name for part in progress} == {"write_file"}


def test_it_comes_piece_by_piece() -> None:
    stream = AnswerStream()
    pieces = ['{"tool": "answer", "argu', 'ments": {"text": "Hel', "lo", " wor\\", "nld \\ud83d", "\\ude0", '0!"}}']
    assert [[getattr(part, "text", None) for part in stream.feed(piece)] for piece in pieces] == [
        [],
        ["Hel"],
        ["lo"],
        [" wor"],
        ["\nld "],
        [],
        ["😀!"],
    ]


def test_broken_surrogates_become_replacement_characters() -> None:
    for written in (r"a\ud83dz", r"a\ude00z", r"a\uzzzzz"):
        text, _, _ = shown(['{"tool": "answer", "arguments": {"text": "', written, '"}}'])
        assert text == "a\ufffdz"
        assert text.encode("utf-8")


def test_other_strings_of_the_answer_are_not_shown() -> None:
    reply = {"tool": "answer", "arguments": {"more": {"text": "no"}, "list": ["no", {"text": "no"}], "text": "yes"}}
    assert shown([json.dumps(reply)])[0] == "yes"


def test_a_reply_that_is_no_object_is_passed_through() -> None:
    assert shown(["  ", "Just", ' text with {"tool": "answer"}'])[0].strip() == 'Just text with {"tool": "answer"}'
