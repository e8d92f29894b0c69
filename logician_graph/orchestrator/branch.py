"""Loading the part of a branch that a model call needs: from where the window last began, never the whole thread."""

from __future__ import annotations

from logician_graph.orchestrator.context import RunContext
from storage import Message

CHUNK = 64


def load_branch(context: RunContext, leaf_id: str) -> list[Message]:
    """The run's history up to ``leaf_id``, kept in the context; reads only what is not there yet.

    The window's start is remembered by the newest reply that has one, so the cost does not grow with the thread.
    """
    if context.history and context.history[-1].id == leaf_id:
        return context.history
    limit = CHUNK
    while True:
        branch = context.threads.branch(leaf_id, limit=limit)
        start = _window_start(branch)
        complete = len(branch) < limit or branch[0].parent_id is None
        if complete or (start is not None and any(message.id == start for message in branch)):
            break
        limit *= 2
    context.history = branch
    context.window_from = start
    return branch


def _window_start(branch: list[Message]) -> str | None:
    for message in reversed(branch):
        if message.role == "assistant" and (start := (message.extra or {}).get("window_from")) is not None:
            return str(start)
    return None
