"""What runs inside a Dask worker: pools for the studies that use it, on an event loop in a thread of their own."""

from __future__ import annotations

import asyncio
import importlib
import tempfile
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from logician_graph.eoh.evaluator.pool import LocalEvaluator
from logician_graph.eoh.evaluator.types import Isolation, ProblemSpec, without_process
from logician_graph.eoh.types import Evaluation

_MOST_AT_ONCE = 256
"""Dask gives no more work than the worker has threads; this is only a bound."""


@dataclass(frozen=True)
class Package:
    """A problem's folder in transit."""

    name: str
    contents: Mapping[str, bytes]
    spec: ProblemSpec


@dataclass(frozen=True)
class Lacking:
    """The answer of a Dask worker that does not have the package yet."""

    address: str


class _Pools:
    """Of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pools: dict[str, tuple[LocalEvaluator, tempfile.TemporaryDirectory[str]]] = {}
        self._closed: set[str] = set()
        self.running: dict[str, Future[Any]] = {}

    def of(self, study: str, package: Package | None) -> LocalEvaluator | None:
        with self._lock:
            if study in self._closed:
                # Work that was still queued when the study closed must not bring it back.
                raise CancelledError
            if study not in self._pools and package is not None:
                place = tempfile.TemporaryDirectory(prefix="logician-problem-")
                folder = Path(place.name) / package.name
                for name, data in package.contents.items():
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    (folder / name).write_bytes(data)
                spec = replace(package.spec, folder=str(folder))
                self._pools[study] = (LocalEvaluator(spec, workers=_MOST_AT_ONCE), place)
            return self._pools[study][0] if study in self._pools else None

    def run(self, work: Coroutine[Any, Any, Any], token: str | None = None) -> Any:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="evaluator", daemon=True).start()
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        if token is None:
            return future.result()
        self.running[token] = future
        try:
            return future.result()
        finally:
            del self.running[token]

    def close(self, study: str) -> None:
        with self._lock:
            self._closed.add(study)
            pool, place = self._pools.pop(study, (None, None))
        if pool is not None and place is not None:
            self.run(pool.close())
            place.cleanup()


_pools = _Pools()


def evaluate(
    study: str, package: Package | None, token: str, code: str, instances: str, cut_above: float | None
) -> Evaluation | Lacking:
    """One evaluation; ``token`` names it for :func:`drop`."""
    try:
        pool = _pools.of(study, package)
        if pool is None:
            return _lacking()
        return _pools.run(pool.evaluate(code, instances=instances, cut_above=cut_above), token)
    except CancelledError:
        return without_process("cancelled", None)


def isolation(study: str, package: Package | None) -> Isolation | Lacking:
    """How candidates are confined on this machine."""
    pool = _pools.of(study, package)
    return _lacking() if pool is None else _pools.run(pool.isolation())


def drop(token: str) -> None:
    """End an evaluation that nobody waits for any more."""
    if (future := _pools.running.get(token)) is not None:
        future.cancel()


def close(study: str) -> None:
    """End a study's processes here and remove its files."""
    _pools.close(study)


def _lacking() -> Lacking:
    return Lacking(importlib.import_module("distributed").get_worker().address)
