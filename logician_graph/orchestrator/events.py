"""The vocabulary of the ledger and the envelope in which events leave the house.

An envelope is ``{"v", "seq", "at", "type", "run_id", "data"}``. ``at`` is seconds since the Unix epoch. Events refer to
messages by id; :func:`envelope` puts the message itself in, so that a reader needs nothing else.

==========================  ==================================================================================
type                        data
==========================  ==================================================================================
run.queued                  kind, thread_id, input_message_id
run.started                 attempt, model, mode, isolation
run.interrupted             reason (an engine died or was shut down; the run goes on)
run.waiting                 approval_ids
run.cancel_requested        –
run.finished                outcome, reason, usage, answer_message_id
model.started               call_id, step, model, request (what was sent: see ``orchestrator.assemble``)
model.retry                 call_id, attempt, wait_s, error
model.finished              call_id, message_id, usage, finish_reason, duration_s; where known: model,
                            cost_usd, first_token_s, recovered
model.failed                call_id, error, error_type
text.delta*                 message_id, text
reasoning.delta*            message_id, text
call.progress*              message_id, name, characters
text.reset*                 message_id (what streamed so far is void)
message.added               message_id (and, in the envelope, message)
context.trimmed             dropped_turns, dropped_steps, shortened, kept_from, estimated_tokens, budget_tokens
history.repaired            issues
gate.decided                call_id, tool, action, reason, by, rule_id
approval.requested          approval_id, call_id, kind, request
approval.answered           approval_id, call_id, and the answer
tool.started                call_id, tool, arguments, description, replay
tool.output*                call_id, text
tool.finished               call_id, tool, status, summary, duration_s, message_id, diff, saved_path, facts
verify.started              round, index, command
verify.finished             round, index, command, passed, exit_code, duration_s, output, saved_path
budget.reached              budget, limit, used
loop.detected               tool, times
==========================  ==================================================================================

Types marked * are transient: dropped once the run is done, because a later event holds the same for good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from storage import Message, RunEvent

TRANSIENT = frozenset({"text.delta", "reasoning.delta", "call.progress", "text.reset", "tool.output"})
"""Event types that a done run no longer has."""


def message_json(message: Message) -> dict[str, Any]:
    """A message as it appears in envelopes and exports."""
    data: dict[str, Any] = {
        "id": message.id,
        "parent_id": message.parent_id,
        "role": message.role,
        "text": message.text,
        "created_at": message.created_at,
    }
    return {**data, **(message.extra or {})}


def envelope(event: RunEvent, messages: Mapping[str, Message]) -> dict[str, Any]:
    """The event as it leaves the house; ``messages`` must hold the message of a ``message.added``."""
    data = event.data
    if event.type == "message.added":
        message = messages.get(data["message_id"])
        data = {**data, "message": message_json(message) if message is not None else None}
    return {"v": event.v, "seq": event.seq, "at": event.at, "type": event.type, "run_id": event.run_id, "data": data}


def message_ids(events: Sequence[RunEvent]) -> list[str]:
    """Ids of the messages that these events refer to."""
    return [event.data["message_id"] for event in events if event.type == "message.added"]


def left_out(data: Mapping[str, Any]) -> str:
    """What a ``context.trimmed`` event left out of the model's view, in words: never an empty kind."""
    kinds = (
        (data["dropped_turns"], "{} earlier turn{}"),
        (data["dropped_steps"], "{} earlier step{} of this turn"),
        (data["shortened"], "the middle of {} long message{}"),
    )
    return " and ".join(words.format(number, "" if number == 1 else "s") for number, words in kinds if number)
