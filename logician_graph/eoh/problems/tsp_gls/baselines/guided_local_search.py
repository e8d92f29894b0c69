"""Guided local search (Voudouris and Tsang, EJOR 113, 1999): the edge of highest utility is penalised once more."""

import numpy as np


def update_edge_distance(edge_distance: np.ndarray, local_opt_tour: np.ndarray, edge_n_used: np.ndarray) -> np.ndarray:
    """The distance and a penalty for each time that an edge was raised; the utility is distance / (1 + times)."""
    ends = np.roll(local_opt_tour, -1)
    lengths = edge_distance[local_opt_tour, ends]
    worst = np.argmax(lengths / (1 + edge_n_used[local_opt_tour, ends]))
    times = edge_n_used.copy()
    times[local_opt_tour[worst], ends[worst]] += 1
    times[ends[worst], local_opt_tour[worst]] += 1
    return edge_distance + lengths.mean() * times
