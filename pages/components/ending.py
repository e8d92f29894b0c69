"""How a run ended when it did not simply answer: what happened, what was kept, what to do next."""

from __future__ import annotations

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.orchestrator import AgentTurn
from pages.components import places
from pages.components.notices import doing
from pages.components.states import STATES
from pages.components.steps import answer_step
from pages.components.words import count, plain

_WHAT = {
    "failed": "The run failed",
    "blocked": "The run was held back",
    "needs_input": "The run needs your input",
}


def ending(engine: Engine, turn: AgentTurn) -> None:
    """Draw the ending of a done run; nothing for one that completed."""
    outcome = turn.run.outcome
    if outcome in (None, "completed"):
        return
    if outcome == "cancelled":
        st.caption(f"{STATES[outcome].badge} {_kept(turn)}")
        return
    look = STATES[outcome]
    with st.container(border=True, key=f"ending_{turn.run.id}", gap="small"):
        st.markdown(f":{look.color}[:material/{look.icon}:] **{_WHAT[outcome]}.** {plain(_reason(turn))}")
        st.caption(_kept(turn))
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            _next(engine, turn)


def _reason(turn: AgentTurn) -> str:
    reason = turn.run.reason or "No reason was recorded; the trace shows every step."
    name, colon, rest = reason.partition(": ")
    return rest if colon and name.isidentifier() and name[:1].isupper() else reason


def _kept(turn: AgentTurn) -> str:
    done = sum(1 for step in turn.view.tool_steps if step.state == "ok")
    kept = []
    answer = answer_step(turn.view)
    if answer is not None and answer.text:
        kept.append("what was written so far" if answer.partial else "the answer")
    if done:
        kept.append(f"the results of {count(done, 'tool call')}, files included")
    return f"Kept: {' and '.join(kept)}." if kept else "Your message is kept; nothing else had happened yet."


def _next(engine: Engine, turn: AgentTurn) -> None:
    asked = turn.run.input_message_id

    if asked is not None:
        st.button(
            "Try again",
            icon=":material/refresh:",
            key=f"retry_{turn.run.id}",
            on_click=doing(lambda: engine.regenerate(asked)),
        )
    if turn.run.outcome == "failed" and places.exists(places.SETTINGS):
        st.page_link(places.SETTINGS, label="Open the settings", icon=":material/settings:")
    if places.exists(places.RUNS):
        st.page_link(
            places.RUNS, label="See what happened", icon=":material/timeline:", query_params={"run": turn.run.id}
        )
