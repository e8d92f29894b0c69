"""Acceptance: the run's verify commands decide; the model's own claim is only evidence.

A failing command sends its output back to the model, a bounded number of times; then the run has failed. Without
verify commands the answer is accepted as it is. Each command is an effect of its own in the ledger.
"""

from __future__ import annotations

import time
from typing import Any

from langgraph.runtime import Runtime

from logician_graph.orchestrator.assemble import sha256
from logician_graph.orchestrator.context import RunContext
from logician_graph.orchestrator.texts import storable
from logician_graph.orchestrator.types import GraphState
from logician_graph.sandbox import SandboxPolicy
from storage import Change, Intent, Message, new_id, now

VERIFY_TIMEOUT_S = 600.0
SHOWN = 4000
"""Characters of a failing command's output that the model and the page get; the whole is saved."""


async def acceptance(state: GraphState, runtime: Runtime[RunContext]) -> GraphState:
    """Check the work."""
    context = runtime.context
    if not context.options.verify:
        return {"finish": "completed", "reason": ""}
    number = state.get("repairs", 0)
    intent = _intent(context, number)
    if intent.settled_at is not None:
        return _outcome_again(context, intent, number)
    if context.cancelled.is_set():
        return {"finish": "cancelled", "reason": "Stopped by the person."}
    failures: list[str] = []
    for index, command in enumerate(context.options.verify):
        failure = await _verify(context, number, index, command)
        if context.cancelled.is_set():
            return {"finish": "cancelled", "reason": "Stopped by the person."}
        if failure is not None:
            failures.append(failure)
    if not failures:
        context.commit(Change(settle=[intent.call_id]))
        return _passed(context)
    if number >= context.options.max_repairs:
        reason = f"A check still fails after {number} repairs: {failures[0].splitlines()[0]}"
        return {"finish": "failed", "reason": reason}
    _send_back(context, state, intent, failures)
    return {"repairs": number + 1, "leaf_id": intent.message_id}


def _passed(context: RunContext) -> GraphState:
    count = len(context.options.verify)
    return {"finish": "completed", "reason": f"{count} of {count} checks passed."}


def _intent(context: RunContext, number: int) -> Intent:
    """The intent to check for the ``number``-th time; a round that a crash cut off is checked again."""
    call_id = f"verify:{number}"
    known = context.ledger.intent(context.run.id, call_id) if context.resumed else None
    if known is not None:
        return known
    commands = "\n".join(context.options.verify)
    intent = Intent(
        run_id=context.run.id,
        call_id=call_id,
        kind="verify",
        name="verify",
        args_sha256=sha256(commands),
        replay="safe",
        message_id=new_id(),
        created_at=now(),
    )
    context.commit(Change(intents=[intent]))
    return intent


def _outcome_again(context: RunContext, intent: Intent, number: int) -> GraphState:
    """What an earlier attempt found: it sent the work back, or it was satisfied."""
    if context.threads.message(intent.message_id) is not None:
        return {"repairs": number + 1, "leaf_id": intent.message_id}
    return _passed(context)


async def _verify(context: RunContext, number: int, index: int, command: str) -> str | None:
    """None when the command exits 0, else what the model should read."""
    place: dict[str, Any] = {"round": number, "index": index, "command": command}
    context.emit(("verify.started", place))
    started = time.monotonic()
    output_path = context.artifacts / f"verify-{context.run.id}-{number}-{index}.txt"
    result = await context.sandbox.run(
        ["bash", "-c", command],
        cwd=context.workspace,
        policy=SandboxPolicy(writable=(context.workspace,)),
        output_path=output_path,
        timeout_s=VERIFY_TIMEOUT_S,
        cancelled=context.cancelled,
    )
    text = storable(output_path.read_bytes()[-SHOWN * 4 :].decode("utf-8", "replace")[-SHOWN:])
    passed = result.exit_code == 0
    finished = {
        **place,
        "passed": passed,
        "exit_code": result.exit_code,
        "ended": result.ended,
        "duration_s": round(time.monotonic() - started, 3),
        "output": text,
        "saved_path": str(output_path),
    }
    context.commit(Change(events=[("verify.finished", finished)]))
    if passed:
        return None
    ending = f"exit code {result.exit_code}" if result.ended == "exited" else result.ended
    return f"`{command}` failed ({ending}). Its output:\n{text.strip() or '(none)'}"


def _send_back(context: RunContext, state: GraphState, intent: Intent, failures: list[str]) -> None:
    parent = context.branch(state.get("leaf_id", ""))[-1]
    text = (
        "The work was checked and is not accepted yet.\n\n" + "\n\n".join(failures) + "\n\nMend it, then answer again."
    )
    message = Message(
        id=intent.message_id,
        thread_id=parent.thread_id,
        parent_id=parent.id,
        run_id=context.run.id,
        depth=parent.depth + 1,
        role="user",
        text=text,
        extra={"origin": "acceptance"},
        created_at=now(),
    )
    context.commit(
        Change(
            events=[("message.added", {"message_id": message.id})],
            messages=[message],
            settle=[intent.call_id],
            leaf=(message.thread_id, parent.id, message.id),
        )
    )
    context.history = [*context.history, message]
