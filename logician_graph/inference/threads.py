"""Blocking work off the event loop that must not be left half done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


async def to_the_end(function: Callable[..., _T], *arguments: object) -> _T:
    """Run in a thread and, when cancelled, wait for the thread: it must not write after its owner has let go."""
    work = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait({work})
        raise
