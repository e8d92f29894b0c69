"""Building a tour city by city, as EoH does it: from city 0, with the cities not visited yet sorted by nearness.

The last city that remains is not asked for. Tours are closed; a value is the length of a tour, the objective the mean.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

NEAREST = 50
"""So many of the nearest unvisited cities are offered at most, as in the published evaluation."""


def load(raw: Any) -> list[dict[str, Any]]:
    """Instances ``{"coordinates": (cities, 2) array}`` from ``{"instances": [[[x, y], …], …]}``."""
    instances: Any = cast("dict[str, Any]", raw).get("instances") if isinstance(raw, dict) else None
    if not isinstance(instances, list) or not instances:
        raise ValueError('expected {"instances": [[[x, y], …], …]} with at least one instance')
    return [{"coordinates": _cities(cities, number)} for number, cities in enumerate(cast("list[Any]", instances))]


def solve(heuristic: Callable[..., Any], visible: dict[str, Any]) -> NDArray[np.int64]:
    """The order of the cities. Each call gets fresh arrays."""
    coordinates: NDArray[np.float64] = np.asarray(visible["coordinates"], dtype=np.float64)
    distances = np.linalg.norm(coordinates[:, None] - coordinates[None], axis=2)
    near = np.argsort(distances, axis=1, kind="stable")
    count = len(coordinates)
    tour = np.zeros(count, dtype=np.int64)
    open_ = np.ones(count, dtype=bool)
    open_[0] = False
    current = 0
    with np.errstate(all="ignore"):
        for position in range(1, count):
            order = near[current]
            offered = order[open_[order]][:NEAREST]
            if position < count - 1:
                current = _choice(heuristic(current, 0, offered.copy(), distances.copy()), offered)
            else:
                current = int(offered[0])
            tour[position] = current
            open_[current] = False
    return tour


def measure(solution: Any, instance: dict[str, Any]) -> float:
    """The length of the closed tour, after checking that it visits every city once."""
    coordinates = instance["coordinates"]
    tour = np.asarray(solution)
    whole = tour.shape == (len(coordinates),) and tour.dtype.kind in "iu"
    if not whole or not np.array_equal(np.sort(tour), np.arange(len(tour))):
        raise ValueError(f"a tour through each of {len(coordinates)} cities once was expected")
    return float(np.linalg.norm(coordinates[tour] - coordinates[np.roll(tour, -1)], axis=1).sum())


def partial_bound(values_so_far: list[float], instances: list[dict[str, Any]]) -> float:
    """The mean if each remaining tour had, at every city, the two shortest edges there."""
    rest = sum(_lower_bound(instance["coordinates"]) for instance in instances[len(values_so_far) :])
    return (sum(values_so_far) + rest) / len(instances)


def _lower_bound(coordinates: NDArray[np.float64]) -> float:
    distances = np.linalg.norm(coordinates[:, None] - coordinates[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    return float(np.partition(distances, 1, axis=1)[:, :2].sum() / 2)


def _choice(answer: Any, offered: NDArray[np.int64]) -> int:
    city = np.asarray(answer)
    if city.size != 1 or city.dtype.kind not in "iuf":
        raise ValueError(f"gave {answer!r}, one of the unvisited cities was expected")
    chosen = city.reshape(-1)[0]
    if not (offered == chosen).any():
        raise ValueError(f"gave {chosen}, which is none of the unvisited cities")
    return int(chosen)


def _cities(raw: Any, number: int) -> NDArray[np.float64]:
    try:
        cities: NDArray[np.float64] = np.array(raw, dtype=np.float64)
    except (TypeError, ValueError):
        cities = np.empty((0, 2))
    if cities.ndim != 2 or cities.shape[1] != 2 or len(cities) < 3:
        raise ValueError(f"instance {number}: a list of at least three cities, each [x, y], was expected")
    if not np.isfinite(cities).all():
        raise ValueError(f"instance {number}, city {int(np.argmin(np.isfinite(cities).all(axis=1)))}: not finite")
    return cities
