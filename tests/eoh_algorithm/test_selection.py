"""Parents come with the probabilities of the paper: oracle values, frequencies, and both ways of drawing."""

from __future__ import annotations

import random
from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logician_graph.eoh.individual import ranked
from logician_graph.eoh.selection import draw_parents, rank_probabilities
from tests.eoh_algorithm.makers import individual

CRITICAL_99_9 = {4: 18.467, 9: 27.877, 19: 43.820}
"""Chi-square values that chance exceeds once in a thousand times, by degrees of freedom."""


@pytest.mark.parametrize(
    ("size", "best", "second", "worst"),
    [(5, 0.2581, 0.2213, 0.1549), (10, 0.1359, 0.1246, 0.0748), (20, 0.0699, 0.0668, 0.0367)],
)
def test_probabilities_of_the_reference(size: int, best: float, second: float, worst: float) -> None:
    values = rank_probabilities(size)
    assert [round(values[at], 4) for at in (0, 1, -1)] == [best, second, worst]
    assert sum(values) == pytest.approx(1)


@given(st.integers(1, 300))
def test_the_better_is_likelier_but_less_than_twice(size: int) -> None:
    values = rank_probabilities(size)
    assert list(values) == sorted(values, reverse=True)
    assert values[0] < 2 * values[-1]


def chi_square(counts: Counter[object], expected: dict[object, float]) -> float:
    return sum((counts[key] - count) ** 2 / count for key, count in expected.items())


@pytest.mark.parametrize("size", [5, 10, 20])
def test_frequencies_with_replacement(size: int) -> None:
    draws = 40_000
    drawn = draw_parents(range(size), draws, random.Random(2024), replacement=True)
    expected: dict[object, float] = {rank: draws * p for rank, p in enumerate(rank_probabilities(size))}
    assert chi_square(Counter(drawn), expected) < CRITICAL_99_9[size - 1]


def test_frequencies_of_pairs_without_replacement() -> None:
    """The second is drawn among the others with their probabilities scaled up."""
    rng, draws, p = random.Random(7), 40_000, rank_probabilities(5)
    counts = Counter(tuple(draw_parents(range(5), 2, rng, replacement=False)) for _ in range(draws))
    expected: dict[object, float] = {(a, b): draws * p[a] * p[b] / (1 - p[a]) for a, b in permutations(range(5), 2)}
    assert chi_square(counts, expected) < CRITICAL_99_9[19]


@given(st.lists(st.integers(), max_size=12, unique=True), st.integers(0, 15), st.integers(), st.booleans())
def test_how_many_come(population: list[int], count: int, seed: int, replacement: bool) -> None:
    drawn = draw_parents(population, count, random.Random(seed), replacement=replacement)
    assert set(drawn) <= set(population)
    if replacement:
        assert len(drawn) == (count if population else 0)
    else:
        assert len(drawn) == len(set(drawn)) == min(count, len(population))


def test_ranks_are_of_the_sorted_population() -> None:
    made = [individual(0, 3.0), individual(1, 1.0), individual(2, 2.0), individual(3, 1.0)]
    assert [one.order for one in ranked(made, "min")] == [1, 3, 2, 0]
    assert [one.order for one in ranked(made, "max")] == [0, 2, 1, 3]
