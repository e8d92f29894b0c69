"""What an engine removes beside its work, once after its start: what deleted chats left, and what crashes did.

Bounded: chats go in small groups, each in a transaction of its own, and a stop is heard between them. Whatever is not
done in time is found again at the next start.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from storage import RunLedger, ThreadStore, checkpointed, now

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

log = logging.getLogger(__name__)

KEEP_DELETED_S = 30 * 24 * 3600.0
"""How long a deleted thread can be restored."""
_GROUP = 20


def purge_deleted(threads: ThreadStore, folder: Callable[[str], Path], stopping: threading.Event) -> int:
    """Remove for good what was deleted long ago; returns how many threads. ``folder``: a thread's saved files.

    Files go first: after a crash in between the thread is still known, and so is what is left of it.
    """
    before = now() - KEEP_DELETED_S
    expired = threads.expired(deleted_before=before)
    count = 0
    for start in range(0, len(expired), _GROUP):
        if stopping.is_set():
            break
        group = [thread_id for thread_id in expired[start : start + _GROUP] if _removed(folder(thread_id))]
        if group and threads.purge(group, deleted_before=before):
            count += len(group)
    if count:
        log.info("Removed %d chats for good that were deleted 30 days ago or earlier", count)
    return count


def _removed(folder: Path) -> bool:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return True
    except OSError as error:
        log.warning("A deleted chat is kept until its files can be removed: %s", error)
        return False
    return True


async def sweep_checkpoints(saver: BaseCheckpointSaver[str], ledger: RunLedger) -> int:
    """Remove the checkpoints of runs that are done: a crash came between their end and that. Returns how many."""
    kept = await checkpointed(saver)
    runs = await asyncio.to_thread(ledger.many, kept) if kept else {}
    done = [run_id for run_id, run in runs.items() if run.status == "done"]
    for run_id in done:
        await saver.adelete_thread(run_id)
    if done:
        log.info("Removed the checkpoints of %d runs that ended just before a crash", len(done))
    return len(done)
