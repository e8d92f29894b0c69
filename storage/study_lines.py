"""A study's samples as light rows: what lists and charts of ten thousand need, without codes, prompts and values."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from sqlalchemy import func
from sqlalchemy import select as columns
from sqlmodel import col, select

from storage.database import Database
from storage.studies import Sample, Study

_CUT = 240


class SampleLine(NamedTuple):
    """One sample in short. See :class:`~storage.studies.Sample`."""

    n: int
    operator: str
    generation: int
    island: int
    parents: list[int]
    model: str | None
    phase: str
    outcome: str | None
    verdict: str | None
    same_as: int | None
    objective: float | None
    thought: str
    """Its first 240 characters."""
    error: str | None
    """Its first 240 characters."""
    tries: int
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    model_seconds: float
    seconds: float
    record: int | None
    left_record: int | None
    best: bool
    proposed_at: float
    recorded_at: float | None


class StudyLines:
    """Reads light rows of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def mark(self, study_id: str) -> tuple[int, ...]:
        """Differs from before when a sample of the study was proposed, answered or recorded."""
        answered = func.count().filter(col(Sample.phase) == "replied")
        counted = columns(func.count(), answered).where(col(Sample.study_id) == study_id)
        records = columns(col(Study.records)).where(col(Study.id) == study_id)
        with self._database.read() as session:
            connection = session.connection()
            total, replied = connection.execute(counted).one()
            return int(connection.execute(records).scalar_one_or_none() or 0), int(total), int(replied)

    def lines(self, study_id: str) -> list[SampleLine]:
        """All samples in the order of their proposals."""
        shortened = {"thought": func.substr(col(Sample.thought), 1, _CUT), "error": func.substr(Sample.error, 1, _CUT)}
        wanted: list[Any] = [shortened.get(name, getattr(Sample, name)) for name in SampleLine._fields]
        statement = columns(*wanted).where(col(Sample.study_id) == study_id).order_by(col(Sample.n))
        with self._database.read() as session:
            return [SampleLine(*row) for row in session.connection().execute(statement)]

    def some(self, study_id: str, numbers: Collection[int]) -> list[Sample]:
        """Whole samples by their numbers, in the order of their proposals."""
        wanted = select(Sample).where(col(Sample.study_id) == study_id, col(Sample.n).in_(list(numbers)))
        with self._database.read() as session:
            return list(session.exec(wanted.order_by(col(Sample.n))))

    def codes(self, study_id: str, numbers: Collection[int]) -> dict[int, str]:
        """The codes of some samples that have one."""
        wanted = columns(col(Sample.n), col(Sample.code)).where(
            col(Sample.study_id) == study_id, col(Sample.n).in_(list(numbers)), col(Sample.code).is_not(None)
        )
        with self._database.read() as session:
            return {int(n): str(code) for n, code in session.connection().execute(wanted)}
