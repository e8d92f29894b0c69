"""When another try is made and how long is waited before it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logician_graph.errors import ProviderUnavailable, RequestRejected, TransientProviderError
from logician_graph.inference import ChatPart, ChatResult, Retrying, RetryPolicy, TextDelta
from logician_graph.inference.retry import next_wait, parse_retry_after, with_retries
from tests.inference.conftest import CountedSleep

POLICY = RetryPolicy(tries=5, first_wait_s=1.0, longest_wait_s=6.0)
NOW = datetime(2026, 12, 1, 12, 0, 0, tzinfo=UTC)


def test_waits_double_up_to_the_longest() -> None:
    waits = [next_wait(attempt, None, POLICY, 0.999999) for attempt in range(1, 6)]
    assert [round(wait, 3) if wait is not None else None for wait in waits] == [1.0, 2.0, 4.0, 6.0, None]


@given(st.integers(1, 4), st.floats(0, 0.999), st.none() | st.floats(0, 10_000))
def test_waits_stay_in_their_bounds(attempt: int, jitter: float, retry_after: float | None) -> None:
    wait = next_wait(attempt, retry_after, POLICY, jitter)
    assert wait is not None
    assert 0.5 <= wait <= 60
    if retry_after is not None:
        assert wait >= min(retry_after, 60)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("3", 3.0),
        ("0.5", 0.5),
        ("-4", 0.0),
        ("Tue, 01 Dec 2026 12:00:30 GMT", 30.0),
        ("Tue, 01 Dec 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("", None),
    ],
)
def test_retry_after_as_seconds_or_date(value: str | None, seconds: float | None) -> None:
    assert parse_retry_after(value, NOW) == seconds


class Attempts:
    """Fails in the given order, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.closed = 0

    async def __call__(self) -> AsyncGenerator[ChatPart]:
        try:
            yield TextDelta("part")
            if self.errors:
                raise self.errors.pop(0)
            yield ChatResult("whole")
        finally:
            self.closed += 1


async def test_each_wait_is_told_before_it_is_waited() -> None:
    sleep = CountedSleep()
    attempts = Attempts(TransientProviderError("first"), TransientProviderError("second", retry_after=9.0))
    seen: list[object] = []
    async for part in with_retries(attempts, POLICY, sleep=sleep, jitter=lambda: 0.0):
        if isinstance(part, Retrying):
            assert len(sleep.waits) == part.attempt - 1
        seen.append(part)
    assert seen == [
        TextDelta("part"),
        Retrying(1, 0.5, "first"),
        TextDelta("part"),
        Retrying(2, 9.0, "second"),
        TextDelta("part"),
        ChatResult("whole"),
    ]
    assert sleep.waits == [0.5, 9.0]
    assert attempts.closed == 3


async def test_giving_up_names_the_last_error() -> None:
    sleep = CountedSleep()
    attempts = Attempts(*(TransientProviderError(f"error {number}.") for number in range(9)))
    with pytest.raises(ProviderUnavailable, match=r"error 4\. Gave up after 5 tries"):
        [part async for part in with_retries(attempts, POLICY, sleep=sleep)]
    assert len(sleep.waits) == 4


async def test_other_errors_pass_at_once() -> None:
    sleep = CountedSleep()
    with pytest.raises(RequestRejected):
        [part async for part in with_retries(Attempts(RequestRejected("no")), POLICY, sleep=sleep)]
    assert sleep.waits == []
