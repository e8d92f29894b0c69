"""Tables of work: runs, their append-only events, intents before effects, and what waits for a person."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, Column, Index
from sqlmodel import Field, SQLModel


def _json(*, nullable: bool = False) -> Any:
    return Column(JSON(none_as_null=True), nullable=nullable)


class Run(SQLModel, table=True):
    """One piece of work: a chat turn now, later a duty, an experiment, an evaluation trial."""

    __tablename__ = "runs"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (
        Index("ix_runs_status", "status", "created_at"),
        Index("ix_runs_thread", "thread_id"),
        Index("ix_runs_input", "input_message_id"),
    )

    id: str = Field(primary_key=True)
    kind: str = "chat"
    thread_id: str | None = Field(default=None, foreign_key="threads.id", ondelete="CASCADE")
    parent_run_id: str | None = None
    input_message_id: str | None = None
    """The message that asked for this run."""
    status: str = "queued"
    """``queued``, ``running``, ``waiting`` or ``done``."""
    outcome: str | None = None
    """``completed``, ``needs_input``, ``blocked``, ``failed`` or ``cancelled`` once done."""
    reason: str | None = None
    """Why it ended so, for a person."""
    options: dict[str, Any] = Field(sa_column=_json())
    """What was asked: model, mode, budgets, verify commands, workspace …"""
    usage: dict[str, Any] = Field(sa_column=_json())
    """What was measured: tokens, cost, calls, seconds; a missing number is null."""
    answer_message_id: str | None = None
    last_seq: int = 0
    attempt: int = 0
    """How often an engine has claimed it: more than one means that it waited or was interrupted. The number of a
    claim, with the owner, is what a running run writes by."""
    crashes: int = 0
    """How often the engine that ran it died."""
    cancel_requested: bool = False
    owner: str | None = None
    """Id of the engine that runs it now."""
    reserved_for: str | None = None
    """Only this engine may claim it; None means any."""
    trace_id: str | None = None
    created_at: float
    started_at: float | None = None
    finished_at: float | None = None


class RunEvent(SQLModel, table=True):
    """One entry of a run's ledger, ordered by ``seq`` within the run, never changed.

    Entries of a transient type (text as it streams in) are dropped once the run is done: the message that
    closed them holds the same text.
    """

    __tablename__ = "run_events"  # pyright: ignore[reportAssignmentType]
    __table_args__ = {"sqlite_with_rowid": False}

    run_id: str = Field(primary_key=True, foreign_key="runs.id", ondelete="CASCADE")
    seq: int = Field(primary_key=True)
    v: int = 1
    at: float
    type: str
    data: dict[str, Any] = Field(sa_column=_json())


class Intent(SQLModel, table=True):
    """An effect that was decided on: written before it happens, settled in the transaction of its result."""

    __tablename__ = "intents"  # pyright: ignore[reportAssignmentType]
    __table_args__ = {"sqlite_with_rowid": False}

    run_id: str = Field(primary_key=True, foreign_key="runs.id", ondelete="CASCADE")
    call_id: str = Field(primary_key=True)
    kind: str
    """``model``, ``tool`` or ``verify``."""
    name: str
    args_sha256: str
    replay: str
    """``safe``: run again after a crash. ``never``: the outcome is unknown, and said so."""
    message_id: str
    """Id reserved for the message that will hold the result."""
    settled_at: float | None = None
    created_at: float


class Approval(SQLModel, table=True):
    """Something that waits for a person: a tool call to approve or a question to answer."""

    __tablename__ = "approvals"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (Index("ix_approvals_state", "state", "created_at"), Index("ix_approvals_run", "run_id"))

    id: str = Field(primary_key=True)
    run_id: str = Field(foreign_key="runs.id", ondelete="CASCADE")
    thread_id: str | None = None
    call_id: str
    kind: str
    """``approval`` or ``question``."""
    request: dict[str, Any] = Field(sa_column=_json())
    """What is asked: tool, arguments, description, preview, reason, suggestions; or question and choices."""
    state: str = "open"
    """``open``, ``answered`` or ``withdrawn`` (the run ended before anyone answered)."""
    answer: dict[str, Any] | None = Field(default=None, sa_column=_json(nullable=True))
    """``{decision: allow|deny, reason, rule_id}`` or ``{text}``."""
    created_at: float
    answered_at: float | None = None


class Worker(SQLModel, table=True):
    """A running engine. Its lock file in the home folder is held while it lives."""

    __tablename__ = "workers"  # pyright: ignore[reportAssignmentType]

    id: str = Field(primary_key=True)
    host: str
    pid: int
    started_at: float
    heartbeat_at: float
