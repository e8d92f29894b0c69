"""The run worker: claims queued runs, works on several at once, hears stops, recovers orphans, drains on shutdown.

It lives on the engine's event loop. Other threads talk to it through :meth:`wake` and :meth:`signal_cancel` only.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from langgraph.runtime import RunControl

from logician_graph.errors import LogicianError
from logician_graph.orchestrator.context import RunContext
from logician_graph.orchestrator.events import TRANSIENT
from logician_graph.orchestrator.runner import Ending, execute
from storage import Change, Run, RunLedger, StorageError, WorkerRegistry, now

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph  # pyright: ignore[reportMissingTypeStubs]

log = logging.getLogger(__name__)

POLL_S = 1.0
"""How often to look for work that came from another process."""
ACTIVE_POLL_S = 0.25
"""How often to do so, and to look for stops, while runs are worked on."""
BEAT_S = 5.0
DRAIN_S = 6.0
"""How long running steps may finish on shutdown before their runs are put back as they are."""

OpenContext = Callable[[Run], RunContext]
"""Makes the context of a claimed run; raises ``LogicianError`` when it cannot be served."""


class RunWorker:
    """Works on runs until it is stopped."""

    def __init__(
        self,
        ledger: RunLedger,
        registry: WorkerRegistry,
        graph: CompiledStateGraph[Any, RunContext, Any, Any],
        checkpoints: BaseCheckpointSaver[str],
        open_context: OpenContext,
        *,
        concurrency: Callable[[], int],
        only_own: bool = False,
    ) -> None:
        self._ledger = ledger
        self._registry = registry
        self._graph = graph
        self._checkpoints = checkpoints
        self._open_context = open_context
        self._concurrency = concurrency
        self._only_own = only_own
        """True in a process that serves just the runs reserved for it and leaves orphans to others."""
        self._wake = asyncio.Event()
        self._stopping = False
        self._heard = 0.0
        self._tasks: dict[str, asyncio.Task[Ending]] = {}
        self._contexts: dict[str, RunContext] = {}
        self._controls: dict[str, RunControl] = {}

    @property
    def running(self) -> int:
        """Runs being worked on now."""
        return len(self._tasks)

    def wake(self) -> None:
        """Look for work now. Call it on the worker's loop."""
        self._wake.set()

    def signal_cancel(self, run_id: str) -> None:
        """Stop a run that this worker has. Call it on the worker's loop."""
        context = self._contexts.get(run_id)
        if context is not None:
            context.cancelled.set()
        self.wake()

    async def serve(self) -> None:
        """Recover what was left behind, then work until :meth:`drain`."""
        beat = asyncio.create_task(self._beat())
        try:
            while not self._stopping:
                self._wake.clear()
                try:
                    self._claim_all()
                    await self._rest()
                except StorageError:  # the database is away or busy: what is queued waits until it is back
                    log.exception("Looking for work failed; trying again")
                    await asyncio.sleep(POLL_S)
        finally:
            beat.cancel()

    async def _rest(self) -> None:
        self._hear_stops()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), ACTIVE_POLL_S if self._contexts else POLL_S)

    async def drain(self) -> None:
        """Stop claiming; let steps finish for a moment, then put every run back so that the next start goes on."""
        self._stopping = True
        self.wake()
        for control in self._controls.values():
            control.request_drain()
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=DRAIN_S / 2)
        for context in self._contexts.values():
            context.draining.set()
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=DRAIN_S / 2)
        for run_id in list(self._tasks):
            log.warning("Run %s did not stop in time; it is put back in the queue", run_id)
            self._tasks[run_id].cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def recover(self) -> int:
        """Put runs of dead engines, and own ones that nobody works on, back in the queue; returns how many."""
        others = self._registry.alive() - {self._registry.id}
        count = 0
        for run in self._ledger.running_elsewhere(others):
            mine = run.owner == self._registry.id
            if run.id in self._tasks or (self._only_own and not mine):
                continue
            what = "The database could not be written" if mine else "Logician stopped"
            event = ("run.interrupted", {"reason": f"{what} while this ran; it goes on now."})
            if self._ledger.requeue(run.id, [event], statuses=("running",), attempt=run.attempt, crashed=True):
                log.info("Run %s was interrupted and is resumed", run.id)
                count += 1
        return count

    async def _beat(self) -> None:
        while True:
            try:
                self._registry.beat()
                if self.recover():
                    self.wake()
            except StorageError:
                log.exception("The heartbeat could not be written; trying again")
            await asyncio.sleep(BEAT_S)

    def _claim_all(self) -> None:
        while len(self._tasks) < self._concurrency():
            run = self._ledger.claim(self._registry.id, reserved_only=self._only_own)
            if run is None:
                return
            self._start(run)

    def _start(self, run: Run) -> None:
        try:
            context = self._open_context(run)
        except (LogicianError, OSError, ValueError) as error:
            log.warning("Run %s could not be opened: %s", run.id, error)
            self._reject(run, str(error))
            return
        control = RunControl()
        if run.cancel_requested:
            context.cancelled.set()
        earlier = self._tasks.get(run.id)
        self._contexts[run.id], self._controls[run.id] = context, control
        task = asyncio.create_task(self._work(context, control, earlier), name=f"run {run.id}")
        self._tasks[run.id] = task
        task.add_done_callback(lambda done: self._forget(run.id, done))

    async def _work(self, context: RunContext, control: RunControl, earlier: asyncio.Task[Ending] | None) -> Ending:
        """Work on a claimed run. ``earlier``: on an older claim of it, from before this engine was thought dead."""
        if earlier is not None:
            earlier.cancel()
            await asyncio.wait({earlier})
        return await execute(context, self._graph, self._checkpoints, control)

    def _reject(self, run: Run, reason: str) -> None:
        """End a run that cannot be served: its model or workspace cannot be had."""
        data = {"outcome": "failed", "reason": reason, "usage": run.usage, "answer_message_id": None}
        values = {"status": "done", "outcome": "failed", "reason": reason, "finished_at": now(), "owner": None}
        change = Change(events=[("run.finished", data)], run=values, closes=TRANSIENT)
        self._ledger.commit(run.id, change, owner=self._registry.id, attempt=run.attempt)

    def _forget(self, run_id: str, task: asyncio.Task[Ending]) -> None:
        if self._tasks.get(run_id) is task:
            del self._tasks[run_id], self._contexts[run_id], self._controls[run_id]
        if not task.cancelled() and (error := task.exception()) is not None:
            # The run could not even be settled (disk full, database gone): a later heartbeat finds it.
            log.critical("Run %s could not be settled: %s", run_id, error)
        self.wake()

    def _hear_stops(self) -> None:
        """Stops from another process; looked for by the clock, as a busy worker is woken all the time."""
        if not self._contexts or time.monotonic() - self._heard < ACTIVE_POLL_S:
            return
        self._heard = time.monotonic()
        for run in self._ledger.many(list(self._contexts)).values():
            if run.cancel_requested:
                self._contexts[run.id].cancelled.set()
