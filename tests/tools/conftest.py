"""A place for calls: a workspace, a folder of saved outputs beside it, and the machine's real sandbox."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from logician_graph.sandbox import Sandbox, select_sandbox
from logician_graph.tools import ToolBus, ToolContext, ToolOutput, default_bus


@lru_cache(maxsize=1)
def real_sandbox() -> Sandbox:
    return asyncio.run(select_sandbox())


@dataclass
class Place:
    """Calls tools as the orchestrator does."""

    root: Path
    sandbox: Sandbox
    bus: ToolBus = field(default_factory=default_bus)
    shown: list[str] = field(default_factory=list)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    @property
    def artifacts(self) -> Path:
        return self.root / "artifacts"

    def context(self, call_id: str = "call/1") -> ToolContext:
        return ToolContext(
            run_id="run",
            call_id=call_id,
            workspace=self.workspace,
            artifacts=self.artifacts,
            sandbox=self.sandbox,
            cancelled=self.cancelled,
            emit=self.shown.append,
        )

    async def __call__(self, name: str, **arguments: Any) -> ToolOutput:
        return await self.bus.call(name, arguments, self.context())

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def preview(self, name: str, **arguments: Any) -> str | None:
        tool = self.bus.get(name)
        assert tool is not None
        return tool.preview(arguments, self.context())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path, sandbox=real_sandbox())
    place.workspace.mkdir()
    place.artifacts.mkdir()
    return place
