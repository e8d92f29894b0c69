"""How far a download is: bytes, speed and time left, told a few times a second."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Stage = Literal["waiting", "index", "download", "extract", "verify", "done"]
_EVERY_S = 0.2
_WINDOW_S = 10.0


@dataclass(frozen=True, slots=True)
class PullProgress:
    """One report. ``bytes_done`` counts what is kept plus the part in progress; rates are None until measured."""

    stage: Stage
    bytes_done: int
    bytes_total: int
    bytes_per_s: float | None = None
    eta_s: float | None = None


class ProgressMeter:
    """Collects counts and reports them. The speed is the mean over the last seconds of downloading."""

    def __init__(
        self, total: int, report: Callable[[PullProgress], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._total = total
        self._report = report
        self._clock = clock
        self._stage: Stage = "waiting"
        self._kept = 0
        self._current = 0
        self._told_at = float("-inf")
        self._points: deque[tuple[float, int]] = deque()
        self._received = 0

    def enter(self, stage: Stage) -> None:
        """A new stage is told at once."""
        self._stage = stage
        if stage != "download":
            self._points.clear()
        self._tell()

    def keep(self, size: int) -> None:
        """``size`` bytes of the file are safe; the part in progress is over."""
        self._kept, self._current = size, 0

    def current(self, size: int) -> None:
        """``size`` bytes of the part in progress are here."""
        self._received += max(0, size - self._current)
        self._current = size
        now = self._clock()
        if now - self._told_at >= _EVERY_S:
            self._points.append((now, self._received))
            while now - self._points[0][0] > _WINDOW_S:
                self._points.popleft()
            self._tell()

    def _tell(self) -> None:
        self._told_at = self._clock()
        done = min(self._kept + self._current, self._total)
        rate = self._rate()
        eta = None if not rate else (self._total - done) / rate
        self._report(PullProgress(self._stage, done, self._total, rate, eta))

    def _rate(self) -> float | None:
        if len(self._points) < 2:
            return None
        (start, first), (end, last) = self._points[0], self._points[-1]
        return (last - first) / (end - start) if end > start else None
