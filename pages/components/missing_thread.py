"""A link to a chat that is not there: what happened, and a way on."""

from __future__ import annotations

import streamlit as st

from logician_graph.engine import Engine
from pages.components import places
from pages.components.notices import doing
from pages.components.words import plain, shortened


def missing_thread(engine: Engine, thread_id: str) -> None:
    """Say so; a deleted chat can be brought back from here."""
    thread = engine.threads.get(thread_id)
    st.space("large")
    if thread is None:
        st.markdown("## This chat is not here", anchors=False)
        st.markdown("The link may be cut short, belong to another Logician, or the chat was removed for good.")
    else:
        st.markdown("## This chat was deleted", anchors=False)
        st.markdown(
            f"“{plain(shortened(thread.title or 'New chat', 80))}” is kept for 30 days and can be brought back."
        )
    with st.container(horizontal=True, gap="small"):
        if thread is not None:
            st.button(
                "Bring it back",
                type="primary",
                icon=":material/undo:",
                key="restore",
                on_click=doing(lambda: engine.conversations.restore(thread_id)),
            )
        st.button(
            "Start a new chat",
            icon=":material/edit_square:",
            key="missing_new",
            on_click=places.go_to_thread,
            args=(None,),
        )
