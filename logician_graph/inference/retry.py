"""When a failed attempt is worth another one, and how long to wait before it.

The decision (:func:`next_wait`) is pure; :func:`with_retries` carries it out around a stream of parts: it really waits,
tells the reader with a :class:`Retrying` part before each wait, and ends in ``ProviderUnavailable``. Only
``TransientProviderError`` is retried; every other error passes through untouched.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from logician_graph.errors import ProviderUnavailable, TransientProviderError
from logician_graph.inference.types import ChatPart, Retrying

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How patient a provider is. The longest silence is about ``tries`` timeouts plus the waits between them."""

    tries: int = 4
    """Attempts in all, the first included."""
    first_wait_s: float = 0.5
    """Upper bound of the first wait; each further one doubles."""
    longest_wait_s: float = 20.0
    longest_retry_after_s: float = 60.0
    """A provider that asks for more than this is taken at this."""


def next_wait(attempt: int, retry_after: float | None, policy: RetryPolicy, jitter: float) -> float | None:
    """Seconds to wait after failed attempt number ``attempt`` (from 1), or None to give up.

    ``jitter`` in [0, 1) spreads the wait over the upper half of its range, so that clients which failed together do
    not come back together. A wait that the provider asked for is never shortened by jitter.
    """
    if attempt >= policy.tries:
        return None
    backoff = min(policy.first_wait_s * 2 ** (attempt - 1), policy.longest_wait_s)
    wait = backoff * (0.5 + jitter / 2)
    if retry_after is None:
        return wait
    return max(wait, min(retry_after, policy.longest_retry_after_s))


def parse_retry_after(value: str | None, now: datetime) -> float | None:
    """Seconds meant by a Retry-After header: delta seconds or an HTTP date (RFC 9110, 10.2.3); None if unreadable."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except ValueError:
            return None
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        seconds = (aware - now).total_seconds()
    return max(0.0, seconds) if seconds == seconds and seconds != float("inf") else None


async def with_retries(
    attempt: Callable[[], AsyncGenerator[ChatPart]],
    policy: RetryPolicy,
    *,
    sleep: Sleep = asyncio.sleep,
    jitter: Callable[[], float] = random.random,  # noqa: S311 - spreads waits, guards nothing
) -> AsyncGenerator[ChatPart]:
    """The parts of the first attempt that succeeds, with a :class:`Retrying` before each wait.

    Raises ``ProviderUnavailable`` when tries are used up.
    """
    tried = 0
    while True:
        tried += 1
        try:
            async with aclosing(attempt()) as parts:
                async for part in parts:
                    yield part
            return
        except TransientProviderError as error:
            wait = next_wait(tried, error.retry_after, policy, jitter())
            if wait is None:
                raise ProviderUnavailable(f"{error} Gave up after {tried} tries; try again later.") from None
            message = str(error)
        yield Retrying(attempt=tried, wait_s=wait, error=message)
        await sleep(wait)
