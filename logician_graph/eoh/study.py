"""The work on one study: propose, make samples, record, until the schedule or a budget ends it. Lives on a claimed run.

Everything is durable as it happens: proposals with the state of the schedule, every exchange with a model, every
measurement. After a kill the open proposals are taken up where they stood, so no sample is lost or counted twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from logician_graph.eoh.asking import Asker
from logician_graph.eoh.bandit import Bandit
from logician_graph.eoh.code import code_key
from logician_graph.eoh.desk import StudyDesk, individual_of
from logician_graph.eoh.evaluator import Evaluator
from logician_graph.eoh.held_out import HeldOut
from logician_graph.eoh.individual import is_better
from logician_graph.eoh.plan import Finished, Proposal
from logician_graph.eoh.population import Survival, load_population
from logician_graph.eoh.sampling import Sampler, fresh, write_evaluation
from logician_graph.eoh.schedule import Generational, SteadyState, load_schedule, new_schedule
from logician_graph.errors import LogicianError
from storage import LostOwnership, Sample, StorageError, now

log = logging.getLogger(__name__)

OpenEvaluator = Callable[[], Evaluator]


class _Stopped(Exception):
    """The work ends here without being done."""


class StudyJob:
    """One claimed run of a study. See :class:`logician_graph.orchestrator.worker.Job` for who calls it."""

    def __init__(
        self,
        desk: StudyDesk,
        asker: Asker,
        open_evaluator: OpenEvaluator,
        *,
        recorded: Sequence[int] | None = None,
        models: Mapping[int, str | None] | None = None,
    ) -> None:
        """For a replay, ``recorded``: sample numbers in the order of their records; ``models``: who answered each."""
        self._desk, self._asker, self._open_evaluator = desk, asker, open_evaluator
        self._order = list(recorded) if recorded is not None else None
        self._models = models
        self._cancelled, self._leaving = asyncio.Event(), asyncio.Event()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._ready: list[int] = []
        """Samples that are made and not recorded, in the order in which they were done."""

    def cancel(self) -> None:
        """A person stopped the study. It can be resumed."""
        self._cancelled.set()

    def drain(self) -> None:
        """Logician stops; the study goes on at the next start."""
        self._leaving.set()

    def cut(self) -> None:
        """As :meth:`drain`: nothing here has to be waited for."""
        self._leaving.set()

    async def work(self) -> None:
        """Work until the study is done, stopped or given back."""
        try:
            await self._work()
        except LostOwnership as error:
            log.warning("%s", error)
        except _Stopped:
            if self._leaving.is_set() and not self._cancelled.is_set():
                reason = "Logician is shutting down; the study goes on at the next start."
                self._desk.write([("run.interrupted", {"reason": reason})], status="queued", owner=None)
            else:
                self._settle("cancelled", "Stopped. It can be resumed.")
        except (LogicianError, StorageError, OSError) as error:
            log.warning("Study %s failed: %s", self._desk.study.id, error)
            self._settle("failed", str(error) or type(error).__name__)
        except Exception as error:  # the loop boundary: recorded with the run, which ends loudly
            log.exception("Study %s failed unexpectedly", self._desk.study.id)
            self._settle("failed", f"Unexpected {type(error).__name__}: {error}")

    def _settle(self, outcome: str, reason: str) -> None:
        data = {"outcome": outcome, "reason": reason, "usage": dict(self._desk.usage), "answer_message_id": None}
        ended: dict[str, Any] = {"outcome": outcome, "reason": reason, "finished_at": now()}
        self._desk.write([("run.finished", data)], status="done", owner=None, **ended)

    async def _work(self) -> None:
        desk = self._desk
        started = {"attempt": desk.run.attempt, "study_id": desk.study.id, "models": list(desk.options.models)}
        desk.write([("run.started", started)])
        evaluator = self._open_evaluator()
        held_out = HeldOut(desk, evaluator)
        try:
            isolation = await evaluator.isolation()
            if isolation.warning:
                desk.write([("study.warning", {"text": isolation.warning})])
            await self._prepare(evaluator)
            held_out.start()
            self._sampler = Sampler(desk, self._asker, evaluator, self._schedule.population.bar)
            reason = await self._evolve(held_out)
            await self._until_stopped(asyncio.ensure_future(held_out.finish()))
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)
            await held_out.close()
            await evaluator.close()
        self._settle("completed", reason)

    # The schedule

    async def _prepare(self, evaluator: Evaluator) -> None:
        desk, options = self._desk, self._desk.options
        state = desk.study.state
        if state:
            self._schedule: Generational | SteadyState = load_schedule(state["schedule"], desk.individual)
            self._choice = Bandit.from_json(state["models"]).with_arms(options.models)
        else:
            direction = desk.problem.direction
            population = load_population(options.describe_population(direction), desk.individual)
            self._schedule = new_schedule(options.schedule, options.plan, direction, population=population)
            self._choice = Bandit(options.models, seed=options.seed)
            if options.start and desk.problem.seed:
                await self._start_with(desk.problem.seed, evaluator)
        self._best = self._best_objective()

    async def _start_with(self, code: str, evaluator: Evaluator) -> None:
        sample = Sample(
            study_id=self._desk.study.id,
            n=-1,
            operator="start",
            generation=0,
            parents=[],
            phase="recorded",
            thought="The heuristic that the problem comes with.",
            code=code,
            code_key=code_key(code),
            proposed_at=now(),
            recorded_at=now(),
        )
        write_evaluation(sample, await evaluator.evaluate(code))
        if sample.outcome == "valid":
            self._schedule.start_with([individual_of(sample)])
            sample.verdict = "entered"
        self._desk.samples[-1] = sample
        self._record_number(sample)
        sample.best = sample.outcome == "valid"
        self._desk.write([("study.sample", _event(sample))], [sample], state=self._state())

    def _state(self) -> dict[str, Any]:
        return {"schedule": self._schedule.to_json(), "models": self._choice.to_json()}

    def _best_objective(self) -> float | None:
        best: float | None = None
        for sample in self._desk.samples.values():
            if sample.objective is not None and sample.phase == "recorded" and self._beats(sample.objective, best):
                best = sample.objective
        return best

    def _beats(self, objective: float, best: float | None) -> bool:
        return best is None or is_better(objective, best, self._desk.problem.direction)

    # The loop

    async def _evolve(self, held_out: HeldOut) -> str:
        for proposal in list(self._schedule.open.values()):
            self._begin(proposal)
        reason = self._fill()
        while self._tasks or self._ready:
            await self._until_stopped(*self._tasks.values())
            self._collect()
            while (number := self._next_ready()) is not None:
                self._record(number)
                held_out.look()
                reason = self._fill()
        return reason or "The study ended."

    async def _until_stopped(self, *futures: asyncio.Future[Any]) -> None:
        """Wait for one of ``futures``; raises _Stopped when a person or the shutdown comes first."""
        waits = [asyncio.ensure_future(event.wait()) for event in (self._cancelled, self._leaving)]
        try:
            if futures:
                await asyncio.wait([*futures, *waits], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if self._cancelled.is_set() or self._leaving.is_set():
            raise _Stopped

    def _fill(self) -> str | None:
        """Propose as much as may be under way; says why nothing more is proposed, once that is so."""
        fresh_ones: list[Proposal] = []
        reason = None
        while True:
            reason = self._desk.spent(self._schedule.issued) or self._replayed()
            if reason:
                break
            proposal = self._schedule.next()
            if not isinstance(proposal, Proposal):
                if isinstance(proposal, Finished):
                    reason = f"All {proposal.samples} samples were made."
                break
            fresh_ones.append(proposal)
        if fresh_ones:
            rows = [fresh(self._desk.study.id, each, self._model(each.index)) for each in fresh_ones]
            self._desk.samples |= {row.n: row for row in rows}
            self._desk.write(rows=rows, state=self._state())
            for proposal in fresh_ones:
                self._begin(proposal)
        return reason

    def _replayed(self) -> str | None:
        if self._models is None or self._schedule.issued <= max(self._models, default=-1):
            return None
        return f"All {len(self._models)} recorded samples were replayed."

    def _model(self, number: int) -> str | None:
        return self._choice.choose(number) if self._models is None else self._models.get(number)

    def _begin(self, proposal: Proposal) -> None:
        if self._models is not None and proposal.index not in self._models:
            return  # the recorded study was stopped before this sample was done
        sample = self._desk.samples[proposal.index]
        self._tasks[proposal.index] = asyncio.create_task(
            self._sampler.make(proposal, sample), name=f"sample {proposal.index}"
        )

    def _collect(self) -> None:
        for number in [number for number, task in self._tasks.items() if task.done()]:
            self._tasks.pop(number).result()
            self._ready.append(number)

    def _next_ready(self) -> int | None:
        """The next sample to record. A replay keeps to the order of the recorded study."""
        if self._order is None:
            return self._ready.pop(0) if self._ready else None
        while self._order and self._desk.samples.get(self._order[0], None) is not None:
            if self._desk.samples[self._order[0]].phase != "recorded":
                break
            self._order.pop(0)
        if self._order and self._order[0] in self._ready:
            number = self._order.pop(0)
            self._ready.remove(number)
            return number
        if not self._order and self._ready:
            return self._ready.pop(0)
        return None

    # Records

    def _record(self, number: int) -> None:
        desk, sample = self._desk, self._desk.samples[number]
        sample.phase, sample.recorded_at = "recorded", now()
        self._record_number(sample)
        individual = individual_of(sample) if sample.outcome == "valid" else None
        sample.best = individual is not None and self._beats(individual.objective, self._best)
        gain = 0.0
        if individual is not None and sample.best:
            gain = _relative(individual.objective, self._best)
            self._best = individual.objective
        survival = self._schedule.record(number, individual)
        changed = self._apply(survival, sample) if survival else set[int]()
        self._choice.record(sample.model or "", gain, sample.cost_usd or (sample.output_tokens or 0) / 1e6 or 1e-6)
        self._sampler.remember(sample)
        events = [("study.sample", _event(sample))]
        if survival:
            members = [one.id for one in self._schedule.population.members()]
            events.append(("study.survival", {"record": sample.record, "members": len(members)}))
        desk.write(events, [sample, *(desk.samples[each] for each in changed - {number})], state=self._state())

    def _record_number(self, sample: Sample) -> None:
        self._desk.study.records += 1
        sample.record = self._desk.study.records

    def _apply(self, survival: Survival, last: Sample) -> set[int]:
        """Note verdicts and leavings; returns the samples that changed."""
        changed: set[int] = set()
        for name, verdict in survival.verdicts.items():
            sample = self._desk.samples[int(name)]
            sample.verdict = verdict
            if verdict == "duplicate":
                sample.outcome = "duplicate"
            changed.add(sample.n)
        for name in survival.left:
            self._desk.samples[int(name)].left_record = last.record
            changed.add(int(name))
        return changed


def _event(sample: Sample) -> dict[str, Any]:
    return {
        "n": sample.n,
        "operator": sample.operator,
        "outcome": sample.outcome,
        "objective": sample.objective,
        "best": sample.best,
        "generation": sample.generation,
    }


def _relative(objective: float, before: float | None) -> float:
    """How much better, from above 0 to 1; 1 for the first."""
    if before is None:
        return 1.0
    scale = max(abs(before), abs(objective), 1e-12)
    return min(1.0, abs(objective - before) / scale)
