"""Tools: runs one decided call per task. Nothing a tool does can end the run.

Effect sandwich: intent and ``tool.started`` are committed, the tool runs, then the result's message, ``tool.finished``
and the settlement are committed together. A call found with an intent but no settlement was cut off by a crash: it
runs again only when the tool says that this is safe.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

from langgraph.runtime import Runtime

from logician_graph.orchestrator.assemble import sha256
from logician_graph.orchestrator.budget import calls_spent
from logician_graph.orchestrator.context import RunContext
from logician_graph.orchestrator.texts import storable, storable_json
from logician_graph.orchestrator.types import CallResult, CallState, GateDecision, GraphState
from logician_graph.tools import ToolContext, ToolOutput
from storage import Change, Intent, Message, StorageError, now

CRASHED = (
    "Interrupted: Logician stopped while this call ran. Whether it took effect is unknown; look before you repeat it."
)
STOPPED = "Not run: the person stopped the run."


async def tools(state: GraphState, runtime: Runtime[RunContext]) -> GraphState:
    """Run the call of this task."""
    call = state.get("call")
    assert call is not None
    context = runtime.context
    decision = state.get("decisions", {})[call["id"]]
    if context.resumed and (written := context.threads.message(call["result_id"])) is not None:
        return _result(call, written)
    intent = context.ledger.intent(context.run.id, call["id"]) if context.resumed else None
    tool = context.bus.get(call["name"])
    if intent is not None and (tool is None or intent.replay == "never" or context.cancelled.is_set()):
        output = ToolOutput(CRASHED, status="interrupted", summary="interrupted, outcome unknown")
        return _result(call, _settle(context, call, output, 0.0))
    if decision["action"] == "allow" and intent is None:
        decision = _still_allowed(context, decision)
    if decision["action"] != "allow":
        message = _settle(context, call, _refusal(decision), 0.0, settle=False)
        return {**_result(call, message), "decisions": {call["id"]: decision}}
    assert tool is not None
    if intent is None:
        context.usage.tool_calls += 1
    _begin(context, call, tool.describe(call["arguments"]), tool.declaration.replay, known=intent is not None)
    started = time.monotonic()
    output = await context.bus.call(call["name"], call["arguments"], _place(context, call))
    return _result(call, _settle(context, call, output, time.monotonic() - started))


def _still_allowed(context: RunContext, decision: GateDecision) -> GateDecision:
    """What became of a permission while earlier calls of the same reply ran."""
    if context.cancelled.is_set():
        return GateDecision(action="cancelled", reason="The run was stopped before this call.")
    if (spent := calls_spent(context.options, context.usage)) is not None:
        return GateDecision(action="budget", reason=spent)
    return decision


def _place(context: RunContext, call: CallState) -> ToolContext:
    return ToolContext(
        run_id=context.run.id,
        call_id=call["id"],
        workspace=context.workspace,
        artifacts=context.artifacts,
        sandbox=context.sandbox,
        cancelled=context.cancelled,
        emit=lambda text: context.emit(("tool.output", {"call_id": call["id"], "text": storable(text)})),
    )


def _refusal(decision: GateDecision) -> ToolOutput:
    reason = decision["reason"]
    match decision["action"]:
        case "answered":
            return ToolOutput(reason or "(no answer given)", status="ok", summary="answered")
        case "deny":
            return ToolOutput(
                f"Denied. {reason} Do not repeat it; do something else or say what you need.", "denied", "denied"
            )
        case "cancelled":
            return ToolOutput(STOPPED, status="cancelled", summary="stopped")
        case "needs_input":
            return ToolOutput(
                f"Not run: it needs a person and nobody can answer here. {reason}", "denied", "needs a person"
            )
        case "budget":
            return ToolOutput(f"Not run: {reason}", status="denied", summary="budget used up")
        case _:
            return ToolOutput(f"Not run: {reason}", status="error", summary="not a valid call")


def _begin(context: RunContext, call: CallState, description: str, replay: Any, *, known: bool) -> None:
    arguments = json.dumps(call["arguments"], sort_keys=True)
    intent = Intent(
        run_id=context.run.id,
        call_id=call["id"],
        kind="tool",
        name=call["name"],
        args_sha256=sha256(arguments),
        replay=replay,
        message_id=call["result_id"],
        created_at=now(),
    )
    data = {
        "call_id": call["id"],
        "tool": call["name"],
        "arguments": call["arguments"],
        "description": storable(description),
        "replay": replay,
    }
    context.commit(Change(events=[("tool.started", data)], intents=[] if known else [intent]))


def _settle(
    context: RunContext, call: CallState, output: ToolOutput, seconds: float, *, settle: bool = True
) -> Message:
    output = replace(output, text=storable(output.text), data=storable_json(output.data))
    extra: dict[str, Any] = {"tool_call_id": call["id"], "tool": call["name"], "status": output.status}
    if output.untrusted:
        extra["untrusted"] = True
    message = Message(
        id=call["result_id"],
        thread_id=context.run.thread_id or "",
        parent_id=call["parent_id"],
        run_id=context.run.id,
        depth=_depth(context, call),
        role="tool",
        text=output.text,
        extra=extra,
        created_at=now(),
    )
    data: dict[str, Any] = {
        "call_id": call["id"],
        "tool": call["name"],
        "status": output.status,
        "summary": storable(output.summary),
        "duration_s": round(seconds, 3),
        "message_id": message.id,
    }
    diff = storable(output.diff) if output.diff is not None else None
    optional = {"diff": diff, "saved_path": output.saved_path, "facts": output.data or None}
    data |= {name: value for name, value in optional.items() if value is not None}
    events = [("message.added", {"message_id": message.id}), ("tool.finished", data)]
    context.commit(Change(events=events, messages=[message], settle=[call["id"]] if settle else []))
    context.results[message.id] = message
    return message


def _depth(context: RunContext, call: CallState) -> int:
    """Depth of the result: the reply is the newest loaded message, or is read when the run was resumed here."""
    newest = context.history[-1] if context.history else None
    calls = (newest.extra or {}).get("tool_calls") if newest is not None else None
    if newest is None or not calls or all(entry["id"] != call["id"] for entry in calls):
        parent = context.threads.message(call["parent_id"])
        if parent is not None:
            return parent.depth + 1
        raise StorageError(f"The reply that made call {call['id']!r} is missing.")
    position = next(index for index, entry in enumerate(calls) if entry["id"] == call["id"])
    return newest.depth + 1 + position


def _result(call: CallState, message: Message) -> GraphState:
    extra = message.extra or {}
    signature = sha256(json.dumps([call["name"], call["arguments"], message.text], sort_keys=True))
    result = CallResult(status=str(extra.get("status")), signature=signature, untrusted=bool(extra.get("untrusted")))
    return {"results": {call["id"]: result}}
