"""Keys that work on every page: ``/`` goes to the search, ``?`` shows the list. Pages own the keys of their buttons."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit.components.v2 import component

KEYS = {
    "/": "Search chats and runs",
    "n": "New chat",
    "?": "This list",
    "Esc": "Stop the run, in a chat",
    "Enter": "Send",
    "Shift + Enter": "New line in a message",
}

_KEYS = component(
    "logician_keyboard",
    html="<span hidden>\n</span>",
    js=(Path(__file__).parent / "keyboard.js").read_text(encoding="utf-8"),
)


def keyboard() -> None:
    """Listen for the keys, and show the list when it is asked for."""
    if _KEYS(key="keyboard", height=0, on_help_change=lambda: None).help:
        _help()


@st.dialog("Keyboard", icon=":material/keyboard:")
def _help() -> None:
    st.table({f"`{key}`": meaning for key, meaning in KEYS.items()}, border="horizontal")
