"""What the nodes of one run share while it runs: its record, its doors to the other rooms, its signals.

Nothing here survives the process; what must survive is in the ledger. :meth:`RunContext.commit` is the only way a node
writes, so every write carries the owner check and the seconds worked so far.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from logician_graph.inference import Prices, Provider
from logician_graph.orchestrator.branch import BranchCache, load_branch
from logician_graph.orchestrator.types import RunOptions, RunUsage
from logician_graph.sandbox import Sandbox
from logician_graph.tools import PermissionRule, ToolBus
from storage import Change, Message, PreferenceStore, Run, RunEvent, RunLedger, ThreadStore


class RunDrained(Exception):
    """The engine is shutting down: leave the step undone, the run goes on at the next start."""


@dataclass(slots=True)
class RunContext:
    """Everything a node needs besides the graph's state."""

    run: Run
    options: RunOptions
    owner: str
    ledger: RunLedger
    threads: ThreadStore
    preferences: PreferenceStore
    branches: BranchCache
    provider: Provider
    model: str
    """The model's name as the provider knows it."""
    prices: Prices | None
    bus: ToolBus
    sandbox: Sandbox
    workspace: Path
    artifacts: Path
    usage: RunUsage
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    history: list[Message] = field(default_factory=list[Message])
    """The branch as far as it was loaded, oldest first; ends at the graph's ``leaf_id`` or is empty."""
    window_from: str | None = None
    """Id of the message at which the last window began."""
    results: dict[str, Message] = field(default_factory=dict[str, Message])
    """Results of the calls of the newest reply, by message id, as this process wrote them."""
    answer_message_id: str | None = None
    _trimmed: tuple[int, bool] = (0, False)
    """Steps left out and whether texts were shortened, as the person was last told."""
    _mark: float = field(default_factory=time.monotonic)

    def account_time(self) -> None:
        """Add the seconds since the last call to the usage."""
        current = time.monotonic()
        self.usage.seconds = round(self.usage.seconds + current - self._mark, 3)
        self._mark = current

    def branch(self, leaf_id: str) -> list[Message]:
        """The run's history up to ``leaf_id``, oldest first; reads only what this process does not know yet."""
        if not self.history or self.history[-1].id != leaf_id:
            self.history, self.window_from = load_branch(self.branches, self.threads, leaf_id)
        return self.history

    def trim_is_news(self, dropped_turns: int, dropped_steps: int, shortened: bool) -> bool:
        """Whether the person should be told: each leap of the window is news, the same shortening again is not."""
        before = self._trimmed
        self._trimmed = (dropped_steps, shortened or before[1])
        return dropped_turns > 0 or self._trimmed > before

    @property
    def resumed(self) -> bool:
        """True when an earlier attempt may have left intents behind."""
        return self.run.attempt > 1

    def commit(self, change: Change) -> list[RunEvent]:
        """Write one step; raises ``LostOwnership`` when the run was claimed again since."""
        self.account_time()
        change.run.setdefault("usage", self.usage.model_dump())
        return self.ledger.commit(self.run.id, change, owner=self.owner, attempt=self.run.attempt)

    def emit(self, *events: tuple[str, dict[str, Any]]) -> None:
        """Write events and nothing else."""
        self.ledger.commit(self.run.id, Change(events=list(events)), owner=self.owner, attempt=self.run.attempt)

    def rules(self) -> Sequence[PermissionRule]:
        """Standing permission rules as they are now."""
        return [
            PermissionRule(
                id=rule.id,
                action=rule.action,  # pyright: ignore[reportArgumentType]  (checked when it was stored)
                tool=rule.tool,
                argv_prefix=tuple(rule.argv_prefix) if rule.argv_prefix is not None else None,
                path_prefix=rule.path_prefix,
                workspace=rule.workspace,
                note=rule.note,
            )
            for rule in self.preferences.rules()
        ]
