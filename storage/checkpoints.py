"""LangGraph checkpoints: the program counter of one run, never its transcript.

The checkpoint thread is the run's id; its rows are deleted when the run settles. On SQLite they live in a file of
their own so that the ledger's writes never wait for them.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

# Stored state is plain JSON types only; refuse anything else instead of unpickling it.
os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")


@asynccontextmanager
async def open_checkpoints(database_url: str, home: Path) -> AsyncGenerator[BaseCheckpointSaver[str]]:
    """The saver that belongs to ``database_url``, set up and ready; closed when the block ends."""
    if database_url.startswith("sqlite"):
        import aiosqlite
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        async with aiosqlite.connect(home / "checkpoints.db") as connection:
            await connection.execute("PRAGMA busy_timeout = 15000")
            await connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            saver = AsyncSqliteSaver(connection)
            await saver.setup()
            await connection.execute("PRAGMA synchronous = NORMAL")
            yield saver
        return
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from psycopg.rows import dict_row
    from psycopg_pool import AsyncConnectionPool

    conninfo = database_url.replace("postgresql+psycopg://", "postgresql://", 1)
    pool = AsyncConnectionPool(
        conninfo,
        open=False,
        max_size=8,
        check=AsyncConnectionPool.check_connection,
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
    )
    async with pool:
        saver = AsyncPostgresSaver(pool)  # pyright: ignore[reportArgumentType]
        await saver.setup()
        yield saver


async def checkpointed(saver: BaseCheckpointSaver[str]) -> list[str]:
    """Ids of the runs that have rows. Few: a run has rows only while it waits, or when its end was cut off."""
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    if isinstance(saver, AsyncSqliteSaver):
        query = "SELECT thread_id FROM checkpoints UNION SELECT thread_id FROM writes"
        async with saver.lock, saver.conn.execute(query) as cursor:
            return [str(row[0]) async for row in cursor]
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    assert isinstance(saver, AsyncPostgresSaver)
    tables = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
    async with saver._cursor() as cursor:  # pyright: ignore[reportPrivateUsage]
        await cursor.execute(" UNION ".join(f"SELECT thread_id FROM {table}" for table in tables))  # noqa: S608
        return [str(row["thread_id"]) for row in await cursor.fetchall()]
