"""Operators, outcomes and schedules as a person reads them, and numbers of studies. Pure."""

from __future__ import annotations

import math

from pages.components.states import STATES, Look

DASH = "–"

SCHEDULES = {
    "logician": "A steady stream: samples are made and measured side by side, and nobody waits for the slowest.",
    "paper": "As in the paper: every operator writes a full population in each generation, then the best stay.",
    "official-0.1": "As the authors' first program does it: each operator runs in a generation by its chance.",
    "official-0.2": "As the authors' second program does it: an operator is drawn for each sample by its weight.",
}

OPERATORS = {
    "start": "the heuristic that the problem comes with",
    "I1": "a new heuristic, from the task alone",
    "E1": "a heuristic as different as possible from several parents",
    "E2": "a heuristic on the idea that several parents share",
    "M1": "one parent, changed",
    "M2": "one parent with other parameters",
    "M3": "one parent, made simpler and more general",
}
"""In the order in which they are listed; their place is their colour."""

OUTCOMES: dict[str, Look] = {
    "valid": Look("Valid", "check_circle", "green"),
    "duplicate": Look("Duplicate", "content_copy", "gray"),
    "cut": Look("Cut short", "content_cut", "gray"),
    "generation_failed": Look("No function", "code_off", "red"),
    "rejected": Look("Refused", "gpp_bad", "red"),
    "failed": Look("Raised an error", "error", "red"),
    "timeout": Look("Timed out", "timer_off", "red"),
    "memory": Look("Out of memory", "memory_alt", "red"),
    "infeasible": Look("Infeasible", "block", "red"),
    "crashed": Look("Crashed", "bug_report", "red"),
    "cancelled": Look("Cancelled", "stop_circle", "gray"),
    "proposed": Look("Under way", "hourglass_top", "blue"),
    "replied": Look("Being measured", "speed", "blue"),
}
"""How a sample ended, or its phase before that."""
USABLE = ("valid", "duplicate", "cut")

VERDICTS = {
    "entered": "entered the population",
    "duplicate": "behaves like one that is there",
    "behind": "not good enough to enter",
}


def study_look(state: str) -> Look:
    """How a study's state looks."""
    if state == "recorded":
        return Look("Recorded", "inventory_2", "gray")
    return STATES.get(state, Look(state, "help", "gray"))


def outcome_look(outcome: str | None, phase: str = "recorded") -> Look:
    """How a sample's outcome looks."""
    name = outcome or phase
    return OUTCOMES.get(name, Look(name, "help", "gray"))


def value(objective: float | None) -> str:
    """An objective with five significant digits."""
    if objective is None or not math.isfinite(objective):
        return DASH
    return f"{objective:,.5g}" if abs(objective) < 100_000 else f"{objective:,.0f}"


def share(part: float, whole: float) -> str:
    """A percentage; unknown of nothing."""
    return f"{part / whole:.1%}" if whole else DASH


def better_by(objective: float, other: float, direction: str) -> float | None:
    """How much better than ``other``, as a fraction of it; negative: worse. None where a fraction says nothing."""
    if other == 0:
        return None
    gain = objective - other if direction == "max" else other - objective
    return gain / abs(other)


def span(seconds: float) -> str:
    """A time that fits a card: ``45 s``, ``12 min``, ``8.3 h``."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:,.1f} h"


def percent(fraction: float | None) -> str:
    """A signed percentage."""
    if fraction is None:
        return DASH
    return f"{fraction:+.2%}" if abs(fraction) < 0.1 else f"{fraction:+.1%}"
