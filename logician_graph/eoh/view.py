"""A study as pages and commands show it: read from the tables, nothing kept in memory, nothing computed by a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from logician_graph.eoh.individual import is_better
from logician_graph.eoh.options import StudyOptions, read_options
from logician_graph.eoh.plan import RULES
from logician_graph.eoh.problem import TRAIN, Problem
from storage import Run, Sample, Score, Study, StudyStore, Tally


@dataclass(frozen=True, slots=True)
class StudyRow:
    """One line of the list."""

    id: str
    title: str
    problem: str
    schedule: str
    models: tuple[str, ...]
    state: str
    """``queued``, ``running`` or how its last run ended."""
    reason: str | None
    best: float | None
    direction: str
    samples: int
    planned: int
    valid: int
    cost_usd: float
    created_at: float
    run_id: str | None
    replays: str | None


@dataclass(frozen=True, slots=True)
class StudyView:
    """One study in full; the samples are light rows without prompts and replies."""

    row: StudyRow
    options: StudyOptions
    samples: list[Sample]
    """In the order of their proposals, the unrecorded ones too."""
    operators: dict[str, Tally]
    models: dict[str, Tally]
    generations: dict[int, Tally]
    total: Tally | None
    baselines: dict[str, dict[str, Score]]
    """By name, then by set."""
    held_out: dict[int, dict[str, Score]]
    """By sample, then by set."""
    sets: tuple[str, ...]
    """``train`` first."""
    hours: float
    """Of work by the run that is or was last at it."""
    waiting: str | None = None
    """Why it waits for a model, where it does."""

    @property
    def recorded(self) -> list[Sample]:
        """Samples in the order of their records."""
        return sorted((each for each in self.samples if each.record is not None), key=lambda each: each.record or 0)

    @property
    def population(self) -> list[Sample]:
        """Who is in the population now, best first."""
        inside = [each for each in self.samples if each.verdict == "entered" and each.left_record is None]
        return sorted(inside, key=lambda each: (self._cost(each), each.n))

    @property
    def best(self) -> Sample | None:
        """The best valid sample."""
        valid = [each for each in self.samples if each.objective is not None and each.record is not None]
        return min(valid, key=lambda each: (self._cost(each), each.record or 0), default=None)

    def _cost(self, sample: Sample) -> float:
        objective = sample.objective if sample.objective is not None else float("inf")
        return -objective if self.row.direction == "max" and sample.objective is not None else objective

    def members_at(self, record: int) -> list[Sample]:
        """The population as it stood after a record, for the replay slider."""
        return [
            each
            for each in self.samples
            if each.verdict == "entered"
            and each.record is not None
            and each.record <= record
            and (each.left_record is None or each.left_record > record)
        ]

    def best_until(self) -> list[tuple[int, float]]:
        """(record, objective) at every improvement."""
        steps: list[tuple[int, float]] = []
        for each in self.recorded:
            if each.objective is None or each.record is None:
                continue
            direction: Any = self.row.direction
            if not steps or is_better(each.objective, steps[-1][1], direction):
                steps.append((each.record, each.objective))
        return steps

    @property
    def gap_to_baseline(self) -> tuple[str, float] | None:
        """The best baseline on the training set and its objective."""
        known = [
            (name, scores[TRAIN].objective)
            for name, scores in self.baselines.items()
            if TRAIN in scores and scores[TRAIN].objective is not None
        ]
        direction: Any = self.row.direction
        best: tuple[str, float] | None = None
        for name, objective in known:
            if objective is not None and (best is None or is_better(objective, best[1], direction)):
                best = (name, objective)
        return best


def planned_samples(options: StudyOptions) -> int:
    """Samples that the schedule makes at most, or the budget if that is less; an estimate for ``official-0.1``."""
    plan = options.plan
    start = RULES[options.schedule].initial * plan.size
    operators = sum(1 for weight in plan.weights.values() if weight > 0)
    each = plan.size * operators if options.schedule in ("paper", "official-0.1") else plan.size
    total = start + plan.generations * each
    return min(total, options.budget.samples or total)


def study_row(store: StudyStore, study: Study, run: Run | None) -> StudyRow:
    """The line of one study."""
    options = read_options(study.settings)
    tally = store.tallies(study.id).get(None)
    best = store.best_objective(study.id, study.direction)
    status = run.status if run is not None else "done"
    return StudyRow(
        id=study.id,
        title=study.title,
        problem=study.problem,
        schedule=options.schedule,
        models=options.models,
        state=status if status != "done" else (run.outcome or "done") if run is not None else "recorded",
        reason=run.reason if run is not None else None,
        best=best,
        direction=study.direction,
        samples=tally.samples if tally else 0,
        planned=planned_samples(options),
        valid=sum(tally.outcomes.get(name, 0) for name in ("valid", "duplicate", "cut")) if tally else 0,
        cost_usd=tally.cost_usd if tally else 0.0,
        created_at=study.created_at,
        run_id=study.run_id,
        replays=study.replays,
    )


def study_view(
    store: StudyStore, study: Study, run: Run | None, problem: Problem, *, samples: bool = True
) -> StudyView:
    """The whole study; without its samples where only the sums are wanted."""
    baselines: dict[str, dict[str, Score]] = {}
    held_out: dict[int, dict[str, Score]] = {}
    for score in store.scores(study.id):
        kind, _, name = score.subject.partition(":")
        if kind == "baseline":
            baselines.setdefault(name, {})[score.set_name] = score
        else:
            held_out.setdefault(int(name), {})[score.set_name] = score
    return StudyView(
        row=study_row(store, study, run),
        options=read_options(study.settings),
        samples=store.samples(study.id) if samples else [],
        operators=store.tallies(study.id, "operator"),
        models=store.tallies(study.id, "model"),
        generations=store.tallies(study.id, "generation"),
        total=store.tallies(study.id).get(None),
        baselines=baselines,
        held_out=held_out,
        sets=(TRAIN, *problem.held_out),
        hours=float((run.usage if run is not None else {}).get("seconds") or 0.0) / 3600,
        waiting=store.waiting(study.run_id) if run is not None and run.status == "running" else None,
    )
