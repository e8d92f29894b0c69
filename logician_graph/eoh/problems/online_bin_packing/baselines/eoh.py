"""The rule that EoH found (Liu et al., ICML 2024, Figure 2), from its formula."""

import numpy as np


def score(item: int, bins: np.ndarray) -> np.ndarray:
    """Prefers bins that the item fills almost, and punishes a rest of a few items' size less than a small one."""
    left = bins - item
    growth = np.exp(left)
    shape = (1 - left / bins) * np.sqrt(left)
    return bins / ((growth + 0.7) * growth) + shape + np.where(left > 3 * item, 0.8, 0.3)
