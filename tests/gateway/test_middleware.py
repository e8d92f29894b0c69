"""The guard in front of a small app: who gets through, and what everyone else gets instead."""

from __future__ import annotations

import time
from collections.abc import Iterable
from ipaddress import ip_network
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from logician_graph.gateway import AccessToken, AuthMiddleware, Guard, Rules

TOKEN = AccessToken("the-right-token-0123456789")
HTML = {"accept": "text/html,application/xhtml+xml"}
OPEN = Guard(token=TOKEN, rules=Rules(loopback=False))
HOME = Guard(token=TOKEN, rules=Rules(loopback=True))


def app(guard: Guard, first_delay: float = 0.0) -> Starlette:
    async def page(request: Request) -> PlainTextResponse:
        return PlainTextResponse(f"in:{request.headers.get('x-forwarded-user', '')}")

    async def socket(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.send_text("in")
        await websocket.close()

    return Starlette(
        routes=[Route("/{path:path}", page, methods=["GET", "POST"]), WebSocketRoute("/_stcore/stream", socket)],
        middleware=[Middleware(AuthMiddleware, guard=lambda: guard, first_delay=first_delay)],
    )


def visitor(guard: Guard, peer: str = "192.168.1.7", host: str = "server:8501", **options: Any) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app(guard, **options), client=(peer, 4242))
    return httpx.AsyncClient(transport=transport, base_url=f"http://{host}")


async def test_a_browser_gets_a_login_page_and_a_program_gets_json() -> None:
    async with visitor(OPEN) as client:
        page = await client.get("/runs?run=r1", headers=HTML)
        program = await client.get("/api/runs/r1")

    assert (page.status_code, page.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert 'name="next" type="hidden" value="/runs?run=r1"' in page.text
    assert program.status_code == 401
    assert program.json()["error"]["type"] == "Unauthorized"
    assert program.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({"authorization": f"Bearer {TOKEN.value}"}, ""),
        ({"authorization": f"bearer  {TOKEN.value}"}, ""),
        ({}, f"?token={TOKEN.value}"),
        ({"cookie": f"other=1; {TOKEN.cookie_name}={TOKEN.cookie_value}"}, ""),
    ],
)
async def test_every_way_to_carry_the_token(headers: dict[str, str], query: str) -> None:
    async with visitor(OPEN) as client:
        assert (await client.get(f"/api/x{query}", headers=headers)).text == "in:"


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({"authorization": "Bearer wrong"}, ""),
        ({"authorization": f"Basic {TOKEN.value}"}, ""),
        ({}, "?token=wrong"),
        ({}, "?token="),
        ({"cookie": f"{TOKEN.cookie_name}={TOKEN.value}"}, ""),
        ({"cookie": f"{TOKEN.cookie_name}=ü"}, ""),
        ({"cookie": "a[b]=c; ,;"}, ""),
    ],
)
async def test_what_is_not_the_token(headers: dict[str, str], query: str) -> None:
    async with visitor(OPEN) as client:
        encoded = {name: value.encode("latin-1") for name, value in headers.items()}
        assert (await client.get(f"/api/x{query}", headers=encoded)).status_code == 401


async def test_the_printed_address_signs_a_browser_in_and_leaves_the_token_behind() -> None:
    async with visitor(OPEN) as client:
        answer = await client.get(f"/runs?run=r%201&token={TOKEN.value}", headers=HTML)
        cookie = answer.headers["set-cookie"]
        inside = await client.get("/runs", headers=HTML)

    assert (answer.status_code, answer.headers["location"]) == (303, "/runs?run=r+1")
    assert TOKEN.value not in cookie
    assert "HttpOnly" in cookie
    assert "samesite=lax" in cookie.lower()
    assert "secure" not in cookie.lower()
    assert inside.text == "in:"


async def test_the_login_form_signs_in() -> None:
    async with visitor(OPEN) as client:
        assert "Access token" in (await client.get("/login")).text
        answer = await client.post("/login", data={"token": f" {TOKEN.value} ", "next": "/runs?run=r1"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/runs?run=r1")
        assert (await client.get("/", headers=HTML)).text == "in:"


@pytest.mark.parametrize("target", ["//evil.example", "/\\evil.example", "https://evil.example", "x", "/a\r\nb: c"])
async def test_the_login_form_stays_on_this_site(target: str) -> None:
    async with visitor(OPEN) as client:
        answer = await client.post("/login", data={"token": TOKEN.value, "next": target})
        assert answer.headers["location"] == "/"


async def test_a_wrong_token_is_said_and_takes_longer_each_time() -> None:
    async with visitor(OPEN, first_delay=0.05) as client:
        spent: list[float] = []
        for _ in range(3):
            started = time.monotonic()
            answer = await client.post("/login", data={"token": "guess", "next": '/"><script>'})
            spent.append(time.monotonic() - started)

    assert answer.status_code == 401
    assert "That token is not right" in answer.text
    assert "<script>" not in answer.text
    assert spent[2] > 0.2 > spent[0]


async def test_a_huge_form_is_not_read_to_its_end() -> None:
    read = 0

    async def body() -> Any:
        nonlocal read
        for _ in range(1000):
            read += 1
            yield b"token=" + b"x" * 1000

    async with visitor(OPEN) as client:
        answer = await client.post("/login", content=body())
    assert answer.status_code == 401
    assert read < 20


async def test_a_cookie_over_https_is_marked_secure() -> None:
    async with visitor(OPEN) as client:
        headers = {**HTML, "x-forwarded-proto": "https"}
        answer = await client.get(f"/?token={TOKEN.value}", headers=headers)
    assert "secure" in answer.headers["set-cookie"].lower()


async def test_at_home_only_this_machine_comes_in_without_a_token() -> None:
    async with visitor(HOME, peer="127.0.0.1", host="localhost:8501") as client:
        assert (await client.get("/")).text == "in:"
        assert (await client.get("/", headers={"x-forwarded-for": "1.2.3.4"})).status_code == 401
        assert (await client.get("/", headers={"host": "evil.example"})).status_code == 403
        foreign = await client.post("/api/x", headers={"origin": "https://evil.example"})
        assert (foreign.status_code, foreign.json()["error"]["type"]) == (403, "Refused")


async def test_a_proxys_header_counts_only_from_the_proxy() -> None:
    guard = Guard(
        token=TOKEN,
        rules=Rules(loopback=False, proxied=True),
        user_header="X-Forwarded-User",
        proxies=(ip_network("10.0.0.0/8"),),
    )
    named = {"x-forwarded-user": "ada@example.org"}
    async with visitor(guard, peer="10.1.2.3") as client:
        assert (await client.get("/", headers=named)).text == "in:ada@example.org"
        assert (await client.get("/", headers={"x-forwarded-user": " "})).status_code == 401
        assert (await client.get("/")).status_code == 401
    async with visitor(guard, peer="192.168.1.7") as client:
        assert (await client.get("/", headers=named)).status_code == 401
        # Let in by the token, the name that anyone could have sent is taken off.
        bearer = {"authorization": f"Bearer {TOKEN.value}"}
        assert (await client.get("/", headers={**named, **bearer})).text == "in:"


async def test_no_other_site_may_frame_an_answer() -> None:
    async with visitor(OPEN) as client:
        for answer in (await client.get("/", headers=HTML), await client.get(f"/api/x?token={TOKEN.value}")):
            assert answer.headers["x-frame-options"] == "SAMEORIGIN"
            assert answer.headers["content-security-policy"] == "frame-ancestors 'self'"
            assert answer.headers["referrer-policy"] == "same-origin"


def _opens(guard: Guard, headers: Iterable[tuple[str, str]], peer: str, base: str) -> bool:
    client = TestClient(app(guard), client=(peer, 4242))
    address = base.replace("http", "ws", 1) + "/_stcore/stream"
    try:
        with client.websocket_connect(address, headers=dict(headers)) as connection:
            return connection.receive_text() == "in"
    except WebSocketDisconnect as refusal:
        assert refusal.code == 1008
        return False


@pytest.mark.parametrize(
    ("guard", "headers", "peer", "base", "opens"),
    [
        (HOME, [("origin", "http://localhost:8501")], "127.0.0.1", "http://localhost:8501", True),
        (HOME, [("origin", "https://evil.example")], "127.0.0.1", "http://localhost:8501", False),
        (HOME, [("origin", "http://evil.example")], "127.0.0.1", "http://evil.example", False),
        (OPEN, [("origin", "http://server:8501")], "192.168.1.7", "http://server:8501", False),
        (
            OPEN,
            [("origin", "http://server:8501"), ("cookie", f"{TOKEN.cookie_name}={TOKEN.cookie_value}")],
            "192.168.1.7",
            "http://server:8501",
            True,
        ),
        (
            OPEN,
            [("origin", "https://evil.example"), ("cookie", f"{TOKEN.cookie_name}={TOKEN.cookie_value}")],
            "192.168.1.7",
            "http://server:8501",
            False,
        ),
    ],
)
def test_websockets_are_guarded_alike(
    guard: Guard, headers: list[tuple[str, str]], peer: str, base: str, opens: bool
) -> None:
    assert _opens(guard, headers, peer, base) is opens
