"""One run in every detail: what it was asked, how it went step by step, and what it used. Live while it works."""

from __future__ import annotations

import json
import math
import time

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.eoh import KIND as STUDIES
from logician_graph.errors import LogicianError, NotFound
from logician_graph.orchestrator import RunOptions
from pages.components import places
from pages.components.pulse import pulse
from pages.components.request_view import request_view
from pages.components.states import look, seconds_of
from pages.components.trace import trace
from pages.components.trace_view import trace_view
from pages.components.words import ago, code, count, duration, exact, money, plain
from storage import Run, StorageError

ROWS = 300
"""Lines of the trace on one page."""


def run_detail(engine: Engine, run_id: str) -> None:
    """Draw the run, or say that there is none."""
    asked = st.query_params.get("request", "")
    with st.container(horizontal=True, gap="medium"):
        st.button("All runs", icon=":material/arrow_back:", type="tertiary", key="all_runs", on_click=_back)
        if asked:
            st.button("This run", icon=":material/timeline:", type="tertiary", key="to_trace", on_click=_close_request)
    try:
        run = engine.run(run_id)
    except NotFound:
        st.title("Runs")
        st.warning(
            f"There is no run {code(run_id)}. The link may be mistyped, or the chat was removed for good.",
            icon=":material/search_off:",
        )
        return
    if asked.isdecimal():
        request_view(engine, run, int(asked))
        return
    _header(engine, run)
    _live(engine, run_id)
    if run.kind != STUDIES:
        _options(run)


def _back() -> None:
    places.select("run", None)
    for name in ("request", "step"):
        st.query_params.pop(name, None)


def _close_request() -> None:
    st.query_params.pop("request", None)


def _header(engine: Engine, run: Run) -> None:
    thread = engine.threads.get(run.thread_id) if run.thread_id else None
    study_id = str(run.options.get("study_id") or "") if run.kind == STUDIES else ""
    study = engine.studies.store.get(study_id) if study_id else None
    title = study.title if study else thread.title if thread else ""
    st.title(plain(title) or ("Study" if study_id else "Untitled chat"), anchor=False)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(f"Run {code(run.id)}")
        if thread and thread.deleted_at is None and places.exists(places.CHAT):
            st.page_link(
                places.CHAT, label="Open the chat", icon=":material/forum:", query_params={"thread": thread.id}
            )
        if study and study.deleted_at is None and places.exists(places.EVOLUTION):
            st.page_link(
                places.EVOLUTION, label="Open the study", icon=":material/genetics:", query_params={"study": study.id}
            )
        st.download_button(
            "Events as JSON",
            lambda: json.dumps(engine.hub.stored(run.id), ensure_ascii=False, indent=2),
            file_name=f"run-{run.id}.json",
            mime="application/json",
            icon=":material/download:",
            type="tertiary",
            key="run_events",
        )


@st.fragment
def _live(engine: Engine, run_id: str) -> None:
    run = engine.run(run_id)
    now, zone = time.time(), st.context.timezone
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="run_state"):
        st.markdown(look(run).badge)
        began = run.started_at or run.created_at
        st.caption(f"{'Started' if run.started_at else 'Asked for'} {ago(began, now)}", help=exact(began, zone))
        if run.status != "done":
            st.button(
                "Stopping …" if run.cancel_requested else "Stop",
                icon=":material/stop_circle:",
                key="stop_run",
                disabled=run.cancel_requested,
                on_click=_stop,
                args=(engine, run_id),
            )
        if run.status == "waiting" and places.exists(places.APPROVALS):
            st.page_link(places.APPROVALS, label="Answer it", icon=":material/front_hand:")
    if run.status == "done" and run.reason:
        say = {"failed": st.error, "completed": st.info}.get(str(run.outcome), st.warning)
        say(plain(run.reason), icon=f":material/{look(run).icon}:")
    _numbers(run)
    _trace(engine, run, now)
    if run.status == "done" and st.session_state.get("watched_run") == run_id:
        st.session_state.pop("watched_run")
        st.rerun()
    if run.status != "done":
        st.session_state["watched_run"] = run_id
        pulse(engine, key="run", soonest_s=1, latest_s=1)


def _stop(engine: Engine, run_id: str) -> None:
    try:
        engine.cancel(run_id)
    except (LogicianError, StorageError) as error:
        st.toast(plain(str(error)), icon=":material/error:")


def _numbers(run: Run) -> None:
    usage = run.usage
    cached = usage.get("cached_tokens")
    unreported = usage.get("unreported_calls") or 0
    note = f"{count(unreported, 'model call')} reported no tokens" if unreported else None
    with st.grid(6, min_column_width=136, gap="xxsmall"):
        st.metric(
            "Work",
            duration(seconds_of(run)) if seconds_of(run) is not None else "–",
            border=True,
            help="Seconds of work over all attempts; waiting for you does not count.",
        )
        st.metric(
            "Tokens in",
            count(usage.get("input_tokens")),
            border=True,
            help=f"{count(cached)} of them came from the provider's cache." if cached else note,
        )
        st.metric("Tokens out", count(usage.get("output_tokens")), border=True, help=note)
        st.metric(
            "Cost",
            money(usage.get("cost_usd")),
            border=True,
            help=None if usage.get("cost_usd") is not None else "Set prices in the settings to know it.",
        )
        st.metric("Model calls", count(usage.get("model_calls") or 0), border=True)
        if run.kind != STUDIES:
            st.metric("Tool calls", count(usage.get("tool_calls") or 0), border=True)


def _trace(engine: Engine, run: Run, now: float) -> None:
    events = engine.hub.stored(run.id)
    if not events:
        return
    told = trace(events, now=None if run.status == "done" else now)
    pages = math.ceil(len(told.rows) / ROWS)
    st.subheader("Trace", anchor=False)
    number = 1
    focus = st.query_params.get("step")
    if pages > 1:
        found = next((index for index, row in enumerate(told.rows) if focus and row.mentions(focus)), 0)
        number = st.pagination(pages, default=found // ROWS + 1, key="trace_page")
    rows = told.rows[(number - 1) * ROWS : number * ROWS]
    asked = trace_view(rows, told.span_s, start=events[0]["at"], focus=focus, key="trace")
    if asked is not None:
        st.query_params["request"] = str(asked)
        st.rerun()


def _options(run: Run) -> None:
    options = RunOptions.model_validate(run.options)
    with st.expander("What was asked of this run", icon=":material/tune:", key="run_options"):
        st.table(
            {
                "Model": code(options.model),
                "Permission mode": options.mode.replace("_", " "),
                "Workspace": code(options.workspace),
                "Checks that must pass": ", ".join(code(command) for command in options.verify) or "none",
                "Most model calls": count(options.max_turns),
                "Most tool calls": count(options.max_tool_calls),
                "Most tokens": count(options.max_tokens) if options.max_tokens else "no limit",
                "Most seconds of work": duration(options.max_seconds),
                "Highest cost": money(options.max_cost_usd) if options.max_cost_usd is not None else "no limit",
                "Temperature": "the provider's default" if options.temperature is None else f"{options.temperature:g}",
                "Attempts": count(run.attempt),
            },
            border="horizontal",
            width="content",
        )
