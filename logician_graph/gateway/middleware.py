"""Guards every request and websocket of the server, pages and routes alike. Pure ASGI: nothing is buffered.

It gathers the facts of a visit, has :mod:`logician_graph.gateway.policy` decide, and answers those who may not come
in: a login page for browsers, JSON for programs, a refused handshake for websockets.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Literal, cast
from urllib.parse import parse_qs, parse_qsl, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from logician_graph.gateway.login_page import login_page
from logician_graph.gateway.policy import GUARDED, Credential, Rules, Verdict, Visit, is_under, judge
from logician_graph.gateway.token import COOKIE_SECONDS, AccessToken

_FORWARDING = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
_FORM_BYTES = 4096
_SLOWEST_SECONDS = 4.0
_PEERS_REMEMBERED = 1024
_SHIELD = {
    "Content-Security-Policy": "frame-ancestors 'self'",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
}
"""On every answer: no other site may frame the workbench (an approval is one click) or learn its addresses."""


@dataclass(frozen=True, slots=True)
class Guard:
    """What the middleware checks against. Read anew for each request, as the server's address is known only late."""

    token: AccessToken
    rules: Rules
    user_header: str | None = None
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    oidc_user: Callable[[Mapping[str, str]], str | None] | None = None


class AuthMiddleware:
    """``Middleware(AuthMiddleware, guard=…)``, where ``guard`` is called for each visit and cheap."""

    def __init__(self, app: ASGIApp, guard: Callable[[], Guard], first_delay: float = 0.25) -> None:
        self._app = app
        self._guard = guard
        self._throttle = _Throttle(first_delay)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the visit through or answer it."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        guard = self._guard()
        headers = Headers(scope=scope)
        if guard.user_header and not _from_proxy(scope, guard):
            scope = _without_header(scope, guard.user_header)
        visit = _visit(scope, headers, guard)
        verdict = judge(visit, guard.rules)
        if scope["type"] == "websocket":
            if verdict.action == "allow":
                await self._app(scope, receive, send)
            else:
                await _refuse_websocket(receive, send)
            return
        answer = await self._answer(scope, receive, headers, visit, verdict, guard)
        await (answer or self._app)(scope, receive, _shielded(send))

    async def _answer(
        self, scope: Scope, receive: Receive, headers: Headers, visit: Visit, verdict: Verdict, guard: Guard
    ) -> Response | None:
        """The answer to give instead of the app's, or None."""
        if verdict.action == "refuse":
            return JSONResponse({"error": {"type": "Refused", "message": verdict.reason}}, status_code=403)
        if visit.path == "/login":
            return await self._login(scope, receive, headers, visit, guard)
        if verdict.action == "ask":
            if visit.credential == "wrong":
                await self._throttle.failed(visit.peer)
            return _ask(scope, headers, verdict)
        query = parse_qs(cast(bytes, scope["query_string"]).decode("latin-1"))
        if visit.credential == "token" and "token" in query and _wants_page(visit, headers):
            return _signed_in(_here(scope), scope, headers, guard.token)
        return None

    async def _login(self, scope: Scope, receive: Receive, headers: Headers, visit: Visit, guard: Guard) -> Response:
        if visit.method != "POST":
            return HTMLResponse(login_page("/", wrong=False), status_code=200, headers={"Cache-Control": "no-store"})
        form = dict(parse_qsl(await _body(receive)))
        after = _local_path(form.get("next", "/"))
        if guard.token.matches(form.get("token", "").strip()):
            return _signed_in(after, scope, headers, guard.token)
        await self._throttle.failed(visit.peer)
        return HTMLResponse(login_page(after, wrong=True), status_code=401, headers={"Cache-Control": "no-store"})


class _Throttle:
    """Makes a peer wait longer after each wrong token. Remembers a bounded number of peers."""

    def __init__(self, first_delay: float) -> None:
        self._first = first_delay
        self._failures: OrderedDict[str, int] = OrderedDict()

    async def failed(self, peer: str | None) -> None:
        key = peer or "?"
        count = self._failures.pop(key, 0)
        self._failures[key] = count + 1
        if len(self._failures) > _PEERS_REMEMBERED:
            self._failures.popitem(last=False)
        await asyncio.sleep(min(self._first * 2 ** min(count, 10), _SLOWEST_SECONDS))


def _visit(scope: Scope, headers: Headers, guard: Guard) -> Visit:
    client = scope.get("client")
    return Visit(
        kind=cast(Literal["http", "websocket"], scope["type"]),
        method=str(scope.get("method", "GET")),
        path=str(scope["path"]),
        host=headers.get("host"),
        origin=headers.get("origin"),
        fetch_site=headers.get("sec-fetch-site"),
        peer=str(client[0]) if client else None,
        forwarded=any(name in headers for name in _FORWARDING),
        credential=_credential(scope, headers, guard),
    )


def _credential(scope: Scope, headers: Headers, guard: Guard) -> Credential:
    if guard.user_header and _from_proxy(scope, guard) and headers.get(guard.user_header, "").strip():
        return "header"
    cookies = _cookies(headers)
    if guard.oidc_user is not None and guard.oidc_user(cookies):
        return "oidc"
    if guard.token.matches_cookie(cookies.get(guard.token.cookie_name, "")):
        return "token"
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    query = parse_qs(cast(bytes, scope["query_string"]).decode("latin-1"))
    given = [bearer.strip()] if scheme.lower() == "bearer" else query.get("token", [])
    if not given:
        return "none"
    return "token" if any(guard.token.matches(value) for value in given) else "wrong"


def _from_proxy(scope: Scope, guard: Guard) -> bool:
    client = scope.get("client")
    try:
        address = ip_address(client[0]) if client else None
    except ValueError:
        return False
    return address is not None and any(address in network for network in guard.proxies)


def _without_header(scope: Scope, name: str) -> Scope:
    """The scope without a header that anyone could have sent, so that nothing behind reads it as true."""
    wanted = name.lower().encode("latin-1")
    return {**scope, "headers": [pair for pair in scope["headers"] if pair[0].lower() != wanted]}


def _cookies(headers: Headers) -> dict[str, str]:
    jar: SimpleCookie = SimpleCookie()
    for line in headers.getlist("cookie"):
        for part in line.split(";"):
            try:
                jar.load(part.strip())
            except CookieError:  # another application's cookie on the same host
                continue
    return {name: morsel.value for name, morsel in jar.items()}


def _wants_page(visit: Visit, headers: Headers) -> bool:
    return visit.method == "GET" and "text/html" in headers.get("accept", "") and not is_under(visit.path, GUARDED)


def _here(scope: Scope) -> str:
    """This address without the token."""
    query = parse_qsl(cast(bytes, scope["query_string"]).decode("latin-1"), keep_blank_values=True)
    kept = urlencode([(name, value) for name, value in query if name != "token"])
    path = "/" + quote(str(scope["path"]).lstrip("/"), safe="/")
    return f"{path}?{kept}" if kept else path


def _local_path(target: str) -> str:
    """``target`` if it stays on this server, else the front page."""
    plain = target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable()
    return target if plain else "/"


def _signed_in(target: str, scope: Scope, headers: Headers, token: AccessToken) -> Response:
    response = RedirectResponse(target, status_code=303, headers={"Cache-Control": "no-store"})
    response.set_cookie(
        token.cookie_name,
        token.cookie_value,
        max_age=COOKIE_SECONDS,
        httponly=True,
        samesite="lax",
        secure=scope.get("scheme") == "https" or headers.get("x-forwarded-proto") == "https",
    )
    return response


def _ask(scope: Scope, headers: Headers, verdict: Verdict) -> Response:
    caching = {"Cache-Control": "no-store"}
    path = str(scope["path"])
    if "text/html" in headers.get("accept", "") and not is_under(path, GUARDED):
        wrong = verdict.reason.endswith("wrong.")
        return HTMLResponse(login_page(_here(scope), wrong=wrong), status_code=401, headers=caching)
    message = f"{verdict.reason} Send it as 'Authorization: Bearer …' or '?token=…'."
    return JSONResponse(
        {"error": {"type": "Unauthorized", "message": message}},
        status_code=401,
        headers={**caching, "WWW-Authenticate": 'Bearer realm="Logician"'},
    )


async def _refuse_websocket(receive: Receive, send: Send) -> None:
    await receive()  # the connect message must be taken before the handshake can be refused
    await send({"type": "websocket.close", "code": 1008, "reason": "not signed in"})


async def _body(receive: Receive) -> str:
    body = b""
    while len(body) <= _FORM_BYTES:
        message = await receive()
        if message["type"] != "http.request":
            break
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    return body[:_FORM_BYTES].decode("utf-8", "replace")


def _shielded(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _SHIELD.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
