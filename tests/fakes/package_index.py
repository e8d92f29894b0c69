"""A real HTTP package index with wheels that carry bytes: simple API as JSON or HTML, Range, and faults.

    with FakeIndex({"part-one": b"...", "part-two": b"..."}) as index:
        pull(..., index=index.url)

Each project has one wheel, version 1.0, with one data member. It serves what it is told, wrong hashes included.
"""

from __future__ import annotations

import hashlib
import io
import json
import threading
import time
import zipfile
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self

VERSION = "1.0"


def member(project: str) -> str:
    """Where a project's wheel keeps its bytes."""
    return f"{project.replace('-', '_')}/data/part.bin"


def wheel(project: str, data: bytes, *, inside: str | None = None) -> bytes:
    """A wheel file: the data member, and a module that must never be imported."""
    buffer = io.BytesIO()
    module = project.replace("-", "_")
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{module}/__init__.py", "raise SystemExit('a data wheel was imported')\n")
        archive.writestr(inside or member(project), data)
        archive.writestr(f"{module}-{VERSION}.dist-info/METADATA", f"Name: {project}\nVersion: {VERSION}\n")
    return buffer.getvalue()


class FakeIndex:
    """The server, on a free loopback port. Fields may be changed while it runs."""

    def __init__(
        self, contents: Mapping[str, bytes], *, form: Literal["json", "html"] = "json", files: Mapping[str, bytes] = {}
    ) -> None:
        self.wheels = {project: wheel(project, data) for project, data in contents.items()}
        self.files = dict(files)
        """Served under ``/files/NAME``."""
        self.hashes = {project: hashlib.sha256(data).hexdigest() for project, data in self.wheels.items()}
        self.form = form
        self.cut_after: dict[str, list[int]] = {}
        """Project to byte counts: each request in turn is cut after so many bytes."""
        self.statuses: dict[str, list[int]] = {}
        """Project to statuses with which its next downloads fail."""
        self.bytes_per_s: float | None = None
        self.ranges = True
        self.requests: list[tuple[str, str | None]] = []
        """Path and Range header of every request."""
        self.bytes_sent = 0
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        """The index URL."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_address[1]}/simple"

    @property
    def files_url(self) -> str:
        """Where ``files`` are."""
        return self.url.replace("/simple", "/files")

    def downloads(self, project: str) -> list[str | None]:
        """Range headers of the downloads of a project's wheel."""
        return [header for path, header in self.requests if path == f"/wheels/{self.filename(project)}"]

    @staticmethod
    def filename(project: str) -> str:
        """The wheel's file name."""
        return f"{project.replace('-', '_')}-{VERSION}-py3-none-any.whl"

    def __enter__(self) -> Self:
        index = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                index.requests.append((self.path, self.headers.get("Range")))
                try:
                    index.answer(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()

    # HTTP

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Route one GET."""
        _, kind, name, *_ = [*handler.path.split("/"), "", ""]
        by_file = {self.filename(project): project for project in self.wheels}
        if kind == "simple" and name in self.wheels:
            self._page(handler, name)
        elif kind == "wheels" and name in by_file:
            project = by_file[name]
            if self.statuses.get(project):
                _send(handler, self.statuses[project].pop(0), "text/plain", b"no")
            else:
                cuts = self.cut_after.get(project) or []
                self._bytes(handler, self.wheels[project], cuts.pop(0) if cuts else None)
        elif kind == "files" and name in self.files:
            cuts = self.cut_after.get(name) or []
            self._bytes(handler, self.files[name], cuts.pop(0) if cuts else None)
        else:
            _send(handler, 404, "text/plain", b"not found")

    def _page(self, handler: BaseHTTPRequestHandler, project: str) -> None:
        filename, sha256 = self.filename(project), self.hashes[project]
        url = f"/wheels/{filename}"
        if self.form == "html":
            page = f'<!DOCTYPE html><html><body><a href="../..{url}#sha256={sha256}">{filename}</a></body></html>'
            _send(handler, 200, "text/html", page.encode())
            return
        old = {"filename": filename.replace(VERSION, "0.9"), "url": "/wheels/old", "hashes": {"sha256": "0" * 64}}
        size = len(self.wheels[project])
        files = [old, {"filename": filename, "url": url, "hashes": {"sha256": sha256}, "size": size}]
        page = json.dumps({"meta": {"api-version": "1.1"}, "name": project, "files": files})
        _send(handler, 200, "application/vnd.pypi.simple.v1+json", page.encode())

    def _bytes(self, handler: BaseHTTPRequestHandler, data: bytes, cut: int | None) -> None:
        header = handler.headers.get("Range") if self.ranges else None
        start = int(header.removeprefix("bytes=").removesuffix("-")) if header else 0
        if header and start >= len(data):
            _send(handler, 416, "text/plain", b"")
            return
        handler.send_response(206 if header else 200)
        if header:
            handler.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        handler.send_header("Content-Length", str(len(data) - start))
        handler.end_headers()
        rest = data[start:] if cut is None else data[start : start + cut]
        for at in range(0, len(rest), 16_384):
            piece = rest[at : at + 16_384]
            handler.wfile.write(piece)
            self.bytes_sent += len(piece)
            if self.bytes_per_s:
                time.sleep(len(piece) / self.bytes_per_s)
        if cut is not None:
            handler.close_connection = True


def _send(handler: BaseHTTPRequestHandler, status: int, kind: str, body: bytes) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
