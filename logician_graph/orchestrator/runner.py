"""Runs one claimed run to its end, to a wait, or to a shutdown, and settles it.

Checkpoints are written when the graph stops (a wait, a shutdown). After a crash the graph starts from the last of
them and finds every effect that was settled since in the ledger, so nothing is done twice and nothing is lost.

Whatever happens in the graph, the run ends in exactly one of: settled with an outcome; waiting for a person; back in
the queue (shutdown); or left alone because another engine owns it now.
"""

from __future__ import annotations

import logging
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from langgraph.errors import GraphDrained, GraphRecursionError
from langgraph.runtime import RunControl

from logician_graph.errors import LogicianError
from logician_graph.orchestrator.context import RunContext, RunDrained
from logician_graph.orchestrator.events import TRANSIENT
from logician_graph.orchestrator.graph import recursion_limit
from logician_graph.orchestrator.types import Outcome
from storage import Change, LostOwnership, StorageError, now

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph  # pyright: ignore[reportMissingTypeStubs]

log = logging.getLogger(__name__)

MAX_CRASHES = 4
"""A run that took the process down this often is not tried again."""


class Ending(StrEnum):
    """How the work on a run ended for now."""

    SETTLED = "settled"
    WAITING = "waiting"
    DRAINED = "drained"
    LOST = "lost"


class ChatJob:
    """The work on one claimed chat run."""

    def __init__(
        self,
        context: RunContext,
        graph: CompiledStateGraph[Any, RunContext, Any, Any],
        checkpoints: BaseCheckpointSaver[str],
    ) -> None:
        self._context = context
        self._graph = graph
        self._checkpoints = checkpoints
        self._control = RunControl()

    def cancel(self) -> None:
        """Stop at once, keeping what was written."""
        self._context.cancelled.set()

    def drain(self) -> None:
        """Stop after the node at hand."""
        self._control.request_drain()

    def cut(self) -> None:
        """Leave the node at hand."""
        self._context.draining.set()

    async def work(self) -> Ending:
        """Run the graph to its end, to a wait or to a shutdown."""
        return await execute(self._context, self._graph, self._checkpoints, self._control)


async def execute(
    context: RunContext,
    graph: CompiledStateGraph[Any, RunContext, Any, Any],
    checkpoints: BaseCheckpointSaver[str],
    control: RunControl,
) -> Ending:
    """Work on a run that this engine has claimed."""
    try:
        return await _execute(context, graph, checkpoints, control)
    except LostOwnership as error:
        log.warning("%s", error)
        return Ending.LOST
    except (RunDrained, GraphDrained):
        _give_back(context)
        return Ending.DRAINED
    except (LogicianError, StorageError, GraphRecursionError, OSError) as error:
        log.exception("Run %s failed", context.run.id)
        return await settle(context, checkpoints, "failed", f"{type(error).__name__}: {error}")
    except Exception as error:  # the loop boundary: recorded with the run, which ends loudly
        log.exception("Run %s failed unexpectedly", context.run.id)
        return await settle(context, checkpoints, "failed", f"Unexpected {type(error).__name__}: {error}")


async def _execute(
    context: RunContext,
    graph: CompiledStateGraph[Any, RunContext, Any, Any],
    checkpoints: BaseCheckpointSaver[str],
    control: RunControl,
) -> Ending:
    run = context.run
    config: Any = {"configurable": {"thread_id": run.id}, "recursion_limit": recursion_limit(context.options)}
    if run.crashes > MAX_CRASHES:
        return await settle(
            context, checkpoints, "failed", f"Logician died {run.crashes} times while this ran; it is not tried again."
        )
    started = {
        "attempt": run.attempt,
        "model": context.options.model,
        "mode": context.options.mode,
        "isolation": context.sandbox.level.value,
    }
    context.emit(("run.started", started))
    begun = await checkpoints.aget_tuple(config) is not None if run.attempt > 1 else False
    state: dict[str, Any] = await graph.ainvoke(  # pyright: ignore[reportUnknownMemberType]
        None if begun else {"step": 0},
        config,
        context=context,
        durability="exit",  # the ledger is written around every effect; a crash replays from it
        control=control,
    )
    if state.get("__interrupt__"):
        return _wait(context, [item.value["approval_id"] for item in state["__interrupt__"]])
    return await settle(context, checkpoints, state.get("finish") or "failed", state.get("reason") or "")


def _wait(context: RunContext, approval_ids: list[str]) -> Ending:
    """Hand the run over to the person. What came in the meantime, an answer or a stop, puts it back in the queue."""
    change = Change(events=[("run.waiting", {"approval_ids": approval_ids})], run={"status": "waiting", "owner": None})
    context.commit(change)
    approvals = [context.ledger.approval(approval_id) for approval_id in approval_ids]
    stopped = context.ledger.get(context.run.id)
    if (stopped is not None and stopped.cancel_requested) or any(a and a.state == "answered" for a in approvals):
        context.ledger.requeue(context.run.id, [], statuses=("waiting",))
    return Ending.WAITING


def _give_back(context: RunContext) -> None:
    context.account_time()
    event = ("run.interrupted", {"reason": "Logician is shutting down; the run goes on at the next start."})
    context.commit(Change(events=[event], run={"status": "queued", "owner": None}))


async def settle(context: RunContext, checkpoints: BaseCheckpointSaver[str], outcome: Outcome, reason: str) -> Ending:
    """End the run: outcome, usage and the closing event in one transaction, then what only a live run needs goes."""
    context.account_time()
    usage = context.usage.model_dump()
    answer_id = context.answer_message_id
    data = {"outcome": outcome, "reason": reason, "usage": usage, "answer_message_id": answer_id}
    values = {"status": "done", "outcome": outcome, "reason": reason, "finished_at": now(), "owner": None}
    context.commit(Change(events=[("run.finished", data)], run=values, closes=TRANSIENT))
    context.branches.put(context.history, context.window_from)
    await checkpoints.adelete_thread(context.run.id)
    return Ending.SETTLED
