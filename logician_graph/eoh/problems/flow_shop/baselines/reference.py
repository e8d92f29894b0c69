"""Rules that give the whole sequence without insertion: from what an instance shows to a sequence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]


def cds(visible: dict[str, Any]) -> Times:
    """Campbell, Dudek and Smith (Management Science 16, 1970): the best of machines - 1 two-machine problems."""
    times: Times = visible["times"]
    machines = times.shape[1]
    sequences = [_johnson(times[:, :first].sum(axis=1), times[:, -first:].sum(axis=1)) for first in range(1, machines)]
    return min(sequences, key=lambda sequence: _makespan(times[sequence]))


def gupta(visible: dict[str, Any]) -> Times:
    """Gupta (Operational Research Quarterly 22, 1971): an index per job, from its shortest two machines in a row."""
    times: Times = visible["times"]
    sign = np.where(times[:, 0] < times[:, -1], -1.0, 1.0)
    return np.argsort(sign / (times[:, :-1] + times[:, 1:]).min(axis=1), kind="stable")


def _johnson(first: Times, second: Times) -> Times:
    """The optimal order on two machines (Johnson 1954)."""
    early = np.flatnonzero(first < second)
    late = np.flatnonzero(first >= second)
    early = early[np.argsort(first[early], kind="stable")]
    late = late[np.argsort(-second[late], kind="stable")]
    return np.concatenate((early, late))


def _makespan(times: Times) -> int:
    leaves = np.zeros(times.shape[1] + 1, dtype=np.int64)
    for job in times:
        for machine, time in enumerate(job, start=1):
            leaves[machine] = max(leaves[machine], leaves[machine - 1]) + time
        leaves[0] = 0
    return int(leaves[-1])
