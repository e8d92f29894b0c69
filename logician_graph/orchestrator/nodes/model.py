"""Model: one provider call, streamed into the ledger. Never interprets text as permission.

The intent is committed before the call and settled in the transaction of the reply. A call without settlement is made
again after a crash: asking a model twice harms nothing, and what had streamed is declared void.
"""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from logician_graph.errors import ContextOverflow, ProviderError
from logician_graph.inference import ChatRequest, ChatResult, ToolCall, cost_usd
from logician_graph.orchestrator.assemble import Assembled, assemble, sha256
from logician_graph.orchestrator.budget import exhausted
from logician_graph.orchestrator.context import RunContext
from logician_graph.orchestrator.prompt import system_prompt
from logician_graph.orchestrator.streaming import Streamed, stream_reply
from logician_graph.orchestrator.texts import storable
from logician_graph.orchestrator.types import CallState, GraphState
from storage import Change, Intent, Message, new_id, now

NO_ANSWER = "The model stopped, at its output limit or by the provider's filter, before it wrote any answer."
SQUEEZES = (1.0, 0.7, 0.45, 0.25, 0.12, 0.06)
"""Shares of the window to try when the provider says that the request is too long; what is assumed may be far off."""


async def model(state: GraphState, runtime: Runtime[RunContext]) -> GraphState:
    """Ask the model for the next reply."""
    context = runtime.context
    step = state.get("step", 0) + 1
    call_id = f"model:{step}"
    intent = context.ledger.intent(context.run.id, call_id) if context.resumed else None
    if intent is not None and intent.settled_at is not None:
        return _reply_again(context, step, intent)
    if context.cancelled.is_set():
        return {"finish": "cancelled", "reason": "Stopped by the person."}
    if (limit := exhausted(context.options, context.usage)) is not None:
        context.emit(("budget.reached", {"budget": limit.budget, "limit": limit.limit, "used": limit.used}))
        return {"finish": "blocked", "reason": limit.sentence}
    message_id = intent.message_id if intent is not None else new_id()
    history = context.branch(state.get("leaf_id", ""))
    refused: ProviderError | None = None
    tried: ChatRequest | None = None
    for squeeze in SQUEEZES:
        assembled = await _assemble(context, state, history, squeeze)
        if assembled.request == tried:
            continue
        _begin(context, step, call_id, message_id, assembled, known=intent is not None or tried is not None)
        tried = assembled.request
        try:
            streamed = await stream_reply(context, assembled.request, message_id, call_id)
        except ContextOverflow as error:
            refused = error
            continue
        except ProviderError as error:
            return _failed(context, call_id, error)
        return _finish(context, step, call_id, message_id, assembled, streamed)
    assert refused is not None
    return _failed(context, call_id, refused)


def _reply_again(context: RunContext, step: int, intent: Intent) -> GraphState:
    """What an earlier attempt got from this call and could not go on with."""
    message = context.threads.message(intent.message_id)
    if context.cancelled.is_set() and (message is None or not (message.extra or {}).get("tool_calls")):
        return {"step": step, "finish": "cancelled", "reason": "Stopped by the person."}
    if message is None:
        return {"step": step, "finish": "failed", "reason": NO_ANSWER}
    return _next_state(step, message, intent.message_id)


async def _assemble(context: RunContext, state: GraphState, history: list[Message], squeeze: float) -> Assembled:
    info = await context.provider.info(context.model)
    repeat = state.get("repeat", {}) if info.tool_calling == "constrained" else {}
    made, undoing = repeat.get("made", ()), repeat.get("undoing", ())
    failed, succeeded = ([_call(call) for call in (*made, *undoing) if call["ok"] is ok] for ok in (False, True))
    return assemble(
        history,
        system=system_prompt(str(context.workspace), context.run.created_at),
        tools=context.bus.specs(short=info.tool_calling == "constrained"),
        model=context.model,
        window=info.context_window,
        window_from=context.window_from,
        max_output_tokens=min(2048, (info.context_window or 8192) // 4) if info.local else None,
        temperature=context.options.temperature,
        seed=context.options.seed,
        excluded=failed,
        settled=succeeded,
        squeeze=squeeze,
    )


def _call(made: dict[str, Any]) -> ToolCall:
    return ToolCall(made["id"], made["name"], made["arguments"])


def _begin(context: RunContext, step: int, call_id: str, message_id: str, assembled: Assembled, *, known: bool) -> None:
    change = Change(blobs=assembled.blobs)
    if known:
        change.events.append(("text.reset", {"message_id": message_id}))
    else:
        change.intents.append(
            Intent(
                run_id=context.run.id,
                call_id=call_id,
                kind="model",
                name=context.model,
                args_sha256=sha256(repr(assembled.record)),
                replay="safe",
                message_id=message_id,
                created_at=now(),
            )
        )
    plan = assembled.plan
    if context.trim_is_news(plan.dropped_turns, plan.dropped_steps, bool(plan.shortened)):
        data = {
            "dropped_turns": plan.dropped_turns,
            "dropped_steps": plan.dropped_steps,
            "shortened": len(plan.shortened),
            "kept_from": assembled.first_id,
            "estimated_tokens": assembled.plan.tokens,
            "budget_tokens": assembled.budget,
        }
        change.events.append(("context.trimmed", data))
    if assembled.issues:
        change.events.append(("history.repaired", {"issues": assembled.issues}))
    started = {"call_id": call_id, "step": step, "model": context.model, "request": assembled.record}
    change.events.append(("model.started", started))
    context.window_from = assembled.first_id
    context.commit(change)


def _failed(context: RunContext, call_id: str, error: ProviderError) -> GraphState:
    context.usage.model_calls += 1
    context.usage.unreported_calls += 1
    data = {"call_id": call_id, "error": str(error), "error_type": type(error).__name__}
    context.commit(Change(events=[("model.failed", data)]))
    return {"finish": "failed", "reason": str(error)}


def _finish(
    context: RunContext, step: int, call_id: str, message_id: str, assembled: Assembled, streamed: Streamed
) -> GraphState:
    result = streamed.result
    _account(context, result)
    parent = context.history[-1]
    message = _reply(context, message_id, parent, result, streamed, assembled.first_id)
    change = Change(settle=[call_id], run={})
    finished: dict[str, Any] = {
        "call_id": call_id,
        "message_id": message_id,
        "usage": _usage_json(result),
        "finish_reason": "cancelled" if streamed.stopped else result.finish_reason,
        "duration_s": streamed.duration_s,
    }
    optional = {
        "model": result.model if result.model != context.model else None,
        "cost_usd": cost_usd(result.usage, context.prices),
        "first_token_s": streamed.first_token_s,
        "recovered": result.recovered or None,
    }
    finished |= {name: value for name, value in optional.items() if value is not None}
    keep = bool(message.text or (message.extra or {}).get("tool_calls"))
    if keep:
        change.messages.append(message)
        change.events.append(("message.added", {"message_id": message_id}))
        if not (message.extra or {}).get("tool_calls"):
            change.leaf = (message.thread_id, parent.id, message_id)
            change.run["answer_message_id"] = context.answer_message_id = message_id
    change.events.append(("model.finished", finished))
    context.commit(change)
    if streamed.stopped:
        leaf = message_id if keep else parent.id
        return {"step": step, "leaf_id": leaf, "finish": "cancelled", "reason": "Stopped by the person."}
    if not keep:
        return {"step": step, "finish": "failed", "reason": NO_ANSWER}
    context.history = [*context.history, message]
    return _next_state(step, message, message_id)


def _account(context: RunContext, result: ChatResult) -> None:
    usage, reported = context.usage, result.usage
    usage.model_calls += reported.calls
    if reported.input_tokens is None or reported.output_tokens is None:
        usage.unreported_calls += 1
    for name in ("input_tokens", "output_tokens", "cached_tokens"):
        value = getattr(reported, name)
        if value is not None:
            setattr(usage, name, (getattr(usage, name) or 0) + value)
    cost = cost_usd(reported, context.prices)
    if cost is not None and (usage.cost_usd is not None or usage.model_calls == reported.calls):
        usage.cost_usd = (usage.cost_usd or 0.0) + cost
    elif cost is None:
        usage.cost_usd = None


def _usage_json(result: ChatResult) -> dict[str, Any]:
    usage = result.usage
    counts = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
    }
    return {name: count for name, count in counts.items() if count is not None}


def _reply(
    context: RunContext, message_id: str, parent: Message, result: ChatResult, streamed: Streamed, window_from: str
) -> Message:
    calls: list[dict[str, Any]] = []
    if not streamed.stopped:
        taken: list[tuple[str, dict[str, Any], str | None]] = [(c.name, c.arguments, None) for c in result.tool_calls]
        taken += [(c.name, {}, f"{c.error} (it wrote: {c.raw[:200]})") for c in result.invalid_calls]
        for name, arguments, invalid in taken:
            call: dict[str, Any] = {"id": new_id()[-9:], "name": storable(name), "arguments": arguments}
            call["result_id"] = new_id()
            if invalid is not None:
                call["invalid"] = storable(invalid)
            calls.append(call)
    extra: dict[str, Any] = {"model": result.model or context.model}
    if window_from != context.history[0].id or context.history[0].parent_id is not None:
        extra["window_from"] = window_from
    if calls:
        extra["tool_calls"] = calls
    if result.reasoning:
        extra["reasoning"] = storable(result.reasoning)
    if streamed.stopped:
        extra["partial"] = True
    if result.finish_reason == "length":
        extra["truncated"] = True
    return Message(
        id=message_id,
        thread_id=parent.thread_id,
        parent_id=parent.id,
        run_id=context.run.id,
        depth=parent.depth + 1,
        role="assistant",
        text=storable(result.text),
        extra=extra,
        created_at=now(),
    )


def _next_state(step: int, message: Message, message_id: str) -> GraphState:
    calls: list[CallState] = []
    parent = message_id
    for call in (message.extra or {}).get("tool_calls") or ():
        calls.append(
            CallState(
                id=call["id"],
                name=call["name"],
                arguments=call["arguments"],
                result_id=call["result_id"],
                parent_id=parent,
                invalid=call.get("invalid"),
            )
        )
        parent = call["result_id"]
    state: GraphState = {"step": step, "calls": calls, "decisions": None, "results": None}  # pyright: ignore[reportAssignmentType]
    if not calls:
        state["leaf_id"] = message_id
    return state
