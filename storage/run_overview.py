"""Many runs at once: pages of a list with filters, and sums of what they used. Reads only, never all rows.

Order and time limits go by id, which grows with time and is the primary key, so that a page costs the same with a
hundred runs and with a million.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Float, case, cast, func, or_
from sqlalchemy import select as sql_select
from sqlmodel import Session, col, select

from storage.database import Database
from storage.ids import first_id
from storage.runs import Approval, Run
from storage.threads import Thread

RunOrder = Literal["newest", "oldest", "longest", "tokens", "cost"]


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are wanted; empty fields want all."""

    states: Collection[str] = ()
    """Statuses and outcomes: ``queued``, ``running``, ``waiting``, ``completed``, ``failed`` …"""
    text: str = ""
    """Part of the thread's title, of the run's id or of the model's name; case does not matter."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run and the thread it belongs to."""

    run: Run
    title: str | None
    """Title of its thread; None when it has none."""
    deleted: bool
    """True when the thread was deleted."""


@dataclass(frozen=True, slots=True)
class ApprovalRow:
    """Something that waits or waited for a person, and where."""

    approval: Approval
    title: str | None
    deleted: bool


@dataclass(frozen=True, slots=True)
class UsageSum:
    """What runs used together. Sums cover what was reported; ``unknown_*`` count the runs that lack a number."""

    runs: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    unknown_tokens: int
    unknown_cost: int


class RunOverview:
    """Lists and sums over the runs of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(self, wanted: RunFilter, *, order: RunOrder = "newest", limit: int = 50, offset: int = 0) -> list[RunRow]:
        """Runs that match, in order."""
        query = select(Run, Thread.title, Thread.deleted_at).outerjoin(Thread, col(Thread.id) == col(Run.thread_id))
        query = query.where(*_conditions(wanted)).order_by(*_ordering(order)).limit(limit).offset(offset)
        with self._database.read() as session:
            return [RunRow(run, title, deleted is not None) for run, title, deleted in session.exec(query)]

    def count(self, wanted: RunFilter) -> int:
        """Number of runs that match."""
        query = select(func.count()).select_from(Run)
        if wanted.text.strip():
            query = query.outerjoin(Thread, col(Thread.id) == col(Run.thread_id))
        with self._database.read() as session:
            return session.exec(query.where(*_conditions(wanted))).one()

    def approvals(self, *, answered: bool, limit: int = 50, offset: int = 0) -> list[ApprovalRow]:
        """What waits for a person, or what no longer does, newest first."""
        query = select(Approval, Thread.title, Thread.deleted_at)
        query = query.outerjoin(Thread, col(Thread.id) == col(Approval.thread_id))
        query = query.where((col(Approval.state) != "open") if answered else (col(Approval.state) == "open"))
        newest = func.coalesce(Approval.answered_at, Approval.created_at).desc()
        query = query.order_by(newest, col(Approval.id).desc()).limit(limit).offset(offset)
        with self._database.read() as session:
            return [
                ApprovalRow(approval, title, deleted is not None) for approval, title, deleted in session.exec(query)
            ]

    def count_approvals(self, *, answered: bool) -> int:
        """How many things wait for a person, or no longer do."""
        condition = (col(Approval.state) != "open") if answered else (col(Approval.state) == "open")
        with self._database.read() as session:
            return session.exec(select(func.count()).select_from(Approval).where(condition)).one()

    def usage_since(self, at: float) -> UsageSum:
        """What the runs that were asked for since ``at`` used."""
        with self._database.read() as session:
            return _usage(session, first_id(at))


def _usage(session: Session, since: str) -> UsageSum:
    tokens_in, tokens_out = _number("input_tokens"), _number("output_tokens")
    cost, calls = _number("cost_usd"), func.coalesce(_number("model_calls"), 0)
    unknown_tokens = case((or_(tokens_in.is_(None), func.coalesce(_number("unreported_calls"), 0) > 0), 1), else_=0)
    row: Any = (
        session.connection()
        .execute(
            sql_select(
                func.count(),
                func.coalesce(func.sum(tokens_in), 0),
                func.coalesce(func.sum(tokens_out), 0),
                func.coalesce(func.sum(cost), 0.0),
                func.coalesce(func.sum(case((calls > 0, unknown_tokens), else_=0)), 0),
                func.coalesce(func.sum(case((calls > 0, case((cost.is_(None), 1), else_=0)), else_=0)), 0),
            ).where(col(Run.id) >= since)
        )
        .one()
    )
    runs, used_in, used_out, dollars, no_tokens, no_cost = row
    return UsageSum(int(runs), int(used_in), int(used_out), float(dollars), int(no_tokens), int(no_cost))


def _number(name: str) -> Any:
    return cast(col(Run.usage)[name].as_string(), Float)


def _conditions(wanted: RunFilter) -> list[Any]:
    conditions: list[Any] = []
    if wanted.states:
        conditions.append(or_(col(Run.status).in_(wanted.states), col(Run.outcome).in_(wanted.states)))
    if wanted.text.strip():
        escaped = wanted.text.strip().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        columns = (col(Thread.title), col(Run.id), col(Run.options)["model"].as_string())
        conditions.append(or_(*(column.ilike(f"%{escaped}%", escape="\\") for column in columns)))
    return conditions


def _ordering(order: RunOrder) -> tuple[Any, ...]:
    newest = col(Run.id).desc()
    match order:
        case "newest":
            return (newest,)
        case "oldest":
            return (col(Run.id),)
        case "longest":
            return (_number("seconds").desc().nulls_last(), newest)
        case "tokens":
            total = func.coalesce(_number("input_tokens"), 0) + func.coalesce(_number("output_tokens"), 0)
            return (total.desc(), newest)
        case "cost":
            return (_number("cost_usd").desc().nulls_last(), newest)
