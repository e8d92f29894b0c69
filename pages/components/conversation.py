"""The turns of a chat, newest last. Only the turn that works now is drawn again while it works."""

from __future__ import annotations

from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from logician_graph.engine import Engine
from logician_graph.orchestrator import AgentTurn, ThreadView, UserTurn, fold
from pages.components.notices import say_notices
from pages.components.pulse import pulse
from pages.components.turns import agent_turn, turn_place, user_turn

WINDOW = 40
"""Messages drawn at first, and as many more each time that they are asked for."""
MOST_NEW = 60
"""How many new messages may come below before the oldest leave the page again. Until then the first message that is
drawn stays the first, so that what is on the page keeps its place and is not built anew with every message."""
_WORKING_S = 5.0
_IDLE_S = 2.0
"""At the soonest so many seconds after the last drawing, an active turn and an idle chat look whether they changed. The
active turn's own event stream is faster; this is for when it is cut."""


def turn_places(view: ThreadView) -> list[DeltaGenerator]:
    """The places of the turns in their order, to be filled by :func:`conversation`."""
    if view.earlier:
        st.button(
            "Show earlier messages",
            key="earlier",
            type="tertiary",
            icon=":material/expand_less:",
            on_click=_earlier,
            args=(view.thread.id,),
        )
    return [turn_place(turn) for turn in view.turns]


def conversation(
    engine: Engine, view: ThreadView, places: list[DeltaGenerator], part: Literal["newest", "rest"]
) -> None:
    """Draw the two newest turns, or the rest: what was just sent is seen before the page is done with the others."""
    active = view.active
    turns = list(zip(view.turns, places, strict=True))
    for turn, place in turns[-2:] if part == "newest" else turns[:-2]:
        with place:
            if isinstance(turn, UserTurn):
                user_turn(engine, turn, idle=active is None)
            elif turn is active:
                st.fragment(_working)(engine, turn, turn.run.status == "waiting")
            else:
                agent_turn(engine, turn, idle=active is None)
    if part == "rest" and active is None:
        st.fragment(_watch)(engine, view.thread.id, view.thread.leaf_id)


def window_of(engine: Engine, thread_id: str) -> int:
    """How many messages of a thread are drawn."""
    thread = engine.threads.get(thread_id)
    leaf = engine.threads.message(thread.leaf_id) if thread is not None and thread.leaf_id is not None else None
    depth = leaf.depth if leaf is not None else 0
    asked, first = st.session_state.get(f"window_{thread_id}", (WINDOW, None))
    if first is None or not asked <= depth - first + 1 <= asked + MOST_NEW:
        first = max(0, depth + 1 - asked)
        st.session_state[f"window_{thread_id}"] = (asked, first)
    return max(asked, depth - first + 1)


def _earlier(thread_id: str) -> None:
    asked, _ = st.session_state.get(f"window_{thread_id}", (WINDOW, None))
    st.session_state[f"window_{thread_id}"] = (asked + WINDOW, None)


def _working(engine: Engine, turn: AgentTurn, waiting: bool) -> None:
    """The turn that works: reads what is new since it was drawn last, and hands over to the page when it is done."""
    run = engine.run(turn.run.id)
    if run.status == "done" or (run.status == "waiting") != waiting:
        st.rerun()  # the box below and the list beside say something else now
    say_notices()
    fold(run.id, engine.hub.stored(run.id, turn.view.last_seq), turn.view)
    turn.run = run
    agent_turn(engine, turn, idle=False)
    pulse(engine, key="working", soonest_s=_WORKING_S)


def _watch(engine: Engine, thread_id: str, leaf_id: str | None) -> None:
    """Notice what another tab or program does in this chat."""
    pulse(engine, key="idle", soonest_s=_IDLE_S)
    thread = engine.threads.get(thread_id)
    changed = thread is None or thread.deleted_at is not None or thread.leaf_id != leaf_id
    if changed or engine.ledger.unfinished(thread_id):
        st.rerun()
