"""Where candidates run: on this machine or on a Dask cluster. Same worker processes, same results."""

from __future__ import annotations

from logician_graph.eoh.evaluator.pool import LocalEvaluator
from logician_graph.eoh.evaluator.types import Evaluator, spec_of
from logician_graph.eoh.problem import Problem


def local_evaluator(problem: Problem, *, workers: int) -> Evaluator:
    """A pool of ``workers`` on this machine. Raises UsageError for a problem whose ``imports`` cannot be offered."""
    return LocalEvaluator(spec_of(problem), workers=workers)


def dask_evaluator(problem: Problem, *, scheduler: str) -> Evaluator:
    """A pool on every worker of the Dask cluster at ``scheduler`` (its address), as large as that worker has threads.

    Raises UsageError like :func:`local_evaluator`, and SettingsError where the package ``distributed`` is missing.
    """
    from logician_graph.eoh.evaluator.dask_pool import DaskEvaluator

    return DaskEvaluator(spec_of(problem), scheduler=scheduler)
