"""Search over chats and runs, in the sidebar of every page."""

from __future__ import annotations

import re

import streamlit as st

from logician_graph.engine import Engine
from pages.components import places
from pages.components.words import plain, shortened
from storage import RunFilter

_ID = re.compile(r"[0-9a-hjkmnp-tv-z]{6,18}")
_MOST = 6


@st.fragment
def search(engine: Engine) -> None:
    """The box and, while it holds something, what was found. Going somewhere empties it."""
    here = repr((st.context.url, sorted(st.query_params.to_dict().items())))
    if st.session_state.get("search") and st.session_state.get("search_from") not in (None, here):
        st.session_state.search = ""
    st.session_state.search_from = here
    query = st.text_input(
        "Search",
        type="search",
        live=True,
        key="search",
        label_visibility="collapsed",
        placeholder="Search chats and runs",
    )
    query = query.strip()
    if not query:
        return
    with st.container(gap=None, key="search_results"):
        found = engine.threads.search(query, limit=_MOST) if places.exists(places.CHAT) else []
        for thread in found:
            st.page_link(
                places.CHAT,
                label=plain(shortened(thread.title or "Untitled chat", 60)),
                icon=":material/chat_bubble:",
                query_params={"thread": thread.id},
            )
        runs = []
        if _ID.fullmatch(query.lower()) and places.exists(places.RUNS):
            rows = engine.inspector.runs.page(RunFilter(text=query.lower()), limit=_MOST)
            runs = [row.run for row in rows if query.lower() in row.run.id]
        for run in runs:
            st.page_link(places.RUNS, label=f"Run {run.id}", icon=":material/timeline:", query_params={"run": run.id})
        if not found and not runs:
            st.caption("Nothing found")
