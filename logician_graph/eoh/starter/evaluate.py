"""How a candidate is judged. ``solve`` runs in the candidate's process, ``measure`` outside of it.

Only what ``solve`` returns leaves the candidate's process, so ``measure`` must check it and compute the value itself:
then no candidate can claim a score. ``load``, ``visible``, ``objective``, ``partial_bound`` may be left out. Instead of
``solve`` and ``measure`` you may define ``evaluate(heuristic, instance) -> float``: shorter, but then the score is
computed where the candidate runs, and a hostile one could forge it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def load(raw: dict[str, Any]) -> list[dict[str, Any]]:
    """From an instance file to instances. Default: ``raw["instances"]``. Raise ValueError with what you expected."""
    if "capacity" not in raw or "instances" not in raw:
        raise ValueError('expected {"capacity": number, "instances": [[[value, weight], …], …]}')
    return [{"capacity": raw["capacity"], "objects": objects} for objects in raw["instances"]]


def visible(instance: dict[str, Any]) -> dict[str, Any]:
    """What the candidate may see of an instance: keep known answers out. Default: all of it."""
    return instance


def solve(heuristic: Callable[..., Any], visible: dict[str, Any]) -> list[int]:
    """The solution that the heuristic leads to: numbers, strings, lists, dicts and numpy arrays only."""
    capacity = visible["capacity"]
    objects = visible["objects"]
    priority = [float(heuristic(value, weight, capacity)) for value, weight in objects]
    packed: list[int] = []
    for number in sorted(range(len(objects)), key=lambda number: -priority[number]):
        if objects[number][1] <= capacity:
            capacity -= objects[number][1]
            packed.append(number)
    return packed


def measure(solution: list[int], instance: dict[str, Any]) -> float:
    """The value of a solution. Raise ValueError where it breaks a rule: the candidate then counts as infeasible."""
    if not set(solution) <= set(range(len(instance["objects"]))) or len(set(solution)) != len(solution):
        raise ValueError("an object is packed that does not exist, or one is packed twice")
    packed = [instance["objects"][number] for number in solution]
    if sum(weight for _, weight in packed) > instance["capacity"]:
        raise ValueError("the knapsack holds more than its capacity")
    return float(sum(value for value, _ in packed))


def objective(values: list[float], instances: list[dict[str, Any]]) -> float:
    """From one value per instance to the number that is compared. Default: the mean."""
    return sum(values) / len(instances)
