"""What a study was asked to do. Stored with it, so that a resumed or replayed study does the same."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from logician_graph.eoh.individual import Direction, Operator
from logician_graph.eoh.plan import RULES, ScheduleName, ScheduleSettings, default_settings
from logician_graph.errors import UsageError

PopulationKind = Literal["single", "islands", "map_elites"]


class Budget(BaseModel):
    """Limits of a study over all its runs; None: only the schedule's own end."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    samples: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    cost_usd: float | None = Field(default=None, ge=0)
    hours: float | None = Field(default=None, gt=0)
    """Hours of work; the time between two runs does not count."""


class StudyOptions(BaseModel):
    """All choices of a study. What is None is taken from the schedule."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    problem: str
    """Id of a bundled problem or path of a problem's folder."""
    schedule: ScheduleName = "logician"
    size: int | None = Field(default=None, ge=1, le=1000)
    generations: int | None = Field(default=None, ge=0, le=100_000)
    parents: int | None = Field(default=None, ge=1, le=20)
    weights: dict[Operator, float] | None = None
    in_flight: int = Field(default=4, ge=1, le=256)
    """``logician`` only: samples under way at once."""
    population: PopulationKind = "single"
    islands: int = Field(default=4, ge=1, le=64)
    migration: int = Field(default=20, ge=1)
    """Newcomers between two migrations."""
    models: tuple[str, ...]
    """References of models; of several one is chosen per sample by improvement per cost."""
    temperature: float = Field(default=1.0, ge=0, le=2)
    temperatures: dict[Operator, float] = Field(default_factory=dict[Operator, float])
    max_output_tokens: int = Field(default=1024, ge=64)
    repair: bool | None = None
    """Show the model the error of a candidate that failed, once. None: in ``logician`` only."""
    cut: bool | None = None
    """Stop evaluations that provably cannot enter. None: in ``logician`` only."""
    seed: int = Field(default=0, ge=0)
    start: bool = True
    """Begin with the problem's own start heuristic where it has one."""
    workers: int = Field(default=1, ge=1, le=256)
    """Candidates measured at once."""
    calls: int = Field(default=1, ge=1, le=256)
    """Model calls at once."""
    dask: str | None = None
    """Address of a Dask scheduler that measures instead of this machine."""
    budget: Budget = Budget()

    @property
    def plan(self) -> ScheduleSettings:
        """The schedule's numbers."""
        default = default_settings(self.schedule, seed=self.seed)
        return ScheduleSettings(
            size=self.size or default.size,
            generations=default.generations if self.generations is None else self.generations,
            parents=self.parents or default.parents,
            weights=self.weights or default.weights,
            seed=self.seed,
            in_flight=self.in_flight,
        )

    @property
    def repairs(self) -> bool:
        """Whether a failed candidate is shown to the model once more."""
        return self.schedule == "logician" if self.repair is None else self.repair

    @property
    def cuts(self) -> bool:
        """Whether evaluations are stopped early."""
        return self.schedule == "logician" if self.cut is None else self.cut

    def describe_population(self, direction: Direction) -> dict[str, Any]:
        """For ``load_population``: an empty one."""
        kept = {"direction": direction, "duplicates": RULES[self.schedule].duplicates}
        match self.population:
            case "single":
                return {"kind": "single", "size": self.plan.size, **kept}
            case "islands":
                size = max(1, -(-self.plan.size // self.islands))
                return {"kind": "islands", "count": self.islands, "size": size, "interval": self.migration, **kept}
            case "map_elites":
                return {"kind": "map_elites", "direction": direction}

    def temperature_of(self, operator: Operator) -> float:
        """The temperature for an operator."""
        return self.temperatures.get(operator, self.temperature)


def read_options(values: dict[str, Any]) -> StudyOptions:
    """Options from plain data. Raises UsageError naming the option."""
    try:
        options = StudyOptions.model_validate(values)
        _ = options.plan
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the options"
        raise UsageError(f"{where}: {first['msg']}") from error
    if not options.models:
        raise UsageError("models: a study needs at least one model")
    if len(set(options.models)) < len(options.models):
        raise UsageError("models: each can be named once")
    return options
