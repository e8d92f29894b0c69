"""The part of a branch that a model call needs: from where the window last began, never the whole thread.

Messages never change, so what one run has read serves the next: :class:`BranchCache` keeps the newest branches, and a
turn of a long thread reads only what is new.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from storage import Message, ThreadStore

CHUNK = 64


class BranchCache:
    """The newest branches by their last message, bounded by their number and their messages. Safe from any thread."""

    def __init__(self, *, branches: int = 64, messages: int = 50_000) -> None:
        self._branches = branches
        self._messages = messages
        self._held = 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[list[Message], str | None]] = OrderedDict()

    def get(self, leaf_id: str) -> tuple[list[Message], str | None] | None:
        """The branch that ends in ``leaf_id`` and where its window began, or None."""
        with self._lock:
            found = self._kept.get(leaf_id)
            if found is not None:
                self._kept.move_to_end(leaf_id)
            return found

    def put(self, branch: Sequence[Message], window_from: str | None) -> None:
        """Keep a branch (from its window's start on); it replaces the one that it continues."""
        start = next((index for index, message in enumerate(branch) if message.id == window_from), 0)
        kept = list(branch[start:])
        if not kept:
            return
        with self._lock:
            for message in kept[-8:]:  # a shorter state of the same branch is of no more use
                self._drop(message.id)
            self._kept[kept[-1].id] = (kept, window_from)
            self._held += len(kept)
            while len(self._kept) > self._branches or self._held > self._messages:
                self._drop(next(iter(self._kept)))

    def _drop(self, leaf_id: str) -> None:
        found = self._kept.pop(leaf_id, None)
        if found is not None:
            self._held -= len(found[0])


def load_branch(cache: BranchCache, threads: ThreadStore, leaf_id: str) -> tuple[list[Message], str | None]:
    """The messages up to ``leaf_id`` from the window's start on (oldest first), and the id at which that window began.

    The window's start is remembered by the newest reply that has one; None when no window was cut yet.
    """
    known = cache.get(leaf_id)
    if known is not None:
        return known
    leaf = threads.message(leaf_id)
    if leaf is not None and leaf.parent_id is not None and (known := cache.get(leaf.parent_id)) is not None:
        return [*known[0], leaf], known[1]
    limit = CHUNK
    while True:
        branch = threads.branch(leaf_id, limit=limit)
        start = _window_start(branch)
        complete = len(branch) < limit or branch[0].parent_id is None
        if complete or (start is not None and any(message.id == start for message in branch)):
            return branch, start
        limit *= 2


def _window_start(branch: Sequence[Message]) -> str | None:
    for message in reversed(branch):
        if message.role == "assistant" and (start := (message.extra or {}).get("window_from")) is not None:
            return str(start)
    return None
