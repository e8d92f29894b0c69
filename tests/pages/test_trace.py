"""The trace: every event once, starts and ends on one line, streamed pieces together."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pages.components.trace import trace


def event(seq: int, at: float, kind: str, /, **data: Any) -> dict[str, Any]:
    return {"v": 1, "seq": seq, "at": at, "type": kind, "run_id": "r", "data": data}


STARTED = {"attempt": 1, "model": "endpoint:m", "mode": "ask", "isolation": "full"}
USAGE = {"input_tokens": 1200, "output_tokens": 30, "cached_tokens": 0}


def a_run() -> list[dict[str, Any]]:
    return [
        event(1, 100.0, "run.queued", kind="chat"),
        event(2, 100.5, "run.started", **STARTED),
        event(3, 101.0, "model.started", call_id="model:1", step=1, model="m", request={}),
        event(4, 101.2, "text.delta", message_id="a", text="x"),
        event(5, 101.3, "text.delta", message_id="a", text="y"),
        event(6, 102.0, "message.added", message_id="a", message={"role": "assistant", "text": "xy"}),
        event(7, 102.0, "model.finished", call_id="model:1", usage=USAGE, duration_s=0.98, first_token_s=0.2),
        event(8, 102.1, "gate.decided", call_id="c", tool="bash", action="allow", reason="It only reads."),
        event(9, 102.2, "tool.started", call_id="c", tool="bash", description="ls", arguments={}),
        event(10, 104.2, "tool.finished", call_id="c", tool="bash", status="ok", summary="exit 0", duration_s=1.9),
        event(11, 104.3, "verify.started", round=0, index=0, command="pytest"),
        event(12, 105.3, "verify.finished", round=0, index=0, passed=False, exit_code=1, duration_s=1.0),
        event(13, 105.4, "run.finished", outcome="failed", reason="A check failed.", usage={}),
    ]


def test_a_run_reads_as_a_story() -> None:
    told = trace(a_run())
    story = ["Queued", "Started", "Model call 1", "Streams text", "Reply", "Allowed: bash", "bash", "Check 1"]
    assert [row.label for row in told.rows] == [*story, "Ended: failed"]
    by_label = {row.label: row for row in told.rows}
    assert by_label["Model call 1"].request
    assert by_label["Model call 1"].duration_s == 0.98
    assert "1,200 in · 30 tokens out" in by_label["Model call 1"].detail
    assert by_label["Streams text"].detail == "2 pieces"
    assert by_label["bash"].duration_s == 1.9
    assert by_label["bash"].color == "green"
    assert by_label["Check 1"].detail == "failed, exit 1"
    assert told.rows[-1].detail == "A check failed."
    assert abs(told.span_s - 5.4) < 1e-9


def test_what_still_works_lasts_until_now() -> None:
    told = trace(a_run()[:9], now=110.0)
    tool = told.rows[-1]
    assert tool.open
    assert abs((tool.duration_s or 0) - 7.8) < 1e-9
    assert told.span_s == 10.0


def test_what_a_dead_engine_left_open_has_no_duration() -> None:
    assert trace(a_run()[:9]).rows[-1].duration_s is None


def test_a_line_is_found_by_its_call() -> None:
    told = trace(a_run())
    assert [row.label for row in told.rows if row.mentions("c")] == ["Allowed: bash", "bash"]


KINDS = {
    "model.started": {"step": 1, "model": "m", "request": {}},
    "model.finished": {"usage": None},
    "model.failed": {"error": "no"},
    "tool.started": {"tool": "t", "description": "d"},
    "tool.finished": {"tool": "t", "status": "ok", "summary": "s", "duration_s": 0.1},
    "text.delta": {"text": "x"},
    "tool.output": {"text": "x"},
    "some.later.type": {},
}


@given(st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.sampled_from(["a", "b"])), max_size=30))
def test_every_event_is_on_exactly_one_line(drawn: list[tuple[str, str]]) -> None:
    events = [event(n + 1, 100.0 + n, kind, call_id=call, **KINDS[kind]) for n, (kind, call) in enumerate(drawn)]
    told = trace(events)
    seen = [item["seq"] for row in told.rows for item in row.events]
    assert sorted(seen) == [item["seq"] for item in events]
    assert [row.seq for row in told.rows] == sorted(row.seq for row in told.rows)
