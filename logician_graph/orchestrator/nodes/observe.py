"""Observe: accounts for what the calls brought, guards against loops, and says where the run goes next."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from logician_graph.orchestrator.context import RunContext
from logician_graph.orchestrator.types import GraphState
from storage import Change

LOOP_LIMIT = 4
"""The same call with the same result this many times in a row ends the run as blocked."""


async def observe(state: GraphState, runtime: Runtime[RunContext]) -> GraphState:
    """After a batch; the last batch closes the turn."""
    calls, results = state.get("calls", []), state.get("results", {})
    if any(call["id"] not in results for call in calls):
        return {}
    context = runtime.context
    last = calls[-1]["result_id"]
    _advance(context, state, last)
    update: GraphState = {
        "leaf_id": last,
        "tainted": state.get("tainted", False) or any(r["untrusted"] for r in results.values()),
    }
    decisions = state.get("decisions", {})
    waiting = [d["reason"] for d in decisions.values() if d["action"] == "needs_input"]
    over = [d["reason"] for d in decisions.values() if d["action"] == "budget"]
    if context.cancelled.is_set():
        return update  # the next model call ends the run, after what an earlier attempt had written was gone through
    if waiting:
        return {**update, "finish": "needs_input", "reason": waiting[0]}
    if over:
        used = context.usage.tool_calls
        context.emit(
            ("budget.reached", {"budget": "tool calls", "limit": context.options.max_tool_calls, "used": used})
        )
        return {**update, "finish": "blocked", "reason": over[0]}
    repeat = _repeat(state)
    update["repeat"] = repeat
    if repeat["times"] >= LOOP_LIMIT:
        tool = calls[-1]["name"]
        context.emit(("loop.detected", {"tool": tool, "times": repeat["times"]}))
        reason = f"The model made the same {tool} call {repeat['times']} times with the same result."
        return {**update, "finish": "blocked", "reason": reason}
    return update


def _advance(context: RunContext, state: GraphState, last: str) -> None:
    """The branch is complete again: the thread shows it and the next model call sees it."""
    start = state.get("leaf_id")
    written = [context.results.pop(call["result_id"], None) for call in state.get("calls", [])]
    complete = [message for message in written if message is not None]
    known = bool(context.history) and context.history[-1].id == state.get("calls", [])[0]["parent_id"]
    context.history = [*context.history, *complete] if known and len(complete) == len(written) else []
    if context.run.thread_id is not None:
        context.commit(Change(leaf=(context.run.thread_id, start, last)))


def _repeat(state: GraphState) -> dict[str, Any]:
    calls, results = state.get("calls", []), state.get("results", {})
    before = state.get("repeat") or {}
    signature = "|".join(results[call["id"]]["signature"] for call in calls)
    made: list[dict[str, Any]] = [
        {
            "id": call["id"],
            "name": call["name"],
            "arguments": call["arguments"],
            "ok": results[call["id"]]["status"] == "ok",
        }
        for call in calls
    ]
    failing = not any(call["ok"] for call in made)
    wrote = any(call["ok"] and (_edits(call) or "content" in call["arguments"]) for call in made)
    kept = before.get("made", [])[-4:] if failing else [] if wrote else [c for c in before.get("made", []) if c["ok"]]
    same = signature == before.get("signature")
    return {
        "signature": signature,
        "times": before.get("times", 0) + 1 if same else 1,
        "made": [*kept, *made][-8:],
        "undoing": [*before.get("undoing", []), *(_undoing(call) for call in made if call["ok"] and _edits(call))][-6:],
    }


def _edits(call: dict[str, Any]) -> bool:
    return {"old_text", "new_text"} <= call["arguments"].keys()


def _undoing(call: dict[str, Any]) -> dict[str, Any]:
    """The edit that would take this one back: a small model that is done goes on with it, to and fro."""
    arguments = call["arguments"]
    return {**call, "arguments": {**arguments, "old_text": arguments["new_text"], "new_text": arguments["old_text"]}}
