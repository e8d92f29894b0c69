"""Individuals and whole simulated studies for the tests of the algorithm."""

from __future__ import annotations

import random
from collections.abc import Callable

from logician_graph.eoh.individual import Individual
from logician_graph.eoh.plan import Finished, Proposal, Wait
from logician_graph.eoh.schedule import Generational, SteadyState

Schedule = Generational | SteadyState
Result = Callable[[Proposal], Individual | None]


def individual(
    order: int, objective: float, *, per_instance: tuple[float | None, ...] = (), **other: object
) -> Individual:
    values: dict[str, object] = {
        "id": f"c{order}",
        "thought": f"Thought {order}.",
        "code": f"def f(a):\n    return a + {order}\n",
        "objective": objective,
        "per_instance": per_instance,
        "operator": "I1",
        "parents": (),
        "generation": 0,
        "order": order,
    }
    return Individual(**(values | other))  # type: ignore[arg-type]


def outcome(proposal: Proposal, *, salt: int = 0, failing: float = 0.3) -> Individual | None:
    """What a proposal gives, by its index alone: some fail, objectives repeat now and then."""
    rng = random.Random(f"{salt}/{proposal.index}")
    if rng.random() < failing:
        return None
    branches = "".join(f"    if a > {n}:\n        a = a - {n}\n" for n in range(rng.randrange(6)))
    return individual(
        proposal.index,
        rng.randrange(40) / 8,
        code=f"def f(a):\n{branches}    return a + {proposal.index}\n",
        operator=proposal.operator,
        parents=proposal.parents,
        generation=proposal.generation,
    )


class Study:
    """Drives a schedule: up to ``workers`` proposals open, finished in an order that ``rng`` decides."""

    def __init__(self, schedule: Schedule, rng: random.Random, *, workers: int = 4, result: Result = outcome) -> None:
        self.schedule = schedule
        self.made: list[Proposal] = []
        self.known: dict[str, Individual] = {}
        self._rng, self._workers, self._result = rng, workers, result
        self._pending: list[Proposal] = list(schedule.open.values())

    def step(self) -> bool:
        """One proposal or one record. False when the study is finished."""
        may_ask = len(self._pending) < self._workers
        if may_ask and (not self._pending or self._rng.random() < 0.6):
            answer = self.schedule.next()
            if isinstance(answer, Proposal):
                self.made.append(answer)
                self._pending.append(answer)
                return True
            if isinstance(answer, Finished):
                assert not self._pending
                return False
            assert isinstance(answer, Wait)
            assert answer.open == len(self._pending) > 0
        done = self._pending.pop(self._rng.randrange(len(self._pending)))
        found = self._result(done)
        if found is not None:
            self.known[found.id] = found
        self.schedule.record(done.index, found)
        return True

    def finish(self) -> list[Proposal]:
        while self.step():
            pass
        return self.made
