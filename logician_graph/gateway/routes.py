"""The HTTP routes beside the pages. Each asks the engine's door and answers; none holds state.

All of them lie under the paths that :mod:`logician_graph.gateway.policy` guards. Errors are JSON:
``{"error": {"type", "message"}}`` with 400, 404, 409, 500 or 503.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from logician_graph import __version__
from logician_graph.errors import Conflict, LogicianError, NotFound, UsageError
from logician_graph.gateway.metrics import CONTENT_TYPE, prometheus_text
from logician_graph.gateway.sse import KEEP_ALIVE_SECONDS, event_stream
from logician_graph.gateway.types import EXPORT_FORMATS, EngineDoor, ExportFormat
from logician_graph.redaction import redact

_LOGGER = logging.getLogger(__name__)
_MEDIA_TYPES: Mapping[ExportFormat, str] = {"md": "text/markdown", "json": "application/json"}
_STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@dataclass(frozen=True, slots=True)
class Gateway:
    """What the routes work with. ``door`` gives None while the engine starts or has stopped."""

    door: Callable[[], EngineDoor | None]
    active_sessions: Callable[[], int] = lambda: 0
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server begins to stop: open streams end so that it can."""
    keep_alive: float = KEEP_ALIVE_SECONDS


Endpoint = Callable[[Gateway, Request], Awaitable[Response]]


def build_routes(gateway: Gateway) -> list[Route]:
    """All routes, for ``st.App(routes=…)``."""
    return [
        _route("/healthz", _healthz, gateway),
        _route("/readyz", _readyz, gateway),
        _route("/metrics", _metrics, gateway),
        _route("/api/changes", _changes, gateway),
        _route("/api/runs/{run_id}", _run, gateway),
        _route("/api/runs/{run_id}/events", _events, gateway),
        _route("/api/runs/{run_id}/cancel", _cancel, gateway, method="POST"),
        _route("/api/threads/{thread_id}/export.{fmt}", _export, gateway),
    ]


async def _healthz(_gateway: Gateway, _request: Request) -> Response:
    return JSONResponse({"status": "ok", "version": __version__})


async def _readyz(gateway: Gateway, _request: Request) -> Response:
    door = gateway.door()
    if door is None:
        return JSONResponse({"status": "starting", "message": "The engine is not running yet."}, status_code=503)
    health = await asyncio.to_thread(door.health)
    # A model that is still downloading does not make the workbench unready: its pages show the progress.
    ready = health["database_writable"] and health["loop_alive"]
    return _json({"status": "ready" if ready else "not ready", **health}, status=200 if ready else 503)


async def _metrics(gateway: Gateway, _request: Request) -> Response:
    door = gateway.door()
    health = None if door is None else await asyncio.to_thread(door.health)
    return PlainTextResponse(
        prometheus_text(health, gateway.active_sessions(), __version__), headers={"Content-Type": CONTENT_TYPE}
    )


async def _changes(gateway: Gateway, _request: Request) -> Response:
    return _json({"token": _engine(gateway).change_token()})


async def _run(gateway: Gateway, request: Request) -> Response:
    return _json(await asyncio.to_thread(_engine(gateway).run_json, request.path_params["run_id"]))


async def _events(gateway: Gateway, request: Request) -> Response:
    door = _engine(gateway)
    run_id: str = request.path_params["run_id"]
    after = _position(request)
    await asyncio.to_thread(door.run_json, run_id)  # an unknown run is a 404, not an empty stream
    frames = event_stream(
        door.follow(run_id, after), lambda: door.run_json(run_id), gateway.draining, gateway.keep_alive
    )
    return StreamingResponse(frames, media_type="text/event-stream", headers=_STREAM_HEADERS)


async def _cancel(gateway: Gateway, request: Request) -> Response:
    door = _engine(gateway)
    run_id: str = request.path_params["run_id"]
    await asyncio.to_thread(door.cancel, run_id)
    return _json(await asyncio.to_thread(door.run_json, run_id), status=202)


async def _export(gateway: Gateway, request: Request) -> Response:
    fmt: str = request.path_params["fmt"]
    if fmt not in EXPORT_FORMATS:
        raise NotFound(f"There is no export format {fmt!r}; use one of {', '.join(EXPORT_FORMATS)}.")
    chosen: ExportFormat = "md" if fmt == "md" else "json"
    thread_id: str = request.path_params["thread_id"]
    text = await asyncio.to_thread(_engine(gateway).export_thread, thread_id, chosen)
    name = "".join(letter for letter in thread_id if letter.isalnum() or letter in "-_")
    return Response(
        redact(text),
        media_type=_MEDIA_TYPES[chosen],
        headers={"Content-Disposition": f'attachment; filename="thread-{name}.{chosen}"', "Cache-Control": "no-store"},
    )


def _route(path: str, endpoint: Endpoint, gateway: Gateway, method: str = "GET") -> Route:
    async def handle(request: Request) -> Response:
        try:
            return await endpoint(gateway, request)
        except Exception as error:
            answer = _error(error)
            if answer is None:
                raise
            return answer

    return Route(path, handle, methods=[method], name=endpoint.__name__.removeprefix("_"))


def _engine(gateway: Gateway) -> EngineDoor:
    door = gateway.door()
    if door is None:
        raise _Starting("The engine is not running yet; try again in a moment.")
    return door


class _Starting(LogicianError):
    """There is no engine to ask just now."""


def _error(error: Exception) -> Response | None:
    """The answer to an error that was raised on purpose; None leaves it to the server, which logs it."""
    match error:
        case NotFound():
            status = 404
        case Conflict():
            status = 409
        case UsageError():
            status = 400
        case _Starting():
            status = 503
        case LogicianError():
            status = 500
        case _ if _is_storage_error(error):
            status = 503
        case _:
            return None
    if status >= 500 and not isinstance(error, _Starting):
        _LOGGER.error("A request failed: %s", error, exc_info=error)
    return _json({"error": {"type": type(error).__name__.lstrip("_"), "message": str(error)}}, status=status)


def _is_storage_error(error: Exception) -> bool:
    from storage import StorageError  # loads SQLAlchemy, which the server's start must not wait for

    return isinstance(error, StorageError)


def _position(request: Request) -> int:
    """The last event that the client has. A reconnecting browser's header is newer than the address it was given."""
    given = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
    if not given.isascii() or not given.isdigit():
        raise UsageError(f"The position {given!r} is not the number of an event.")
    return int(given)


def _json(content: Mapping[str, Any], status: int = 200) -> Response:
    body = redact(json.dumps(content, ensure_ascii=False, default=str))
    return Response(body, status_code=status, media_type="application/json", headers={"Cache-Control": "no-store"})
