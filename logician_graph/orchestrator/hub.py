"""Tells followers what was just committed, from whatever thread it was committed to whatever loop they read on.

A follower first reads what is stored and then what comes; nothing is lost in between because it subscribes first and
drops what it has by sequence number. Runs of another engine are read from the database once a second.
"""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from logician_graph.orchestrator.events import envelope, message_ids
from storage import Message, RunEvent, RunLedger, ThreadStore

POLL_S = 1.0


class EventHub:
    """Live events of all runs, and a counter that grows with every commit."""

    def __init__(self, ledger: RunLedger, threads: ThreadStore) -> None:
        self._ledger = ledger
        self._threads = threads
        self._lock = threading.Lock()
        self._followers: dict[str, list[_Follower]] = defaultdict(list)
        self.version = 0
        """Grows with every commit: pages poll this before they read anything."""
        self.events_written = 0
        ledger.listen(self._publish)

    def _publish(self, run_id: str, events: Sequence[RunEvent], messages: Sequence[Message]) -> None:
        with self._lock:
            self.version += 1
            self.events_written += len(events)
            followers = list(self._followers.get(run_id, ()))
        if followers:
            known = {message.id: message for message in messages}
            envelopes = [envelope(event, known) for event in events]
            for follower in followers:
                follower.push(envelopes)

    def stored(self, run_id: str, after: int = 0) -> list[dict[str, Any]]:
        """Envelopes with ``seq`` > ``after``, in order, as far as they are stored now."""
        events = self._ledger.events(run_id, after=after)
        ids = message_ids(events)
        messages = self._threads.messages(ids) if ids else {}
        return [envelope(event, messages) for event in events]

    async def follow(self, run_id: str, after: int = 0) -> AsyncGenerator[dict[str, Any]]:
        """Envelopes with ``seq`` > ``after``, in order, live, until the run is done. Use it with ``aclosing``."""
        follower = _Follower(asyncio.get_running_loop())
        with self._lock:
            self._followers[run_id].append(follower)
        try:
            last = after
            while True:
                done = await asyncio.to_thread(self._is_done, run_id)
                for item in await asyncio.to_thread(self.stored, run_id, last):
                    last = item["seq"]
                    yield item
                if done:
                    return
                async for item in follower.fresh(last):
                    last = item["seq"]
                    yield item
                    if item["type"] == "run.finished":
                        return
        finally:
            with self._lock:
                self._followers[run_id].remove(follower)
                if not self._followers[run_id]:
                    del self._followers[run_id]

    def _is_done(self, run_id: str) -> bool:
        run = self._ledger.get(run_id)
        return run is None or run.status == "done"


class _Follower:
    """One reader of one run, on its own loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def push(self, envelopes: Sequence[dict[str, Any]]) -> None:
        try:
            self._loop.call_soon_threadsafe(self._put, envelopes)
        except RuntimeError:  # its loop is closed: the reader is gone and will be removed by its own finally
            return

    def _put(self, envelopes: Sequence[dict[str, Any]]) -> None:
        for item in envelopes:
            self._queue.put_nowait(item)

    async def fresh(self, last: int) -> AsyncGenerator[dict[str, Any]]:
        """Pushed envelopes that continue without a gap after ``last``; ends on a gap or when none came for a while."""
        while True:
            try:
                item = await asyncio.wait_for(self._queue.get(), POLL_S)
            except TimeoutError:
                return
            if item["seq"] <= last:
                continue
            if item["seq"] != last + 1:
                return
            last = item["seq"]
            yield item
