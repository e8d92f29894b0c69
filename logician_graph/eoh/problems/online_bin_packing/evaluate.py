"""Online bin packing as FunSearch and EoH measure it: bins used beyond the lower bound ceil(sum / capacity).

The heuristic sees every bin that the item fits into, opened or not, in index order, as a fresh int64 array; there are
as many bins as items. The item goes where ``np.argmax`` of the scores points: the first maximum, and a NaN before all
(published heuristics depend on that). Bins are counted that hold anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

TIDY_EVERY = 32


def load(raw: Any) -> list[dict[str, Any]]:
    """Instances ``{"capacity": int, "items": int64 array}`` from ``{"capacity": …, "instances": [[size, …], …]}``."""
    keys: dict[str, Any] = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
    for key in ("capacity", "instances"):
        if key not in keys:
            raise ValueError(f'no key {key!r}; expected {{"capacity": number, "instances": [[size, …], …]}}')
    capacity = _whole(keys["capacity"])
    if capacity is None or not 0 < capacity < 2**53:
        raise ValueError(f"'capacity' is {keys['capacity']!r}, a positive integer was expected")
    lists = _list(keys["instances"])
    if not lists:
        raise ValueError(f"'instances' is {_kind(keys['instances'])}, a list of lists of item sizes was expected")
    return [{"capacity": capacity, "items": _items(sizes, number, capacity)} for number, sizes in enumerate(lists)]


def solve(heuristic: Callable[..., Any], visible: dict[str, Any]) -> NDArray[np.int64]:
    """The index of the bin of each item.

    Instead of filtering all bins for each item, the untouched ones at the end are kept as a tail that is always
    feasible, and of the others those are dropped, now and then, that no item to come fits into. ``row`` ends in that
    tail; the feasible ones before it are written in front of it, and a copy of one slice is what the heuristic gets.
    """
    items: NDArray[np.int64] = np.asarray(visible["items"], dtype=np.int64)
    capacity = int(visible["capacity"])
    count = len(items)
    smallest = np.minimum.accumulate(items[::-1])[::-1]
    placed = np.empty(count, dtype=np.int64)
    index = np.empty(count, dtype=np.int64)
    left = np.empty(count, dtype=np.int64)
    row = np.full(count, capacity, dtype=np.int64)
    touched = 0
    """Bins from here on are untouched."""
    live = 0
    """So many entries of index and left are in use, in index order."""
    with np.errstate(all="ignore"):
        for number, item in enumerate(items):
            if number % TIDY_EVERY == 0 and live:
                keep = left[:live] >= smallest[number]
                kept = int(np.count_nonzero(keep))
                left[:kept], index[:kept] = left[:live][keep], index[:live][keep]
                live = kept
            fits = (left[:live] >= item).nonzero()[0]
            start = touched - len(fits)
            left.take(fits, out=row[start:touched], mode="clip")
            bins = row[start:].copy()
            scores = heuristic(item, bins)
            if type(scores) is not np.ndarray:
                scores = np.asarray(scores)
            if scores.size != count - start:
                raise ValueError(
                    f"gave scores of shape {scores.shape} for {count - start} bins, one for each was expected"
                )
            best = int(scores.argmax())
            if best < len(fits):
                where = fits[best]
                left[where] -= item
                placed[number] = index[where]
                continue
            chosen = start + best
            opened = chosen + 1 - touched
            index[live : live + opened] = np.arange(touched, chosen + 1)
            left[live : live + opened] = capacity
            live += opened
            left[live - 1] -= item
            touched = chosen + 1
            placed[number] = chosen
    return placed


def measure(solution: Any, instance: dict[str, Any]) -> float:
    """The number of bins that hold anything, after checking that no bin holds more than its capacity."""
    items = instance["items"]
    placed = np.asarray(solution)
    if placed.shape != items.shape or placed.dtype.kind not in "iu":
        raise ValueError(f"one bin index for each of {len(items)} items was expected")
    if placed.min() < 0 or placed.max() >= len(items):
        raise ValueError("an item lies in a bin that does not exist")
    load_of = np.zeros(len(items), dtype=np.int64)
    np.add.at(load_of, placed, items)
    if load_of.max() > instance["capacity"]:
        raise ValueError(f"bin {int(load_of.argmax())} holds {int(load_of.max())}, capacity {instance['capacity']}")
    return float(np.count_nonzero(load_of))


def objective(values: list[float], instances: list[dict[str, Any]]) -> float:
    """(mean bins - mean lower bound) / mean lower bound, as a fraction."""
    bound = _bounds(instances)
    return (sum(values) - sum(bound)) / sum(bound)


def partial_bound(values_so_far: list[float], instances: list[dict[str, Any]]) -> float:
    """The objective if every instance that remains were packed into its lower bound."""
    bound = _bounds(instances)
    return (sum(values_so_far) - sum(bound[: len(values_so_far)])) / sum(bound)


def calls(visible: dict[str, Any]) -> int:
    """One for each item."""
    return len(visible["items"])


def _bounds(instances: list[dict[str, Any]]) -> list[int]:
    return [-(-int(instance["items"].sum()) // instance["capacity"]) for instance in instances]


def _items(raw: Any, number: int, capacity: int) -> NDArray[np.int64]:
    sizes = _list(raw)
    if not sizes:
        raise ValueError(f"instance {number} is {_kind(raw)}, a list of item sizes was expected")
    whole = [_whole(size) for size in sizes]
    for position, size in enumerate(whole):
        if size is None or size < 0:
            raise ValueError(f"instance {number}, item {position} is {sizes[position]!r}, a whole number was expected")
        if size > capacity:
            raise ValueError(f"instance {number}, item {position} is {size}, larger than the capacity {capacity}")
    if not any(whole):
        raise ValueError(f"instance {number} has items of size 0 only")
    return np.array(whole, dtype=np.int64)


def _list(value: Any) -> list[Any] | None:
    return cast("list[Any]", value) if isinstance(value, list) else None


def _whole(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        return None
    return int(value)


def _kind(value: Any) -> str:
    return "an empty list" if value == [] else f"of type {type(value).__name__}"
