"""Choosing among operators or models by what they gained lately for what they cost: probability matching.

Each arm's rate is the gain it brought per unit of cost, both fading by ``memory`` with every record of that arm, with
one imagined good result in front so that a new arm gets its chance. An arm is drawn with probability
``explore / arms + (1 - explore) * rate / sum of rates``. Everything follows from the seed, the key of the choice and
the order of the records; nothing else is random, so there is no generator to save.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from logician_graph.errors import UsageError

LEAST_COST = 0.01
"""An arm counts as costing at least this share of the mean of all, so that a free model does not take everything."""


@dataclass(frozen=True, slots=True)
class Arm:
    """What is remembered of one operator or model."""

    records: int = 0
    weight: float = 0.0
    """The faded number of records."""
    gain: float = 0.0
    cost: float = 0.0


class Bandit:
    """See the module. ``memory``: what the past weighs after one more record (0.95 ≈ the last twenty)."""

    def __init__(self, arms: Sequence[str], *, seed: int, explore: float = 0.2, memory: float = 0.95) -> None:
        if not arms or len(set(arms)) < len(arms):
            raise UsageError(f"a choice needs at least one name and each once, not {list(arms)!r}")
        if not (0 <= explore <= 1 and 0 < memory <= 1):
            raise UsageError("explore must lie between 0 and 1, memory above 0 and up to 1")
        self._arms: dict[str, Arm] = {name: Arm() for name in arms}
        self._seed, self._explore, self._memory = seed, explore, memory

    @property
    def arms(self) -> Mapping[str, Arm]:
        """What is remembered, by name, in the given order."""
        return dict(self._arms)

    def choose(self, key: int) -> str:
        """An arm for the choice number ``key``; asking again before the next record gives the same."""
        point = Random(f"bandit/{self._seed}/{key}").random()  # noqa: S311 - reproducible on purpose
        probabilities = self.probabilities()
        for name, probability in probabilities.items():
            point -= probability
            if point < 0:
                return name
        return list(probabilities)[-1]

    def record(self, name: str, gain: float, cost: float = 1.0) -> None:
        """``gain`` from 0 (nothing) to about 1 and ``cost`` in any one unit. Unknown names are passed over.

        An arm that was taken out while its sample was under way may still report.
        """
        if name not in self._arms:
            return
        if not (gain >= 0 and cost >= 0):
            raise ValueError(f"gain {gain!r} and cost {cost!r} must not be negative")
        arm, fade = self._arms[name], self._memory
        self._arms[name] = Arm(arm.records + 1, arm.weight * fade + 1, arm.gain * fade + gain, arm.cost * fade + cost)

    def rates(self) -> dict[str, float]:
        """Gain per cost of each arm, where a cost of 1 is the mean of all arms."""
        known = [arm.cost / arm.weight for arm in self._arms.values() if arm.weight]
        mean = sum(known) / len(known) if known else 1.0
        rates: dict[str, float] = {}
        for name, arm in self._arms.items():
            own = arm.cost / arm.weight if arm.weight else mean
            price = max(own / mean, LEAST_COST) if mean > 0 else 1.0
            rates[name] = (arm.gain + 1) / (arm.weight + 1) / price
        return rates

    def probabilities(self) -> dict[str, float]:
        """How likely each arm is drawn next; they sum to 1."""
        rates = self.rates()
        total = sum(rates.values())
        floor = self._explore / len(rates)
        return {name: floor + (1 - self._explore) * rate / total for name, rate in rates.items()}

    def with_arms(self, arms: Sequence[str]) -> Bandit:
        """The same with another list of arms; what is known of those that stay is kept."""
        changed = Bandit(arms, seed=self._seed, explore=self._explore, memory=self._memory)
        changed._arms.update({name: self._arms[name] for name in arms if name in self._arms})
        return changed

    def to_json(self) -> dict[str, Any]:
        """For :meth:`from_json`."""
        return {
            "seed": self._seed,
            "explore": self._explore,
            "memory": self._memory,
            "arms": {name: [arm.records, arm.weight, arm.gain, arm.cost] for name, arm in self._arms.items()},
        }

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> Bandit:
        """The bandit that :meth:`to_json` described."""
        names = list(state["arms"])
        bandit = cls(names, seed=state["seed"], explore=state["explore"], memory=state["memory"])
        bandit._arms = {name: Arm(*state["arms"][name]) for name in names}
        return bandit
