"""The frame around every page: who may see it, navigation, search, and what the engine says about itself.

It draws its own navigation so that links keep what was selected and badges refresh without a reload.
"""

from __future__ import annotations

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.gateway import oidc_configured
from pages.components import places, sidebar

st.set_page_config(page_title="Logician", page_icon=sidebar.ICON, layout="wide", initial_sidebar_state="expanded")

PAGES = {
    "Work": [
        (places.CHAT, "Chat", ":material/forum:"),
        (places.APPROVALS, "Approvals", ":material/approval_delegation:"),
    ],
    "Run": [
        (places.RUNS, "Runs", ":material/timeline:"),
        (places.SETTINGS, "Settings", ":material/settings:"),
    ],
}
existing = {
    group: [
        st.Page(file, title=title, icon=icon, default=file == places.CHAT)
        for file, title, icon in entries
        if places.exists(file)
    ]
    for group, entries in PAGES.items()
}
page = st.navigation({group: pages for group, pages in existing.items() if pages}, position="hidden")

if oidc_configured() and not st.user.is_logged_in:
    sidebar.sign_in()
    st.stop()

engine = Engine.current()
sidebar.head(engine, PAGES)
try:
    sidebar.banner(engine)
    page.run()
finally:
    sidebar.foot(engine)
