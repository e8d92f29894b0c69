"""Large cap sets by a greedy construction, the extremal problem of FunSearch (Nature 625, 2024).

A cap set is a set of vectors over {0, 1, 2} without three distinct ones whose sum is zero modulo 3 in every place. The
heuristic gives each vector a priority; again and again the vector with the highest one (``np.argmax``: the first, and a
NaN before all) joins the set, and those that would complete a line with it leave. A priority of minus infinity keeps a
vector out. Vectors are numbered in lexicographic order.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

LARGEST = 8


def load(raw: Any) -> list[dict[str, int]]:
    """Instances ``{"n": dimension}`` from ``{"instances": [{"n": …}, …]}``."""
    instances: Any = cast("dict[str, Any]", raw).get("instances") if isinstance(raw, dict) else None
    if not isinstance(instances, list) or not instances:
        raise ValueError('expected {"instances": [{"n": dimension}, …]} with at least one instance')
    return [{"n": _dimension(instance, number)} for number, instance in enumerate(cast("list[Any]", instances))]


def solve(heuristic: Callable[..., Any], visible: dict[str, int]) -> NDArray[np.int64]:
    """The vectors of the set, shape (size, n)."""
    n = visible["n"]
    vectors = list(product((0, 1, 2), repeat=n))
    with np.errstate(all="ignore"):
        priorities = np.array([_number(heuristic(vector, n)) for vector in vectors])
    table = np.array(vectors, dtype=np.int64)
    powers = 3 ** np.arange(n - 1, -1, -1)
    chosen: list[int] = []
    while True:
        best = int(priorities.argmax())
        if priorities[best] == -np.inf:
            return table[chosen]
        priorities[(-(table[chosen] + table[best]) % 3) @ powers] = -np.inf
        priorities[best] = -np.inf
        chosen.append(best)


def measure(solution: Any, instance: dict[str, int]) -> float:
    """The size of the set, after checking every pair of its vectors."""
    n = instance["n"]
    vectors = np.asarray(solution)
    if vectors.ndim != 2 or vectors.shape[1] != n or vectors.dtype.kind not in "iu":
        raise ValueError(f"vectors of {n} whole numbers were expected")
    if len(vectors) > 3**n:
        raise ValueError("a vector is in the set twice")
    if vectors.size and (vectors.min() < 0 or vectors.max() > 2):
        raise ValueError("a vector holds something else than 0, 1 and 2")
    powers = 3 ** np.arange(n - 1, -1, -1)
    vectors = vectors.astype(np.int64)
    member = np.zeros(3**n, dtype=bool)
    member[vectors @ powers] = True
    if np.count_nonzero(member) != len(vectors):
        raise ValueError("a vector is in the set twice")
    for position, vector in enumerate(vectors):
        thirds = (-(vectors[position + 1 :] + vector) % 3) @ powers
        if member[thirds].any():
            other = vectors[position + 1 + int(member[thirds].argmax())]
            raise ValueError(f"{vector.tolist()} and {other.tolist()} are on a line with a third vector of the set")
    return float(len(vectors))


def _number(answer: Any) -> float:
    try:
        return float(answer)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"gave {type(answer).__name__} {str(answer)[:80]!r}, a number was expected") from None


def _dimension(raw: Any, number: int) -> int:
    n: Any = cast("dict[str, Any]", raw).get("n") if isinstance(raw, dict) else None
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= LARGEST:
        raise ValueError(f'instance {number}: {{"n": a whole number from 1 to {LARGEST}}} was expected')
    return n
