"""Gate: one decision per call, one task per call. Fails closed; every decision is an event; guesses nothing.

A call that must ask writes its request and interrupts the graph; the answer is durable before the run goes on, so
the task finds it when it runs again, whatever the order of the answers and whoever restarted in between.
"""

from __future__ import annotations

from typing import Any, cast

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from logician_graph.orchestrator.budget import calls_spent
from logician_graph.orchestrator.context import RunContext
from logician_graph.orchestrator.types import CallState, GateDecision, GraphState
from logician_graph.tools import Decision, PermissionRule, Tool, ToolContext, decide
from storage import Approval, Change, new_id, now


async def gate(state: GraphState, runtime: Runtime[RunContext]) -> GraphState:
    """Decide on the call of this task."""
    call = state.get("call")
    assert call is not None
    decision = _decide(runtime.context, call, tainted=state.get("tainted", False))
    return {"decisions": {call["id"]: decision}}


def _decide(context: RunContext, call: CallState, *, tainted: bool) -> GateDecision:
    if context.cancelled.is_set():
        return GateDecision(action="cancelled", reason="The run was stopped before this call.")
    if context.resumed and _decided_before(context, call):
        return GateDecision(action="allow", reason="Decided before the interruption.")
    if call["invalid"] is not None:
        return _record(context, call, "invalid", call["invalid"], by="parser")
    tool = context.bus.get(call["name"])
    if tool is None:
        known = ", ".join(context.bus.names())
        return _record(context, call, "invalid", f"There is no tool {call['name']!r}. Tools: {known}.", by="registry")
    if (spent := calls_spent(context.options, context.usage)) is not None:
        return _record(context, call, "budget", spent, by="budget")
    asked = context.ledger.approval_of_call(context.run.id, call["id"]) if context.resumed else None
    if asked is not None and asked.state == "answered":
        return _answered(context, call, asked)  # what a person said about this call outweighs rules made since
    if tool.declaration.effect == "ask":
        return _wait(context, call, tool, asked, _question(call), kind="question")
    decision = decide(
        tool.declaration,
        call["arguments"],
        mode=context.options.mode,
        rules=context.rules(),
        workspace=str(context.workspace),
        tainted=tainted,
    )
    if decision.action == "ask":
        return _wait(context, call, tool, asked, _request(context, call, tool, decision), kind="approval")
    if asked is not None:
        context.commit(Change(withdraw=[call["id"]]))
    return _record(context, call, decision.action, decision.reason, by="policy", rule_id=decision.rule_id)


def _decided_before(context: RunContext, call: CallState) -> bool:
    """True when an earlier attempt began the call or wrote its result, whatever that was."""
    begun = context.ledger.intent(context.run.id, call["id"]) is not None
    return begun or context.threads.message(call["result_id"]) is not None


def _record(
    context: RunContext, call: CallState, action: Any, reason: str, *, by: str, rule_id: str | None = None
) -> GateDecision:
    data = {"call_id": call["id"], "tool": call["name"], "action": action, "reason": reason, "by": by}
    context.emit(("gate.decided", {**data, "rule_id": rule_id} if rule_id is not None else data))
    return GateDecision(action=action, reason=reason)


def _wait(
    context: RunContext, call: CallState, tool: Tool, approval: Approval | None, request: dict[str, Any], *, kind: str
) -> GateDecision:
    if not context.options.interactive:
        reason = str(request.get("question") or request.get("reason") or "It needs a person.")
        return _record(context, call, "needs_input", f"{tool.describe(call['arguments'])}: {reason}", by="policy")
    if approval is None:
        approval = Approval(
            id=new_id(),
            run_id=context.run.id,
            thread_id=context.run.thread_id,
            call_id=call["id"],
            kind=kind,
            request=request,
            created_at=now(),
        )
        data = {"approval_id": approval.id, "call_id": call["id"], "kind": kind, "request": request}
        context.commit(Change(events=[("approval.requested", data)], approvals=[approval]))
    interrupt({"approval_id": approval.id})
    raise AssertionError("unreachable: the answer is read from the ledger")  # pragma: no cover


def _answered(context: RunContext, call: CallState, approval: Approval) -> GateDecision:
    answer = approval.answer or {}
    if approval.kind == "question":
        return _record(context, call, "answered", str(answer.get("text", "")), by="person")
    if answer.get("decision") == "allow":
        rule_id = answer.get("rule_id")
        reason = "Always allowed by you." if rule_id else "Allowed once by you."
        return _record(context, call, "allow", reason, by="person", rule_id=rule_id)
    reason = str(answer.get("reason") or "").strip()
    return _record(context, call, "deny", f"You denied it: {reason}" if reason else "You denied it.", by="person")


def _question(call: CallState) -> dict[str, Any]:
    choices = call["arguments"].get("choices")
    return {
        "question": str(call["arguments"].get("question", "")),
        "choices": [str(choice) for choice in cast("list[Any]", choices)] if isinstance(choices, list) else [],
    }


def _request(context: RunContext, call: CallState, tool: Tool, decision: Decision) -> dict[str, Any]:
    place = ToolContext(
        run_id=context.run.id,
        call_id=call["id"],
        workspace=context.workspace,
        artifacts=context.artifacts,
        sandbox=context.sandbox,
        cancelled=context.cancelled,
    )
    return {
        "tool": call["name"],
        "arguments": call["arguments"],
        "description": tool.describe(call["arguments"]),
        "preview": tool.preview(call["arguments"], place),
        "reason": decision.reason,
        "effect": tool.declaration.effect,
        "suggestions": [_suggestion(rule) for rule in decision.suggestions],
    }


def _suggestion(rule: PermissionRule) -> dict[str, Any]:
    return {
        "action": rule.action,
        "tool": rule.tool,
        "argv_prefix": list(rule.argv_prefix) if rule.argv_prefix is not None else None,
        "path_prefix": rule.path_prefix,
        "workspace": rule.workspace,
        "note": rule.note,
    }
