"""Dispatch: which calls run next. Parallel-safe neighbours run together, everything else alone, in call order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langgraph.types import Send

from logician_graph.orchestrator.types import CallState, GraphState


def next_batch(
    calls: Sequence[CallState], results: Mapping[str, Any], parallel_safe: Callable[[str], bool]
) -> list[CallState]:
    """The calls to run now: the first without a result, and its parallel-safe followers when it is so itself."""
    waiting = [call for call in calls if call["id"] not in results]
    batch: list[CallState] = []
    for call in waiting:
        if batch and not (parallel_safe(call["name"]) and parallel_safe(batch[0]["name"])):
            break
        batch.append(call)
    return batch


def send_batch(state: GraphState, batch: Sequence[CallState]) -> list[Send]:
    """One task per call, each with its own decision."""
    decisions = state.get("decisions", {})
    shared = {"leaf_id": state.get("leaf_id", "")}
    return [Send("tools", {**shared, "call": call, "decisions": {call["id"]: decisions[call["id"]]}}) for call in batch]
