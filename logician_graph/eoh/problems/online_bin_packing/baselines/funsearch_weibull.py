"""The rule that FunSearch found for Weibull items (Romera-Paredes et al., Nature 625, 2024), from its formula.

Each value is compared with that of the bin before it, so the order of the bins matters.
"""

import numpy as np


def score(item: int, bins: np.ndarray) -> np.ndarray:
    """A curve over the remaining capacity, as differences between neighbours."""
    curve = (bins - bins.max()) ** 2 / item + bins**2 / item**2 + bins**2 / item**3
    curve[bins > item] *= -1
    curve[1:] -= curve[:-1].copy()
    return curve
