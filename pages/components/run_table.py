"""The table of runs: one page of rows, each with links to the run and to its chat."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import streamlit as st
from streamlit.components.v2 import component

from pages.components import places
from pages.components.states import look, seconds_of
from pages.components.words import ago, count, duration, exact, money
from storage import RunRow

_HERE = Path(__file__).parent
_TABLE = component(
    "logician_run_table",
    html='<div class="frame">\n<table aria-label="Runs"></table>\n</div>',
    css=(_HERE / "run_table.css").read_text(encoding="utf-8"),
    js=(_HERE / "run_table.js").read_text(encoding="utf-8"),
)
_KINDS = {"eoh": "Evolution study"}


def run_table(rows: Sequence[RunRow], *, key: str) -> tuple[str | None, str | None]:
    """Draw the rows. Returns the id of the run and of the thread that were just clicked, if any."""
    result = _TABLE(
        key=key,
        data={"rows": [row_data(row, time.time(), st.context.timezone) for row in rows]},
        on_opened_change=lambda: None,
        on_chat_change=lambda: None,
    )
    return result.opened, result.chat


def row_data(row: RunRow, now: float, timezone: str | None) -> dict[str, Any]:
    """One row as the browser draws it."""
    run, usage, state = row.run, row.run.usage, look(row.run)
    linked = run.thread_id is not None and not row.deleted and places.exists(places.CHAT)
    title = row.title or ("Untitled chat" if run.thread_id else _KINDS.get(run.kind, run.kind))
    return {
        "id": run.id,
        "href": f"runs?run={quote(run.id)}",
        "word": state.word,
        "icon": state.icon,
        "color": state.color,
        "reason": run.reason or "",
        "title": f"{title} (deleted)" if row.deleted else title,
        "thread": run.thread_id,
        "chat": f"./?thread={quote(run.thread_id)}" if linked and run.thread_id else None,
        "model": str(run.options.get("model", "")).partition(":")[2] or "unknown",
        "started": ago(run.started_at or run.created_at, now),
        "exact": exact(run.started_at or run.created_at, timezone),
        "time": duration(seconds_of(run)) if seconds_of(run) is not None else "–",
        "input": count(usage.get("input_tokens")),
        "output": count(usage.get("output_tokens")),
        "cost": money(usage.get("cost_usd")),
        "tools": count(usage.get("tool_calls") or 0),
    }
