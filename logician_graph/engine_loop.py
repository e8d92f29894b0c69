"""The engine's own event loop, in a thread of its own, so that work outlives pages, tabs and requests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
TIDY_S = 3.0
"""How long what was cut off at the end may take to give back its processes and files."""


class EngineLoop:
    """An event loop that runs from :meth:`start` to :meth:`stop`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="logician-engine", daemon=True)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def alive(self) -> bool:
        """True while the loop runs."""
        return self._thread.is_alive() and self._loop.is_running()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the loop, from any thread."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def call(self, function: Callable[..., object], *args: object) -> None:
        """Call a function on the loop soon, from any thread; nothing happens when the loop is gone."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *args)

    def stop(self, timeout_s: float = 5.0) -> None:
        """Cancel what is left on the loop, stop it and join the thread."""
        if not self._thread.is_alive():
            return
        finished = asyncio.run_coroutine_threadsafe(self._cancel_all(), self._loop)
        try:
            finished.result(timeout_s)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout_s)
            if not self._thread.is_alive():
                self._loop.close()

    async def _cancel_all(self) -> None:
        await _cancelled(_others())
        if tidying := _others():  # what the cancelled ones began in order to leave nothing behind
            await asyncio.wait(tidying, timeout=TIDY_S)
            await _cancelled(_others())
        await self._loop.shutdown_asyncgens()


def _others() -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


async def _cancelled(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
