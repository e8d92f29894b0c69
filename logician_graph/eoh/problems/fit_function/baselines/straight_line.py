"""The line with the least squared error on the training points."""

import numpy as np


def predict(x: np.ndarray) -> np.ndarray:
    """Slope and offset."""
    return 0.251 * x + 0.182
