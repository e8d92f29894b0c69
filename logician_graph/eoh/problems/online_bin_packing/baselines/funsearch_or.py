"""The rule that FunSearch found for the OR-Library instances (Romera-Paredes et al., Nature 625, 2024): steps of what
would be left."""

import numpy as np


def score(item: int, bins: np.ndarray) -> np.ndarray:
    """High where almost nothing would be left, lowest where a middling rest would, which few items fit into."""
    edges = np.array([2, 3, 5, 7, 9, 12, 15, 18, 20, 21])
    steps = np.array([4, 3, 2, 1, 0.9, 0.95, 0.97, 0.98, 0.98, 0.98, 0.99])
    return steps[np.searchsorted(edges, bins - item)]
