"""Events come out of bytes the same way, however the network cut them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from logician_graph.inference.sse import EventSplitter

DATA = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), min_size=1, max_size=12)


def split(raw: bytes, sizes: list[int]) -> list[str]:
    splitter = EventSplitter()
    events: list[str] = []
    for size in sizes:
        events += splitter.feed(raw[:size])
        raw = raw[size:]
    return [*events, *splitter.feed(raw), *splitter.finish()]


@given(st.lists(DATA, max_size=6), st.lists(st.integers(0, 9), max_size=40), st.sampled_from(["\n", "\r\n", "\r"]))
def test_any_cut_gives_the_same_events(data: list[str], sizes: list[int], end: str) -> None:
    raw = "".join(f"event: x{end}id: 1{end}: comment{end}data: {item}{end}{end}" for item in data).encode()
    assert split(raw, sizes) == data


def test_several_lines_are_one_event() -> None:
    assert split(b"data: one\ndata:two\n\ndata: three\n\n", [4]) == ["one\ntwo", "three"]


def test_a_last_blank_line_may_be_missing() -> None:
    assert split(b"data: one\n\ndata: two", []) == ["one", "two"]
    assert split(b"data: one\r\n\r", []) == ["one"]


def test_blank_lines_and_comments_are_nothing() -> None:
    assert split(b"\n\n: keep-alive\n\n\n", [1, 1]) == []
