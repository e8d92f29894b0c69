"""First Fit: the bin with the lowest index that the item fits into."""

import numpy as np


def score(item: int, bins: np.ndarray) -> np.ndarray:
    """The earlier the better."""
    return -np.arange(len(bins))
