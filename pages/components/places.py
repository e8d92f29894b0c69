"""Where a person can go, and the ids that stay selected: links and the URL are made here and nowhere else.

An id lives in the URL, so that reload, bookmark and the browser's Back work, and in the session, so that the links of
the navigation lead back to what was shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import streamlit as st

CHAT, APPROVALS, EVOLUTION = "chat.py", "approvals.py", "evolution.py"
RUNS, SETTINGS = "runs.py", "settings.py"
"""Pages by their file beside ``shell.py``, as ``st.page_link`` and ``st.switch_page`` name them."""

Selected = Literal["thread", "run", "study"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the navigation."""

    file: str
    title: str
    icon: str
    help: str
    selects: Selected | None = None
    """The id that the page shows, if it shows one thing of many."""


NAVIGATION: dict[str, tuple[Entry, ...]] = {
    "Work": (
        Entry(CHAT, "Chat", ":material/forum:", "Give the agent a task and watch it work.", "thread"),
        Entry(APPROVALS, "Approvals", ":material/approval_delegation:", "What waits for you, and what you decided."),
    ),
    "Discover": (
        Entry(EVOLUTION, "Evolution", ":material/genetics:", "Let a model write heuristics, measured.", "study"),
    ),
    "Run": (
        Entry(RUNS, "Runs", ":material/timeline:", "Every run with its trace, tokens and cost.", "run"),
        Entry(SETTINGS, "Settings", ":material/settings:", "Models, permissions, limits, storage."),
    ),
}

_FOLDER = Path(__file__).resolve().parent.parent


def exists(page: str) -> bool:
    """True when this installation has the page."""
    return (_FOLDER / page).is_file()


def selected(name: Selected) -> str | None:
    """The id in the URL; it is remembered for the links that lead back here."""
    given = st.query_params.get(name)
    st.session_state[f"selected_{name}"] = given
    return given


def remembered(name: Selected) -> str | None:
    """The id chosen last in this session."""
    return st.session_state.get(f"selected_{name}")


def kept(entry: Entry) -> dict[str, str] | None:
    """Query parameters that lead back to what was shown on the page of ``entry``."""
    value = remembered(entry.selects) if entry.selects else None
    return {entry.selects: value} if entry.selects and value else None


def select(name: Selected, value: str | None) -> None:
    """Choose an id (None: none) on the page that shows it."""
    if value is None:
        st.session_state.pop(f"selected_{name}", None)
        st.query_params.pop(name, None)
    else:
        st.session_state[f"selected_{name}"] = value
        st.query_params[name] = value


def go_to_run(run_id: str) -> None:
    """Open one run in the list's place, as one step of the browser's history: the list's filters leave the URL too."""
    st.switch_page(RUNS, query_params={"run": run_id})


def go_to_thread(thread_id: str | None) -> None:
    """Open the chat page on a thread, or on a new one.

    Made for a callback: a click whose run is overtaken by another still has its callback called, but its button is
    never drawn as pressed.
    """
    st.session_state.pop("selected_thread", None)
    st.switch_page(CHAT, query_params={"thread": thread_id} if thread_id else None)


def go_to_evolution(**query: str) -> None:
    """Open the evolution page on a study, a sample of it, a comparison or the form, as one step of the history."""
    st.session_state.pop("selected_study", None)
    st.switch_page(EVOLUTION, query_params=query or None)
