"""Short words to the person that outlive the callback they come from.

A callback must not draw: it keeps its words here, and the next drawing says them.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from logician_graph.errors import LogicianError
from pages.components.words import plain
from storage import StorageError

_KEY = "notices"


def attempt(what: Callable[[], object]) -> bool:
    """Do what a button says. A refusal is kept to be said; returns whether it was done."""
    try:
        what()
    except (LogicianError, StorageError) as error:
        st.session_state.setdefault(_KEY, []).append(str(error))
        return False
    return True


def doing(what: Callable[[], object]) -> Callable[[], None]:
    """A button's callback that attempts ``what``."""

    def callback() -> None:
        attempt(what)

    return callback


def say_notices() -> None:
    """Say what is kept, once."""
    for words in st.session_state.pop(_KEY, ()):
        st.toast(plain(words), icon=":material/error:", duration="long")
