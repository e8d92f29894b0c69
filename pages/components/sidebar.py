"""The sidebar: logo, new chat, navigation with what waits, and the state of the engine at the bottom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import streamlit as st

from logician_graph.engine import Engine
from pages.components import places

ICON = str(Path(__file__).resolve().parent.parent / "assets" / "logician-mark.svg")


def sign_in() -> None:
    """Ask who is there, with the identity provider that is configured."""
    st.title("Logician")
    st.write("Sign in to use this workbench.")
    st.button("Sign in", type="primary", icon=":material/login:", on_click=st.login, key="sign_in")


def head(engine: Engine, pages: Mapping[str, Sequence[tuple[str, str, str]]]) -> None:
    """Logo, new chat and navigation."""
    st.logo(ICON, size="large")
    with st.sidebar:
        if st.button("New chat", icon=":material/add:", width="stretch", key="new_chat"):
            places.go_to_thread(None)
        _navigation(engine, pages)


@st.fragment(run_every=2)
def _navigation(engine: Engine, pages: Mapping[str, Sequence[tuple[str, str, str]]]) -> None:
    waiting = engine.ledger.count_open_approvals()
    for group, entries in pages.items():
        st.caption(group)
        for file, title, icon in entries:
            if not places.exists(file):
                continue
            badge = f" :orange-badge[{waiting}]" if file == places.APPROVALS and waiting else ""
            st.page_link(file, label=title + badge, icon=icon, query_params=_kept(file), width="stretch")


def _kept(file: str) -> dict[str, str] | None:
    name = {places.CHAT: "thread", places.RUNS: "run"}.get(file)
    value = places.remembered(name) if name in ("thread", "run") else None  # pyright: ignore[reportArgumentType]
    return {name: value} if name and value else None


def banner(engine: Engine) -> None:
    """What keeps the engine from working, above every page."""
    if engine.problem is not None:
        st.error(
            f"**The engine has stopped working on runs.** {engine.problem}\n\n"
            "Nothing you send is lost: it waits. Mend the cause, then start Logician again.",
            icon=":material/error:",
        )


def foot(engine: Engine) -> None:
    """The model, the use of today and the engine's health."""
    with st.sidebar:
        sandbox = engine.sandbox
        st.caption("Engine is starting" if sandbox is None else f"Isolation: {sandbox.level.value}")
