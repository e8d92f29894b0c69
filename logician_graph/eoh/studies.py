"""The room's door: create, resume, stop and read studies; score a candidate; export a winner.

Used from threads of pages, commands and routes; the work itself happens in :class:`~.study.StudyJob` on the engine's
loop.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from logician_graph.eoh import KIND
from logician_graph.eoh.asking import FindProvider, LiveAsker, Replay
from logician_graph.eoh.desk import StudyDesk
from logician_graph.eoh.evaluator import Evaluator, dask_evaluator, local_evaluator
from logician_graph.eoh.export import module_text
from logician_graph.eoh.individual import is_better
from logician_graph.eoh.options import StudyOptions, read_options
from logician_graph.eoh.problem import Problem, bundled_problems, find_problem, own_problems
from logician_graph.eoh.study import StudyJob
from logician_graph.eoh.view import StudyRow, StudyView, study_row, study_view
from logician_graph.errors import Conflict, NotFound, UsageError
from storage import Exchange, Run, RunLedger, Sample, Study, StudyStore, new_id, now

_CONTINUABLE = ("models", "budget", "workers", "calls", "temperature", "temperatures", "dask")
"""Options that may change when a study is resumed: they do not change what was asked."""


class Studies:
    """All studies of one home."""

    def __init__(
        self,
        ledger: RunLedger,
        store: StudyStore,
        home: Path,
        find_provider: FindProvider,
        wake: Callable[[], None],
        cancel: Callable[[str], None],
        alive: Callable[[], set[str]],
    ) -> None:
        """``alive``: ids of the engines that live."""
        self._ledger, self.store, self._home = ledger, store, home
        self._find_provider, self._wake, self._cancel, self._alive = find_provider, wake, cancel, alive

    # Problems

    def problems(self) -> tuple[list[Problem], dict[str, str]]:
        """Bundled and own problems, and what is wrong with the own ones that cannot be used, by folder."""
        own, broken = own_problems(self._home / "problems")
        return [*bundled_problems(), *own], broken

    def problem(self, name: str) -> Problem:
        """A problem by id or folder. Raises NotFound, UsageError."""
        return find_problem(name, home=self._home / "problems")

    # Life

    def create(
        self,
        values: dict[str, Any],
        *,
        title: str = "",
        thread_id: str | None = None,
        reserved_for: str | None = None,
    ) -> Study:
        """Accept a study and queue its run. ``values``: see :class:`StudyOptions`. Raises UsageError, NotFound.

        ``reserved_for``: the only engine that may work on it.
        """
        options = read_options(values)
        problem = self.problem(options.problem)
        for model in options.models:
            self._find_provider(model)
        study = Study(
            id=new_id(),
            title=title.strip() or problem.title,
            problem=options.problem,
            direction=problem.direction,
            settings=options.model_dump(mode="json"),
            state={},
            thread_id=thread_id,
            created_at=now(),
        )
        return self._queue(study, reserved_for)

    def replay(self, study_id: str, *, reserved_for: str | None = None) -> Study:
        """A new study that repeats another one from its recorded exchanges, without a model."""
        source = self._get(study_id)
        if self._running(source):
            raise Conflict("This study is still at work: replay it when it is done.")
        study = Study(
            id=new_id(),
            title=f"Replay of {source.title}",
            problem=source.problem,
            direction=source.direction,
            settings=source.settings,
            state={},
            replays=source.id,
            created_at=now(),
        )
        return self._queue(study, reserved_for)

    def resume(self, study_id: str, changes: dict[str, Any] | None = None, *, reserved_for: str | None = None) -> Study:
        """Go on with a study that was stopped, failed or reached a budget. ``changes``: models, budget, workers …"""
        study = self._get(study_id)
        changes = changes or {}
        if self._running(study):
            if changes or not self._ledger.adopt(str(study.run_id), alive=self._alive(), reserved_for=reserved_for):
                raise Conflict("This study is at work already.")
            self._wake()
            return study  # the engine that worked on it was killed
        if fixed := [name for name in changes if name not in _CONTINUABLE]:
            raise UsageError(f"{', '.join(fixed)}: cannot be changed once a study has begun")
        study.settings = read_options({**study.settings, **changes}).model_dump(mode="json")
        self.problem(study.problem)
        return self._queue(study, reserved_for)

    def _queue(self, study: Study, reserved_for: str | None) -> Study:
        run = Run(
            id=new_id(),
            kind=KIND,
            parent_run_id=study.run_id,
            options={"study_id": study.id, "model": ", ".join(study.settings["models"])},
            usage={},
            reserved_for=reserved_for,
            created_at=now(),
        )
        study.run_id = run.id
        self._ledger.create(run, [], rows=[study])
        self._wake()
        return self._get(study.id)

    def stop(self, study_id: str) -> None:
        """Stop the study's run; what is recorded stays, and it can be resumed."""
        study = self._get(study_id)
        if study.run_id is not None and self._running(study):
            self._cancel(study.run_id)

    def rename(self, study_id: str, title: str) -> None:
        """Give a study another title."""
        if not title.strip():
            raise UsageError("A title needs at least one character.")
        self.store.update(self._get(study_id).id, title=title.strip()[:200])

    def delete(self, study_id: str) -> None:
        """Hide a study. It can be brought back for 30 days."""
        if self._running(self._get(study_id)):
            raise Conflict("This study is at work: stop it before you delete it.")
        self.store.delete(study_id)

    def restore(self, study_id: str) -> None:
        """Bring a deleted study back."""
        if not self.store.restore(study_id):
            raise NotFound(f"There is no study {study_id!r} any more.")

    def _get(self, study_id: str) -> Study:
        study = self.store.get(study_id)
        if study is None:
            raise NotFound(f"There is no study {study_id!r}.")
        return study

    def _running(self, study: Study) -> bool:
        run = self._ledger.get(study.run_id) if study.run_id else None
        return run is not None and run.status != "done"

    # Work

    def open_job(self, run: Run) -> StudyJob:
        """The job of a claimed run. Raises LogicianError when it cannot be served. Called on the engine's loop."""
        study = self._get(str(run.options.get("study_id")))
        options = read_options(study.settings)
        desk = StudyDesk(run, study, options, self.problem(study.problem), self._ledger, self.store)
        if study.replays is None:
            return StudyJob(desk, LiveAsker(self._find_provider), lambda: self._evaluator(desk.problem, options))
        recorded = sorted(self.store.samples(study.replays, recorded=True), key=lambda each: each.record or 0)
        order = [sample.n for sample in recorded if sample.n >= 0]
        asker = Replay(self.store.exchanges(study.replays))
        models = {sample.n: sample.model for sample in recorded}
        return StudyJob(desk, asker, lambda: self._evaluator(desk.problem, options), recorded=order, models=models)

    @staticmethod
    def _evaluator(problem: Problem, options: StudyOptions) -> Evaluator:
        if options.dask:
            return dask_evaluator(problem, scheduler=options.dask)
        return local_evaluator(problem, workers=options.workers)

    # Reading

    def all(self) -> list[StudyRow]:
        """Every study, newest first."""
        return [study_row(self.store, study, run) for study, run in self.store.all()]

    def view(self, study_id: str, *, samples: bool = True) -> StudyView:
        """Everything about a study that its page shows; ``samples=False`` leaves the list of samples empty."""
        study = self._get(study_id)
        run = self._ledger.get(study.run_id) if study.run_id else None
        return study_view(self.store, study, run, self.problem(study.problem), samples=samples)

    def sample(self, study_id: str, n: int) -> tuple[Sample, list[Exchange]]:
        """A sample with what was asked and answered for it."""
        sample = self.store.sample(self._get(study_id).id, n)
        if sample is None:
            raise NotFound(f"Study {study_id!r} has no sample {n}.")
        return sample, self.store.exchanges(study_id, n)

    def best(self, study_id: str) -> Sample:
        """The best valid sample so far. Raises NotFound when there is none."""
        study = self._get(study_id)
        best: Sample | None = None
        for sample in self.store.samples(study_id, recorded=True, valid=True):
            objective = sample.objective
            if objective is not None and (
                best is None or best.objective is None or is_better(objective, best.objective, _direction(study))
            ):
                best = sample
        if best is None:
            raise NotFound(f"Study {study_id!r} has no valid heuristic yet.")
        return best

    def export(self, study_id: str, n: int | None = None) -> str:
        """A heuristic as a plain Python module with its provenance, tests and citation; None: the best one."""
        sample = self.best(study_id) if n is None else self.sample(study_id, n)[0]
        study = self._get(study_id)
        return module_text(study, sample, self.problem(study.problem), self.store.scores(study_id))


def _direction(study: Study) -> Any:
    return study.direction
