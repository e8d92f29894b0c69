"""Reading and writing runs and their events: the ledger that everything on a page comes from.

:meth:`RunLedger.commit` is the only way a running run writes: one :class:`Change` is one transaction, and it fails
with ``LostOwnership`` when the run was claimed again since, by another engine or by the same. What is shown live is
what was committed: listeners are called after the transaction, in order, with the events as stored.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

from sqlalchemy import CursorResult, Update, bindparam, delete, func, insert, or_, text, update
from sqlmodel import Session, SQLModel, col, select

from storage.database import Database
from storage.errors import LostOwnership, NotOpen, StorageError
from storage.ids import now
from storage.runs import Approval, Intent, Run, RunEvent
from storage.thread_store import keep_blobs
from storage.threads import Message, Thread

_LOCK = {"key_share": True}
"""A row is read to be changed: PostgreSQL keeps others from changing it, SQLite has one writer anyway."""

Listener = Callable[[str, Sequence[RunEvent], Sequence[Message]], None]
"""Called with the run's id, the events just committed and the messages they refer to."""


@dataclass(slots=True)
class Change:
    """Everything one step writes, in one transaction."""

    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    """(type, data) pairs, numbered in this order."""
    messages: list[Message] = field(default_factory=list[Message])
    """New entries of the transcript. Ids are reserved beforehand, so results may be written in any order."""
    leaf: tuple[str, str | None, str] | None = None
    """(thread id, from, to): the thread's shown branch moves to ``to`` if it still stands at ``from``."""
    intents: list[Intent] = field(default_factory=list[Intent])
    settle: list[str] = field(default_factory=list[str])
    """Call ids whose intent this change settles."""
    approvals: list[Approval] = field(default_factory=list[Approval])
    withdraw: list[str] = field(default_factory=list[str])
    """Call ids whose open request needs no answer any more."""
    blobs: dict[str, str] = field(default_factory=dict[str, str])
    """Texts by SHA-256; kept once."""
    rows: list[SQLModel] = field(default_factory=list[SQLModel])
    """Rows of the room's own tables, written whole: new ones, and those whose primary key is there already."""
    statements: list[Update] = field(default_factory=list[Update])
    """Changes of single columns in the room's own tables."""
    run: dict[str, Any] = field(default_factory=dict[str, Any])
    """Columns of the run to set."""
    closes: Collection[str] = ()
    """Not empty when the run ends: event types to drop. What still waits for a person is withdrawn, and intents go:
    the events say what was done."""


class RunLedger:
    """Runs, events, intents and approvals of one database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._listeners: list[Listener] = []
        self._order = threading.Lock()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Have ``listener`` called after every commit, in commit order per run; returns a function that stops it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # Writing

    def create(
        self, run: Run, messages: Sequence[Message], *, leaf_id: str | None = None, rows: Sequence[SQLModel] = ()
    ) -> bool:
        """Accept work: the run, what the person wrote and the ``run.queued`` event become durable together.

        ``rows``: of the room's own tables, which may name the run.

        ``leaf_id`` moves the thread's shown branch (to the new message, or to the message that is answered again).
        Returns False, having written nothing, when the thread has a run that is not done.
        """
        data = {"kind": run.kind, "thread_id": run.thread_id, "input_message_id": run.input_message_id}
        with self._order:
            with self.database.write() as session:
                if run.thread_id is not None:
                    # Two that ask at once whether the thread is busy must not both hear no.
                    session.get(Thread, run.thread_id, with_for_update=_LOCK)
                    if _busy(session, run.thread_id):
                        return False
                session.add_all(messages)
                session.flush()
                session.add(run)
                session.flush()
                for row in rows:
                    session.merge(row)
                session.flush()
                if run.thread_id is not None:
                    values: dict[str, Any] = {"updated_at": now()}
                    if leaf_id is not None:
                        values["leaf_id"] = leaf_id
                    session.connection().execute(update(Thread).where(col(Thread.id) == run.thread_id).values(**values))
                events = self._append(session, run.id, [("run.queued", data)])
            self._publish(run.id, events, messages)
        return True

    def commit(self, run_id: str, change: Change, *, owner: str | None, attempt: int | None = None) -> list[RunEvent]:
        """Write one step of a run. ``owner`` None is for what a person does from outside (answers, cancellation).

        ``attempt`` is the number of the claim that writes: an engine that was thought dead may have claimed its own
        run again, and then only the newer claim may write. None lets every claim of ``owner`` pass.
        Raises ``LostOwnership`` when the run is not this owner's any more; then nothing was written.
        """
        with self._order:
            with self.database.write() as session:
                connection = session.connection()
                events = self._append(session, run_id, change.events, owner=owner, attempt=attempt, values=change.run)
                if change.blobs:
                    keep_blobs(connection, change.blobs)
                if change.messages:
                    connection.execute(_INSERT_MESSAGES, [_columns(message) for message in change.messages])
                if change.leaf is not None:
                    _move_leaf(session, *change.leaf)
                if change.intents:
                    connection.execute(_INSERT_INTENTS, [_columns(intent) for intent in change.intents])
                for call_id in change.settle:
                    connection.execute(_SETTLE, {"b_run": run_id, "b_call": call_id, "b_at": now()})
                if change.approvals:
                    connection.execute(_INSERT_APPROVALS, [_columns(approval) for approval in change.approvals])
                for call_id in change.withdraw:
                    connection.execute(_WITHDRAW_CALL, {"b_run": run_id, "b_call": call_id, "b_at": now()})
                if change.rows:
                    for row in change.rows:
                        session.merge(row)
                    session.flush()
                for statement in change.statements:
                    connection.execute(statement)
                if change.closes:
                    connection.execute(_WITHDRAW, {"b_run": run_id, "b_at": now()})
                    connection.execute(delete(Intent).where(col(Intent.run_id) == run_id))
                    connection.execute(
                        delete(RunEvent).where(col(RunEvent.run_id) == run_id, col(RunEvent.type).in_(change.closes))
                    )
            self._publish(run_id, events, change.messages)
        return events

    def _append(
        self,
        session: Session,
        run_id: str,
        events: Sequence[tuple[str, dict[str, Any]]],
        *,
        owner: str | None = None,
        attempt: int | None = None,
        values: dict[str, Any] | None = None,
    ) -> list[RunEvent]:
        connection = session.connection()
        bindings: dict[str, Any] = {f"v_{name}": value for name, value in (values or {}).items()}
        bindings |= {"b_id": run_id, "b_count": len(events)}
        fence = {"owner": owner, "attempt": attempt}
        fence = {name: value for name, value in fence.items() if value is not None}
        bindings |= {f"b_{name}": value for name, value in fence.items()}
        statement = _bump(tuple(sorted(values or ())), tuple(fence))
        last = connection.execute(statement, bindings).scalar_one_or_none()
        if last is None:
            if owner is None:
                raise StorageError(f"There is no run {run_id!r}.")
            claim = "" if attempt is None else f" by its claim {attempt}"
            raise LostOwnership(f"Run {run_id!r} no longer belongs to engine {owner!r}{claim}.")
        at = now()
        first = last - len(events) + 1
        rows: list[dict[str, Any]] = [
            {"run_id": run_id, "seq": first + offset, "v": 1, "at": at, "type": kind, "data": data}
            for offset, (kind, data) in enumerate(events)
        ]
        if rows:
            connection.execute(_INSERT_EVENTS, rows)
        return [RunEvent(**row) for row in rows]

    def _publish(self, run_id: str, events: Sequence[RunEvent], messages: Sequence[Message]) -> None:
        for listener in list(self._listeners):
            listener(run_id, events, messages)

    def claim(self, owner: str, *, kind: str = "chat", reserved_only: bool = False) -> Run | None:
        """Take the oldest queued run of a kind for ``owner`` (``reserved_only``: of those reserved for it), or None."""
        mine = col(Run.reserved_for) == owner
        free = mine if reserved_only else or_(col(Run.reserved_for).is_(None), mine)
        candidates = select(Run.id).where(col(Run.status) == "queued", col(Run.kind) == kind, free)
        candidates = candidates.order_by(col(Run.created_at), col(Run.id)).limit(1)
        with self.database.read() as session:  # an idle look must not take the write lock
            if session.exec(candidates).first() is None:
                return None
        if not self.database.is_sqlite:
            candidates = candidates.with_for_update(skip_locked=True)
        with self.database.write() as session:
            chosen = session.exec(candidates).first()
            if chosen is None:
                return None
            run = session.get_one(Run, chosen)
            run.status = "running"
            run.owner = owner
            run.attempt += 1
            run.started_at = run.started_at or now()
            session.add(run)
            session.flush()
            return run

    def requeue(
        self,
        run_id: str,
        events: Sequence[tuple[str, dict[str, Any]]],
        *,
        statuses: Collection[str],
        attempt: int | None = None,
        crashed: bool = False,
    ) -> bool:
        """Put a run back in the queue with ``events``, if its status is one of ``statuses``; False otherwise.

        ``attempt``: only if it was not claimed again since that claim.
        """
        move = update(Run).where(col(Run.id) == run_id, col(Run.status).in_(statuses))
        if attempt is not None:
            move = move.where(col(Run.attempt) == attempt)
        move = move.values(status="queued", owner=None, crashes=col(Run.crashes) + int(crashed))
        with self._order:
            with self.database.write() as session:
                moved = cast("CursorResult[Any]", session.connection().execute(move))
                if moved.rowcount == 0:
                    return False
                written = self._append(session, run_id, events)
            self._publish(run_id, written, [])
        return True

    def release(self, alive: Collection[str]) -> int:
        """Let any engine claim what is reserved for engines that are not among ``alive``; returns how many runs."""
        left = (col(Run.status) == "queued", col(Run.reserved_for).is_not(None), col(Run.reserved_for).not_in(alive))
        with self.database.read() as session:  # the usual case must not take the write lock
            if session.exec(select(Run.id).where(*left).limit(1)).first() is None:
                return 0
        with self.database.write() as session:
            moved = session.connection().execute(update(Run).where(*left).values(reserved_for=None))
            return cast("CursorResult[Any]", moved).rowcount

    def adopt(self, run_id: str, *, alive: Collection[str], reserved_for: str | None) -> bool:
        """Queue a run anew whose engine is not among ``alive``, for ``reserved_for``; False otherwise."""
        with self.database.read() as session:
            run = session.get(Run, run_id)
        if run is None or run.status not in ("queued", "running"):
            return False
        engine = run.owner if run.status == "running" else run.reserved_for
        if engine in alive or (run.status == "queued" and engine is None):
            return False
        events = [("run.interrupted", {"reason": "Logician stopped while this ran; it goes on now."})]
        crashed = run.status == "running"
        if not self.requeue(run_id, events, statuses=(run.status,), attempt=run.attempt, crashed=crashed):
            return False
        with self.database.write() as session:
            session.connection().execute(update(Run).where(col(Run.id) == run_id).values(reserved_for=reserved_for))
        return True

    def answer(self, approval_id: str, answer: dict[str, Any]) -> Approval:
        """Make a person's answer durable and queue its run again. Exactly once: a second answer raises ``NotOpen``."""
        with self._order:
            with self.database.write() as session:
                taken = cast(
                    "CursorResult[Any]",
                    session.connection().execute(
                        update(Approval)
                        .where(col(Approval.id) == approval_id, col(Approval.state) == "open")
                        .values(state="answered", answer=answer, answered_at=now())
                    ),
                )
                if taken.rowcount == 0:
                    raise NotOpen(f"Request {approval_id!r} is not open: it was answered or withdrawn already.")
                approval = session.get_one(Approval, approval_id, populate_existing=True)
                event = ("approval.answered", {"approval_id": approval_id, "call_id": approval.call_id, **answer})
                session.connection().execute(
                    update(Run)
                    .where(col(Run.id) == approval.run_id, col(Run.status) == "waiting")
                    .values(status="queued", owner=None)
                )
                events = self._append(session, approval.run_id, [event])
            self._publish(approval.run_id, events, [])
        return approval

    def request_cancel(self, run_id: str) -> str | None:
        """Ask a run to stop. A waiting run is queued so that it can end; returns the status it had, None if unknown.

        A run that no engine ever started ends here and now as cancelled.
        """
        with self._order:
            with self.database.write() as session:
                run = session.get(Run, run_id, with_for_update=_LOCK)
                if run is None or run.status == "done" or run.cancel_requested:
                    return run.status if run is not None else None
                before = run.status
                run.cancel_requested = True
                events: list[tuple[str, dict[str, Any]]] = [("run.cancel_requested", {})]
                if before == "queued" and run.attempt == 0:
                    reason = "Stopped before it began."
                    run.status, run.outcome, run.reason, run.finished_at = "done", "cancelled", reason, now()
                    finished = {"outcome": "cancelled", "reason": reason, "usage": run.usage, "answer_message_id": None}
                    events.append(("run.finished", finished))
                elif before == "waiting":
                    run.status, run.owner = "queued", None
                session.add(run)
                session.flush()
                written = self._append(session, run_id, events)
            self._publish(run_id, written, [])
        return before

    # Reading

    def get(self, run_id: str) -> Run | None:
        """The run, or None."""
        with self.database.read() as session:
            return session.get(Run, run_id)

    def of_thread(self, thread_id: str) -> list[Run]:
        """All runs of a thread, oldest first."""
        with self.database.read() as session:
            return list(
                session.exec(
                    select(Run).where(col(Run.thread_id) == thread_id).order_by(col(Run.created_at), col(Run.id))
                )
            )

    def many(self, run_ids: Collection[str]) -> dict[str, Run]:
        """Runs by id."""
        with self.database.read() as session:
            return {run.id: run for run in session.exec(select(Run).where(col(Run.id).in_(run_ids)))}

    def asked_by(self, message_ids: Collection[str]) -> list[Run]:
        """Runs that answer one of these messages."""
        with self.database.read() as session:
            return list(session.exec(select(Run).where(col(Run.input_message_id).in_(message_ids))))

    def recent(
        self, *, limit: int, offset: int = 0, statuses: Collection[str] = (), outcomes: Collection[str] = ()
    ) -> list[Run]:
        """Runs, newest first, optionally only some statuses or outcomes."""
        query = select(Run).order_by(col(Run.created_at).desc(), col(Run.id).desc()).limit(limit).offset(offset)
        if statuses:
            query = query.where(col(Run.status).in_(statuses))
        if outcomes:
            query = query.where(col(Run.outcome).in_(outcomes))
        with self.database.read() as session:
            return list(session.exec(query))

    def count_by_status(self) -> dict[str, int]:
        """Number of runs per status."""
        with self.database.read() as session:
            rows = session.exec(select(Run.status, func.count()).group_by(col(Run.status))).all()
        return dict(rows)

    def unfinished(self, thread_id: str) -> list[Run]:
        """Runs of a thread that are not done, oldest first."""
        query = (
            select(Run).where(col(Run.thread_id) == thread_id, col(Run.status) != "done").order_by(col(Run.created_at))
        )
        with self.database.read() as session:
            return list(session.exec(query))

    def running_elsewhere(self, owners_alive: Collection[str]) -> list[Run]:
        """Running runs whose owner is not among ``owners_alive``."""
        query = select(Run).where(
            col(Run.status) == "running", or_(col(Run.owner).is_(None), col(Run.owner).not_in(owners_alive))
        )
        with self.database.read() as session:
            return list(session.exec(query))

    def events(self, run_id: str, *, after: int = 0, limit: int | None = None) -> list[RunEvent]:
        """Events of a run with ``seq`` > ``after``, in order."""
        query = (
            select(RunEvent)
            .where(col(RunEvent.run_id) == run_id, col(RunEvent.seq) > after)
            .order_by(col(RunEvent.seq))
        )
        if limit is not None:
            query = query.limit(limit)
        with self.database.read() as session:
            return list(session.exec(query))

    def events_of(self, run_ids: Collection[str]) -> dict[str, list[RunEvent]]:
        """Events of several runs, each in order."""
        result: dict[str, list[RunEvent]] = {run_id: [] for run_id in run_ids}
        query = (
            select(RunEvent).where(col(RunEvent.run_id).in_(run_ids)).order_by(col(RunEvent.run_id), col(RunEvent.seq))
        )
        with self.database.read() as session:
            for event in session.exec(query):
                result[event.run_id].append(event)
        return result

    def intent(self, run_id: str, call_id: str) -> Intent | None:
        """The intent of a call, or None when it was never decided on."""
        with self.database.read() as session:
            return session.get(Intent, (run_id, call_id))

    def approval(self, approval_id: str) -> Approval | None:
        """The approval, or None."""
        with self.database.read() as session:
            return session.get(Approval, approval_id)

    def approval_of_call(self, run_id: str, call_id: str) -> Approval | None:
        """What a call waits for or got as an answer, or None when it never asked."""
        with self.database.read() as session:
            query = select(Approval).where(col(Approval.run_id) == run_id, col(Approval.call_id) == call_id)
            return session.exec(query).first()

    def approvals(self, *, state: str | None = None, run_id: str | None = None, limit: int = 200) -> list[Approval]:
        """Approvals and questions, newest first."""
        query = select(Approval).order_by(col(Approval.created_at).desc(), col(Approval.id).desc()).limit(limit)
        if state is not None:
            query = query.where(col(Approval.state) == state)
        if run_id is not None:
            query = query.where(col(Approval.run_id) == run_id)
        with self.database.read() as session:
            return list(session.exec(query))

    def count_open_approvals(self) -> int:
        """How many things wait for a person."""
        with self.database.read() as session:
            return session.exec(select(func.count()).select_from(Approval).where(col(Approval.state) == "open")).one()

    def writable(self) -> bool:
        """True when a write transaction can be opened and committed."""
        with self.database.write() as session:
            session.connection().execute(text("UPDATE workers SET heartbeat_at = heartbeat_at WHERE id = ''"))
        return True


_INSERT_EVENTS = insert(RunEvent)
_INSERT_MESSAGES = insert(Message)
_INSERT_INTENTS = insert(Intent)
_INSERT_APPROVALS = insert(Approval)
_SETTLE = (
    update(Intent)
    .where(col(Intent.run_id) == bindparam("b_run"), col(Intent.call_id) == bindparam("b_call"))
    .values(settled_at=bindparam("b_at"))
)
_WITHDRAW = (
    update(Approval)
    .where(col(Approval.run_id) == bindparam("b_run"), col(Approval.state) == "open")
    .values(state="withdrawn", answered_at=bindparam("b_at"))
)
_WITHDRAW_CALL = _WITHDRAW.where(col(Approval.call_id) == bindparam("b_call"))
_LEAF = (
    update(Thread)
    .where(col(Thread.id) == bindparam("b_thread"), col(Thread.leaf_id).is_not_distinct_from(bindparam("b_start")))
    .values(leaf_id=bindparam("b_end"), updated_at=bindparam("b_at"))
)


@cache
def _bump(columns: tuple[str, ...], fence: tuple[str, ...]) -> Any:
    """The update that numbers events and sets ``columns`` where the columns of ``fence`` are as bound.

    Made once, so that SQLAlchemy compiles it once.
    """
    statement = update(Run).where(col(Run.id) == bindparam("b_id"))
    for name in fence:
        statement = statement.where(getattr(Run, name) == bindparam(f"b_{name}"))
    values: dict[str, Any] = {name: bindparam(f"v_{name}") for name in columns}
    values["last_seq"] = col(Run.last_seq) + bindparam("b_count")
    return statement.values(**values).returning(col(Run.last_seq))


def _columns(row: SQLModel) -> dict[str, Any]:
    return {name: getattr(row, name) for name in type(row).model_fields}


def _move_leaf(session: Session, thread_id: str, start: str | None, end: str) -> None:
    session.connection().execute(_LEAF, {"b_thread": thread_id, "b_start": start, "b_end": end, "b_at": now()})


def _busy(session: Session, thread_id: str) -> bool:
    return (
        session.exec(select(Run.id).where(col(Run.thread_id) == thread_id, col(Run.status) != "done").limit(1)).first()
        is not None
    )
