"""The list of runs: filters kept in the URL, one page of rows at a time, CSV of what is filtered."""

from __future__ import annotations

import csv
import io
import math
import time
from datetime import UTC, datetime
from typing import get_args

import streamlit as st

from logician_graph.engine import Engine
from pages.components import places
from pages.components.pulse import pulse
from pages.components.run_table import run_table
from pages.components.states import STATES, seconds_of, state_of
from pages.components.words import count
from storage import RunFilter, RunOrder, RunRow

PAGE = 50
_MOST_CSV = 10_000
_ORDERS = {
    "newest": "Newest first",
    "oldest": "Oldest first",
    "longest": "Longest first",
    "tokens": "Most tokens first",
    "cost": "Highest cost first",
}


def run_list(engine: Engine) -> None:
    """Filters, table and paging."""
    st.title("Runs")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            "Filter",
            type="search",
            live=True,
            key="q",
            bind="query-params",
            placeholder="Chat, model or run id",
            width=300,
        )
        states = st.multiselect(
            "Status",
            list(STATES),
            format_func=lambda name: STATES[name].word,
            key="state",
            bind="query-params",
            placeholder="Every status",
            width=260,
        )
        order = st.selectbox(
            "Order", get_args(RunOrder), format_func=_ORDERS.__getitem__, key="order", bind="query-params", width=190
        )
    wanted = RunFilter(tuple(states), text or "")
    _rows(engine, wanted, order or "newest")


@st.fragment
def _rows(engine: Engine, wanted: RunFilter, order: RunOrder) -> None:
    total = engine.inspector.runs.count(wanted)
    if total:
        _table(engine, wanted, order, total)
    else:
        _nothing(filtered=bool(wanted.states or wanted.text))
    pulse(engine, key="runs")


def _table(engine: Engine, wanted: RunFilter, order: RunOrder, total: int) -> None:
    pages = math.ceil(total / PAGE)
    number = min(int(st.session_state.get("page") or 1), pages)
    rows = engine.inspector.runs.page(wanted, order=order, limit=PAGE, offset=(number - 1) * PAGE)
    run_id, thread_id = run_table(rows, key="run_table")
    if run_id:
        places.go_to_run(run_id)
    if thread_id:
        places.go_to_thread(thread_id)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(count(total, "run"))
        if pages > 1:
            st.pagination(pages, key="page", bind="query-params")
        st.download_button(
            "CSV",
            lambda: to_csv(engine.inspector.runs.page(wanted, order=order, limit=_MOST_CSV)),
            file_name=f"runs-{time.strftime('%Y%m%d-%H%M%S')}.csv",
            mime="text/csv",
            icon=":material/download:",
            type="tertiary",
            key="runs_csv",
            help=f"The first {_MOST_CSV:,} runs that match",
        )


_NUMBERS = ("input_tokens", "output_tokens", "cached_tokens", "cost_usd", "model_calls", "tool_calls")


def to_csv(rows: list[RunRow]) -> str:
    """Runs as CSV: exact times in UTC, numbers without units, an empty field where a number is unknown."""
    out = io.StringIO()
    writer = csv.writer(out)
    named = ("run_id", "state", "chat", "thread_id", "model", "created_at", "seconds")
    writer.writerow([*named, *_NUMBERS, "reason"])
    for row in rows:
        run = row.run
        created = datetime.fromtimestamp(run.created_at, UTC).isoformat()
        facts = (run.id, state_of(run), _cell(row.title or ""), run.thread_id, run.options.get("model"), created)
        numbers = (run.usage.get(name) for name in _NUMBERS)
        writer.writerow([*facts, seconds_of(run), *numbers, _cell(run.reason or "")])
    return out.getvalue()


def _cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _nothing(*, filtered: bool) -> None:
    with st.container(border=True, horizontal_alignment="center", key="no_runs"):
        st.space("small")
        if filtered:
            st.markdown("**No run matches these filters.**", text_alignment="center")
            st.button("Clear the filters", icon=":material/filter_alt_off:", on_click=_clear, key="clear_filters")
        else:
            st.markdown(":material/timeline: **No runs yet**", text_alignment="center")
            st.caption(
                "Every task you give the agent becomes a run: what it was asked, what it did step by step, "
                "what was sent to the model, and what it cost.",
                text_alignment="center",
            )
            if places.exists(places.CHAT):
                st.page_link(places.CHAT, label="Start a chat", icon=":material/forum:")
        st.space("small")


def _clear() -> None:
    st.session_state.q = ""
    st.session_state.state = []
