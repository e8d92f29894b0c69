"""The run worker: claims queued runs, works on several at once, hears stops, recovers orphans, drains on shutdown.

It lives on the engine's event loop. Other threads talk to it through :meth:`wake` and :meth:`signal_cancel` only.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from logician_graph.errors import LogicianError
from logician_graph.orchestrator.events import TRANSIENT
from storage import Change, Run, RunLedger, StorageError, WorkerRegistry, now

log = logging.getLogger(__name__)

POLL_S = 1.0
"""How often to look for work that came from another process."""
ACTIVE_POLL_S = 0.25
"""How often to do so, and to look for stops, while runs are worked on."""
BEAT_S = 5.0
DRAIN_S = 6.0
"""How long running steps may finish on shutdown before their runs are put back as they are."""


class Job(Protocol):
    """The work on one claimed run. All methods are called on the worker's loop."""

    def cancel(self) -> None:
        """A person stopped the run: settle it soon."""
        ...

    def drain(self) -> None:
        """Logician stops: finish the step at hand, then give the run back to the queue."""
        ...

    def cut(self) -> None:
        """The step took too long: give the run back as it is."""
        ...

    async def work(self) -> object:
        """Work until the run is settled, waits, was given back or belongs to another claim."""
        ...


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of run that this process serves."""

    open: Callable[[Run], Job]
    """Makes the job of a claimed run; raises ``LogicianError`` when it cannot be served."""
    slots: Callable[[], int]
    """How many runs of the kind may be worked on at once."""


class RunWorker:
    """Works on runs until it is stopped."""

    def __init__(
        self,
        ledger: RunLedger,
        registry: WorkerRegistry,
        kinds: Mapping[str, Kind],
        *,
        only_own: bool = False,
    ) -> None:
        self._ledger = ledger
        self._registry = registry
        self._kinds = kinds
        self._only_own = only_own
        """True in a process that serves just the runs reserved for it and leaves orphans to others."""
        self._wake = asyncio.Event()
        self._stopping = False
        self._heard = 0.0
        self._tasks: dict[str, asyncio.Task[object]] = {}
        self._jobs: dict[str, tuple[str, Job]] = {}
        """Kind and job of every run being worked on."""

    @property
    def running(self) -> int:
        """Runs being worked on now."""
        return len(self._tasks)

    def wake(self) -> None:
        """Look for work now. Call it on the worker's loop."""
        self._wake.set()

    def signal_cancel(self, run_id: str) -> None:
        """Stop a run that this worker has. Call it on the worker's loop."""
        if run_id in self._jobs:
            self._jobs[run_id][1].cancel()
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
            await asyncio.wait_for(self._wake.wait(), ACTIVE_POLL_S if self._jobs else POLL_S)

    async def drain(self) -> None:
        """Stop claiming; let steps finish for a moment, then put every run back so that the next start goes on."""
        self._stopping = True
        self.wake()
        for _, job in self._jobs.values():
            job.drain()
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=DRAIN_S / 2)
        for _, job in self._jobs.values():
            job.cut()
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
        # A command that was killed leaves runs that were reserved for it.
        return count if self._only_own else count + self._ledger.release(others | {self._registry.id})

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
        for name, kind in self._kinds.items():
            while sum(busy == name for busy, _ in self._jobs.values()) < kind.slots():
                run = self._ledger.claim(self._registry.id, kind=name, reserved_only=self._only_own)
                if run is None:
                    break
                self._start(run, kind)

    def _start(self, run: Run, kind: Kind) -> None:
        try:
            job = kind.open(run)
        except (LogicianError, OSError, ValueError) as error:
            log.warning("Run %s could not be opened: %s", run.id, error)
            self._reject(run, str(error))
            return
        if run.cancel_requested:
            job.cancel()
        earlier = self._tasks.get(run.id)
        self._jobs[run.id] = (run.kind, job)
        task = asyncio.create_task(self._work(job, earlier), name=f"run {run.id}")
        self._tasks[run.id] = task
        task.add_done_callback(lambda done: self._forget(run.id, done))

    async def _work(self, job: Job, earlier: asyncio.Task[object] | None) -> object:
        """Work on a claimed run. ``earlier``: on an older claim of it, from before this engine was thought dead."""
        if earlier is not None:
            earlier.cancel()
            await asyncio.wait({earlier})
        return await job.work()

    def _reject(self, run: Run, reason: str) -> None:
        """End a run that cannot be served: its model or workspace cannot be had."""
        data = {"outcome": "failed", "reason": reason, "usage": run.usage, "answer_message_id": None}
        values = {"status": "done", "outcome": "failed", "reason": reason, "finished_at": now(), "owner": None}
        change = Change(events=[("run.finished", data)], run=values, closes=TRANSIENT)
        self._ledger.commit(run.id, change, owner=self._registry.id, attempt=run.attempt)

    def _forget(self, run_id: str, task: asyncio.Task[object]) -> None:
        if self._tasks.get(run_id) is task:
            del self._tasks[run_id], self._jobs[run_id]
        if not task.cancelled() and (error := task.exception()) is not None:
            # The run could not even be settled (disk full, database gone): a later heartbeat finds it.
            log.critical("Run %s could not be settled: %s", run_id, error)
        self.wake()

    def _hear_stops(self) -> None:
        """Stops from another process; looked for by the clock, as a busy worker is woken all the time."""
        if not self._jobs or time.monotonic() - self._heard < ACTIVE_POLL_S:
            return
        self._heard = time.monotonic()
        for run in self._ledger.many(list(self._jobs)).values():
            if run.cancel_requested:
                self._jobs[run.id][1].cancel()
