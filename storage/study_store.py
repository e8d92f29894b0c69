"""Reading studies, their samples, exchanges and scores. What a running study writes goes through the ledger.

A study's own rows are handed to :class:`~storage.run_ledger.Change` as ``rows``, so that a sample, the state of the
schedule and the events about it become durable in one transaction, under the owner check of the run.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import Update, case, delete, func, literal, update
from sqlalchemy import select as columns
from sqlmodel import col, select

from storage.database import Database
from storage.ids import now
from storage.runs import Run, RunEvent
from storage.studies import Exchange, Sample, Score, Study


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over the recorded samples of a study, or of one operator, model or generation in it."""

    samples: int
    outcomes: dict[str, int]
    entered: int
    improved: int
    """Samples that were better than everything before."""
    input_tokens: int
    output_tokens: int
    cost_usd: float
    model_seconds: float
    seconds: float
    tries: int


def advance(study_id: str, state: dict[str, Any], records: int) -> Update:
    """The statement that moves a study on; what a person may change meanwhile (title, deletion) is left alone."""
    return update(Study).where(col(Study.id) == study_id).values(state=state, records=records)


class StudyStore:
    """Studies of one database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def get(self, study_id: str) -> Study | None:
        """The study, deleted ones included, or None."""
        with self.database.read() as session:
            return session.get(Study, study_id)

    def by_run(self, run_id: str) -> Study | None:
        """The study that a run works on."""
        with self.database.read() as session:
            return session.exec(select(Study).where(col(Study.run_id) == run_id)).first()

    def all(self) -> list[tuple[Study, Run | None]]:
        """Every study with its last run, newest first; without the states, which are large."""
        wanted = (
            select(Study, Run)
            .join(Run, col(Study.run_id) == col(Run.id), isouter=True)
            .where(col(Study.deleted_at).is_(None))
            .order_by(col(Study.created_at).desc(), col(Study.id).desc())
        )
        with self.database.read() as session:
            return [(study, run) for study, run in session.exec(wanted)]

    def add(self, rows: Collection[Any]) -> None:
        """Keep rows that no run writes: an imported study."""
        with self.database.write() as session:
            for group in (Study, Sample, Exchange, Score):
                session.add_all([row for row in rows if isinstance(row, group)])
                session.flush()

    def update(self, study_id: str, **values: Any) -> bool:
        """Set columns of a study that no run writes (title, deleted_at); False when there is no such study."""
        with self.database.write() as session:
            statement = update(Study).where(col(Study.id) == study_id).values(**values)
            return cast("Any", session.connection().execute(statement)).rowcount > 0

    def purge(self, before: float) -> int:
        """Remove studies that were deleted before ``before``, with all that belongs to them."""
        with self.database.write() as session:
            statement = delete(Study).where(col(Study.deleted_at) < before)
            return cast("Any", session.connection().execute(statement)).rowcount

    # Samples

    def sample(self, study_id: str, n: int) -> Sample | None:
        """One sample."""
        with self.database.read() as session:
            return session.get(Sample, (study_id, n))

    def samples(
        self, study_id: str, *, recorded: bool | None = None, after_record: int | None = None, valid: bool = False
    ) -> list[Sample]:
        """Samples in the order of their proposals; with ``after_record`` those recorded since, in that order."""
        wanted = select(Sample).where(col(Sample.study_id) == study_id)
        if recorded is not None:
            done = col(Sample.phase) == "recorded"
            wanted = wanted.where(done if recorded else col(Sample.phase) != "recorded")
        if valid:
            wanted = wanted.where(col(Sample.objective).is_not(None))
        order = col(Sample.n)
        if after_record is not None:
            wanted, order = wanted.where(col(Sample.record) > after_record), col(Sample.record)
        with self.database.read() as session:
            return list(session.exec(wanted.order_by(order)))

    def first_with_key(self, study_id: str, code_key: str) -> Sample | None:
        """The earliest recorded sample with this code that was measured itself."""
        wanted = (
            select(Sample)
            .where(
                col(Sample.study_id) == study_id,
                col(Sample.code_key) == code_key,
                col(Sample.phase) == "recorded",
                col(Sample.same_as).is_(None),
            )
            .order_by(col(Sample.record))
            .limit(1)
        )
        with self.database.read() as session:
            return session.exec(wanted).first()

    def best_objective(self, study_id: str, direction: str) -> float | None:
        """The best recorded objective; None when there is none."""
        function = func.max if direction == "max" else func.min
        wanted = columns(function(col(Sample.objective)))
        wanted = wanted.where(col(Sample.study_id) == study_id, col(Sample.phase) == "recorded")
        with self.database.read() as session:
            return session.connection().execute(wanted).scalar_one_or_none()

    def waiting(self, run_id: str | None) -> str | None:
        """What the run waits for, when no sample came since it said so; scores of held-out sets come meanwhile."""
        told = col(RunEvent.type) != "study.score"
        wanted = select(RunEvent).where(col(RunEvent.run_id) == run_id, told).order_by(col(RunEvent.seq).desc())
        wanted = wanted.limit(1)
        with self.database.read() as session:
            last = session.exec(wanted).first()
        return str(last.data.get("error")) if last is not None and last.type == "study.waiting" else None

    def exchanges(self, study_id: str, n: int | None = None) -> list[Exchange]:
        """What was asked and answered, for one sample or for all."""
        wanted = select(Exchange).where(col(Exchange.study_id) == study_id)
        if n is not None:
            wanted = wanted.where(col(Exchange.n) == n)
        with self.database.read() as session:
            return list(session.exec(wanted.order_by(col(Exchange.n), col(Exchange.attempt))))

    def scores(self, study_id: str) -> list[Score]:
        """Everything that was measured on any set for the report."""
        with self.database.read() as session:
            return list(session.exec(select(Score).where(col(Score.study_id) == study_id)))

    def tallies(self, study_id: str, by: str | None = None) -> dict[Any, Tally]:
        """Sums by a column of :class:`Sample` (``operator``, ``model``, ``generation``); None: all under ``None``.

        Heuristics that the study began with are left out: no model was asked for them.
        """
        recorded = [col(Sample.study_id) == study_id, col(Sample.phase) == "recorded", col(Sample.n) >= 0]
        key: Any = getattr(Sample, by) if by else literal(None)
        groups: list[Any] = [key] if by else []
        summed = ("input_tokens", "output_tokens", "cost_usd", "model_seconds", "seconds", "tries")
        sums = [
            func.count(),
            func.sum(case((col(Sample.verdict) == "entered", 1), else_=0)),
            func.sum(case((col(Sample.best), 1), else_=0)),
            *(func.coalesce(func.sum(getattr(Sample, name)), 0) for name in summed),
        ]
        totals = columns(key, *sums).where(*recorded).group_by(*groups)
        outcomes = columns(key, col(Sample.outcome), func.count()).where(*recorded)
        outcomes = outcomes.group_by(*groups, col(Sample.outcome))
        counted: dict[Any, dict[str, int]] = {}
        found: dict[Any, Tally] = {}
        with self.database.read() as session:
            connection = session.connection()
            for name, outcome, number in connection.execute(outcomes):
                counted.setdefault(name, {})[str(outcome)] = number
            for name, samples, entered, improved, *rest in connection.execute(totals):
                if samples:
                    found[name] = Tally(samples, counted.get(name, {}), int(entered or 0), int(improved or 0), *rest)
        return found

    def restore(self, study_id: str) -> bool:
        """Bring a deleted study back."""
        return self.update(study_id, deleted_at=None)

    def delete(self, study_id: str) -> bool:
        """Hide a study; it is kept until it is purged."""
        return self.update(study_id, deleted_at=now())
