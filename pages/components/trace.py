"""A run's events as the rows of a trace: what happened when, how long it took, and the events behind it. Pure.

An event that opens something (a model call, a tool call, a check) and the one that closes it share a row; pieces of
streamed text that follow each other share one. Every event is in exactly one row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from logician_graph.orchestrator import left_out
from pages.components.words import count, duration, money, shortened

Envelope = Mapping[str, Any]

_STREAMED = {
    "text.delta": "text",
    "reasoning.delta": "reasoning",
    "call.progress": "call",
    "tool.output": "tool output",
}


@dataclass(slots=True)
class Row:
    """One line of the trace."""

    seq: int
    at: float
    """Seconds since the run's first event."""
    icon: str
    label: str
    detail: str = ""
    color: str = "gray"
    duration_s: float | None = None
    """None for a moment; for something that still works, the time until now."""
    open: bool = False
    request: bool = False
    """True for a model call, whose request can be shown."""
    indent: int = 1
    events: list[Envelope] = field(default_factory=list[Envelope])

    def mentions(self, key: str) -> bool:
        """True when the line is about the call or the message ``key``."""
        return any(key in (event["data"].get("call_id"), event["data"].get("message_id")) for event in self.events)


@dataclass(slots=True)
class Trace:
    """All rows, and the seconds they span."""

    rows: list[Row] = field(default_factory=list[Row])
    span_s: float = 0.0


def trace(events: Iterable[Envelope], *, now: float | None = None) -> Trace:
    """Rows in the order in which things began. ``now`` is given while the run works: what is open lasts until then."""
    result, opened, start, last = Trace(), dict[tuple[str, str], Row](), None, 0.0
    for event in events:
        start = event["at"] if start is None else start
        last = event["at"] - start
        _add(result, opened, event, last)
    end = max(last, now - start) if now is not None and start is not None else last
    for row in opened.values():
        row.open = now is not None
        row.duration_s = max(0.0, end - row.at) if row.open else None
    result.span_s = end
    return result


def _add(result: Trace, opened: dict[tuple[str, str], Row], event: Envelope, at: float) -> None:
    kind, data = event["type"], event["data"]
    what, _, verb = kind.partition(".")
    previous = result.rows[-1] if result.rows else None
    if kind in _STREAMED and previous is not None and previous.events[-1]["type"] == kind:
        previous.events.append(event)
        previous.detail = count(len(previous.events), "piece")
        previous.duration_s = at - previous.at
        return
    key = (what, str(data.get("call_id") or (data.get("round"), data.get("index"))))
    if verb in ("finished", "failed") and key in opened:
        row = opened.pop(key)
        row.duration_s = data.get("duration_s", at - row.at)
        row.events.append(event)
    else:
        row = Row(event["seq"], at, "circle", kind)
        row.events.append(event)
        result.rows.append(row)
        if verb == "started" and what in ("model", "tool", "verify"):
            opened[key] = row
            row.request = what == "model"
    describe = _DESCRIBED.get(kind)
    if describe is not None:
        describe(row, data)
    elif kind in _STREAMED:
        row.icon, row.label, row.detail, row.indent = "more_horiz", f"Streams {_STREAMED[kind]}", "1 piece", 2


def _put(row: Row, icon: str, label: str, detail: str = "", color: str = "gray", *, indent: int = 1) -> None:
    row.icon, row.label, row.detail, row.color, row.indent = icon, label, detail, color, indent


_OUTCOMES = {"completed": ("check_circle", "green"), "failed": ("error", "red"), "cancelled": ("stop_circle", "gray")}
_DECISIONS = {
    "allow": ("verified_user", "Allowed", "green"),
    "answered": ("chat", "Answered", "green"),
    "deny": ("block", "Denied", "red"),
    "invalid": ("error", "Not a valid call", "red"),
    "budget": ("block", "Over budget", "orange"),
    "needs_input": ("contact_support", "Needs a person", "orange"),
}
_TOOL_COLORS = {"ok": "green", "error": "red", "denied": "red"}


def _run_started(row: Row, data: Envelope) -> None:
    again = f" again (attempt {data['attempt']})" if data["attempt"] > 1 else ""
    if "study_id" in data:
        words = ", ".join(data["models"])
    else:
        words = f"{data['model']} · {data['mode']} · isolation {data['isolation']}"
    _put(row, "play_circle", f"Started{again}", words, "blue", indent=0)


def _run_finished(row: Row, data: Envelope) -> None:
    icon, color = _OUTCOMES.get(data["outcome"], ("flag", "orange"))
    _put(row, icon, f"Ended: {data['outcome'].replace('_', ' ')}", data["reason"], color, indent=0)


def _model_finished(row: Row, data: Envelope) -> None:
    usage = data.get("usage") or {}
    parts = [f"{count(usage.get('input_tokens'))} in", f"{count(usage.get('output_tokens'), 'token')} out"]
    if data.get("cost_usd") is not None:
        parts.append(money(data["cost_usd"]))
    if data.get("first_token_s") is not None:
        parts.append(f"first token after {duration(data['first_token_s'])}")
    if data.get("recovered"):
        parts.append("calls recovered from text")
    row.detail, row.color = " · ".join(parts), "blue"


def _message(row: Row, data: Envelope) -> None:
    message = data.get("message") or {}
    calls = message.get("tool_calls") or []
    text = shortened(message.get("text") or ", ".join(call["name"] for call in calls), 160)
    who = {"assistant": "Reply", "tool": "Result to the model", "user": "Message"}.get(
        message.get("role", ""), "Message"
    )
    _put(row, "chat_bubble", who, text, indent=2)


def _gate(row: Row, data: Envelope) -> None:
    icon, word, color = _DECISIONS.get(data["action"], ("help", data["action"], "gray"))
    _put(row, icon, f"{word}: {data['tool']}", data["reason"], color)


def _requested(row: Row, data: Envelope) -> None:
    request = data["request"]
    label = "Asks you" if data["kind"] == "question" else "Waits for your approval"
    _put(row, "front_hand", label, request.get("description") or request.get("question") or "", "orange")


def _tool_finished(row: Row, data: Envelope) -> None:
    if row.label == "tool.finished":  # it never started: refused, or not a valid call
        _put(row, "build", data["tool"])
    row.detail, row.color = data["summary"] or row.detail, _TOOL_COLORS.get(data["status"], "gray")


def _verify_finished(row: Row, data: Envelope) -> None:
    ended = f"exit {data['exit_code']}" if data["exit_code"] is not None else data.get("ended", "")
    row.detail, row.color = f"{'passed' if data['passed'] else 'failed'}, {ended}", "green" if data["passed"] else "red"


def _sample(row: Row, data: Envelope) -> None:
    objective = "" if data["objective"] is None else f", objective {data['objective']:.5g}"
    words = f"{data['operator']}, {str(data['outcome']).replace('_', ' ')}{objective}"
    _put(row, "genetics", f"Sample {data['n']}", words, "green" if data["best"] else "gray")


def _score(row: Row, data: Envelope) -> None:
    worth = "no objective" if data["objective"] is None else f"{data['objective']:.5g}"
    _put(row, "straighten", data["subject"].replace(":", " ", 1).capitalize(), f"{data['set']}: {worth}", indent=2)


_DESCRIBED: dict[str, Callable[[Row, Envelope], None]] = {
    "run.queued": lambda row, _: _put(row, "hourglass_top", "Queued", indent=0),
    "run.started": _run_started,
    "run.interrupted": lambda row, data: _put(row, "power_off", "Interrupted", data["reason"], "orange", indent=0),
    "run.waiting": lambda row, _: _put(row, "front_hand", "Waits for you", "", "orange", indent=0),
    "run.cancel_requested": lambda row, _: _put(row, "stop_circle", "Stop asked for", indent=0),
    "run.finished": _run_finished,
    "model.started": lambda row, data: _put(row, "neurology", f"Model call {data['step']}", data["model"], "blue"),
    "model.retry": lambda row, data: _put(
        row, "refresh", f"Tries again in {duration(data['wait_s'])}", data["error"], "orange", indent=2
    ),
    "model.finished": _model_finished,
    "model.failed": lambda row, data: _put(row, "neurology", row.label, data["error"], "red"),
    "text.reset": lambda row, _: _put(row, "undo", "Streamed text is void", indent=2),
    "message.added": _message,
    "context.trimmed": lambda row, data: _put(row, "content_cut", "Left out to fit the window", left_out(data)),
    "history.repaired": lambda row, data: _put(row, "healing", "History mended", "; ".join(data["issues"])),
    "gate.decided": _gate,
    "approval.requested": _requested,
    "approval.answered": lambda row, data: _put(
        row, "how_to_reg", "You answered", str(data.get("text") or data.get("decision") or ""), "green"
    ),
    "tool.started": lambda row, data: _put(row, "build", data["tool"], data["description"], "blue"),
    "tool.finished": _tool_finished,
    "verify.started": lambda row, data: _put(row, "rule", f"Check {data['index'] + 1}", data["command"], "blue"),
    "verify.finished": _verify_finished,
    "budget.reached": lambda row, data: _put(
        row, "block", "Budget reached", f"{data['used']:g} of {data['limit']:g} {data['budget']}", "orange"
    ),
    "study.sample": _sample,
    "study.survival": lambda row, data: _put(
        row, "groups", "Survival", f"{data['members']} in the population", indent=2
    ),
    "study.score": _score,
    "study.waiting": lambda row, data: _put(row, "hourglass_top", "Waits for the model", data["error"], "orange"),
    "study.warning": lambda row, data: _put(row, "warning", "Warning", data["text"], "orange"),
    "loop.detected": lambda row, data: _put(
        row, "sync_problem", "Loop stopped", f"the same {data['tool']} call {data['times']} times", "red"
    ),
}
