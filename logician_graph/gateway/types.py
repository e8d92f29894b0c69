"""The one door between HTTP and the engine, and what passes through it.

The gateway turns requests into calls of :class:`EngineDoor` and answers into HTTP. It knows no run, no provider and no
table; the engine knows no request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal, Protocol, TypedDict

ExportFormat = Literal["md", "json"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = ("md", "json")


class ProviderHealth(TypedDict):
    """The model's side. ``state`` is one word, ``message`` says what to do where it is not ready."""

    state: str
    message: str


class EngineHealth(TypedDict):
    """What ``/readyz`` and ``/metrics`` show. Counts are since the database was made, not since the start."""

    database_writable: bool
    loop_alive: bool
    provider: ProviderHealth
    runs: Mapping[str, int]
    """Runs by status."""
    events_written: int


class EngineDoor(Protocol):
    """What the engine offers the gateway. Methods that are not async may block; they are called in a thread."""

    def follow(self, run_id: str, after: int) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the run's event envelopes with ``seq`` greater than ``after``, in order, then live ones.

        Ends once the run is done and its last event was yielded. May be closed at any time. Called on the server's
        event loop, which need not be the engine's.
        """
        ...

    def run_json(self, run_id: str) -> Mapping[str, Any]:
        """The run as plain JSON: at least ``id``, ``status`` and ``outcome``. Raises NotFound."""
        ...

    def cancel(self, run_id: str) -> None:
        """Ask the run to stop. Returns at once; no error when it is already done. Raises NotFound."""
        ...

    def export_thread(self, thread_id: str, fmt: ExportFormat) -> str:
        """The thread as one text. Raises NotFound."""
        ...

    def change_token(self) -> str:
        """A text that differs from before when anything was committed; costs nothing and does not block."""
        ...

    def health(self) -> EngineHealth:
        """The state of the engine's parts, measured now."""
        ...
