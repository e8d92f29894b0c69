"""An engine behind the gateway's door, without an engine: runs and events that a test puts there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from logician_graph.errors import NotFound
from logician_graph.gateway import EngineHealth, ExportFormat


@dataclass
class FakeEngineDoor:
    """``events`` by run; a run whose last event is not ``run.finished`` goes on for ever."""

    events: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    exports: dict[str, str] = field(default_factory=dict)
    cancelled: list[str] = field(default_factory=list)
    error: Exception | None = None
    """Raised by every call, when set."""
    database_writable: bool = True
    followers: int = 0
    """Streams that are open now."""

    async def follow(self, run_id: str, after: int) -> AsyncIterator[Mapping[str, Any]]:
        self.followers += 1
        try:
            for event in self.events[run_id]:
                if event["seq"] > after:
                    yield event
            if not self._done(run_id):
                await asyncio.Event().wait()
        finally:
            self.followers -= 1

    def run_json(self, run_id: str) -> Mapping[str, Any]:
        if self.error is not None:
            raise self.error
        if run_id not in self.events:
            raise NotFound(f"There is no run {run_id!r}.")
        done = self._done(run_id)
        return {"id": run_id, "status": "done" if done else "running", "outcome": "completed" if done else None}

    def cancel(self, run_id: str) -> None:
        self.run_json(run_id)
        self.cancelled.append(run_id)

    def export_thread(self, thread_id: str, fmt: ExportFormat) -> str:
        if thread_id not in self.exports:
            raise NotFound(f"There is no chat {thread_id!r}.")
        return f"{fmt}: {self.exports[thread_id]}"

    def change_token(self) -> str:
        return str(len(self.cancelled))

    def health(self) -> EngineHealth:
        if self.error is not None:
            raise self.error
        return {
            "database_writable": self.database_writable,
            "loop_alive": True,
            "provider": {"state": "ready", "message": ""},
            "runs": {"done": 3, "running": 1},
            "events_written": 42,
        }

    def _done(self, run_id: str) -> bool:
        return self.events[run_id][-1:] != [] and self.events[run_id][-1]["type"] == "run.finished"


def event(seq: int, kind: str = "text.delta", **data: Any) -> dict[str, Any]:
    """An envelope."""
    return {"v": 1, "seq": seq, "at": 0.0, "type": kind, "run_id": "r1", "data": data}
