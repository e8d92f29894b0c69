"""Two methods that are no choice of a next city: whole algorithms, from what an instance shows to a tour."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def farthest_insertion(visible: dict[str, Any]) -> NDArray[np.int64]:
    """Begins at city 0 and inserts the city farthest from the tour where it costs least (Rosenkrantz et al. 1977)."""
    distances = _distances(visible)
    tour = [0]
    to_tour = distances[0].copy()
    for _ in range(len(distances) - 1):
        to_tour[tour] = -1.0
        city = int(np.argmax(to_tour))
        ends = np.roll(tour, -1)
        cost = distances[tour, city] + distances[city, ends] - distances[tour, ends]
        tour.insert(int(np.argmin(cost)) + 1, city)
        to_tour = np.minimum(to_tour, distances[city])
    return np.array(tour, dtype=np.int64)


def two_opt(visible: dict[str, Any]) -> NDArray[np.int64]:
    """The nearest neighbour tour, then the best exchange of two edges as long as one shortens it (Croes 1958)."""
    distances = _distances(visible)
    count = len(distances)
    tour = np.zeros(count, dtype=np.int64)
    left = np.ones(count, dtype=bool)
    left[0] = False
    for position in range(1, count):
        tour[position] = np.argmin(np.where(left, distances[tour[position - 1]], np.inf))
        left[tour[position]] = False
    upper = np.triu(np.ones((count, count), dtype=bool), 1)
    while True:
        between = distances[tour[:, None], tour]
        edges = distances[tour, np.roll(tour, -1)]
        change = between + np.roll(between, (-1, -1), axis=(0, 1)) - edges[:, None] - edges
        change[~upper] = 0.0
        first, second = divmod(int(change.argmin()), count)
        if change[first, second] > -1e-12:
            return tour
        tour[first + 1 : second + 1] = tour[first + 1 : second + 1][::-1].copy()


def _distances(visible: dict[str, Any]) -> NDArray[np.float64]:
    coordinates = visible["coordinates"]
    return np.linalg.norm(coordinates[:, None] - coordinates[None], axis=2)
