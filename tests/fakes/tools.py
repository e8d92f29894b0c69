"""Tools whose every execution can be counted from outside: in memory, or in a file that survives a crash."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from logician_graph.tools.types import Effect, Replay, ToolContext, ToolDeclaration, ToolFailed, ToolOutput

_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "seconds": {"type": "number"}},
    "additionalProperties": False,
}


def declaration(
    name: str, *, effect: Effect = "read", parallel_safe: bool = True, replay: Replay = "safe"
) -> ToolDeclaration:
    """Facts of a fake tool; it takes an optional ``text`` and ``seconds``."""
    return ToolDeclaration(name, f"Fake tool {name}.", _PARAMETERS, effect, parallel_safe, replay, timeout_s=30.0)


@dataclass
class FakeTool:
    """Answers with its text and remembers each execution with its times."""

    declaration: ToolDeclaration
    calls: list[dict[str, Any]] = field(default_factory=list)
    spans: list[tuple[float, float]] = field(default_factory=list)

    def describe(self, arguments: Mapping[str, Any]) -> str:
        return f"{self.declaration.name} {arguments.get('text', '')}".strip()

    def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> str | None:
        return str(arguments.get("text", ""))

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        started = time.monotonic()
        self.calls.append(dict(arguments))
        output = await self.work(arguments, context)
        self.spans.append((started, time.monotonic()))
        return output

    async def work(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        return ToolOutput(f"{self.declaration.name} got {arguments.get('text', '')}", summary="counted")


@dataclass
class SlowTool(FakeTool):
    """Takes ``seconds`` and stops early when the run is cancelled, like every well-behaved tool."""

    async def work(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        context.emit("working\n")
        try:
            await asyncio.wait_for(context.cancelled.wait(), float(arguments.get("seconds", 0.2)))
        except TimeoutError:
            return ToolOutput("slept")
        return ToolOutput("stopped early", status="cancelled")


@dataclass
class FailingTool(FakeTool):
    """Fails the way it is told: ``text`` is ``told`` (for the model to read) or anything else (a defect)."""

    async def work(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        if arguments.get("text") == "told":
            raise ToolFailed("There is no such thing; try another.")
        raise RuntimeError("a defect in the tool")


@dataclass
class OutputTool(FakeTool):
    """Gives back one fixed output."""

    output: ToolOutput = field(default_factory=lambda: ToolOutput("fixed"))

    async def work(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        return self.output


@dataclass
class FileTool(FakeTool):
    """Appends a line to ``path`` for every execution: what a crash cannot take back. It may take its process along."""

    path: Path = Path("effects.txt")

    async def work(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        text = str(arguments.get("text", ""))
        if text.startswith("die-before"):
            die_once(self.path, text)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{self.declaration.name} {text}\n")
            file.flush()
            os.fsync(file.fileno())
        if text.startswith("die-after"):
            die_once(self.path, text)
        return ToolOutput(f"did {text}", summary="done")


def die_once(beside: Path, mark: str) -> None:
    """SIGKILL this process, the first time only: a mark beside ``beside`` remembers it."""
    marker = beside.with_name(f"{beside.name}.{mark}.died")
    if marker.exists():
        return
    marker.write_text("", encoding="utf-8")
    os.kill(os.getpid(), signal.SIGKILL)


def executions(path: Path) -> list[str]:
    """The lines that :class:`FileTool` left."""
    return path.read_text("utf-8").splitlines() if path.exists() else []
