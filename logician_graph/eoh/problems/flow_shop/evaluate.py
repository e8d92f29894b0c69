"""Permutation flow shop: the heuristic orders the jobs, the insertion of NEH builds the sequence, the makespan counts.

Nawaz, Enscore and Ham (Omega 11, 1983) sort the jobs by total processing time and insert one after the other where the
makespan of the partial sequence is lowest, at the first such place. Here the heuristic gives the numbers to sort by,
the highest first; much of the literature on constructive rules varies just this order, and with the total times the
result is NEH itself. Best places are found with heads and tails (Taillard, EJOR 47, 1990), in time jobs^2 x machines.

(EoH's own flow-shop experiment evolves the perturbation of a guided local search instead; its values do not compare.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]


def load(raw: Any) -> list[dict[str, Any]]:
    """Instances ``{"times": (jobs, machines) array, "upper": int, "lower": int}`` from text in Taillard's format.

    For each instance: a line of words, a line with jobs, machines, seed, upper and lower bound, a line of words, then
    one line per machine with the processing time of each job. Lines may be wrapped; words are skipped.
    """
    numbers = _numbers(raw) if isinstance(raw, str) else []
    if not numbers:
        raise ValueError("expected a text file in Taillard's format, no JSON and not without numbers")
    instances: list[dict[str, Any]] = []
    start = 0
    while start < len(numbers):
        header = numbers[start : start + 5]
        if len(header) < 5:
            raise ValueError(f"instance {len(instances)}: jobs, machines, seed, upper and lower bound were expected")
        jobs, machines, _, upper, lower = header
        if jobs < 1 or machines < 1 or upper < 1:
            raise ValueError(f"instance {len(instances)}: {jobs} jobs, {machines} machines, upper bound {upper}: "
                             "positive numbers were expected")  # fmt: skip
        start += 5
        times = numbers[start : start + jobs * machines]
        if len(times) < jobs * machines:
            raise ValueError(f"instance {len(instances)}: {machines} lines of {jobs} processing times were expected, "
                             f"{len(times)} numbers are there")  # fmt: skip
        if min(times) < 0:
            raise ValueError(f"instance {len(instances)}: a processing time is negative")
        start += jobs * machines
        array = np.array(times, dtype=np.int64).reshape(machines, jobs).T.copy()
        instances.append({"times": array, "upper": upper, "lower": lower})
    return instances


def visible(instance: dict[str, Any]) -> dict[str, Any]:
    """The processing times; the bounds stay out."""
    return {"times": instance["times"]}


def solve(heuristic: Callable[..., Any], visible: dict[str, Any]) -> NDArray[np.int64]:
    """The sequence of the jobs. The heuristic gets a fresh array, once."""
    times: Times = np.asarray(visible["times"], dtype=np.int64)
    with np.errstate(all="ignore"):
        priorities = np.asarray(heuristic(times.copy()))
    if priorities.shape != (len(times),) or priorities.dtype.kind not in "biuf":
        raise ValueError(
            f"gave an array of shape {priorities.shape}, one number for each job, ({len(times)},), was expected"
        )
    if np.isnan(priorities).any():
        raise ValueError("gave a priority that is not a number")
    sequence: list[int] = []
    for job in np.argsort(-priorities.astype(np.float64), kind="stable"):
        sequence.insert(_best_place(times[sequence], times[job]), int(job))
    return np.array(sequence, dtype=np.int64)


def measure(solution: Any, instance: dict[str, Any]) -> float:
    """The makespan, after checking that every job is done once."""
    times = instance["times"]
    sequence = np.asarray(solution)
    whole = sequence.shape == (len(times),) and sequence.dtype.kind in "iu"
    if not whole or not np.array_equal(np.sort(sequence), np.arange(len(times))):
        raise ValueError(f"a sequence with each of {len(times)} jobs once was expected")
    return float(_heads(times[sequence])[-1, -1])


def objective(values: list[float], instances: list[dict[str, Any]]) -> float:
    """Mean excess of the makespan over the upper bound in the file, in percent."""
    return sum(_excess(value, instance) for value, instance in zip(values, instances, strict=True)) / len(instances)


def partial_bound(values_so_far: list[float], instances: list[dict[str, Any]]) -> float:
    """The objective if each remaining makespan were the instance's lower bound."""
    rest = [float(min(instance["lower"], instance["upper"])) for instance in instances[len(values_so_far) :]]
    return objective([*values_so_far, *rest], instances)


def _excess(value: float, instance: dict[str, Any]) -> float:
    return 100 * (value - instance["upper"]) / instance["upper"]


def _heads(times: Times) -> Times:
    """When each job of a sequence leaves each machine, shape (jobs, machines).

    A job leaves machine m at the maximum over l <= m of (when the job before left l, and its own times on l to m).
    """
    heads = np.zeros_like(times)
    upto = times.cumsum(axis=1)
    waits = upto - times
    last = np.zeros(times.shape[1], dtype=np.int64)
    for position in range(len(times)):
        last = np.maximum.accumulate(last - waits[position]) + upto[position]
        heads[position] = last
    return heads


def _best_place(placed: Times, job: NDArray[np.int64]) -> int:
    """Where in the sequence ``placed`` the job makes the makespan lowest; the first such place."""
    nothing = np.zeros((1, len(job)), dtype=np.int64)
    heads = np.concatenate((nothing, _heads(placed)))
    tails = np.concatenate((_heads(placed[::-1, ::-1])[::-1, ::-1], nothing))
    upto = job.cumsum()
    leaves = np.maximum.accumulate(heads - (upto - job), axis=1) + upto
    return int((leaves + tails).max(axis=1).argmin())


def _numbers(text: str) -> list[int]:
    found: list[int] = []
    for line, content in enumerate(text.splitlines(), start=1):
        words = content.split()
        if any(word[0].isalpha() for word in words):
            continue
        for word in words:
            try:
                found.append(int(word))
            except ValueError:
                raise ValueError(f"line {line}: {word!r} is no whole number") from None
    return found
