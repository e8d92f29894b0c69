"""What a person and a program read of a run, from events alone."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from logician_graph.commands.narration import JsonLines, Prose
from logician_graph.redaction import register_secret

RESULT = {"type": "result", "outcome": "completed", "reason": "", "answer": "x", "usage": {}, "run_id": "r1"}


def event(kind: str, **data: Any) -> dict[str, Any]:
    return {"v": 1, "seq": 1, "at": 0.0, "type": kind, "run_id": "r1", "data": data}


def told(*events: dict[str, Any]) -> tuple[str, str]:
    out, notes = io.StringIO(), io.StringIO()
    prose = Prose(out, notes)
    for one in events:
        prose.event(one)
    return out.getvalue(), notes.getvalue()


def test_a_reply_that_streamed_is_not_written_twice() -> None:
    message = {"id": "m1", "role": "assistant", "text": "Hello there"}
    out, notes = told(
        event("text.delta", message_id="m1", text="Hello "),
        event("text.delta", message_id="m1", text="there"),
        event("message.added", message_id="m1", message=message),
    )
    assert (out, notes) == ("Hello there\n", "")


def test_a_reply_that_came_whole_is_written() -> None:
    message = {"id": "m1", "role": "assistant", "text": "Hello"}
    assert told(event("message.added", message_id="m1", message=message)) == ("Hello\n", "")


def test_messages_of_others_are_left_out() -> None:
    for role in ("user", "tool"):
        message = {"id": "m1", "role": role, "text": "Hello"}
        assert told(event("message.added", message_id="m1", message=message)) == ("", "")


def test_a_reply_that_was_cut_off_is_said_to_start_again() -> None:
    out, notes = told(
        event("text.delta", message_id="m1", text="Hel"),
        event("text.reset", message_id="m1"),
        event("model.retry", call_id="model:1", attempt=1, wait_s=2.0, error="reset"),
        event("text.delta", message_id="m1", text="Hello"),
        event("message.added", message_id="m1", message={"id": "m1", "role": "assistant", "text": "Hello"}),
    )
    assert out == "Hel\nHello\n"
    assert notes.splitlines() == [
        "the reply was cut off; the text so far is void, it starts again:",
        "waiting 2 s for the model: reset",
    ]


def test_a_reset_before_any_text_says_nothing() -> None:
    assert told(event("text.reset", message_id="m1")) == ("", "")


@pytest.mark.parametrize(
    ("turns", "steps", "shortened", "words"),
    [
        (1, 0, 0, "1 earlier turn"),
        (0, 12, 0, "12 earlier steps of this turn"),
        (0, 0, 2, "the middle of 2 long messages"),
        (3, 1, 1, "3 earlier turns and 1 earlier step of this turn and the middle of 1 long message"),
    ],
)
def test_what_was_left_out_is_said(turns: int, steps: int, shortened: int, words: str) -> None:
    _, notes = told(event("context.trimmed", dropped_turns=turns, dropped_steps=steps, shortened=shortened))
    assert notes == f"left out to fit the model's window: {words}\n"


def test_notes_are_short_single_lines() -> None:
    _, notes = told(event("tool.started", description="bash " + "x\n" * 400))
    assert notes.count("\n") == 1
    assert len(notes) == 201


def test_json_lines_mask_known_secrets() -> None:
    register_secret('tricky"secret\\value')
    out = io.StringIO()
    lines = JsonLines(out)
    lines.event(event("text.delta", message_id="m1", text='it is tricky"secret\\value indeed'))
    lines.result(RESULT)
    first, last = map(json.loads, out.getvalue().splitlines())
    assert first["data"]["text"] == "it is [secret] indeed"
    assert last == RESULT


def test_a_run_that_failed_says_why() -> None:
    notes = io.StringIO()
    usage = {"model_calls": 2, "tool_calls": 1, "input_tokens": None, "output_tokens": 7, "seconds": 1.25}
    Prose(io.StringIO(), notes).result({**RESULT, "outcome": "failed", "reason": "No key.", "usage": usage})
    assert notes.getvalue() == (
        "failed · No key. · 2 model calls, 1 tool calls · ? tokens in, 7 out · 1.2 s · run r1\n"
    )
