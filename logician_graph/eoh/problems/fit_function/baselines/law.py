"""The law that the points were drawn from; what remains is their rounding."""

import numpy as np


def predict(x: np.ndarray) -> np.ndarray:
    """A damped oscillation around a line."""
    return 2 * np.exp(-0.6 * x) * np.cos(3 * x) + 0.3 * x
