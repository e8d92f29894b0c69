"""What the pages of a study are drawn from: its sums, its samples as light rows, and what follows from them.

Rows are read once for each mark of a study (see ``StudyLines.mark``) and shared between sessions; nobody changes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.eoh import TRAIN, StudyView
from storage import SampleLine, StudyLines

_ETA_FROM = 40


@dataclass(frozen=True)
class Facts:
    """A study for drawing; ``view`` has no samples in it."""

    view: StudyView
    lines: Sequence[SampleLine]
    """In the order of their proposals."""
    mark: tuple[int, ...]

    @property
    def id(self) -> str:
        """The study's id."""
        return self.view.row.id

    @property
    def direction(self) -> str:
        """``min`` or ``max``."""
        return self.view.row.direction

    @cached_property
    def by_number(self) -> dict[int, SampleLine]:
        """Samples by their numbers."""
        return {line.n: line for line in self.lines}

    @cached_property
    def recorded(self) -> list[SampleLine]:
        """In the order of their records."""
        return sorted((line for line in self.lines if line.record is not None), key=lambda line: line.record or 0)

    @cached_property
    def valid(self) -> list[SampleLine]:
        """Recorded ones with an objective."""
        return [line for line in self.recorded if line.objective is not None]

    @cached_property
    def best(self) -> SampleLine | None:
        """The best one; of equals the first."""
        return min(self.valid, key=lambda line: (self.cost(line), line.record or 0), default=None)

    @cached_property
    def lineage(self) -> set[int]:
        """The path of the best one: from it to its best parent, and so on to the start."""
        path: set[int] = set()
        line = self.best
        while line is not None and line.n not in path:
            path.add(line.n)
            parents = [self.by_number[number] for number in line.parents if number in self.by_number]
            line = min(parents, key=lambda one: (self.cost(one), one.n), default=None)
        return path

    @cached_property
    def operators(self) -> list[str]:
        """Operators that occur."""
        found = {line.operator for line in self.lines}
        return [name for name in ("start", "I1", "E1", "E2", "M1", "M2", "M3") if name in found]

    @property
    def records(self) -> int:
        """The last record's number."""
        return self.recorded[-1].record or 0 if self.recorded else 0

    @property
    def running(self) -> bool:
        """Whether a run is at work on it, or queued."""
        return self.view.row.state in ("queued", "running", "waiting")

    def cost(self, line: SampleLine) -> float:
        """The objective as a number to minimise; infinite without one."""
        if line.objective is None:
            return float("inf")
        return line.objective if self.direction == "min" else -line.objective

    def children(self, number: int) -> list[SampleLine]:
        """Who came from ``number``."""
        return [line for line in self.lines if number in line.parents]

    def members(self, at: int | None = None) -> list[SampleLine]:
        """The population as it stood after record ``at``, best first; None: now."""
        last = self.records if at is None else at
        inside = [
            line
            for line in self.recorded
            if line.verdict == "entered"
            and (line.record or 0) <= last
            and (line.left_record is None or line.left_record > last)
        ]
        return sorted(inside, key=lambda line: (self.cost(line), line.n))

    def best_baseline(self, set_name: str = TRAIN) -> tuple[str, float] | None:
        """The best baseline on a set."""
        known = [
            (name, scores[set_name].objective)
            for name, scores in self.view.baselines.items()
            if set_name in scores and scores[set_name].objective is not None
        ]
        sign = 1 if self.direction == "min" else -1
        found = [(name, objective) for name, objective in known if objective is not None]
        return min(found, key=lambda one: sign * one[1], default=None)

    def seconds_left(self) -> float | None:
        """From the pace of the last records; None while that says nothing."""
        times = [
            line.recorded_at for line in self.recorded[-_ETA_FROM:] if line.recorded_at is not None and line.n >= 0
        ]
        made = sum(line.n >= 0 for line in self.recorded)
        left = self.view.row.planned - made
        if len(times) < 3 or left <= 0 or times[-1] <= times[0]:
            return None
        return left * (times[-1] - times[0]) / (len(times) - 1)


@st.cache_resource(max_entries=8, show_spinner=False)
def _lines(_engine: Engine, study_id: str, mark: tuple[int, ...]) -> list[SampleLine]:
    return StudyLines(_engine.studies.store.database).lines(study_id)


@st.cache_resource(max_entries=16, show_spinner=False)
def _facts(_engine: Engine, study_id: str, mark: tuple[int, ...], seen: tuple[Any, ...]) -> Facts:
    view = _engine.studies.view(study_id, samples=False)
    return Facts(view, _lines(_engine, study_id, mark), mark)


def facts_of(engine: Engine, study_id: str) -> Facts:
    """The study as it is now. Raises NotFound, UsageError."""
    store = engine.studies.store
    study = store.get(study_id)
    mark = StudyLines(store.database).mark(study_id)
    run = engine.ledger.get(study.run_id) if study is not None and study.run_id else None
    seen = () if run is None else (run.id, run.status, run.outcome, run.last_seq)
    return _facts(engine, study_id, mark, (study.title if study else None, *seen))


def total(values: Iterable[float | None]) -> tuple[float | None, bool]:
    """A sum of what is known, None when nothing is, and whether something is missing."""
    listed = list(values)
    found = [value for value in listed if value is not None]
    return (sum(found) if found else None), len(found) < len(listed)


def summed(lines: Iterable[SampleLine], what: Callable[[SampleLine], float | None]) -> tuple[float | None, bool]:
    """:func:`total` over samples for which a model was asked."""
    return total(what(line) for line in lines if line.n >= 0 and line.tries > 0)


def evenly(lines: Sequence[SampleLine], most: int) -> list[SampleLine]:
    """At most about ``most`` of them: every one that was a new best, the others at even distances."""
    if len(lines) <= most:
        return list(lines)
    step = len(lines) / most
    chosen = {int(index * step) for index in range(most)}
    return [line for index, line in enumerate(lines) if line.best or index in chosen]
