"""A run as a page shows it, folded from its envelopes: the same function serves live views and old runs.

Pure. Transient events only add what is still open, so a view folded with them and one folded without them are equal
once the run is done.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from logician_graph.orchestrator.events import left_out

StepKind = Literal["thinking", "text", "tool", "verify", "notice"]
StepState = Literal["running", "waiting", "ok", "error", "denied", "stopped"]


@dataclass(slots=True)
class Step:
    """One thing the agent did, as one line with a body."""

    kind: StepKind
    key: str
    """Message id, call id or event number: stable across folds."""
    state: StepState = "ok"
    title: str = ""
    text: str = ""
    """Answer text, reasoning, or a tool's output as the model read it."""
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    decision: str = ""
    """Why the call was allowed or denied."""
    summary: str = ""
    duration_s: float | None = None
    diff: str | None = None
    saved_path: str | None = None
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    approval: dict[str, Any] | None = None
    """The open request of a call that waits for a person: ``{id, kind, request}``."""
    final: bool = False
    """True for the text that answers (no calls follow in the same reply)."""
    partial: bool = False
    seq: int = 0
    """Sequence number of the event that last changed it."""


@dataclass(slots=True)
class RunView:
    """A run as far as its events tell."""

    run_id: str
    status: str = "queued"
    outcome: str | None = None
    reason: str = ""
    model: str = ""
    mode: str = ""
    isolation: str = ""
    queued_at: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    attempt: int = 0
    steps: list[Step] = field(default_factory=list[Step])
    usage: dict[str, Any] = field(default_factory=dict[str, Any])
    last_call: dict[str, Any] = field(default_factory=dict[str, Any])
    """Data of the newest ``model.finished``: tokens, timing, whether calls were recovered."""
    context: dict[str, Any] = field(default_factory=dict[str, Any])
    """The newest request record: window and estimated tokens of system prompt, tools and history."""
    open_message: str | None = None
    """Id of the reply that streams in now."""
    open_text: str = ""
    open_reasoning: str = ""
    open_call: dict[str, Any] | None = None
    """``{name, characters}`` of a call that is being written now."""
    last_seq: int = 0

    @property
    def answer(self) -> str:
        """The final answer's text, empty while there is none."""
        return next((step.text for step in reversed(self.steps) if step.kind == "text" and step.final), "")

    @property
    def tool_steps(self) -> list[Step]:
        """The tool calls, in call order."""
        return [step for step in self.steps if step.kind == "tool"]

    def waiting(self) -> list[Step]:
        """Steps that wait for the person."""
        return [step for step in self.steps if step.approval is not None]


def fold(run_id: str, envelopes: Iterable[dict[str, Any]], view: RunView | None = None) -> RunView:
    """The view of a run after ``envelopes`` (in order); continues ``view`` when one is given."""
    view = view or RunView(run_id)
    for item in envelopes:
        _apply(view, item)
    return view


def _apply(view: RunView, item: dict[str, Any]) -> None:
    view.last_seq = item["seq"]
    data, kind = item["data"], item["type"]
    handler = _HANDLERS.get(kind)
    if handler is not None:
        handler(view, data, item)


def _notice(view: RunView, item: dict[str, Any], title: str, *, state: StepState = "ok", text: str = "") -> None:
    view.steps.append(Step("notice", f"event-{item['seq']}", state, title, text, seq=item["seq"]))


def _tool_step(view: RunView, call_id: str, item: dict[str, Any], tool: str = "") -> Step:
    for step in view.steps:
        if step.kind == "tool" and step.key == call_id:
            step.seq = item["seq"]
            return step
    step = Step("tool", call_id, "running", tool=tool, title=tool, seq=item["seq"])
    view.steps.append(step)
    return step


def _queued(view: RunView, _data: dict[str, Any], item: dict[str, Any]) -> None:
    view.queued_at = item["at"]


def _started(view: RunView, data: dict[str, Any], item: dict[str, Any]) -> None:
    view.status = "running"
    view.started_at = view.started_at or item["at"]
    view.model, view.mode, view.isolation = data["model"], data["mode"], data["isolation"]
    view.attempt = data["attempt"]


def _interrupted(view: RunView, data: dict[str, Any], item: dict[str, Any]) -> None:
    view.status = "queued"
    _notice(view, item, "Interrupted", text=data["reason"])
    _close_open(view)


def _waiting(view: RunView, _data: dict[str, Any], _item: dict[str, Any]) -> None:
    view.status = "waiting"


def _finished(view: RunView, data: dict[str, Any], item: dict[str, Any]) -> None:
    view.status, view.outcome, view.reason = "done", data["outcome"], data["reason"]
    view.usage, view.finished_at = data["usage"], item["at"]
    _close_open(view)
    for step in view.steps:
        step.approval = None
        if step.state in ("running", "waiting"):  # the run ended under it: what it had shown by then is not kept
            step.state, step.seq = "stopped", item["seq"]
            step.text = "" if step.kind == "tool" else step.text


def _close_open(view: RunView) -> None:
    view.open_message, view.open_text, view.open_reasoning, view.open_call = None, "", "", None


def _model_started(view: RunView, data: dict[str, Any], _item: dict[str, Any]) -> None:
    view.context = {"window": data["request"].get("window"), **data["request"].get("estimated", {})}


def _model_retry(view: RunView, data: dict[str, Any], item: dict[str, Any]) -> None:
    title = f"The provider failed; trying again in {data['wait_s']:.1f} s"
    _notice(view, item, title, state="error", text=data["error"])


def _model_failed(view: RunView, data: dict[str, Any], item: dict[str, Any]) -> None:
    _notice(view, item, "The model call failed", state="error", text=data["error"])
    _close_open(view)


def _model_finished(view: RunView, data: dict[str, Any], _item: dict[str, Any]) -> None:
    view.last_call = data
    _close_open(view)


def _text_delta(view: RunView, data: dict[str, Any], _item: dict[str, Any]) -> None:
    view.open_message = data["message_id"]
    view.open_text += data["text"]


def _reasoning_delta(view: RunView, data: dict[str, Any], _item: dict[str, Any]) -> None:
    view.open_message = data["message_id"]
    view.open_reasoning += data["text"]


def _progress(view: RunView, data: dict[str, Any], _item: dict[str, Any]) -> None:
    view.open_message = data["message_id"]
    view.open_call = {"name": data["name"], "characters": data["characters"]}


def _reset(view: RunView, _data: dict[str, Any], _item: dict[str, Any]) -> None:
    _close_open(view)


def _message(view: RunView, _data: dict[str, Any], item: dict[str, Any]) -> None:
    message = item["data"].get("message")
    if message is None:
        return
    if message["role"] == "assistant":
        _assistant(view, message, item)
    elif message["role"] == "tool":
        step = _tool_step(view, message["tool_call_id"], item, message.get("tool", ""))
        step.text = message["text"]
    elif message.get("origin") == "acceptance":
        _notice(view, item, "Sent back: a check failed", state="error", text=message["text"])


def _assistant(view: RunView, message: dict[str, Any], item: dict[str, Any]) -> None:
    calls: list[dict[str, Any]] = message.get("tool_calls") or []
    if message.get("reasoning"):
        key = f"{message['id']}-reasoning"
        view.steps.append(Step("thinking", key, title="Thought", text=message["reasoning"], seq=item["seq"]))
    if message["text"]:
        step = Step("text", message["id"], text=message["text"], final=not calls, seq=item["seq"])
        step.partial = bool(message.get("partial"))
        if message.get("truncated"):
            step.summary = "cut at the output limit"
        view.steps.append(step)
    for call in calls:
        step = _tool_step(view, call["id"], item, call["name"])
        step.arguments = call["arguments"]
    _close_open(view)


def _gate(view: RunView, data: dict[str, Any], item: dict[str, Any]) -> None:
    step = _tool_step(view, data["call_id"], item, data["tool"])
    step.decision, step.approval = data["reason"], None
    step.state = {"deny": "denied", "allow": "running", "answered": "running"}.get(data["action"], "error")  # pyright: ignore[reportAttributeAccessIssue]


def _requested(view: RunView, data: dict[str, Any], item: dict[str, Any]) -> None:
    step = _tool_step(view, data["call_id"], item)
    step.state = "waiting"
    step.title = data["request"].get("description") or data["request"].get("question") or step.title
    step.approval = {"id": data["approval_id"], "kind": data["kind"], "request": data["request"]}


def _answered(view: RunView, data: dict[str, Any], item: dict[str, Any]) -> None:
    step = _tool_step(view, data["call_id"], item)
    step.approval = None
    step.state = "running"
    view.status = "queued" if view.status == "waiting" else view.status


def _tool_started(view: RunView, data: dict[str, Any], item: dict[str, Any]) -> None:
    step = _tool_step(view, data["call_id"], item, data["tool"])
    step.state, step.title, step.arguments, step.text = "running", data["description"], data["arguments"], ""


def _tool_output(view: RunView, data: dict[str, Any], item: dict[str, Any]) -> None:
    step = _tool_step(view, data["call_id"], item)
    step.text = (step.text + data["text"])[-20_000:]


_STATES: dict[str, StepState] = {"ok": "ok", "denied": "denied", "cancelled": "stopped", "interrupted": "stopped"}


def _tool_finished(view: RunView, data: dict[str, Any], item: dict[str, Any]) -> None:
    step = _tool_step(view, data["call_id"], item, data["tool"])
    step.state = _STATES.get(data["status"], "error")
    step.summary, step.duration_s = data["summary"], data["duration_s"]
    step.diff, step.saved_path, step.facts = data.get("diff"), data.get("saved_path"), data.get("facts") or {}


def _verify_started(view: RunView, data: dict[str, Any], item: dict[str, Any]) -> None:
    key = f"verify-{data['round']}-{data['index']}"
    view.steps = [step for step in view.steps if step.key != key]
    view.steps.append(Step("verify", key, "running", f"Check: {data['command']}", seq=item["seq"]))


def _verify_finished(view: RunView, data: dict[str, Any], item: dict[str, Any]) -> None:
    key = f"verify-{data['round']}-{data['index']}"
    for step in view.steps:
        if step.key == key:
            step.state = "ok" if data["passed"] else "error"
            step.summary = f"exit {data['exit_code']}" if data["exit_code"] is not None else data["ended"]
            step.text, step.duration_s, step.seq = data["output"], data["duration_s"], item["seq"]
            step.saved_path = data["saved_path"]


def _trimmed(view: RunView, data: dict[str, Any], item: dict[str, Any]) -> None:
    _notice(view, item, f"Left out of the model's view to fit its window: {left_out(data)}")


def _repaired(view: RunView, data: dict[str, Any], item: dict[str, Any]) -> None:
    _notice(view, item, "The history was mended before it was sent", text="\n".join(data["issues"]))


def _budget(view: RunView, data: dict[str, Any], item: dict[str, Any]) -> None:
    title = f"Budget reached: {data['used']:g} of {data['limit']:g} {data['budget']}"
    _notice(view, item, title, state="error")


def _loop(view: RunView, data: dict[str, Any], item: dict[str, Any]) -> None:
    _notice(view, item, f"Stopped a loop: the same {data['tool']} call {data['times']} times", state="error")


_HANDLERS = {
    "run.queued": _queued,
    "run.started": _started,
    "run.interrupted": _interrupted,
    "run.waiting": _waiting,
    "run.finished": _finished,
    "model.started": _model_started,
    "model.retry": _model_retry,
    "model.failed": _model_failed,
    "model.finished": _model_finished,
    "text.delta": _text_delta,
    "reasoning.delta": _reasoning_delta,
    "call.progress": _progress,
    "text.reset": _reset,
    "message.added": _message,
    "gate.decided": _gate,
    "approval.requested": _requested,
    "approval.answered": _answered,
    "tool.started": _tool_started,
    "tool.output": _tool_output,
    "tool.finished": _tool_finished,
    "verify.started": _verify_started,
    "verify.finished": _verify_finished,
    "context.trimmed": _trimmed,
    "history.repaired": _repaired,
    "budget.reached": _budget,
    "loop.detected": _loop,
}
