"""Tables of the evolution of heuristics: studies, their samples, every exchange with a model, and scores."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, Column, Index
from sqlmodel import Field, SQLModel


def _json(*, nullable: bool = False) -> Any:
    return Column(JSON(none_as_null=True), nullable=nullable)


class Study(SQLModel, table=True):
    """One evolution of one problem. It is worked on by one run after the other."""

    __tablename__ = "studies"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (Index("ix_studies_created", "created_at"),)

    id: str = Field(primary_key=True)
    run_id: str | None = Field(default=None, foreign_key="runs.id", ondelete="SET NULL")
    """The run that works on it, or did last."""
    title: str = ""
    problem: str
    """Id of a bundled problem, or the path of a problem's folder."""
    direction: str
    """``min`` or ``max``."""
    settings: dict[str, Any] = Field(sa_column=_json())
    """What was asked: schedule, population, models, temperatures, budget, seed."""
    state: dict[str, Any] = Field(sa_column=_json())
    """The schedule's and the model choice's state as of the last record; empty before the start."""
    records: int = 0
    """Samples recorded; numbers them in the order of their records."""
    replays: str | None = None
    """The study whose exchanges this one repeats instead of asking a model."""
    thread_id: str | None = None
    """The chat that asked for it."""
    created_at: float
    deleted_at: float | None = None


class Sample(SQLModel, table=True):
    """One proposal of a study and what became of it. Failed ones stay."""

    __tablename__ = "samples"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (
        Index("ix_samples_outcome", "study_id", "outcome"),
        Index("ix_samples_key", "study_id", "code_key"),
    )

    study_id: str = Field(primary_key=True, foreign_key="studies.id", ondelete="CASCADE")
    n: int = Field(primary_key=True)
    """The proposal's index; heuristics that the study began with have negative ones."""
    operator: str
    generation: int
    island: int = 0
    parents: list[int] = Field(sa_column=_json())
    model: str | None = None
    phase: str = "proposed"
    """``proposed``, ``replied`` (its code is known, not yet measured) or ``recorded``."""
    outcome: str | None = None
    """Once recorded: ``valid``, ``duplicate``, ``cut``, or how it failed."""
    verdict: str | None = None
    """What the survival said: ``entered``, ``duplicate`` or ``behind``."""
    thought: str = ""
    code: str | None = None
    code_key: str | None = None
    """Equal for codes that differ only in names, comments and layout."""
    same_as: int | None = None
    """The earlier sample with the same ``code_key`` whose measurement was taken over."""
    objective: float | None = None
    per_instance: list[float | None] | None = Field(default=None, sa_column=_json(nullable=True))
    error: str | None = None
    notes: list[str] | None = Field(default=None, sa_column=_json(nullable=True))
    """What was mended in the reply."""
    output: str = ""
    tries: int = 0
    """Model calls."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    model_seconds: float = 0.0
    seconds: float = 0.0
    """Wall time of the evaluation."""
    cpu_seconds: float = 0.0
    record: int | None = None
    """Its number among the records."""
    left_record: int | None = None
    """The record at which it left the population."""
    best: bool = False
    """Better than everything recorded before."""
    proposed_at: float
    recorded_at: float | None = None


class Exchange(SQLModel, table=True):
    """One request to a model and its reply, as sent and as received."""

    __tablename__ = "exchanges"  # pyright: ignore[reportAssignmentType]

    study_id: str = Field(primary_key=True, foreign_key="studies.id", ondelete="CASCADE")
    n: int = Field(primary_key=True)
    attempt: int = Field(primary_key=True)
    """From 0; later ones show the model its error."""
    model: str
    request: dict[str, Any] = Field(sa_column=_json())
    """``system``, ``user``, ``temperature``, ``max_output_tokens``, ``seed``."""
    request_sha256: str
    reply: str
    finish_reason: str
    usage: dict[str, Any] = Field(sa_column=_json())
    cost_usd: float | None = None
    seconds: float
    at: float


class Score(SQLModel, table=True):
    """What a sample or a baseline is worth on one set of instances."""

    __tablename__ = "scores"  # pyright: ignore[reportAssignmentType]

    study_id: str = Field(primary_key=True, foreign_key="studies.id", ondelete="CASCADE")
    subject: str = Field(primary_key=True)
    """``sample:N`` or ``baseline:NAME``."""
    set_name: str = Field(primary_key=True)
    status: str
    objective: float | None = None
    per_instance: list[float | None] = Field(sa_column=_json())
    error: str | None = None
    seconds: float = 0.0
