"""Choosing parents by rank (arXiv 2401.02051, section 3): rank r of N is drawn with probability p ∝ 1 / (r + N).

The pressure is weak on purpose: the best is drawn less than twice as often as the worst.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from random import Random
from typing import TypeVar

T = TypeVar("T")


def rank_probabilities(size: int) -> tuple[float, ...]:
    """The probability of each rank 1..``size``, best first; they sum to 1. Empty for an empty population."""
    weights = [1.0 / (rank + size) for rank in range(1, size + 1)]
    total = sum(weights)
    return tuple(weight / total for weight in weights)


def draw_parents(best_first: Sequence[T], count: int, rng: Random, *, replacement: bool) -> list[T]:
    """Draw ``count`` of a population that is sorted best first.

    With ``replacement`` the same one may come several times, as in the official code. Without, each comes at most once,
    the probabilities of the others are scaled up after each draw, and fewer come when the population is smaller.
    An empty population gives an empty list.
    """
    left = list(best_first)
    weights = list(rank_probabilities(len(left)))
    drawn: list[T] = []
    while left and len(drawn) < count:
        place = _draw(weights, rng)
        drawn.append(left[place])
        if not replacement:
            del left[place], weights[place]
    return drawn


def _draw(weights: Sequence[float], rng: Random) -> int:
    """An index by weight. One call of ``random()`` each, so that the stream does not depend on a library's choices."""
    sums = list(accumulate(weights))
    point = rng.random() * sums[-1]
    return next((index for index, upto in enumerate(sums) if point < upto), len(sums) - 1)
