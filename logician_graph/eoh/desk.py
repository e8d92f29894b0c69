"""What everything that works on one study shares: its rows, and the one way to write them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sqlmodel import SQLModel

from logician_graph.eoh.individual import Individual
from logician_graph.eoh.options import StudyOptions
from logician_graph.eoh.problem import Problem
from storage import Change, Exchange, Run, RunLedger, Sample, Study, StudyStore, advance


class StudyDesk:
    """A study that a claimed run works on. Every write is one transaction under the run's claim."""

    def __init__(
        self, run: Run, study: Study, options: StudyOptions, problem: Problem, ledger: RunLedger, store: StudyStore
    ) -> None:
        self.run, self.study, self.options, self.problem = run, study, options, problem
        self.store = store
        self._ledger = ledger
        self._owner, self._attempt = run.owner, run.attempt
        self.samples = {sample.n: sample for sample in store.samples(study.id)}
        tally = store.tallies(study.id).get(None)
        self.tokens = tally.input_tokens + tally.output_tokens if tally else 0
        """Of all runs of the study."""
        self.cost_usd = tally.cost_usd if tally else 0.0
        self.usage: dict[str, Any] = {
            **dict.fromkeys(("input_tokens", "output_tokens", "cached_tokens", "cost_usd")),
            "model_calls": 0, "unreported_calls": 0, "tool_calls": 0, "seconds": 0.0, **run.usage,
        }  # fmt: skip
        self._mark = time.monotonic()

    def write(
        self,
        events: Sequence[tuple[str, dict[str, Any]]] = (),
        rows: Sequence[SQLModel] = (),
        *,
        state: dict[str, Any] | None = None,
        **run: Any,
    ) -> None:
        """Make a step durable, with the study's ``state`` when it changed. Raises LostOwnership, StorageError."""
        current = time.monotonic()
        self.usage["seconds"] = round(self.usage["seconds"] + current - self._mark, 3)
        self._mark = current
        change = Change(events=list(events), rows=list(rows), run={"usage": dict(self.usage), **run})
        if state is not None:
            change.statements.append(advance(self.study.id, state, self.study.records))
        if run.get("status") == "done":
            change.closes = ("study.waiting",)
        self._ledger.commit(self.run.id, change, owner=self._owner, attempt=self._attempt)

    def account(self, sample: Sample, exchange: Exchange) -> None:
        """Add an exchange to the sample and to the run."""
        used = exchange.usage
        tokens = (used.get("input_tokens"), used.get("output_tokens"))
        sample.tries += 1
        sample.model_seconds = round(sample.model_seconds + exchange.seconds, 3)
        self.usage["model_calls"] += used.get("calls") or 1
        if None in tokens:
            self.usage["unreported_calls"] += 1
        for name, value in (("input_tokens", tokens[0]), ("output_tokens", tokens[1])):
            if value is not None:
                setattr(sample, name, (getattr(sample, name) or 0) + value)
                self.usage[name] = (self.usage[name] or 0) + value
                self.tokens += value
        if exchange.cost_usd is not None:
            sample.cost_usd = (sample.cost_usd or 0.0) + exchange.cost_usd
            self.usage["cost_usd"] = (self.usage["cost_usd"] or 0.0) + exchange.cost_usd
            self.cost_usd += exchange.cost_usd

    def spent(self, issued: int) -> str | None:
        """Which budget is used up, as a sentence; None while none is."""
        budget = self.options.budget
        hours = self.usage["seconds"] / 3600
        checks = (
            ("samples", budget.samples, issued),
            ("tokens", budget.tokens, self.tokens),
            ("US dollars", budget.cost_usd, self.cost_usd),
            ("hours", budget.hours, hours),
        )
        for name, limit, used in checks:
            if limit is not None and used >= limit and used > 0:
                return f"The budget of {limit:g} {name} is used up."
        return None

    def individual(self, name: str) -> Individual:
        """The individual that became of a sample; ``name`` is its number."""
        return individual_of(self.samples[int(name)])


def individual_of(sample: Sample) -> Individual:
    """A valid sample as the algorithm sees it."""
    if sample.objective is None or sample.code is None:
        raise ValueError(f"sample {sample.n} has no objective")
    operator: Any = sample.operator
    return Individual(
        id=str(sample.n),
        thought=sample.thought,
        code=sample.code,
        objective=sample.objective,
        per_instance=tuple(sample.per_instance or ()),
        operator=operator,
        parents=tuple(str(parent) for parent in sample.parents),
        generation=sample.generation,
        order=sample.n,
        island=sample.island,
    )
