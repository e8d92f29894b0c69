"""History repair holds for any sequence of messages: valid, idempotent, and nothing a person wrote is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from logician_graph.inference import ChatMessage, ToolCall
from logician_graph.orchestrator import repair
from logician_graph.orchestrator.history import UNKNOWN_OUTCOME
from logician_graph.orchestrator.texts import storable, storable_json, valid_unicode

# Few ids, so that they collide; any text, so that it breaks: lone surrogates and NUL included.
IDS = st.sampled_from(["", "a", "b", "a-2", "a-3", "call-2"])
TEXTS = st.text(st.characters(codec=None), max_size=8) | st.sampled_from(["", " ", "\n\t", "\ud800", "\ude00", "x\x00"])
CALLS = st.builds(ToolCall, IDS, st.sampled_from(["read", "bash"]), st.just({}))
CALL_LISTS = st.lists(CALLS, max_size=4).map(tuple)
MESSAGES = st.one_of(
    st.builds(ChatMessage, st.just("user"), TEXTS),
    st.builds(ChatMessage, st.just("user"), TEXTS, CALL_LISTS, st.none() | IDS),
    st.builds(ChatMessage, st.just("assistant"), TEXTS, CALL_LISTS),
    st.builds(ChatMessage, st.just("assistant"), TEXTS, CALL_LISTS, IDS),
    st.builds(ChatMessage, st.just("tool"), TEXTS, st.just(()), st.none() | IDS),
    st.builds(ChatMessage, st.just("system"), TEXTS),
)
HISTORIES = st.lists(MESSAGES, max_size=14)


def check_valid(messages: list[ChatMessage]) -> None:
    """What every provider accepts."""
    position = 0
    while position < len(messages):
        message = messages[position]
        message.text.encode("utf-8")
        assert message.role != "tool", "a result without its call"
        position += 1
        if message.role != "assistant":
            assert not message.tool_calls and message.tool_call_id is None
            continue
        assert message.text.strip() or message.tool_calls, "an empty reply"
        assert message.tool_call_id is None
        ids = [call.id for call in message.tool_calls]
        assert all(ids) and len(set(ids)) == len(ids)
        for call_id in ids:
            result = messages[position]
            assert (result.role, result.tool_call_id, result.tool_calls) == ("tool", call_id, ())
            result.text.encode("utf-8")
            position += 1


@given(HISTORIES)
def test_any_history_becomes_valid(messages: list[ChatMessage]) -> None:
    repaired, _ = repair(messages)
    check_valid(repaired)


@given(HISTORIES)
def test_repair_is_idempotent(messages: list[ChatMessage]) -> None:
    once, _ = repair(messages)
    twice, issues = repair(once)
    assert twice == once
    assert issues == []


@given(HISTORIES)
def test_what_a_person_wrote_stays_in_its_order(messages: list[ChatMessage]) -> None:
    repaired, _ = repair(messages)
    for role in ("user", "system"):
        before = [valid_unicode(message.text) for message in messages if message.role == role]
        assert [message.text for message in repaired if message.role == role] == before


@given(HISTORIES)
def test_replies_and_calls_stay_in_their_order(messages: list[ChatMessage]) -> None:
    repaired, _ = repair(messages)
    before = [m for m in messages if m.role == "assistant" and (m.text.strip() or m.tool_calls)]
    after = [m for m in repaired if m.role == "assistant"]
    assert [m.text for m in after] == [valid_unicode(m.text) for m in before]
    assert [[c.name for c in m.tool_calls] for m in after] == [[c.name for c in m.tool_calls] for m in before]


@given(HISTORIES)
def test_silence_means_that_nothing_was_changed(messages: list[ChatMessage]) -> None:
    repaired, issues = repair(messages)
    if not issues:
        ordinary = [m for m in messages if m.role != "tool"]
        assert [m.text for m in repaired if m.role != "tool"] == [m.text for m in ordinary]
        assert sum(m.role == "tool" for m in repaired) == sum(m.role == "tool" for m in messages)


@given(HISTORIES)
def test_a_result_is_given_to_one_call_and_none_is_made_up(messages: list[ChatMessage]) -> None:
    repaired, issues = repair(messages)
    results = [m.text for m in repaired if m.role == "tool"]
    invented = sum("had no result" in issue for issue in issues)
    assert results.count(UNKNOWN_OUTCOME) >= invented
    given_texts = [valid_unicode(m.text) for m in messages if m.role == "tool"]
    for text in set(results) - {UNKNOWN_OUTCOME}:
        assert results.count(text) <= given_texts.count(text)


def test_results_out_of_order_find_their_calls() -> None:
    calls = (ToolCall("a", "read", {}), ToolCall("b", "read", {}))
    messages = [
        ChatMessage("user", "go"),
        ChatMessage("assistant", "", calls),
        ChatMessage("tool", "for b", tool_call_id="b"),
        ChatMessage("user", "meanwhile"),
        ChatMessage("tool", "for a", tool_call_id="a"),
    ]
    repaired, issues = repair(messages)
    assert [m.text for m in repaired] == ["go", "", "for a", "for b", "meanwhile"]
    assert issues == []


def test_a_result_belongs_to_the_newest_call_of_its_id() -> None:
    call = ToolCall("a", "read", {})
    messages = [
        ChatMessage("assistant", "", (call,)),
        ChatMessage("user", "again"),
        ChatMessage("assistant", "", (call,)),
        ChatMessage("tool", "second", tool_call_id="a"),
    ]
    repaired, issues = repair(messages)
    assert [m.text for m in repaired if m.role == "tool"] == [UNKNOWN_OUTCOME, "second"]
    assert len(issues) == 1


def test_a_valid_history_is_left_alone() -> None:
    messages = [
        ChatMessage("user", "go"),
        ChatMessage("assistant", "on it", (ToolCall("a", "read", {"path": "x"}),)),
        ChatMessage("tool", "text", tool_call_id="a"),
        ChatMessage("assistant", "done"),
    ]
    assert repair(messages) == (messages, [])


@given(st.text(st.characters(codec=None)))
def test_texts_become_storable_and_good_ones_stay(text: str) -> None:
    fixed = storable(text)
    fixed.encode("utf-8")
    assert "\x00" not in fixed
    assert storable(fixed) == fixed
    good = text.encode("utf-8", "ignore").decode("utf-8")
    if good == text and "\x00" not in text:
        assert fixed == text


def test_two_halves_of_a_character_are_joined() -> None:
    assert storable("\ud83e\uddea") == "🧪"
    assert storable_json({"\ud800k": ["\x00", 1, None, ("\ud83e\uddea",)]}) == {"\ufffdk": ["\ufffd", 1, None, ["🧪"]]}
