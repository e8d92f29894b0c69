"""Reading and writing threads and their messages. Messages are only ever added."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from sqlalchemy import Connection, delete, func, literal, or_, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from storage.database import Database
from storage.ids import new_id, now
from storage.runs import Run, RunEvent
from storage.threads import Blob, Message, Thread

_FRAME: Any = cast("Any", RunEvent).data[("request", "frame")].as_string()
"""The blob that a model call names: its system prompt and tools."""
_SKEW_S = 3600.0
"""How far the clocks of engines may lie apart."""


class ThreadStore:
    """Threads, messages and blobs of one database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    # Threads

    def create(
        self, *, title: str = "", workspace: str | None = None, model: str | None = None, mode: str | None = None
    ) -> Thread:
        """A new empty thread."""
        at = now()
        thread = Thread(
            id=new_id(),
            title=title,
            created_at=at,
            updated_at=at,
            workspace=workspace,
            model=model,
            mode=mode,
            titled_by="person" if title else "auto",
        )
        with self.database.write() as session:
            session.add(thread)
        return thread

    def get(self, thread_id: str) -> Thread | None:
        """The thread, deleted ones included, or None."""
        with self.database.read() as session:
            return session.get(Thread, thread_id)

    def update(self, thread_id: str, **values: Any) -> bool:
        """Set columns of a thread; False when there is no such thread."""
        with self.database.write() as session:
            found = (
                session.connection()
                .execute(update(Thread).where(col(Thread.id) == thread_id).values(**values).returning(col(Thread.id)))
                .first()
            )
        return found is not None

    def search(self, query: str = "", *, limit: int = 50, offset: int = 0) -> list[Thread]:
        """Threads that are not deleted, newest first; with ``query``, those whose title or messages contain it."""
        statement = select(Thread).where(col(Thread.deleted_at).is_(None))
        if query.strip():
            pattern = "%" + query.strip().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
            in_messages = select(Message.thread_id).where(col(Message.text).ilike(pattern, escape="\\"))
            statement = statement.where(
                or_(col(Thread.title).ilike(pattern, escape="\\"), col(Thread.id).in_(in_messages))
            )
        statement = statement.order_by(col(Thread.updated_at).desc(), col(Thread.id).desc()).limit(limit).offset(offset)
        with self.database.read() as session:
            return list(session.exec(statement))

    def count(self) -> int:
        """Number of threads that are not deleted."""
        with self.database.read() as session:
            return session.exec(select(func.count()).select_from(Thread).where(col(Thread.deleted_at).is_(None))).one()

    def expired(self, *, deleted_before: float) -> list[str]:
        """Threads that were deleted before a time and do not work any more, the longest deleted first."""
        with self.database.read() as session:
            return list(session.exec(_expired(deleted_before).order_by(col(Thread.deleted_at), col(Thread.id))))

    def purge(self, thread_ids: Collection[str], *, deleted_before: float) -> bool:
        """Remove :meth:`expired` threads for good, with what only they need; False when one is not expired any more.

        Blobs that their model calls name go along unless another run names them.
        """
        since = now() - _SKEW_S
        blobs = self._blobs_of_these_alone(thread_ids)
        with self.database.write() as session:
            connection = session.connection()
            expired = set(session.exec(_expired(deleted_before).where(col(Thread.id).in_(thread_ids))))
            if expired != set(thread_ids):
                return False
            if blobs:
                # Whoever is about to name one of them keeps it (see keep_blobs), or finds it gone and writes it again.
                session.exec(select(Blob.sha256).where(col(Blob.sha256).in_(blobs)).with_for_update()).all()
                recent = or_(col(Run.finished_at).is_(None), col(Run.finished_at) >= since)
                blobs -= set(
                    session.exec(_named_blobs(_runs_beside(thread_ids).where(recent)).where(_FRAME.in_(blobs)))
                )
                connection.execute(delete(Blob).where(col(Blob.sha256).in_(blobs)))
            connection.execute(delete(Run).where(col(Run.thread_id).in_(thread_ids)))
            connection.execute(delete(Message).where(col(Message.thread_id).in_(thread_ids)))
            connection.execute(delete(Thread).where(col(Thread.id).in_(thread_ids)))
        return True

    def _blobs_of_these_alone(self, thread_ids: Collection[str]) -> set[str]:
        """Hashes that runs of these threads name and no other does, as of now."""
        with self.database.read() as session:
            named = set(session.exec(_named_blobs(select(Run.id).where(col(Run.thread_id).in_(thread_ids)))))
            if not named:
                return named
            return named - set(session.exec(_named_blobs(_runs_beside(thread_ids)).where(_FRAME.in_(named))))

    # Messages

    def message(self, message_id: str) -> Message | None:
        """The message, or None."""
        with self.database.read() as session:
            return session.get(Message, message_id)

    def messages(self, message_ids: Collection[str]) -> dict[str, Message]:
        """Messages by id."""
        with self.database.read() as session:
            return {
                message.id: message for message in session.exec(select(Message).where(col(Message.id).in_(message_ids)))
            }

    def branch(self, leaf_id: str, *, limit: int | None = None) -> list[Message]:
        """The last ``limit`` messages of the branch that ends in ``leaf_id``, oldest first; costs O(limit)."""
        with self.database.read() as session:
            return _branch(session, leaf_id, limit)

    def children(self, thread_id: str, parent_ids: Collection[str | None]) -> list[Message]:
        """All messages of a thread whose parent is among ``parent_ids`` (None: the roots), oldest first."""
        some = [parent for parent in parent_ids if parent is not None]
        condition = col(Message.parent_id).in_(some)
        if None in parent_ids:
            condition = or_(condition, col(Message.parent_id).is_(None))
        query = (
            select(Message)
            .where(col(Message.thread_id) == thread_id, condition)
            .order_by(col(Message.created_at), col(Message.id))
        )
        with self.database.read() as session:
            return list(session.exec(query))

    def newest_leaf(self, message_id: str) -> str:
        """The end of the branch through ``message_id``, always following the newest child."""
        child = aliased(Message)
        with self.database.read() as session:
            current = message_id
            while True:
                following = session.exec(
                    select(child.id)
                    .where(child.parent_id == current)
                    .order_by(col(child.created_at).desc(), col(child.id).desc())
                    .limit(1)
                ).first()
                if following is None:
                    return current
                current = following

    def all_messages(self, thread_id: str) -> list[Message]:
        """Every message of a thread, every branch, in the order written."""
        query = (
            select(Message)
            .where(col(Message.thread_id) == thread_id)
            .order_by(col(Message.created_at), col(Message.id))
        )
        with self.database.read() as session:
            return list(session.exec(query))

    # Blobs

    def put_blob(self, sha256: str, content: str) -> None:
        """Keep a text under its hash; a second time does nothing."""
        with self.database.write() as session:
            keep_blobs(session.connection(), {sha256: content})

    def blobs(self, hashes: Collection[str]) -> dict[str, str]:
        """Texts by hash."""
        with self.database.read() as session:
            return {blob.sha256: blob.text for blob in session.exec(select(Blob).where(col(Blob.sha256).in_(hashes)))}


def _expired(deleted_before: float) -> SelectOfScalar[str]:
    working = select(Run.thread_id).where(col(Run.status) != "done", col(Run.thread_id).is_not(None))
    return select(Thread.id).where(col(Thread.deleted_at) < deleted_before, col(Thread.id).not_in(working))


def _runs_beside(thread_ids: Collection[str]) -> SelectOfScalar[str]:
    return select(Run.id).where(or_(col(Run.thread_id).is_(None), col(Run.thread_id).not_in(thread_ids)))


def _named_blobs(run_ids: SelectOfScalar[str]) -> SelectOfScalar[str]:
    """Hashes that model calls of these runs name."""
    return (
        select(_FRAME)
        .where(col(RunEvent.run_id).in_(run_ids), col(RunEvent.type) == "model.started", _FRAME.is_not(None))
        .distinct()
    )


def keep_blobs(connection: Connection, blobs: Mapping[str, str]) -> None:
    """Keep texts under their hashes in this transaction, whoever else does so at the same moment."""
    kept = select(Blob.sha256).where(col(Blob.sha256).in_(blobs))
    # Locked against a purge that is about to remove it because nobody names it yet.
    known = set(connection.execute(kept.with_for_update(read=True, key_share=True)).scalars())
    rows = [{"sha256": sha256, "text": blobs[sha256]} for sha256 in sorted(set(blobs) - known)]
    if rows:
        insert = sqlite_insert if connection.dialect.name == "sqlite" else postgresql_insert
        connection.execute(insert(Blob).on_conflict_do_nothing(), rows)


def _branch(session: Session, leaf_id: str, limit: int | None) -> list[Message]:
    chain = (
        select(Message.id, Message.parent_id, literal(1).label("n"))
        .where(col(Message.id) == leaf_id)
        .cte("chain", recursive=True)
    )
    parent = aliased(Message)
    step = select(col(parent.id), col(parent.parent_id), (chain.c.n + 1).label("n")).where(
        col(parent.id) == chain.c.parent_id
    )
    if limit is not None:
        step = step.where(chain.c.n < limit)
    chain = chain.union_all(step)
    query = select(Message).join(chain, col(Message.id) == chain.c.id).order_by(chain.c.n.desc())
    rows: Sequence[Message] = session.exec(query).all()  # pyright: ignore[reportUnknownMemberType]
    return list(rows)  # pyright: ignore[reportUnknownArgumentType]


def next_depth(parent: Message | None) -> int:
    """Depth of a message below ``parent``."""
    return 0 if parent is None else parent.depth + 1
