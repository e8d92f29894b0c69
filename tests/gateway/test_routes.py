"""The HTTP routes over a fake engine: what they answer, and how errors look."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.applications import Starlette

from logician_graph import __version__
from logician_graph.errors import Conflict, LogicianError, UsageError
from logician_graph.gateway import Gateway, build_routes
from logician_graph.redaction import register_secret
from storage import StorageError
from tests.fakes.engine_door import FakeEngineDoor, event


@pytest.fixture
def door() -> FakeEngineDoor:
    return FakeEngineDoor({"r1": [event(1, "run.queued"), event(2), event(3, "run.finished")]}, exports={"t1": "Hi"})


@pytest.fixture
async def client(door: FakeEngineDoor) -> AsyncIterator[httpx.AsyncClient]:
    async with _client(Gateway(door=lambda: door, active_sessions=lambda: 2)) as client:
        yield client


def _client(gateway: Gateway) -> httpx.AsyncClient:
    app = Starlette(routes=build_routes(gateway))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")


async def test_healthz_needs_no_engine() -> None:
    async with _client(Gateway(door=lambda: None)) as client:
        assert (await client.get("/healthz")).json() == {"status": "ok", "version": __version__}
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.json()["status"]) == (503, "starting")
        events = await client.get("/api/runs/r1/events")
        assert (events.status_code, events.json()["error"]["type"]) == (503, "Starting")
        assert "logician_up 0" in (await client.get("/metrics")).text


async def test_readyz_says_what_is_not_ready(client: httpx.AsyncClient, door: FakeEngineDoor) -> None:
    assert (await client.get("/readyz")).json() == {"status": "ready", **door.health()}
    door.database_writable = False
    ready = await client.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (503, "not ready")


async def test_metrics_are_prometheus_text(client: httpx.AsyncClient) -> None:
    response = await client.get("/metrics")
    lines = response.text.splitlines()

    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert f'logician_info{{version="{__version__}"}} 1' in lines
    assert "logician_active_sessions 2" in lines
    assert 'logician_runs{status="running"} 1' in lines
    assert "logician_events_written_total 42" in lines
    for line in lines:
        assert line.startswith(("# HELP ", "# TYPE ", "logician_"))


async def test_a_run_is_shown_cancelled_and_unknown(client: httpx.AsyncClient, door: FakeEngineDoor) -> None:
    assert (await client.get("/api/runs/r1")).json()["status"] == "done"
    assert (await client.post("/api/runs/r1/cancel")).status_code == 202
    assert door.cancelled == ["r1"]
    for answer in (await client.get("/api/runs/x"), await client.post("/api/runs/x/cancel")):
        assert answer.status_code == 404
        assert answer.json() == {"error": {"type": "NotFound", "message": "There is no run 'x'."}}
    assert (await client.get("/api/runs/r1/cancel")).status_code == 405


async def test_events_stream_from_the_position_that_the_client_has(client: httpx.AsyncClient) -> None:
    def ids(text: str) -> list[str]:
        return [line.removeprefix("id: ") for line in text.splitlines() if line.startswith("id: ")]

    whole = await client.get("/api/runs/r1/events")
    assert whole.headers["content-type"].startswith("text/event-stream")
    assert ids(whole.text) == ["1", "2", "3"]
    assert ids((await client.get("/api/runs/r1/events?after=2")).text) == ["3"]
    # A reconnecting browser repeats the address it was given, so its header is the newer of the two.
    reconnected = await client.get("/api/runs/r1/events?after=0", headers={"Last-Event-ID": "1"})
    assert ids(reconnected.text) == ["2", "3"]
    assert (await client.get("/api/runs/x/events")).status_code == 404


@pytest.mark.parametrize("position", ["-1", "one", "1.5", "²"])
async def test_a_position_that_is_none_is_refused(client: httpx.AsyncClient, position: str) -> None:
    answer = await client.get("/api/runs/r1/events", params={"after": position})
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "UsageError")


async def test_a_commit_changes_the_change_token(client: httpx.AsyncClient) -> None:
    before = (await client.get("/api/changes")).json()
    assert (await client.get("/api/changes")).json() == before
    await client.post("/api/runs/r1/cancel")
    assert (await client.get("/api/changes")).json() != before


async def test_exports_are_files(client: httpx.AsyncClient) -> None:
    markdown = await client.get("/api/threads/t1/export.md")
    assert markdown.text == "md: Hi"
    assert markdown.headers["content-type"].startswith("text/markdown")
    assert markdown.headers["content-disposition"] == 'attachment; filename="thread-t1.md"'
    assert (await client.get("/api/threads/t1/export.json")).headers["content-type"] == "application/json"
    assert (await client.get("/api/threads/t1/export.docx")).status_code == 404
    assert (await client.get("/api/threads/x/export.md")).status_code == 404


@pytest.mark.parametrize(
    ("error", "status"),
    [(UsageError("x"), 400), (Conflict("x"), 409), (LogicianError("x"), 500), (StorageError("x"), 503)],
)
async def test_errors_are_json_with_their_kind(
    client: httpx.AsyncClient, door: FakeEngineDoor, error: Exception, status: int
) -> None:
    door.error = error
    answer = await client.get("/api/runs/r1")
    assert answer.status_code == status
    assert answer.json() == {"error": {"type": type(error).__name__, "message": "x"}}


async def test_an_error_that_nobody_expected_is_not_explained_to_the_client(door: FakeEngineDoor) -> None:
    door.error = RuntimeError("internal details")
    app = Starlette(routes=build_routes(Gateway(door=lambda: door)))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.get("/api/runs/r1")
    assert answer.status_code == 500
    assert "internal details" not in answer.text


async def test_known_secrets_do_not_leave(client: httpx.AsyncClient, door: FakeEngineDoor) -> None:
    register_secret("sk-route-secret")
    door.exports["t1"] = "my key is sk-route-secret"
    door.error = UsageError("refused key sk-route-secret")
    assert "[secret]" in (await client.get("/api/threads/t1/export.md")).text
    message = json.loads((await client.get("/api/runs/r1")).text)["error"]["message"]
    assert message == "refused key [secret]"


async def test_a_client_that_leaves_frees_the_stream(door: FakeEngineDoor) -> None:
    door.events["r1"] = [event(1)]
    app = Starlette(routes=build_routes(Gateway(door=lambda: door)))
    sent: list[bytes] = []

    async def receive() -> dict[str, object]:
        if not sent or b"id: 1" not in b"".join(sent):
            await asyncio.sleep(0.01)
            return {"type": "http.request", "body": b"", "more_body": False}
        return {"type": "http.disconnect"}

    async def send(message: dict[str, object]) -> None:
        if message["type"] == "http.response.body":
            body = message.get("body", b"")
            assert isinstance(body, bytes)
            sent.append(body)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "path": "/api/runs/r1/events",
        "raw_path": b"/api/runs/r1/events",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
        "server": ("localhost", 80),
        "client": ("127.0.0.1", 1),
        "scheme": "http",
        "root_path": "",
    }
    async with asyncio.timeout(5):
        await app(scope, receive, send)  # type: ignore[arg-type]
    assert b"id: 1" in b"".join(sent)
    assert door.followers == 0
