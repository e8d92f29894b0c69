"""An individual: one heuristic that was measured completely, with what it came from. Failed samples are none."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

Direction = Literal["min", "max"]
"""Whether a lower or a higher objective is better."""
Operator = Literal["I1", "E1", "E2", "M1", "M2", "M3"]
"""The six strategies of the paper: I1 from nothing, E1 and E2 from several parents, M1 to M3 from one."""
Origin = Operator | Literal["start"]
"""``start``: a heuristic that the study began with; no model was asked for it."""

OPERATORS: tuple[Operator, ...] = get_args(Operator)


@dataclass(frozen=True, slots=True)
class Individual:
    """One valid heuristic. All numbers are finite: a heuristic without a finite objective never becomes one."""

    id: str
    thought: str
    """The idea in a sentence; may be empty (M3 asks for none)."""
    code: str
    objective: float
    per_instance: tuple[float | None, ...]
    """One value per training instance, in the set's order."""
    operator: Origin
    parents: tuple[str, ...]
    """Ids, in the order in which the prompt showed them; an id may come twice under selection with replacement."""
    generation: int
    order: int
    """The index of its proposal; start heuristics have negative ones. Unique in a study; ties go to the lower."""
    island: int = 0

    def __post_init__(self) -> None:
        if not math.isfinite(self.objective):
            raise ValueError(f"the objective of {self.id!r} is {self.objective!r}; an individual needs a finite one")
        if any(value is not None and not math.isfinite(value) for value in self.per_instance):
            raise ValueError(f"{self.id!r} has a value per instance that is not finite")

    def to_json(self) -> dict[str, Any]:
        """Plain data for strict JSON."""
        return {
            "id": self.id,
            "thought": self.thought,
            "code": self.code,
            "objective": self.objective,
            "per_instance": list(self.per_instance),
            "operator": self.operator,
            "parents": list(self.parents),
            "generation": self.generation,
            "order": self.order,
            "island": self.island,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Individual:
        """The reverse of :meth:`to_json`."""
        return cls(
            id=data["id"],
            thought=data["thought"],
            code=data["code"],
            objective=data["objective"],
            per_instance=tuple(data["per_instance"]),
            operator=data["operator"],
            parents=tuple(data["parents"]),
            generation=data["generation"],
            order=data["order"],
            island=data["island"],
        )


Lookup = Callable[[str], Individual]
"""From an id to the individual. Saved states hold ids only, because the study keeps the individuals anyway."""


def cost_of(objective: float, direction: Direction) -> float:
    """The objective as a number to minimise."""
    return objective if direction == "min" else -objective


def is_better(left: float, right: float, direction: Direction) -> bool:
    """Whether objective ``left`` is strictly better than ``right``."""
    return cost_of(left, direction) < cost_of(right, direction)


def ranked(individuals: Iterable[Individual], direction: Direction) -> list[Individual]:
    """Best first; equal objectives in the order of their proposals, so that who came first stays in front."""
    return sorted(individuals, key=lambda one: (cost_of(one.objective, direction), one.order))
