"""An empty chat: what this is, three tasks to try, and the state of the model."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.errors import LogicianError
from pages.components import places
from pages.components.composer import send
from pages.components.model_card import blocking_model, model_card
from pages.components.words import plain


@dataclass(frozen=True, slots=True)
class Example:
    """A task that the built-in model can do: it says what to create first, and names every file."""

    key: str
    icon: str
    title: str
    task: str


EXAMPLES = (
    Example(
        "primes",
        ":material/terminal:",
        "Write and run a program",
        "Create the file primes.py with a program that prints all prime numbers below 50. Then run it and show me the "
        "output.",
    ),
    Example(
        "summary",
        ":material/summarize:",
        "Make a file and sum it up",
        "Create the file todo.txt with three lines: buy milk, call Anna, water the plants. Then read it and tell me in "
        "one sentence what there is to do.",
    ),
    Example(
        "csv",
        ":material/table_chart:",
        "Ask about a table",
        "Create the file sales.csv with the columns month and amount: January 120, February 95, March 160. Then read "
        "it and tell me how much was sold in March.",
    ),
)


def welcome(engine: Engine) -> None:
    """Draw the empty chat."""
    ref, problem = _default(engine)
    blocked = bool(problem) or blocking_model(engine, ref) is not None
    st.space("medium" if blocked else "large")
    st.markdown("## What should be done?", anchors=False)
    st.markdown(
        "Logician is a workbench where you give an agent a task and watch it work: it writes files and runs programs "
        "in a folder of yours, asks before anything risky, and keeps everything it did."
    )
    if problem:
        st.error(plain(problem), icon=":material/error:")
        if places.exists(places.SETTINGS):
            st.page_link(places.SETTINGS, label="Open the settings", icon=":material/settings:")
    model_card(engine, ref)
    if not blocked:
        st.space("small")
    st.caption("Try one of these" if not blocked else "To try as soon as the model is here")
    with st.grid(3, gap="small"):
        for example in EXAMPLES:
            _example(engine, example, disabled=blocked)


def _example(engine: Engine, example: Example, *, disabled: bool) -> None:
    with st.container(border=True, height="stretch", gap="small"):
        st.markdown(f"{example.icon} **{example.title}**")
        st.caption(plain(example.task))
        st.space("stretch")
        st.button(
            "Try it",
            key=f"example_{example.key}",
            icon=":material/play_arrow:",
            disabled=disabled,
            help="The model is not here yet" if disabled else None,
            width="stretch",
            on_click=lambda: send(engine, None, example.task, []),
        )


def _default(engine: Engine) -> tuple[str, str | None]:
    chosen = st.session_state.get("new_model")
    if chosen:
        return chosen, None
    try:
        return engine.models.default_ref(), None
    except LogicianError as error:
        return "", str(error)
