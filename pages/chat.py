"""Chat: give the agent a task, watch it think and act, answer it, stop it, come back to it.

``/?thread=ID`` opens a chat, ``&run=ID`` brings one of its runs into view.
"""

from __future__ import annotations

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.errors import NotFound
from pages.components import places
from pages.components.column import column
from pages.components.composer import SENT, composer
from pages.components.conversation import conversation, turn_places, window_of
from pages.components.desk import desk
from pages.components.missing_thread import missing_thread
from pages.components.notices import say_notices
from pages.components.thread_list import thread_list
from pages.components.welcome import welcome

engine = Engine.current()
thread_id = places.selected("thread")
target = st.query_params.get("run")
thread_list(engine, thread_id)

view = None
known = True
if thread_id is not None:
    try:
        view = engine.thread_view(thread_id, limit=window_of(engine, thread_id))
    except NotFound:
        known = False

st.set_page_config(page_title=f"{view.thread.title} · Logician" if view and view.thread.title else "Logician")
with column():
    # Two places, of which one is an empty element: what the other showed is gone at once, not when the page is done.
    talking = view is not None and bool(view.turns)
    first, talk = (st.empty(), st.container()) if talking else (st.container(), st.empty())
    if view is not None and talking:
        with talk:
            places_of_turns = turn_places(view)
        conversation(engine, view, places_of_turns, "newest")
    else:
        with first:
            welcome(engine) if known else missing_thread(engine, str(thread_id))

say_notices()
if known:
    composer(engine, view)
if view is not None and talking:
    conversation(engine, view, places_of_turns, "rest")
desk(
    thread=thread_id,
    sent=st.session_state.get(SENT),
    target=f"run_{target}" if target else None,
    busy=view is not None and view.active is not None,
)
