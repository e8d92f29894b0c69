"""The tool bus: every call goes through here, and whatever a tool does, exactly one bounded output comes back.

Validates arguments, bounds time and text, saves what is too long, turns failures into text for the model. Never
raises but for cancellation. Does not decide whether a call may run: that is done before (:mod:`.permissions`).
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logician_graph.tools.arguments import checked, problem, without_surrogates
from logician_graph.tools.paths import SAVED
from logician_graph.tools.preview import bounded
from logician_graph.tools.shell import parse
from logician_graph.tools.types import Tool, ToolContext, ToolFailed, ToolOutput

if TYPE_CHECKING:
    from logician_graph.inference import ToolSpec

_log = logging.getLogger(__name__)
_CANCEL_GRACE_S = 1.0
"""A tool that watches the cancellation itself may take this long to end with what it has so far."""


class ToolBus:
    """The tools of one engine, by name."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def register(self, tool: Tool) -> None:
        """Add a tool; raises ValueError when its name is taken."""
        name = tool.declaration.name
        if name in self._tools:
            raise ValueError(f"A tool named {name!r} is registered already.")
        self._tools[name] = tool

    def get(self, name: str) -> Tool | None:
        """The tool, or None."""
        return self._tools.get(name)

    def names(self) -> tuple[str, ...]:
        """Names in the order of registration."""
        return tuple(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def specs(self, *, short: bool = False) -> tuple[ToolSpec, ...]:
        """The tools as a provider takes them; ``short``: those that a small model is offered."""
        from logician_graph.inference import ToolSpec

        declarations = [tool.declaration for tool in self if tool.declaration.for_small_models or not short]
        return tuple(ToolSpec(each.name, each.description, each.parameters) for each in declarations)

    def warm(self) -> None:
        """Load what the first decision and the first call need; takes a tenth of a second, so call it in a thread."""
        for tool in self:
            problem(tool.declaration, {})
        parse("true")

    async def call(self, name: str, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Run one call to its end, its timeout or its cancellation. Raises nothing but CancelledError."""
        tool = self._tools.get(name)
        if tool is None:
            return _failed(f"There is no tool {name!r}. Tools: {', '.join(self._tools)}.")
        try:
            output = await _run(tool, checked(tool.declaration, arguments), context)
        except ToolFailed as failed:
            output = _failed(str(failed))
        except TimeoutError:
            output = _failed(f"{name} took longer than {tool.declaration.timeout_s:g} s and was stopped.")
        except Exception as error:  # noqa: BLE001 -- the boundary: recorded, and the run goes on
            _log.exception("tool %s failed unexpectedly (run %s, call %s)", name, context.run_id, context.call_id)
            output = _failed(
                f"{name} failed: {type(error).__name__}: {error}. This is a defect in the tool, not in the call."
            )
        return await asyncio.to_thread(_finished, output, tool, context)


async def _run(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> ToolOutput:
    running = asyncio.ensure_future(tool.run(arguments, context))
    stop = asyncio.ensure_future(context.cancelled.wait())
    try:
        await asyncio.wait({running, stop}, timeout=tool.declaration.timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if not running.done() and stop.done():
            await asyncio.wait({running}, timeout=_CANCEL_GRACE_S)
        if running.done():
            return running.result()
        if stop.done():
            return ToolOutput("Stopped by the person before it was done.", status="cancelled", summary="stopped")
        raise TimeoutError
    finally:
        stop.cancel()
        if not running.done():
            running.cancel()
            await asyncio.wait({running}, timeout=_CANCEL_GRACE_S)


def _failed(text: str) -> ToolOutput:
    return ToolOutput(text, status="error", summary=text.splitlines()[0][:200] if text else "failed")


def _finished(output: ToolOutput, tool: Tool, context: ToolContext) -> ToolOutput:
    """Storable text within the declaration's bound; the whole of it saved where it was cut."""
    text = str(without_surrogates(output.text))
    diff = str(without_surrogates(output.diff)) if output.diff is not None else None
    output = replace(output, text=text, summary=str(without_surrogates(output.summary)), diff=diff)
    limit = tool.declaration.output_chars
    if len(text) <= limit:
        return output
    path = saved_file(context)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        _log.warning("the long output of call %s was not saved: %s", context.call_id, error)
        return replace(output, text=text[:limit] + f"\n[cut: the rest could not be saved: {error.strerror}]")
    return replace(output, text=bounded(text, limit, saved_name(path)), saved_path=str(path))


def saved_file(context: ToolContext) -> Path:
    """Where the whole output of this call is kept when the model gets a preview only."""
    return context.artifacts / f"{re.sub(r'[^A-Za-z0-9_-]', '_', context.call_id)[:80] or 'call'}.txt"


def saved_name(path: Path) -> str:
    """How the model names a saved output."""
    return f"{SAVED}/{path.name}"
