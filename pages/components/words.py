"""Numbers, times and texts as a person reads them. Pure; what is unknown is said, never shown as zero."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

UNKNOWN = "unknown"


def count(value: float | None, unit: str = "", plural: str | None = None) -> str:
    """``1,240 tokens``; the unit's plural adds an s unless given."""
    if value is None:
        return UNKNOWN
    word = unit if value == 1 else plural or (unit + "s" if unit else "")
    return f"{value:,.0f} {word}".rstrip()


def short_count(value: float | None) -> str:
    """``940``, ``12.4 k``, ``3.1 M``."""
    if value is None:
        return UNKNOWN
    for size, sign in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.1f} {sign}"
    return f"{value:.0f}"


def money(usd: float | None) -> str:
    """US dollars with as many places as a small amount needs."""
    if usd is None:
        return UNKNOWN
    if usd == 0:
        return "$0"
    return f"${usd:.4f}" if usd < 0.01 else f"${usd:,.2f}"


def duration(seconds: float | None) -> str:
    """``340 ms``, ``2.4 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds is None:
        return UNKNOWN
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def size(value: float | None) -> str:
    """Bytes in decimal units, as disks and model cards count them."""
    if value is None:
        return UNKNOWN
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= limit:
            return f"{value / limit:.1f} {unit}"
    return f"{value:.0f} B"


def ago(at: float, now: float) -> str:
    """How long ago ``at`` was."""
    seconds = max(0.0, now - at)
    if seconds < 10:
        return "just now"
    for limit, unit in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= limit:
            return count(int(seconds // limit), unit) + " ago"
    return "just now"


def zone(name: str | None) -> tzinfo:
    """The person's time zone by its name in the browser; UTC when it is not known here."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


def midnight(at: float, timezone: str | None) -> float:
    """When the day of ``at`` began for the person."""
    day = datetime.fromtimestamp(at, zone(timezone))
    return day.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()


def exact(at: float, timezone: str | None) -> str:
    """The moment in the person's zone, to the second."""
    return datetime.fromtimestamp(at, zone(timezone)).strftime("%Y-%m-%d %H:%M:%S %Z")


def plain(text: str) -> str:
    """Text that Markdown shows as it is: no image, colour, formula or hidden link; a bare address stays clickable."""
    return re.sub(r"([\\`*_{}\[\]()<>#+\-.!|~$:])", r"\\\1", text)


def code(text: str) -> str:
    """One line of inline code, whatever it holds."""
    line = " ".join(text.split())
    longest = max((len(run) for run in re.findall(r"`+", line)), default=0)
    fence = "`" * (longest + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}" if line else "``"


def shortened(text: str, limit: int) -> str:
    """One line of at most ``limit`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
