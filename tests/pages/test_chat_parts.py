"""The chat's own decisions: what is live, what answers, which day a chat belongs to."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from logician_graph.orchestrator import RunView, fold
from pages.components.live import activity, base
from pages.components.steps import answer_step, work_steps
from pages.components.thread_list import day_name


def view(*events: tuple[str, dict[str, Any]]) -> RunView:
    return fold("r", [{"seq": n, "at": 0.0, "type": kind, "data": data} for n, (kind, data) in enumerate(events, 1)])


def said(text: str, *calls: str, partial: bool = False) -> tuple[str, dict[str, Any]]:
    made = [{"id": call, "name": "bash", "arguments": {"command": call}} for call in calls]
    message = {"id": f"m-{text}", "role": "assistant", "text": text, "tool_calls": made, "partial": partial}
    return "message.added", {"message_id": message["id"], "message": message}


def delta(text: str) -> tuple[str, dict[str, Any]]:
    return "text.delta", {"message_id": "m", "text": text}


def finished(call: str) -> tuple[str, dict[str, Any]]:
    return "tool.finished", {"call_id": call, "tool": "bash", "status": "ok", "summary": "", "duration_s": 1.0}


def test_a_follower_starts_before_the_first_token_that_is_not_drawn() -> None:
    assert base(view(delta("a"), delta("b"))) == 0
    assert base(view(said("first", "c1"), finished("c1"), delta("a"))) == 2
    assert base(view(said("first", "c1"), delta("a"))) == 1, "what a running call prints is live"
    assert base(view(said("the answer"))) == 0, "the answer of an active run is live until the page replaces it"


def test_the_answer_is_the_last_text_that_no_call_follows() -> None:
    run = view(said("I look first", "c1"), finished("c1"), said("the answer"))
    answer = answer_step(run)
    assert answer is not None
    assert answer.text == "the answer"
    assert [step.kind for step in work_steps(run)] == ["text", "tool"]
    assert answer_step(view(said("I look first", "c1"))) is None
    kept = answer_step(view(said("half an ans", partial=True)))
    assert kept is not None
    assert kept.partial


def test_the_activity_is_said_in_words() -> None:
    assert activity(view()) == "In the queue"
    assert activity(view(delta("a"))) == "Writing"
    assert activity(view(said("", "c1"))) == "bash"


@pytest.mark.parametrize(
    ("at", "name"),
    [
        ("2026-03-15T08:00", "Today"),
        ("2026-03-14T23:30", "Today"),
        ("2026-03-14T22:30", "Yesterday"),
        ("2026-03-10T12:00", "Last 7 days"),
        ("2026-02-01T12:00", "February"),
        ("2025-12-24T12:00", "December 2025"),
    ],
)
def test_days_are_those_of_the_persons_zone(at: str, name: str) -> None:
    def seconds(text: str) -> float:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()

    assert day_name(seconds(at), seconds("2026-03-15T12:00"), "Europe/Berlin") == name
