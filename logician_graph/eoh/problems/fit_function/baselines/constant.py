"""The mean of the training points."""

import numpy as np


def predict(x: np.ndarray) -> np.ndarray:
    """The same everywhere."""
    return np.full(x.shape, 0.935)
