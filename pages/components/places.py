"""Where a person can go, and the ids that stay selected: links and the URL are made here and nowhere else.

An id lives in the URL and in the session: a click in the navigation drops the query string, coming back restores it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import streamlit as st

CHAT, APPROVALS, RUNS, SETTINGS = "chat.py", "approvals.py", "runs.py", "settings.py"
"""Pages by their file beside ``shell.py``, as ``st.page_link`` and ``st.switch_page`` name them."""

Selected = Literal["thread", "run"]

_FOLDER = Path(__file__).resolve().parent.parent


def exists(page: str) -> bool:
    """True when this installation has the page."""
    return (_FOLDER / page).is_file()


def selected(name: Selected) -> str | None:
    """The id in the URL, else the one chosen before in this session, which is then put back into the URL."""
    given = st.query_params.get(name)
    if given:
        st.session_state[f"selected_{name}"] = given
        return given
    kept = remembered(name)
    if kept:
        st.query_params[name] = kept
    return kept


def remembered(name: Selected) -> str | None:
    """The id chosen last in this session."""
    return st.session_state.get(f"selected_{name}")


def select(name: Selected, value: str | None) -> None:
    """Choose an id (None: none) on the page that shows it."""
    if value is None:
        st.session_state.pop(f"selected_{name}", None)
        st.query_params.pop(name, None)
    else:
        st.session_state[f"selected_{name}"] = value
        st.query_params[name] = value


def go_to_thread(thread_id: str | None) -> None:
    """Open the chat page on a thread, or on a new one."""
    st.session_state.pop("selected_thread", None)
    st.switch_page(CHAT, query_params={"thread": thread_id} if thread_id else None)
