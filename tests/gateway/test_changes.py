"""The cheap question that pages ask: did anything change?"""

from __future__ import annotations

from typing import cast

import httpx
from starlette.applications import Starlette

from logician_graph.gateway import EngineDoor, Gateway, build_routes


class Door:
    """Only what this route needs."""

    token = "e1.7"

    def change_token(self) -> str:
        return self.token


async def test_the_token_is_the_engines_and_is_never_cached() -> None:
    door = Door()
    app = Starlette(routes=build_routes(Gateway(door=lambda: cast("EngineDoor", door))))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as client:
        first = await client.get("/api/changes")
        assert first.json() == {"token": "e1.7"}
        assert first.headers["cache-control"] == "no-store"
        door.token = "e1.8"
        assert (await client.get("/api/changes")).json() == {"token": "e1.8"}


async def test_before_the_engine_there_is_nothing_to_ask() -> None:
    app = Starlette(routes=build_routes(Gateway(door=lambda: None)))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as client:
        assert (await client.get("/api/changes")).status_code == 503
