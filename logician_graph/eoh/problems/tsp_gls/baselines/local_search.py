"""Local search alone: the distances stay as they are, so the first tour that cannot be improved is the result."""

import numpy as np


def update_edge_distance(edge_distance: np.ndarray, local_opt_tour: np.ndarray, edge_n_used: np.ndarray) -> np.ndarray:
    """Nothing is bent."""
    return edge_distance
