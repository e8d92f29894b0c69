"""What a schedule is made of: its settings, its rules and the values it hands out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from logician_graph.eoh.individual import OPERATORS, Operator
from logician_graph.eoh.population import DuplicateRule
from logician_graph.errors import UsageError

ScheduleName = Literal["paper", "official-0.1", "official-0.2", "logician"]
SCHEDULES: tuple[ScheduleName, ...] = get_args(ScheduleName)


@dataclass(frozen=True, slots=True)
class Rules:
    """What a schedule fixes beyond its settings. One proposal is one sample in all of them, valid or not."""

    initial: int
    """I1 samples at the start, in multiples of the population's size."""
    replacement: bool
    """Whether the same parent can be drawn several times for one prompt."""
    duplicates: DuplicateRule
    """The rule for duplicates that belongs to it."""
    duplicate_tries: int
    """How often a sample whose code is, letter by letter, in the population is asked for again; the last one counts."""
    reply_tries: int
    """Model calls that one sample may take until a reply holds a function; they are no samples of their own.

    A repair or a second try beyond this number is a sample.
    """


RULES: Mapping[ScheduleName, Rules] = {
    "paper": Rules(1, replacement=False, duplicates="objective", duplicate_tries=0, reply_tries=1),
    "official-0.1": Rules(2, replacement=True, duplicates="objective", duplicate_tries=1, reply_tries=5),
    "official-0.2": Rules(2, replacement=True, duplicates="objective", duplicate_tries=2, reply_tries=4),
    "logician": Rules(2, replacement=False, duplicates="behaviour", duplicate_tries=0, reply_tries=2),
}
"""``paper``: arXiv 2401.02051, section 4. The official ones: FeiLiu36/EoH at bc1d881 (0.1) and 64b1a49 (0.2)."""


@dataclass(frozen=True, slots=True)
class ScheduleSettings:
    """The numbers of a study. :func:`default_settings` has those that belong to each schedule."""

    size: int
    """Places in the population, N."""
    generations: int
    """Without the start. A generation of ``logician`` is N samples; it has no meaning there but for the budget."""
    parents: int
    """Parents that E1 and E2 see, m."""
    weights: Mapping[Operator, float] = field(default_factory=dict[Operator, float])
    """In order. ``official-0.1``: the chance that the operator runs in a generation; ``official-0.2``: how often it is
    drawn; ``paper`` and ``logician``: which operators take part (above 0)."""
    seed: int = 0
    in_flight: int = 8
    """``logician`` only: proposals under way at once, K."""

    def __post_init__(self) -> None:
        if self.size < 1 or self.generations < 0 or self.parents < 1 or self.in_flight < 1:
            raise UsageError("size, parents and in_flight must be at least 1 and generations at least 0")
        unknown = [name for name in self.weights if name not in OPERATORS]
        if unknown:
            raise UsageError(f"there are no operators {unknown!r}; there are {', '.join(OPERATORS)}")
        if any(not 0 <= weight < float("inf") for weight in self.weights.values()) or not any(self.weights.values()):
            raise UsageError("the weights of the operators must not be negative and one must be above 0")

    def to_json(self) -> dict[str, Any]:
        """For :meth:`from_json`."""
        return {
            "size": self.size,
            "generations": self.generations,
            "parents": self.parents,
            "weights": [[name, weight] for name, weight in self.weights.items()],
            "seed": self.seed,
            "in_flight": self.in_flight,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ScheduleSettings:
        """The settings that :meth:`to_json` wrote."""
        return cls(
            size=data["size"],
            generations=data["generations"],
            parents=data["parents"],
            weights=dict(data["weights"]),
            seed=data.get("seed", 0),
            in_flight=data.get("in_flight", 8),
        )


_FIVE: Mapping[Operator, float] = {"E1": 1.0, "E2": 1.0, "M1": 1.0, "M2": 1.0, "M3": 1.0}
_FOUR: Mapping[Operator, float] = {"E1": 1.0, "E2": 1.0, "M1": 1.0, "M2": 1.0}


def default_settings(name: ScheduleName, *, seed: int = 0) -> ScheduleSettings:
    """The published settings of a schedule; those of ``paper`` are the ones for online bin packing."""
    match name:
        case "paper":
            return ScheduleSettings(size=20, generations=20, parents=5, weights=_FIVE, seed=seed)
        case "official-0.1":
            return ScheduleSettings(size=5, generations=5, parents=2, weights=_FOUR, seed=seed)
        case "official-0.2":
            return ScheduleSettings(size=5, generations=20, parents=2, weights=_FOUR, seed=seed)
        case "logician":
            return ScheduleSettings(size=20, generations=20, parents=3, weights=_FIVE, seed=seed)


@dataclass(frozen=True, slots=True)
class Proposal:
    """One sample to be made."""

    index: int
    """Counts from 0; the ``order`` of the individual that comes of it."""
    operator: Operator
    parents: tuple[str, ...]
    """Ids in the order of the prompt. Empty for I1."""
    generation: int
    """0 for the start."""
    island: int = 0

    def to_json(self) -> list[Any]:
        """For :meth:`from_json`."""
        return [self.index, self.operator, list(self.parents), self.generation, self.island]

    @classmethod
    def from_json(cls, data: list[Any]) -> Proposal:
        """The proposal that :meth:`to_json` wrote."""
        index, operator, parents, generation, island = data
        return cls(index, operator, tuple(parents), generation, island)


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be proposed before one of the ``open`` proposals is recorded."""

    open: int


@dataclass(frozen=True, slots=True)
class Finished:
    """All samples are proposed and recorded."""

    samples: int
