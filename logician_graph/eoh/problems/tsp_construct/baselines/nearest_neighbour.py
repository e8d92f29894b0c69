"""Nearest neighbour: the unvisited city that is closest to where the tour stands."""

import numpy as np


def select_next_node(
    current_node: int, destination_node: int, unvisited_nodes: np.ndarray, distance_matrix: np.ndarray
) -> int:
    """The nearest."""
    return unvisited_nodes[np.argmin(distance_matrix[current_node][unvisited_nodes])]
