"""Reading a reply into the ledger as it streams: flushed about twenty times a second, stoppable at any moment."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, cast

from logician_graph.inference import (
    ChatPart,
    ChatRequest,
    ChatResult,
    ReasoningDelta,
    Retrying,
    TextDelta,
    ToolCallProgress,
    Usage,
)
from logician_graph.orchestrator.context import RunContext, RunDrained
from logician_graph.orchestrator.texts import storable

FLUSH_S = 0.05


@dataclass(slots=True)
class Streamed:
    """A reply and how it came. ``stopped``: the person stopped it, ``result.text`` is what had come by then."""

    result: ChatResult
    duration_s: float
    first_token_s: float | None
    stopped: bool = False


@dataclass(slots=True)
class _Live:
    """What has come and what of it is not written yet."""

    message_id: str
    text: str = ""
    reasoning: str = ""
    pending: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    progress: ToolCallProgress | None = None
    first_at: float | None = None

    def take(self) -> list[tuple[str, dict[str, Any]]]:
        events, self.pending = self.pending, []
        if self.progress is not None:
            data = {"message_id": self.message_id, "name": self.progress.name, "characters": self.progress.characters}
            events.append(("call.progress", data))
            self.progress = None
        return events

    def add(self, kind: str, text: str) -> None:
        if self.pending and self.pending[-1][0] == kind:
            self.pending[-1][1]["text"] += text
        else:
            self.pending.append((kind, {"message_id": self.message_id, "text": text}))


async def stream_reply(context: RunContext, request: ChatRequest, message_id: str, call_id: str) -> Streamed:
    """Read one reply to its end, to a stop, or to a provider error (which is raised)."""
    started = time.monotonic()
    live = _Live(message_id)
    stop = asyncio.ensure_future(context.cancelled.wait())
    drain = asyncio.ensure_future(context.draining.wait())
    result: ChatResult | None = None
    try:
        parts = cast("AsyncGenerator[ChatPart]", context.provider.stream(request))
        async with aclosing(parts):
            result = await _read(context, parts, live, call_id, (stop, drain), started)
    finally:
        stop.cancel()
        drain.cancel()
        if events := live.take():
            context.emit(*events)
    duration = round(time.monotonic() - started, 3)
    if result is None and context.cancelled.is_set():
        partial = ChatResult(live.text, reasoning=live.reasoning, usage=Usage(), model=request.model)
        return Streamed(partial, duration, live.first_at, stopped=True)
    if result is None:
        raise RunDrained
    return Streamed(result, duration, live.first_at)


async def _read(
    context: RunContext,
    parts: AsyncIterator[ChatPart],
    live: _Live,
    call_id: str,
    signals: tuple[asyncio.Future[Any], asyncio.Future[Any]],
    started: float,
) -> ChatResult | None:
    """The result, or None when a signal came first."""
    flushed = time.monotonic()
    following: asyncio.Future[ChatPart] | None = None
    try:
        while True:
            if following is None:
                following = asyncio.ensure_future(anext(parts))
            timeout = max(0.0, flushed + FLUSH_S - time.monotonic()) if live.pending or live.progress else None
            await asyncio.wait({following, *signals}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if any(signal.done() for signal in signals):
                return None
            if following.done():
                part = following.result()
                following = None
                if isinstance(part, ChatResult):
                    return part
                _take_part(live, part, call_id, started)
            if time.monotonic() - flushed >= FLUSH_S and (events := live.take()):
                context.emit(*events)
                flushed = time.monotonic()
    finally:
        if following is not None:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


def _take_part(live: _Live, part: ChatPart, call_id: str, started: float) -> None:
    if isinstance(part, Retrying):
        live.text = live.reasoning = ""
        live.pending.append(("text.reset", {"message_id": live.message_id}))
        data = {"call_id": call_id, "attempt": part.attempt, "wait_s": part.wait_s, "error": part.error}
        live.pending.append(("model.retry", data))
        return
    if live.first_at is None:
        live.first_at = round(time.monotonic() - started, 3)
    if isinstance(part, TextDelta):
        live.text += part.text
        live.add("text.delta", storable(part.text))
    elif isinstance(part, ReasoningDelta):
        live.reasoning += part.text
        live.add("reasoning.delta", storable(part.text))
    elif isinstance(part, ToolCallProgress):
        live.progress = part
