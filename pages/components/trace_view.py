"""The trace of a run in the browser: a timeline whose lines open to the events as they are stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2 import component

from pages.components.trace import Row
from pages.components.words import count, duration, exact

_LONGEST = 20_000
"""Characters of one event that the page shows; the download has all."""
_MOST = 20
"""Events of one line that the page shows: streamed text comes in hundreds of pieces."""
_HERE = Path(__file__).parent
_TRACE = component(
    "logician_trace",
    html='<ol aria-label="Trace of the run">\n</ol>',
    css=(_HERE / "trace_view.css").read_text(encoding="utf-8"),
    js=(_HERE / "trace_view.js").read_text(encoding="utf-8"),
)


def trace_view(rows: Sequence[Row], span_s: float, *, start: float, focus: str | None, key: str) -> int | None:
    """Draw the rows. Returns the event number of the model call whose request was just asked for, if any.

    ``focus`` is a call or message id: the line about it is opened and brought into view.
    """
    shown = next((row.seq for row in rows if focus and row.mentions(focus)), None)
    data = {"rows": [_row(row, start, st.context.timezone) for row in rows], "span": span_s, "focus": shown}
    return _TRACE(key=key, data=data, on_request_change=lambda: None).request


def _row(row: Row, start: float, timezone: str | None) -> dict[str, Any]:
    return {
        "seq": row.seq,
        "at": row.at,
        "at_words": f"+{duration(row.at)}" if row.at else "0 s",
        "exact": exact(start + row.at, timezone),
        "took": duration(row.duration_s) if row.duration_s is not None else "",
        "duration": row.duration_s,
        "open": row.open,
        "icon": row.icon,
        "label": row.label,
        "detail": row.detail[:400],
        "color": row.color,
        "indent": row.indent,
        "request": row.request,
        "events": _events(row),
    }


def _events(row: Row) -> list[str]:
    texts = [event_text(event) for event in row.events[:_MOST]]
    if len(row.events) > _MOST:
        texts.append(f"… {count(len(row.events) - _MOST, 'more event')}: download the events to read all")
    return texts


def event_text(event: Any) -> str:
    """An event as indented JSON, cut where it is very long."""
    text = json.dumps(event, ensure_ascii=False, indent=2)
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}\n… {count(len(text) - _LONGEST, 'more character')}: download the events to read all"
