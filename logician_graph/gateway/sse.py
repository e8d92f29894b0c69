"""A run's events as a server-sent event stream.

One event per envelope: ``id`` is its ``seq``, ``data`` the envelope as JSON. A browser that lost the connection sends
the last id back and goes on from there, so nothing is missed or seen twice. A comment every few seconds keeps proxies
from closing a quiet stream. After the run is done comes ``event: end`` with the run; a stream that stops without it
was cut, and the client connects again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from typing import Any

from logician_graph.redaction import redact

KEEP_ALIVE_SECONDS = 15.0
RETRY_MILLISECONDS = 1000


async def event_stream(
    events: AsyncIterator[Mapping[str, Any]],
    finished: Callable[[], Mapping[str, Any]],
    draining: asyncio.Event,
    keep_alive: float = KEEP_ALIVE_SECONDS,
) -> AsyncIterator[str]:
    """Yield the stream's frames. ``finished`` gives the run for the last one; ``draining`` cuts the stream short."""
    yield f"retry: {RETRY_MILLISECONDS}\n\n"
    stop = asyncio.ensure_future(draining.wait())
    upcoming: asyncio.Future[Mapping[str, Any] | None] | None = None
    try:
        while True:
            upcoming = upcoming or asyncio.ensure_future(anext(events, None))
            done, _ = await asyncio.wait({upcoming, stop}, timeout=keep_alive, return_when=asyncio.FIRST_COMPLETED)
            if upcoming in done:
                envelope, upcoming = upcoming.result(), None
                if envelope is None:
                    yield f"event: end\ndata: {_json(await asyncio.to_thread(finished))}\n\n"
                    return
                yield f"id: {envelope['seq']}\ndata: {_json(envelope)}\n\n"
            elif stop in done:
                return
            else:
                yield ": keep-alive\n\n"
    finally:
        stop.cancel()
        if upcoming is not None:
            upcoming.cancel()
            with suppress(asyncio.CancelledError):
                await upcoming
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()


def _json(value: Mapping[str, Any]) -> str:
    return redact(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))
