"""Evaluations on this machine: a pool of workers, started as they are needed, replaced when they die."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from logician_graph.eoh.evaluator.process import WorkerDied, WorkerProcess
from logician_graph.eoh.evaluator.types import Isolation, ProblemSpec, rejected, without_process
from logician_graph.eoh.types import Evaluation
from logician_graph.errors import Conflict, SandboxError

_GRACE_S = 10.0
"""On top of twice the candidate's limit (its run, and the problem's own measuring), before a worker counts as lost."""
_CLOSE_TIMEOUT_S = 2.0


@dataclass
class _Request:
    """One evaluation on its way."""

    code: str
    instances: str
    cut_above: float | None
    worker: WorkerProcess | None = None
    unwanted: bool = False

    def drop(self) -> None:
        """Nobody waits for it any more."""
        self.unwanted = True
        if self.worker is not None:
            self.worker.interrupt()


class LocalEvaluator:
    """At most ``workers`` candidates at once, first come, first served."""

    def __init__(self, spec: ProblemSpec, *, workers: int) -> None:
        self._spec = spec
        self._turn = asyncio.Semaphore(workers)
        self._idle: list[WorkerProcess] = []
        self._under_way: dict[asyncio.Task[Evaluation], _Request] = {}
        self._closed = False

    async def evaluate(self, code: str, *, instances: str = "train", cut_above: float | None = None) -> Evaluation:
        """See :class:`~logician_graph.eoh.evaluator.types.Evaluator`."""
        self._spec.files_of(instances)
        if (verdict := rejected(code)) is not None:
            return verdict
        request = _Request(code, instances, cut_above)
        # A task of its own, so that a worker whose caller goes away is still brought to a defined state.
        task = asyncio.create_task(self._served(request))
        self._under_way[task] = request
        task.add_done_callback(self._under_way.pop)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            request.drop()
            raise

    async def isolation(self) -> Isolation:
        """See :class:`~logician_graph.eoh.evaluator.types.Evaluator`."""
        async with self._turn:
            if self._closed:
                raise Conflict("this evaluator is closed")
            worker = await self._worker()
            await self._put_back(worker)
            return worker.isolation

    async def close(self) -> None:
        """See :class:`~logician_graph.eoh.evaluator.types.Evaluator`."""
        self._closed = True
        for request in self._under_way.values():
            request.drop()
        if self._under_way:
            await asyncio.wait(list(self._under_way), timeout=_CLOSE_TIMEOUT_S)
        # What is left is in the problem's own code.
        await asyncio.gather(*(one.worker.kill() for one in self._under_way.values() if one.worker is not None))
        if self._under_way:
            await asyncio.wait(list(self._under_way))
        idle, self._idle = self._idle, []
        await asyncio.gather(*(worker.close() for worker in idle))

    async def _served(self, request: _Request) -> Evaluation:
        async with self._turn:
            if request.unwanted or self._closed:
                return without_process("cancelled", None)
            request.worker = worker = await self._worker()
            fit = False
            try:
                evaluation = await self._on(worker, request)
                fit = True
            except WorkerDied as error:
                evaluation = without_process("crashed", f"the evaluator's worker died and was replaced {error}".strip())
            except TimeoutError:
                evaluation = without_process("crashed", "its solution could not be measured in time")
            finally:
                request.worker = None
                await self._put_back(worker, fit=fit)
            return without_process("cancelled", None) if request.unwanted else evaluation

    async def _on(self, worker: WorkerProcess, request: _Request) -> Evaluation:
        await worker.hold(self._spec, request.instances)
        if request.unwanted:
            return without_process("cancelled", None)
        message = {"do": "evaluate", "code": request.code, "set": request.instances, "cut_above": request.cut_above}
        answer = await worker.ask(message, timeout_s=2 * self._spec.seconds + _GRACE_S)
        answer["per_instance"] = tuple(answer["per_instance"])
        return Evaluation(**answer)

    async def _worker(self) -> WorkerProcess:
        if self._idle:
            return self._idle.pop()
        try:
            return await WorkerProcess.start(self._spec)
        except SandboxError:  # it may have been killed while it started, as the system does when memory runs out
            return await WorkerProcess.start(self._spec)

    async def _put_back(self, worker: WorkerProcess, *, fit: bool = True) -> None:
        if fit and not self._closed:
            self._idle.append(worker)
        elif fit:
            await worker.close()
        else:
            await worker.kill()
