"""Which operator is asked next, with which parents: four schedules as state machines without I/O, clock or threads.

``next()`` hands out proposals, ``record()`` takes their results. In the three schedules with generations a batch is
drawn from the population as it stood when the batch began, survival comes when all of it is recorded, and results are
put in the order of their proposals: the same seed and the same results give the same study in whatever order the
results arrive. ``logician`` waits for nobody: every record is a survival, and later proposals depend on which records
came before them. There the same seed and the same *sequence* of ``next`` and ``record`` calls give the same study.

Batches: ``paper`` one per generation, every operator N times. ``official-0.1`` one per operator and generation (so
survival comes after each operator), left out with the chance that its weight says. ``official-0.2`` one per generation,
N samples in total, each operator drawn by weight.

An operator that needs parents becomes I1 while there are none, so a study whose start failed goes on and the number of
samples stays what it was. All chance comes from the seed and the index of the proposal: a saved state needs no
generator, and one continued from it proposes what the other would have.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from random import Random
from typing import Any

from logician_graph.eoh.bandit import Bandit
from logician_graph.eoh.individual import Direction, Individual, Lookup, Operator
from logician_graph.eoh.operators import parents_wanted
from logician_graph.eoh.plan import RULES, SCHEDULES, Finished, Proposal, Rules, ScheduleName, ScheduleSettings, Wait
from logician_graph.eoh.population import Population, Single, Survival, load_population
from logician_graph.eoh.selection import draw_parents
from logician_graph.errors import UsageError

STATE_VERSION = 1


class Schedule(ABC):
    """A schedule with its population. ``open``: what was handed out and is not recorded, by index; saved too."""

    def __init__(self, name: ScheduleName, settings: ScheduleSettings, population: Population) -> None:
        self.name: ScheduleName = name
        self.settings = settings
        self.population = population
        self.issued = 0
        self.open: dict[int, Proposal] = {}

    @property
    def rules(self) -> Rules:
        """What this schedule fixes for the study around it."""
        return RULES[self.name]

    @property
    @abstractmethod
    def planned(self) -> int:
        """Samples in all, the start included."""

    @abstractmethod
    def next(self) -> Proposal | Wait | Finished:
        """The next sample to make, or why there is none now."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The whole state, individuals by id, for :func:`load_schedule`."""

    def start_with(self, individuals: Sequence[Individual]) -> Survival:
        """Put measured heuristics into the population before the first sample; they count as no sample."""
        if self.issued:
            raise UsageError("a study takes heuristics to start from only before its first sample")
        return self.population.admit(individuals)

    def record(self, index: int, individual: Individual | None) -> Survival | None:
        """The result of proposal ``index``; None for any sample that failed. What a survival decided, if there was one.

        The individual's ``order`` must be the index; its island is set to the proposal's.
        """
        proposal = self.open.get(index)
        if proposal is None:
            raise UsageError(f"proposal {index} is not open: it was never made or is recorded already")
        if individual is not None:
            if individual.order != index:
                raise UsageError(f"the result of proposal {index} says that it belongs to {individual.order}")
            individual = replace(individual, island=proposal.island)
        del self.open[index]
        return self._recorded(proposal, individual)

    @abstractmethod
    def _recorded(self, proposal: Proposal, individual: Individual | None) -> Survival | None: ...

    def _propose(self, operator: Operator, generation: int) -> Proposal:
        index = self.issued
        island = index % self.population.islands
        candidates = self.population.breeding(island) or self.population.members()
        count = parents_wanted(operator, self.settings.parents)
        if count and not candidates:
            operator, count = "I1", 0
        rng = self._rng("parents", index)
        parents = draw_parents(candidates, count, rng, replacement=self.rules.replacement)
        proposal = Proposal(index, operator, tuple(parent.id for parent in parents), generation, island)
        self.open[index] = proposal
        self.issued += 1
        return proposal

    def _rng(self, purpose: str, number: int) -> Random:
        return Random(f"{purpose}/{self.settings.seed}/{number}")  # noqa: S311 - reproducible on purpose

    def _common_state(self) -> dict[str, Any]:
        return {
            "v": STATE_VERSION,
            "schedule": self.name,
            "settings": self.settings.to_json(),
            "population": self.population.to_json(),
            "issued": self.issued,
            "open": [proposal.to_json() for proposal in self.open.values()],
        }


@dataclass(frozen=True, slots=True)
class _Batch:
    generation: int
    operators: Sequence[Operator]


class Generational(Schedule):
    """``paper``, ``official-0.1`` and ``official-0.2``: batch after batch."""

    def __init__(self, name: ScheduleName, settings: ScheduleSettings, population: Population) -> None:
        super().__init__(name, settings, population)
        self._batches = self._plan()
        self._batch = 0
        self._results: dict[int, Individual | None] = {}

    @property
    def planned(self) -> int:
        """Samples in all, the start included."""
        return sum(len(batch.operators) for batch in self._batches)

    def next(self) -> Proposal | Wait | Finished:
        """The next sample of the batch; Wait until the last of it is recorded."""
        if self._batch == len(self._batches):
            return Finished(self.issued)
        batch = self._batches[self._batch]
        within = len(self._results) + len(self.open)
        if within == len(batch.operators):
            return Wait(len(self.open))
        return self._propose(batch.operators[within], batch.generation)

    def _recorded(self, proposal: Proposal, individual: Individual | None) -> Survival | None:
        self._results[proposal.index] = individual
        if len(self._results) < len(self._batches[self._batch].operators):
            return None
        newcomers = [found for _, found in sorted(self._results.items()) if found is not None]
        self._results = {}
        self._batch += 1
        return self.population.admit(newcomers)

    def _plan(self) -> list[_Batch]:
        size = self.settings.size
        batches = [_Batch(0, _repeated("I1", self.rules.initial * size))]
        for generation in range(1, self.settings.generations + 1):
            batches += [_Batch(generation, operators) for operators in self._generation(generation)]
        return batches

    def _generation(self, generation: int) -> list[Sequence[Operator]]:
        size = self.settings.size
        operators: list[Operator] = [operator for operator, weight in self.settings.weights.items() if weight > 0]
        rng = self._rng("operators", generation)
        if self.name == "paper":
            everyone: list[Operator] = [operator for operator in operators for _ in range(size)]
            return [everyone]
        if self.name == "official-0.1":
            running: list[Operator] = [name for name in operators if rng.random() < self.settings.weights[name]]
            return [_repeated(operator, size) for operator in running]
        return [_draw_operators(self.settings.weights, size, rng)]

    def to_json(self) -> dict[str, Any]:
        """The whole state, individuals by id."""
        results = [[index, found.id if found else None] for index, found in self._results.items()]
        return {**self._common_state(), "batch": self._batch, "results": results}

    def restore(self, state: Mapping[str, Any], lookup: Lookup) -> None:
        """Continue from ``state``."""
        self._batch = state["batch"]
        self._results = {
            index: replace(lookup(name), island=index % self.population.islands) if name is not None else None
            for index, name in state["results"]
        }


def _repeated(operator: Operator, count: int) -> list[Operator]:
    return [operator] * count


def _draw_operators(weights: Mapping[Operator, float], count: int, rng: Random) -> list[Operator]:
    names: list[Operator] = [name for name, weight in weights.items() if weight > 0]
    sums = list(accumulate(weights[name] for name in names))
    points = [rng.random() * sums[-1] for _ in range(count)]
    return [names[min(bisect_right(sums, point), len(names) - 1)] for point in points]


class SteadyState(Schedule):
    """``logician``: K proposals under way, survival at every record, operators by what they achieved lately.

    The start is 2N times I1. After it a :class:`Bandit` draws the operator; a child gains 1 as the new best, less the
    further behind it enters, and 0 when it fails or does not enter.
    """

    def __init__(self, name: ScheduleName, settings: ScheduleSettings, population: Population) -> None:
        super().__init__(name, settings, population)
        arms = [operator for operator, weight in settings.weights.items() if weight > 0]
        self.bandit = Bandit(arms, seed=settings.seed)

    @property
    def planned(self) -> int:
        """Samples in all, the start included."""
        return self._start + self.settings.size * self.settings.generations

    @property
    def _start(self) -> int:
        return self.rules.initial * self.settings.size

    def next(self) -> Proposal | Wait | Finished:
        """The next sample; Wait only while K are under way."""
        if self.issued >= self.planned:
            return Wait(len(self.open)) if self.open else Finished(self.issued)
        if len(self.open) >= self.settings.in_flight:
            return Wait(len(self.open))
        if self.issued < self._start:
            return self._propose("I1", 0)
        generation = 1 + (self.issued - self._start) // self.settings.size
        operator: Any = self.bandit.choose(self.issued)
        return self._propose(operator, generation)

    def _recorded(self, proposal: Proposal, individual: Individual | None) -> Survival | None:
        survival = self.population.admit([individual]) if individual else None
        gain = self._gain(individual.id) if individual else 0.0
        if proposal.generation:
            self.bandit.record(proposal.operator, gain)
        return survival

    def _gain(self, name: str) -> float:
        """1 for the best of the population, 1/n for the last of n, 0 for who is not in it."""
        ids = [one.id for one in self.population.members()]
        return 1.0 - ids.index(name) / len(ids) if name in ids else 0.0

    def to_json(self) -> dict[str, Any]:
        """The whole state, individuals by id."""
        return {**self._common_state(), "bandit": self.bandit.to_json()}

    def restore(self, state: Mapping[str, Any], lookup: Lookup) -> None:
        """Continue from ``state``."""
        self.bandit = Bandit.from_json(state["bandit"])


def new_schedule(
    name: ScheduleName,
    settings: ScheduleSettings,
    direction: Direction,
    *,
    population: Population | None = None,
) -> Generational | SteadyState:
    """A schedule at its start. ``population``: an empty one; else N places with the schedule's rule for duplicates."""
    if name not in SCHEDULES:
        raise UsageError(f"there is no schedule {name!r}; there are {', '.join(SCHEDULES)}")
    members = population or Single(settings.size, direction, RULES[name].duplicates)
    return SteadyState(name, settings, members) if name == "logician" else Generational(name, settings, members)


def load_schedule(state: Mapping[str, Any], lookup: Lookup) -> Generational | SteadyState:
    """The schedule that ``to_json`` described, with the individuals that ``lookup`` gives for their ids."""
    if state.get("v") != STATE_VERSION:
        raise UsageError(f"the state of the schedule has version {state.get('v')!r}; this engine reads {STATE_VERSION}")
    population = load_population(state["population"], lookup)
    settings = ScheduleSettings.from_json(state["settings"])
    schedule = new_schedule(state["schedule"], settings, state["population"]["direction"], population=population)
    schedule.issued = state["issued"]
    schedule.open = {proposal.index: proposal for proposal in map(Proposal.from_json, state["open"])}
    schedule.restore(state, lookup)
    return schedule
