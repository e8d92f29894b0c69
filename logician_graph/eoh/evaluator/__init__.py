"""Running candidates that nobody trusts, and finding out what they are worth."""

from __future__ import annotations

from logician_graph.eoh.evaluator.executor import dask_evaluator, local_evaluator
from logician_graph.eoh.evaluator.types import OFFERED, Evaluator, Isolation

__all__ = ["OFFERED", "Evaluator", "Isolation", "dask_evaluator", "local_evaluator"]
