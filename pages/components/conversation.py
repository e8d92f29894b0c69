"""The turns of a chat, newest last. Only the turn that works now is drawn again while it works."""

from __future__ import annotations

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.orchestrator import AgentTurn, ThreadView, UserTurn, fold
from pages.components.notices import say_notices
from pages.components.turns import agent_turn, user_turn

WINDOW = 40
"""Messages drawn at first; as many more each time that they are asked for."""
_WORKING_S = 1.5
_IDLE_S = 4.0


def conversation(engine: Engine, view: ThreadView) -> None:
    """Draw the thread."""
    active = view.active
    if view.earlier:
        st.button(
            "Show earlier messages",
            key="earlier",
            type="tertiary",
            icon=":material/expand_less:",
            on_click=_earlier,
            args=(view.thread.id,),
        )
    for turn in view.turns:
        if isinstance(turn, UserTurn):
            user_turn(engine, turn, idle=active is None)
        elif turn is active:
            st.fragment(_working, run_every=_WORKING_S)(engine, turn, turn.run.status == "waiting")
        else:
            agent_turn(engine, turn, idle=active is None)
    if active is None:
        st.fragment(_watch, run_every=_IDLE_S)(engine, view.thread.id, view.thread.leaf_id)


def window_of(thread_id: str) -> int:
    """How many messages of a thread are drawn."""
    return st.session_state.get(f"window_{thread_id}", WINDOW)


def _earlier(thread_id: str) -> None:
    st.session_state[f"window_{thread_id}"] = window_of(thread_id) + WINDOW


def _working(engine: Engine, turn: AgentTurn, waiting: bool) -> None:
    """The turn that works: reads what is new since it was drawn last, and hands over to the page when it is done."""
    run = engine.run(turn.run.id)
    if run.status == "done" or (run.status == "waiting") != waiting:
        st.rerun()  # the box below and the list beside say something else now
    say_notices()
    fold(run.id, engine.hub.stored(run.id, turn.view.last_seq), turn.view)
    turn.run = run
    agent_turn(engine, turn, idle=False)


def _watch(engine: Engine, thread_id: str, leaf_id: str | None) -> None:
    """Notice what another tab or program does in this chat."""
    seen = st.session_state.get("watched_version")
    version = engine.hub.version
    if seen == (thread_id, version):
        return
    st.session_state["watched_version"] = (thread_id, version)
    thread = engine.threads.get(thread_id)
    changed = thread is None or thread.deleted_at is not None or thread.leaf_id != leaf_id
    if changed or engine.ledger.unfinished(thread_id):
        st.rerun()
