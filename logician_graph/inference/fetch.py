"""One file over HTTP, resumed where it broke off, with its SHA-256 checked.

Certificates and proxies come from the environment (``SSL_CERT_FILE``, ``HTTPS_PROXY`` …), as httpx reads them. A broken
connection is tried again as long as it brings bytes; what failed in the end is told as ``DownloadError``.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import httpx

from logician_graph.errors import DownloadError
from logician_graph.inference.progress import ProgressMeter
from logician_graph.inference.threads import to_the_end

_TRIES = 4
_FIRST_WAIT_S = 1.0
_CHUNK = 256 * 1024
_BLOCK = 4 * 1024 * 1024
_TIMEOUT = httpx.Timeout(30.0, connect=15.0)


class Fetcher:
    """An HTTP client for the length of one download."""

    def __init__(self, *, first_wait_s: float = _FIRST_WAIT_S) -> None:
        self.client = httpx.AsyncClient(timeout=_TIMEOUT, follow_redirects=True)
        self._first_wait_s = first_wait_s

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.client.aclose()

    async def verified(self, url: str, path: Path, sha256: str, meter: ProgressMeter) -> None:
        """Fill ``path`` and check its hash. A resumed file that turns out wrong is fetched once more from the start."""
        resumed = _size(path) > 0
        await self.fill(url, path, meter)
        if await asyncio.to_thread(file_sha256, path) == sha256:
            return
        await asyncio.to_thread(path.unlink)
        if not resumed:
            raise DownloadError(f"{path.name!r} does not have the SHA-256 that the index promises; it was deleted.")
        await self.verified(url, path, sha256, meter)

    async def fill(self, url: str, path: Path, meter: ProgressMeter) -> None:
        """Append to ``path`` what is missing of ``url``. Raises httpx errors when tries are used up."""
        tries = 0
        while True:
            before = _size(path)
            try:
                await self._fill_once(url, path, before, meter)
                return
            except (httpx.TransportError, httpx.HTTPStatusError) as error:
                tries = 1 if _size(path) > before else tries + 1
                if tries >= _TRIES or (isinstance(error, httpx.HTTPStatusError) and _final(error.response.status_code)):
                    raise
            await asyncio.sleep(self._first_wait_s * 2 ** (tries - 1))

    async def _fill_once(self, url: str, path: Path, have: int, meter: ProgressMeter) -> None:
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        async with self.client.stream("GET", url, headers=headers) as response:
            if have and response.status_code == 416:
                return  # nothing is missing; the hash decides whether what is here is right
            response.raise_for_status()
            goes_on = response.status_code == 206
            size = have if goes_on else 0
            with path.open("ab" if goes_on else "wb") as file:
                waiting = bytearray()
                try:
                    async for chunk in response.aiter_raw():
                        waiting += chunk
                        size += len(chunk)
                        meter.current(size)
                        if len(waiting) >= _CHUNK:
                            full, waiting = waiting, bytearray()
                            await to_the_end(file.write, full)
                finally:
                    file.write(waiting)  # what came before a cut is kept too


@asynccontextmanager
async def told_as_download_errors(kept: str) -> AsyncGenerator[None]:
    """What httpx and the disk raise, as ``DownloadError`` that says what to do; ``kept`` says what is safe."""
    try:
        yield
    except httpx.HTTPStatusError as error:
        place = _place(error.request)
        raise DownloadError(f"{place!r} answered HTTP {error.response.status_code}. {kept}") from None
    except httpx.HTTPError as error:
        place = _place(error.request) if _has_request(error) else "the package index"
        reason = str(error) or type(error).__name__
        raise DownloadError(
            f"{place!r} could not be reached ({reason}). {kept} Check the network, or set LOGICIAN_INDEX_URL to a "
            "package index that can be reached from here."
        ) from None


def file_sha256(path: Path) -> str:
    """Hex digest of the file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def human(size: int) -> str:
    """``1.1 GB``: decimal units, as disks and network are told."""
    amount = float(size)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _final(status: int) -> bool:
    """Whether asking again cannot help."""
    return status < 500 and status not in {408, 429}


def _has_request(error: httpx.HTTPError) -> bool:
    try:
        return error.request is not None  # pyright: ignore[reportUnnecessaryComparison]
    except RuntimeError:
        return False


def _place(request: httpx.Request) -> str:
    """Host only: paths and queries of mirrors may carry tokens."""
    return urlsplit(str(request.url)).hostname or "the server"
