"""Values that the parts of this room hand to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal[
    "valid",
    "generation_failed",
    "rejected",
    "failed",
    "timeout",
    "memory",
    "infeasible",
    "crashed",
    "cancelled",
]
"""How a sample ended. ``generation_failed``: the reply held no usable function. ``rejected``: refused before it ran.
``failed``: it raised. ``crashed``: its process died of something that it cannot be blamed for with certainty."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What running one candidate on one set of instances gave. Measured outside the candidate's process."""

    status: Status
    objective: float | None
    """Lower or higher is better as the problem says; None unless valid and complete."""
    per_instance: tuple[float | None, ...]
    """One value per instance in the set's order; None where it was not reached."""
    seconds: float
    """Wall time of the candidate's process."""
    cpu_seconds: float
    error: str | None = None
    """For the model and the person: what went wrong, with the line in the candidate."""
    stage: Literal["full", "cut"] = "full"
    """``cut``: stopped early because it provably cannot enter the population."""
    output: str = ""
    """The first bytes of what the candidate printed."""
