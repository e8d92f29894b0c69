"""The chats in the sidebar, by day, with what runs or waits, and what can be done with each."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import streamlit as st

from logician_graph.engine import Engine
from pages.components import places
from pages.components.copy_button import copy_link_button
from pages.components.notices import attempt, say_notices
from pages.components.pulse import pulse
from pages.components.words import midnight, plain, shortened, zone
from storage import Thread

_PAGE = 30
_UNDO_S = 20.0
_DAY_S = 86_400.0
_SHOWN, _RENAMING, _DELETED = "threads_shown", "renaming_thread", "deleted_thread"
_ACTIVE = ("queued", "running", "waiting")
_MARKS = {
    "waiting": ":orange[:material/front_hand:] ",
    "running": ":blue[:material/progress_activity:] ",
    "queued": ":gray[:material/hourglass_empty:] ",
}


def thread_list(engine: Engine, current: str | None) -> None:
    """Draw the list; ``current`` is the thread that is open. It refreshes by itself."""
    with st.sidebar:
        _list(engine, current)


def _undoable() -> Thread | None:
    deleted = st.session_state.get(_DELETED)
    return deleted[0] if deleted and time.time() - deleted[1] < _UNDO_S else None


@st.fragment
def _list(engine: Engine, current: str | None) -> None:
    say_notices()
    shown = st.session_state.get(_SHOWN, _PAGE)
    threads = engine.threads.search(limit=shown + 1)
    states = _states(engine)
    deleted = _undoable()
    if deleted is not None:
        _undo(engine, deleted)
    day = None
    with st.container(gap=None, key="threads"):
        for thread in threads[:shown]:
            heading = day_name(thread.updated_at, time.time(), st.context.timezone)
            if heading != day:
                day = heading
                st.caption(heading)
            if st.session_state.get(_RENAMING) == thread.id:
                _rename(engine, thread)
            else:
                _row(engine, thread, states.get(thread.id, ""), current == thread.id)
        if len(threads) > shown:
            st.button("Show more", key="threads_more", type="tertiary", on_click=_more)
    pulse(engine, key="threads", soonest_s=5, latest_s=_UNDO_S if deleted is not None else 300)


def _states(engine: Engine) -> dict[str, str]:
    """State of each thread with unfinished runs: what waits for the person comes first."""
    runs = engine.ledger.recent(limit=200, statuses=_ACTIVE)
    ordered = sorted(runs, key=lambda run: _ACTIVE.index(run.status))
    return {run.thread_id: run.status for run in ordered if run.thread_id is not None}


def day_name(at: float, now: float, timezone: str | None) -> str:
    """``Today``, ``Yesterday``, ``Last 7 days``, else the month."""
    today = midnight(now, timezone)
    if at >= today:
        return "Today"
    if at >= today - _DAY_S:
        return "Yesterday"
    if at >= today - 7 * _DAY_S:
        return "Last 7 days"
    moment = datetime.fromtimestamp(at, UTC).astimezone(zone(timezone))
    same_year = moment.year == datetime.fromtimestamp(now, UTC).astimezone(zone(timezone)).year
    return moment.strftime("%B" if same_year else "%B %Y")


def _row(engine: Engine, thread: Thread, state: str, selected: bool) -> None:
    title = thread.title or "New chat"
    name = plain(shortened(title, 60))
    with st.container(horizontal=True, vertical_alignment="center", gap=None, wrap=False):
        with st.container(width="stretch"):
            st.button(
                _MARKS.get(state, "") + (f"**{name}**" if selected else name),
                key=f"thread_{thread.id}",
                type="tertiary",
                width="content",
                wrap=False,
                on_click=_open,
                args=(thread.id,),
            )
        menu = st.popover(":material/more_horiz:", type="tertiary", key=f"menu_{thread.id}", on_change="rerun")
    if menu.open:
        with menu, st.container(gap=None):
            _menu(engine, thread)


def _menu(engine: Engine, thread: Thread) -> None:
    st.button(
        "Rename",
        icon=":material/edit:",
        type="tertiary",
        key=f"rename_{thread.id}",
        on_click=lambda: st.session_state.update({_RENAMING: thread.id}),
    )
    copy_link_button(f"/?thread={thread.id}", key=f"link_{thread.id}", label="Copy link")
    for fmt, title in (("md", "Markdown"), ("json", "JSON")):
        st.link_button(
            f"Export as {title}",
            f"/api/threads/{thread.id}/export.{fmt}",
            icon=":material/download:",
            type="tertiary",
            key=f"export_{fmt}_{thread.id}",
        )
    st.button(
        "Delete",
        icon=":material/delete:",
        type="tertiary",
        key=f"delete_{thread.id}",
        on_click=_delete,
        args=(engine, thread),
    )


def _rename(engine: Engine, thread: Thread) -> None:
    key = f"title_{thread.id}"

    def save() -> None:
        title = str(st.session_state.get(key) or "").strip()
        st.session_state.pop(_RENAMING, None)
        if title and title != thread.title:
            attempt(lambda: engine.conversations.rename(thread.id, title))
        st.rerun()

    st.text_input("Title", value=thread.title, key=key, max_chars=200, label_visibility="collapsed", on_change=save)
    st.button("Done", key=f"{key}_done", type="tertiary", on_click=save)


def _undo(engine: Engine, thread: Thread) -> None:
    def restore() -> None:
        st.session_state.pop(_DELETED, None)
        if attempt(lambda: engine.conversations.restore(thread.id)):
            places.select("thread", thread.id)
        st.rerun()

    with st.container(border=True, horizontal=True, vertical_alignment="center", gap="small", key="undo_delete"):
        st.caption(f"Deleted “{plain(shortened(thread.title or 'New chat', 28))}”", width="stretch")
        st.button("Undo", icon=":material/undo:", type="tertiary", key="undo", on_click=restore)


def _open(thread_id: str) -> None:
    places.select("thread", thread_id)
    st.query_params.pop("run", None)
    st.rerun()


def _more() -> None:
    st.session_state[_SHOWN] = st.session_state.get(_SHOWN, _PAGE) + _PAGE


def _delete(engine: Engine, thread: Thread) -> None:
    if attempt(lambda: engine.conversations.delete(thread.id)):
        st.session_state[_DELETED] = (thread, time.time())
        if places.remembered("thread") == thread.id:
            places.select("thread", None)
    st.rerun()
