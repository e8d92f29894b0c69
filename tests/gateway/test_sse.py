"""The event stream's frames: complete, in order, kept alive, and closed when the server stops."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from logician_graph.gateway.sse import event_stream
from logician_graph.redaction import register_secret
from tests.fakes.engine_door import FakeEngineDoor, event


async def frames(
    door: FakeEngineDoor, after: int = 0, draining: asyncio.Event | None = None, keep_alive: float = 5.0
) -> AsyncIterator[str]:
    stream = event_stream(
        door.follow("r1", after), lambda: door.run_json("r1"), draining or asyncio.Event(), keep_alive
    )
    async for frame in stream:
        yield frame


def data_of(frame: str) -> Mapping[str, Any]:
    return json.loads(frame.split("data: ", 1)[1])


async def test_every_event_comes_once_in_order_and_then_the_run() -> None:
    door = FakeEngineDoor({"r1": [event(1, "run.queued"), event(2), event(3, "run.finished")]})
    first, *middle, last = [frame async for frame in frames(door)]

    assert first == "retry: 1000\n\n"
    assert [data_of(frame) for frame in middle] == door.events["r1"]
    assert [frame.split("\n")[0] for frame in middle] == ["id: 1", "id: 2", "id: 3"]
    assert last.startswith("event: end\n")
    assert data_of(last)["outcome"] == "completed"
    assert door.followers == 0


async def test_a_text_with_line_ends_stays_one_frame() -> None:
    door = FakeEngineDoor({"r1": [event(1, text="a\nb\r\n\u2028c"), event(2, "run.finished")]})
    frame = [frame async for frame in frames(door)][1]

    assert frame.count("\n") == 3
    assert data_of(frame)["data"]["text"] == "a\nb\r\n\u2028c"


async def test_a_reader_goes_on_after_what_it_has() -> None:
    door = FakeEngineDoor({"r1": [event(1), event(2), event(3, "run.finished")]})
    assert [data_of(frame).get("seq") async for frame in frames(door, after=2) if "id: " in frame] == [3]


async def test_a_quiet_stream_is_kept_alive() -> None:
    door = FakeEngineDoor({"r1": [event(1)]})
    seen: list[str] = []
    async for frame in frames(door, keep_alive=0.02):
        seen.append(frame)
        if len(seen) == 4:
            break
    assert seen[2:] == [": keep-alive\n\n"] * 2


async def test_a_server_that_stops_cuts_the_stream_without_an_end() -> None:
    door = FakeEngineDoor({"r1": [event(1)]})
    draining = asyncio.Event()
    seen: list[str] = []
    async with asyncio.timeout(5):
        async for frame in frames(door, draining=draining):
            seen.append(frame)
            if "id: 1" in frame:
                draining.set()
    assert not any(frame.startswith("event: end") for frame in seen)
    assert door.followers == 0


async def test_a_known_secret_does_not_leave() -> None:
    register_secret("sk-streamed-secret")
    door = FakeEngineDoor({"r1": [event(1, text="the key is sk-streamed-secret"), event(2, "run.finished")]})
    text = "".join([frame async for frame in frames(door)])
    assert "sk-streamed-secret" not in text
    assert "[secret]" in text
