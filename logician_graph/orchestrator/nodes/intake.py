"""Intake: loads the branch that the run answers and checks that it may start. Never calls the model."""

from __future__ import annotations

from langgraph.runtime import Runtime

from logician_graph.orchestrator.context import RunContext
from logician_graph.orchestrator.types import GraphState
from storage import StorageError


async def intake(_state: GraphState, runtime: Runtime[RunContext]) -> GraphState:
    """Start at the message that asked for the run."""
    context = runtime.context
    leaf = context.run.input_message_id
    if leaf is None:
        raise StorageError(f"Run {context.run.id!r} has no message to answer.")
    if context.cancelled.is_set() and not context.resumed:
        return {"leaf_id": leaf, "step": 0, "finish": "cancelled", "reason": "Stopped before it began."}
    context.branch(leaf)
    return {"leaf_id": leaf, "step": 0, "repairs": 0, "finish": None, "reason": ""}
