"""A real HTTP server that speaks the OpenAI chat API and does what a test tells it to.

    with FakeOpenAI([Reply("Hello"), Reply(tool_calls=[("read_file", {"path": "a.txt"})])]) as fake:
        OpenAICompatible(base_url=fake.base_url, ...)

Replies come from a list (served in order; a request past its end gets a 400 that says so), from a callable
``body -> Reply``, or, by default, from the prompt itself (see ``openai_prompts``), which is what browser tests and
benchmarks use: ``python -m tests.fakes.openai_server --port 9999``. Every request is recorded with the times at which
it came and at which the client left. It checks no schema and knows no model.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import uvicorn

from tests.fakes.openai_prompts import PromptScript
from tests.fakes.openai_replies import Call, Fault, Reply, Usage, adapt, completion, sse, stream_events

__all__ = ["Call", "FakeOpenAI", "Fault", "PromptScript", "RecordedRequest", "Reply", "Usage", "scripted"]

Handler = Callable[[Mapping[str, Any]], Reply]


@dataclass(slots=True)
class RecordedRequest:
    """One request as it came; times are ``time.monotonic()``."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    received_at: float
    client_port: int = 0
    """Requests over one connection have the same."""
    finished_at: float | None = None
    disconnected_at: float | None = None
    """When the client went away before the reply was complete."""


@dataclass
class _Scripted:
    replies: list[Reply]
    served: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, body: Mapping[str, Any]) -> Reply:
        with self.lock:
            self.served += 1
            if self.served > len(self.replies):
                return Reply.failing(400, f"the script has {len(self.replies)} replies, request {self.served} came")
            return self.replies[self.served - 1]


def scripted(replies: Iterable[Reply]) -> Handler:
    """A handler that serves ``replies`` in order, then refuses."""
    return _Scripted(list(replies))


class FakeOpenAI:
    """The server, in a thread of its own, on a free loopback port (or the one given)."""

    def __init__(
        self,
        replies: Iterable[Reply] | Handler | None = None,
        *,
        api_key: str | None = None,
        models: tuple[str, ...] = ("fake-model",),
        context_window: int | None = None,
        port: int = 0,
    ) -> None:
        if replies is None:
            self.handler: Handler = PromptScript()
        else:
            self.handler = replies if callable(replies) else scripted(replies)
        self.api_key = api_key
        """When set, every other key gets a 401."""
        self.models = models
        self.context_window = context_window
        self.requests: list[RecordedRequest] = []
        self._port = port
        self._counter = 0
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    # Life

    def start(self) -> Self:
        """Bind, serve and return when connections are accepted."""
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self._port))
        self._port = listener.getsockname()[1]
        config = uvicorn.Config(
            self._app,
            interface="asgi3",
            lifespan="off",
            proxy_headers=False,
            access_log=False,
            log_config=None,
            log_level="error",
            timeout_graceful_shutdown=1,
        )
        server = self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=server.run, args=([listener],), name="fake-openai", daemon=True)
        self._thread.start()
        deadline = time.monotonic() + 10
        while not server.started:
            if time.monotonic() > deadline or not self._thread.is_alive():
                raise RuntimeError("the fake server did not start")
            time.sleep(0.002)
        return self

    def stop(self) -> None:
        """Close every connection and end the thread."""
        if self._server is None or self._thread is None:
            return
        self._server.should_exit = True
        self._thread.join(5)
        if self._thread.is_alive():
            raise RuntimeError("the fake server did not stop")
        self._server = self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # What tests read

    @property
    def port(self) -> int:
        """The port; known after :meth:`start`."""
        return self._port

    @property
    def base_url(self) -> str:
        """What a client takes as base URL."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """Bodies of the completion requests in order."""
        return [request.body for request in self.requests if request.path.endswith("/chat/completions")]

    def wait_for_request(self, count: int = 1, timeout_s: float = 10.0) -> None:
        """Block until ``count`` requests have come."""
        deadline = time.monotonic() + timeout_s
        while len(self.requests) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(self.requests)} of {count} requests came")
            time.sleep(0.005)

    # HTTP

    async def _app(self, scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        raw = b""
        while True:
            message = await receive()
            raw += message.get("body", b"")
            if message["type"] == "http.disconnect" or not message.get("more_body"):
                break
        headers = {key.decode().lower(): value.decode() for key, value in scope["headers"]}
        request = RecordedRequest(
            scope["path"], json.loads(raw or b"{}"), headers, time.monotonic(), (scope["client"] or ("", 0))[1]
        )
        self.requests.append(request)
        try:
            await self._answer(request, receive, send)
        finally:
            request.finished_at = time.monotonic()

    async def _answer(self, request: RecordedRequest, receive: Any, send: Any) -> None:
        if self.api_key is not None and request.headers.get("authorization") != f"Bearer {self.api_key}":
            error = {"error": {"message": "Incorrect API key provided.", "code": "invalid_api_key"}}
            await _whole(send, 401, error)
        elif request.path.endswith("/models"):
            extra = {} if self.context_window is None else {"max_model_len": self.context_window}
            data = [{"id": model, "object": "model", **extra} for model in self.models]
            await _whole(send, 200, {"object": "list", "data": data})
        elif request.path.endswith("/chat/completions"):
            reply = adapt(self.handler(request.body), request.body)
            self._counter += 1
            await _serve(reply, request, f"chatcmpl-{self._counter}", receive, send)
        else:
            await _whole(send, 404, {"error": {"message": f"no route {request.path}"}})


async def _serve(reply: Reply, request: RecordedRequest, completion_id: str, receive: Any, send: Any) -> None:
    """Send ``reply``; a client that leaves ends it at once and is noted."""
    left = asyncio.ensure_future(_until_disconnect(receive))
    work = asyncio.ensure_future(_reply(reply, request, completion_id, receive, send))
    await asyncio.wait({left, work}, return_when=asyncio.FIRST_COMPLETED)
    if work.done():
        left.cancel()
        await work
        return
    request.disconnected_at = time.monotonic()
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


async def _reply(reply: Reply, request: RecordedRequest, completion_id: str, receive: Any, send: Any) -> None:
    if reply.first_byte_s:
        await asyncio.sleep(reply.first_byte_s)
    if reply.status is not None:
        await _whole(send, reply.status, reply.error or {"error": {"message": "scripted"}}, reply.headers)
    elif reply.fault == "garbage":
        await _whole(send, 200, "<html>this is no JSON</html>")
    elif not request.body.get("stream"):
        await _whole(send, 200, completion(reply, request.body, completion_id))
    else:
        await _stream(reply, stream_events(reply, request.body, completion_id), receive, send)


async def _stream(reply: Reply, events: list[bytes], receive: Any, send: Any) -> None:
    headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    faulty = reply.fault in {"cut", "reset", "hang", "invalid_json", "error_chunk"}
    if not faulty and not reply.delay_s:
        await send({"type": "http.response.body", "body": b"".join(events)})
        return
    for event in events[: 1 + reply.after_tokens] if faulty else events:
        if reply.delay_s:
            await asyncio.sleep(reply.delay_s)
        await send({"type": "http.response.body", "body": event, "more_body": True})
    match reply.fault:
        case "cut" | "reset":
            await asyncio.sleep(0.02)
            _break_connection(receive, reset=reply.fault == "reset")
        case "hang":
            await asyncio.Event().wait()
        case "invalid_json":
            await send({"type": "http.response.body", "body": sse('{"choices": [{"del')})
        case "error_chunk":
            await send({"type": "http.response.body", "body": sse({"error": {"message": "upstream broke"}})})
        case _:
            await send({"type": "http.response.body", "body": b""})


def _break_connection(receive: Any, *, reset: bool) -> None:
    """Drop the TCP connection under the response: uvicorn's cycle, whose method ``receive`` is, owns the transport."""
    transport: asyncio.Transport = receive.__self__.transport
    if reset:
        raw: socket.socket = transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


async def _until_disconnect(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _whole(
    send: Any, status: int, body: Mapping[str, Any] | str, headers: Mapping[str, str] | None = None
) -> None:
    kind = b"text/html" if isinstance(body, str) else b"application/json"
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    fields = [(b"content-type", kind), (b"content-length", str(len(raw)).encode())]
    fields += [(key.encode(), value.encode()) for key, value in (headers or {}).items()]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": raw})


def main() -> None:
    """Serve until interrupted; prints the base URL on the first line."""
    parser = argparse.ArgumentParser(description="A scripted OpenAI-compatible endpoint on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path, help="JSON file: a list of replies (fields of Reply), served in order")
    options = parser.parse_args()
    script: Path | None = options.script
    replies = None if script is None else [Reply(**fields) for fields in json.loads(script.read_text("utf-8"))]
    with FakeOpenAI(replies, port=options.port) as fake:
        print(fake.base_url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
