"""Guided local search for tours: when the search is stuck, the heuristic bends the distances that it sees.

One round: the heuristic gets the true distances, the tour that cannot be improved under them, and how often each edge
was raised so far; it gives the distances to search under. From the tour, the search descends under those, then under
the true ones; the shortest tour of all rounds is the solution. An edge of the tour counts as raised in a round when its
distance is higher than in the answer of the round before. With ``distance + weight * times raised`` for the edge of the
tour with the largest ``distance / (1 + times raised)`` this is the rule of Voudouris and Tsang (EJOR 113, 1999); EoH
(section 4.2) lets the model find other ways to bend. Rounds are counted, not timed, and ties go to the first, so
results are exact.

A descent takes, as long as there is one, the best of all exchanges of two edges and all moves of one city, each found
with array operations over all pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Tour = NDArray[np.int64]

ROUNDS = 60
MOVES_PER_CITY = 5
"""A descent ends after so many moves for each city, whatever the distances that the heuristic gave."""


def load(raw: Any) -> list[dict[str, Any]]:
    """Instances ``{"coordinates": (cities, 2) array}`` from ``{"instances": [[[x, y], …], …]}``."""
    instances: Any = cast("dict[str, Any]", raw).get("instances") if isinstance(raw, dict) else None
    if not isinstance(instances, list) or not instances:
        raise ValueError('expected {"instances": [[[x, y], …], …]} with at least one instance')
    return [{"coordinates": _cities(cities, number)} for number, cities in enumerate(cast("list[Any]", instances))]


def solve(heuristic: Callable[..., Any], visible: dict[str, Any]) -> Tour:
    """The shortest tour of all rounds. Each call gets fresh arrays."""
    distances = _distances(np.asarray(visible["coordinates"], dtype=np.float64))
    count = len(distances)
    descend = _Descent(count)
    tour = descend(_nearest_neighbour(distances), distances)
    best, best_length = tour, _length(tour, distances)
    raised = np.zeros((count, count), dtype=np.int64)
    before = distances
    for _ in range(ROUNDS):
        with np.errstate(all="ignore"):
            answer = heuristic(distances.copy(), tour.copy(), raised.copy())
            guided = _checked(answer, count)
        ends = np.roll(tour, -1)
        higher = guided[tour, ends] > before[tour, ends] + 1e-12
        raised[tour[higher], ends[higher]] += 1
        raised[ends[higher], tour[higher]] += 1
        before = guided
        tour = descend(descend(tour, guided), distances)
        length = _length(tour, distances)
        if length < best_length - 1e-12:
            best, best_length = tour, length
    return best


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


class _Descent:
    """From a tour to one that no exchange of two edges and no move of one city shortens. Holds arrays for one size."""

    def __init__(self, count: int) -> None:
        position = np.arange(count)
        ahead = position[None] - position[:, None]
        self._no_exchange = (ahead < 2) | (ahead == count - 1)
        self._no_move = (ahead == 0) | (ahead == -1) | (ahead == count - 1)
        self._count = count

    def __call__(self, tour: Tour, distances: Matrix) -> Tour:
        """Descends under symmetric ``distances``; the tour given stays as it is."""
        count = self._count
        tour = tour.copy()
        enough = -1e-10 * (1e-300 + float(distances.max()))
        for _ in range(MOVES_PER_CITY * count):
            between = distances[tour[:, None], tour]
            ahead = np.roll(between, -1, axis=1)
            edges = ahead.diagonal()
            # between[i, j] + between[i + 1, j + 1] replace the edges behind i and j.
            exchange = between + np.roll(ahead, -1, axis=0)
            exchange -= edges[:, None]
            exchange -= edges
            exchange[self._no_exchange] = 0.0
            # City i leaves its neighbours and goes between j and j + 1.
            skips = np.roll(between, 1, axis=0)[np.arange(count), np.arange(count) - count + 1]
            gain = np.roll(edges, 1) + edges - skips
            move = between + ahead
            move -= edges
            move -= gain[:, None]
            move[self._no_move] = 0.0
            best_exchange, best_move = int(exchange.argmin()), int(move.argmin())
            if min(exchange.flat[best_exchange], move.flat[best_move]) > enough:
                break
            if exchange.flat[best_exchange] <= move.flat[best_move]:
                first, last = divmod(best_exchange, count)
                tour[first + 1 : last + 1] = tour[first + 1 : last + 1][::-1].copy()
            else:
                tour = _moved(tour, *divmod(best_move, count))
        return tour


def _moved(tour: Tour, position: int, behind: int) -> Tour:
    if behind < position:
        parts = (tour[: behind + 1], tour[position : position + 1], tour[behind + 1 : position], tour[position + 1 :])
    else:
        parts = (tour[:position], tour[position + 1 : behind + 1], tour[position : position + 1], tour[behind + 1 :])
    return np.concatenate(parts)


def _checked(answer: Any, count: int) -> Matrix:
    """The answer as a symmetric matrix; its diagonal means nothing."""
    guided = np.array(answer, dtype=np.float64)
    if guided.shape != (count, count):
        raise ValueError(f"gave an array of shape {guided.shape}, ({count}, {count}) was expected")
    np.fill_diagonal(guided, 0.0)
    if not np.isfinite(guided).all():
        raise ValueError("gave distances that are not finite")
    return (guided + guided.T) / 2


def _distances(coordinates: Matrix) -> Matrix:
    return np.linalg.norm(coordinates[:, None] - coordinates[None], axis=2)


def _length(tour: Tour, distances: Matrix) -> float:
    return float(distances[tour, np.roll(tour, -1)].sum())


def _nearest_neighbour(distances: Matrix) -> Tour:
    tour = np.zeros(len(distances), dtype=np.int64)
    left = np.ones(len(distances), dtype=bool)
    left[0] = False
    for position in range(1, len(tour)):
        tour[position] = np.argmin(np.where(left, distances[tour[position - 1]], np.inf))
        left[tour[position]] = False
    return tour


def _lower_bound(coordinates: Matrix) -> float:
    distances = _distances(coordinates)
    np.fill_diagonal(distances, np.inf)
    return float(np.partition(distances, 1, axis=1)[:, :2].sum() / 2)


def _cities(raw: Any, number: int) -> Matrix:
    try:
        cities: NDArray[np.float64] = np.array(raw, dtype=np.float64)
    except (TypeError, ValueError):
        cities = np.empty((0, 2))
    if cities.ndim != 2 or cities.shape[1] != 2 or len(cities) < 4:
        raise ValueError(f"instance {number}: a list of at least four cities, each [x, y], was expected")
    if not np.isfinite(cities).all():
        raise ValueError(f"instance {number}, city {int(np.argmin(np.isfinite(cities).all(axis=1)))}: not finite")
    return cities
