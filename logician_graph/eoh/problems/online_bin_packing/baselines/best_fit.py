"""Best Fit: the bin that the item fills up most."""

import numpy as np


def score(item: int, bins: np.ndarray) -> np.ndarray:
    """The less is left the better."""
    return item - bins
