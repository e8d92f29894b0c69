"""One fold for live views and old runs: in pieces as at once, with transient events as without, real or imagined."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logician_graph.orchestrator import TRANSIENT, RunView, fold
from storage import Run
from tests.orchestrator.harness import Harness

Events = list[tuple[str, dict[str, Any]]]


def folded_in_pieces(run_id: str, events: list[dict[str, Any]], sizes: list[int]) -> RunView:
    view: RunView | None = None
    rest = events
    for size in sizes:
        view = fold(run_id, rest[:size], view)
        rest = rest[size:]
    return fold(run_id, rest, view)


# Imagined runs: everything the ledger may hold, in an order in which a run can write it.


class Imagined:
    """Writes the events of a run the way the orchestrator does, with crashes anywhere."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.events: Events = []
        self.step = 0
        self.attempt = 0
        self.serial = 0

    def some(self, most: int) -> Iterator[int]:
        return iter(range(self.draw(st.integers(0, most))))

    def maybe(self) -> bool:
        return self.draw(st.booleans())

    def put(self, type_: str, **data: Any) -> None:
        self.events.append((type_, data))

    def name(self, prefix: str) -> str:
        self.serial += 1
        return f"{prefix}{self.serial}"

    def start(self) -> None:
        self.attempt += 1
        self.put("run.started", attempt=self.attempt, model="m", mode="ask", isolation="full")

    def crash(self) -> None:
        self.put("run.interrupted", reason="died")
        self.start()

    def stream(self, message_id: str) -> None:
        for _ in self.some(3):
            kind = self.draw(st.sampled_from(["text.delta", "reasoning.delta", "call.progress"]))
            if kind == "call.progress":
                self.put(kind, message_id=message_id, name="t", characters=5)
            else:
                self.put(kind, message_id=message_id, text=self.draw(st.sampled_from(["a", "b ", ""])))

    def model(self, calls: list[str], partial: bool = False) -> None:
        self.step += 1
        message_id = self.name("m")
        request = {"window": 8192, "estimated": {"system": 1, "tools": 2, "history": self.step}}
        while True:
            for _ in self.some(1):
                self.put("context.trimmed", dropped_turns=1, dropped_steps=0, shortened=0)
            self.put("model.started", call_id=f"model:{self.step}", step=self.step, model="m", request=request)
            self.stream(message_id)
            if self.maybe():
                self.put("text.reset", message_id=message_id)
                self.put("model.retry", call_id=f"model:{self.step}", attempt=1, wait_s=0.5, error="e")
                self.stream(message_id)
            if not self.maybe():
                break
            self.crash()
            self.put("text.reset", message_id=message_id)
        message: dict[str, Any] = {
            "id": message_id,
            "role": "assistant",
            "text": self.draw(st.sampled_from(["", "hi"])),
        }
        if calls:
            message["tool_calls"] = [{"id": call, "name": "t", "arguments": {"x": call}} for call in calls]
        if partial:
            message["partial"] = True
        if self.maybe():
            message["reasoning"] = "because"
        self.put("message.added", message_id=message_id, message=message)
        self.put("model.finished", call_id=f"model:{self.step}", message_id=message_id, usage={}, duration_s=1.0)

    def ask(self, call: str) -> None:
        self.put("approval.requested", approval_id=f"a-{call}", call_id=call, kind="approval", request={"tool": "t"})
        self.put("run.waiting", approval_ids=[f"a-{call}"])
        self.put("approval.answered", approval_id=f"a-{call}", call_id=call, decision="allow", reason="")
        self.start()

    def gate(self, call: str) -> str:
        if self.maybe():
            self.ask(call)
        action = self.draw(st.sampled_from(["allow", "deny", "invalid", "budget", "answered"]))
        self.put("gate.decided", call_id=call, tool="t", action=action, reason="r", by="policy")
        return action

    def tool(self, call: str, action: str, end: bool = True) -> None:
        if action == "allow":
            self.run_tool(call)
            if not end:
                return
        status = self.draw(st.sampled_from(["ok", "error", "denied", "cancelled", "interrupted"]))
        message = {"id": self.name("r"), "role": "tool", "text": "out", "tool_call_id": call, "tool": "t"}
        self.put("message.added", message_id=message["id"], message=message)
        self.put("tool.finished", call_id=call, tool="t", status=status, summary="s", duration_s=0.1)

    def run_tool(self, call: str) -> None:
        while True:
            started = {"tool": "t", "arguments": {"x": call}, "description": f"t {call}", "replay": "safe"}
            self.put("tool.started", call_id=call, **started)
            for _ in self.some(3):
                self.put("tool.output", call_id=call, text="line\n")
            if not self.maybe():
                return
            self.crash()

    def verify(self, round_: int, passed: bool) -> None:
        place = {"round": round_, "index": 0, "command": "make"}
        self.put("verify.started", **place)
        if self.maybe():
            self.crash()
            self.put("verify.started", **place)
        done = {"passed": passed, "exit_code": 0 if passed else 1, "ended": "exited", "duration_s": 1.0}
        self.put("verify.finished", **place, **done, output="o", saved_path="/p")

    def finish(self, outcome: str) -> None:
        self.put("run.finished", outcome=outcome, reason="r", usage={"model_calls": self.step}, answer_message_id=None)


@st.composite
def imagined_runs(draw: st.DrawFn) -> list[dict[str, Any]]:
    run = Imagined(draw)
    run.put("run.queued", kind="chat", thread_id="t", input_message_id="i")
    run.start()
    for _ in run.some(3):
        calls = [run.name("c") for _ in range(draw(st.integers(1, 3)))]
        run.model(calls)
        decided = [(call, run.gate(call)) for call in calls]
        for call, action in decided:
            run.tool(call, action)
    ending = draw(st.sampled_from(["answer", "partial", "failed model", "failed tool", "verify", "blocked", "waiting"]))
    outcome = "completed"
    match ending:
        case "answer":
            run.model([])
        case "partial":
            run.put("run.cancel_requested")
            run.model([], partial=True)
            outcome = "cancelled"
        case "failed model":
            run.put("model.started", call_id="model:9", step=9, model="m", request={})
            run.stream("m-last")
            run.put("model.failed", call_id="model:9", error="e", error_type="E")
            outcome = "failed"
        case "failed tool":
            run.model(["c-last"])
            run.put("gate.decided", call_id="c-last", tool="t", action="allow", reason="r", by="policy")
            run.tool("c-last", "allow", end=False)
            outcome = "failed"
        case "verify":
            run.model([])
            run.verify(0, passed=False)
            back = {"id": "back", "role": "user", "text": "mend it", "origin": "acceptance"}
            run.put("message.added", message_id="back", message=back)
            run.model([])
            run.verify(1, passed=True)
        case "blocked":
            run.put("budget.reached", budget="turns", limit=3, used=3)
            run.put("loop.detected", tool="t", times=4)
            run.put("history.repaired", issues=["one"])
            outcome = "blocked"
        case _:
            run.model(["c-last"])
            run.put("approval.requested", approval_id="a", call_id="c-last", kind="question", request={"question": "?"})
            run.put("run.waiting", approval_ids=["a"])
            run.put("run.cancel_requested")
            run.start()
            outcome = "cancelled"
    run.finish(outcome)
    return [
        {"v": 1, "seq": seq, "at": float(seq), "type": kind, "run_id": "run", "data": data}
        for seq, (kind, data) in enumerate(run.events, 1)
    ]


@given(imagined_runs(), st.lists(st.integers(1, 9), max_size=12))
def test_folding_in_pieces_is_folding_at_once(events: list[dict[str, Any]], sizes: list[int]) -> None:
    assert folded_in_pieces("run", events, sizes) == fold("run", events)


@given(imagined_runs())
def test_transient_events_leave_nothing_behind(events: list[dict[str, Any]]) -> None:
    kept = [event for event in events if event["type"] not in TRANSIENT]
    assert fold("run", events) == fold("run", kept)


@given(imagined_runs())
def test_a_finished_view_is_settled(events: list[dict[str, Any]]) -> None:
    view = fold("run", events)
    assert (view.status, view.open_message, view.open_text, view.open_call) == ("done", None, "", None)
    assert all(step.state not in ("running", "waiting") and step.approval is None for step in view.steps)
    assert view.waiting() == []
    keys = [step.key for step in view.steps]
    assert len(set(keys)) == len(keys), "keys tell steps apart"
    calls = [c["id"] for e in events for c in e["data"].get("message", {}).get("tool_calls") or ()]
    assert [step.key for step in view.tool_steps] == calls


@given(imagined_runs(), st.integers(1, 60))
def test_folding_changes_no_event(events: list[dict[str, Any]], cut: int) -> None:
    before = copy.deepcopy(events)
    fold("run", events[cut:], fold("run", events[:cut]))
    assert events == before


# Real runs


async def _everything(h: Harness, run: Run) -> list[dict[str, Any]]:
    return [item async for item in h.engine.follow(run.id)]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("say slow 0.02 one two three four", {}),
        ("think slowly now | and answer", {}),
        ('call slow {"seconds": 0.1}; broken {"text": "x"}\nsay after', {}),
        ("cut x1 one two three four five", {}),
        ("fail 400", {}),
        ('truncated count {"text": "abcdefgh"}\nsay after', {}),
        ("say finished", {"verify": ("echo no; exit 1",), "max_repairs": 1}),
        ('call deploy {"text": "a"}\nsay after', {"interactive": False}),
        ('call deploy {"text": "a"}\nsay after', {"mode": "plan"}),
        ("call count {}; count {}; count {}\nsay after", {"max_tool_calls": 2}),
    ],
)
def test_real_runs_fold_the_same_live_and_later(h: Harness, text: str, options: dict[str, Any]) -> None:
    async def go() -> tuple[Run, list[dict[str, Any]]]:
        run = h.ask(text, **options)
        return run, await _everything(h, run)

    run, live = asyncio.run(go())
    later = fold(run.id, h.events(run))
    assert fold(run.id, live) == later
    assert folded_in_pieces(run.id, live, [1] * len(live)) == later
    assert h.engine.run_view(run.id) == later
    assert (later.status, later.outcome) == ("done", h.engine.run(run.id).outcome)
