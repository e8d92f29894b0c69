"""Acceptance: the run's verify commands decide; the model's own claim is only evidence.

A failing command sends its output back to the model, a bounded number of times; then the run has failed. Without
verify commands the answer is accepted as it is. Each command is an effect of its own in the ledger.
"""

from __future__ import annotations

import time
from typing import Any

from langgraph.runtime import Runtime

from logician_graph.orchestrator.context import RunContext
from logician_graph.orchestrator.types import GraphState
from logician_graph.sandbox import SandboxPolicy
from storage import Change, Message, new_id, now

VERIFY_TIMEOUT_S = 600.0
SHOWN = 4000
"""Characters of a failing command's output that the model and the page get; the whole is saved."""


async def acceptance(state: GraphState, runtime: Runtime[RunContext]) -> GraphState:
    """Check the work."""
    context = runtime.context
    if not context.options.verify:
        return {"finish": "completed", "reason": ""}
    number = state.get("repairs", 0)
    failures: list[str] = []
    for index, command in enumerate(context.options.verify):
        failure = await _verify(context, number, index, command)
        if context.cancelled.is_set():
            return {"finish": "cancelled", "reason": "Stopped by the person."}
        if failure is not None:
            failures.append(failure)
    if not failures:
        return {
            "finish": "completed",
            "reason": f"{len(context.options.verify)} of {len(context.options.verify)} checks passed.",
        }
    if number >= context.options.max_repairs:
        return {
            "finish": "failed",
            "reason": f"A check still fails after {number} repairs: {failures[0].splitlines()[0]}",
        }
    leaf = _send_back(context, state, failures)
    return {"repairs": number + 1, "leaf_id": leaf}


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
    text = output_path.read_bytes()[-SHOWN * 4 :].decode("utf-8", "replace")[-SHOWN:]
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


def _send_back(context: RunContext, state: GraphState, failures: list[str]) -> str:
    parent = context.branch(state.get("leaf_id", ""))[-1]
    text = (
        "The work was checked and is not accepted yet.\n\n" + "\n\n".join(failures) + "\n\nMend it, then answer again."
    )
    message = Message(
        id=new_id(),
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
            leaf=(message.thread_id, parent.id, message.id),
        )
    )
    context.history = [*context.history, message]
    return message.id
