"""The frame around every page: who may see it, navigation, search, and what the engine says about itself.

It draws its own navigation, so that links keep what was selected and the badge refreshes without a reload.
"""

from __future__ import annotations

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.gateway import oidc_configured
from pages.components import places, sidebar

st.set_page_config(page_title="Logician", page_icon=sidebar.ICON, layout="wide", initial_sidebar_state="expanded")

pages = {
    entry.file: st.Page(
        entry.file,
        title=f"{entry.title} · Logician",
        icon=entry.icon,
        default=entry.file == places.CHAT,
        help=entry.help,
    )
    for entries in places.NAVIGATION.values()
    for entry in entries
    if places.exists(entry.file)
}
page = st.navigation(list(pages.values()), position="hidden")
current = next(file for file, known in pages.items() if known.url_path == page.url_path)

if oidc_configured() and not st.user.is_logged_in:
    sidebar.sign_in()
    st.stop()

engine = Engine.current()
sidebar.head(engine, current)
try:
    sidebar.banner(engine)
    page.run()
finally:
    sidebar.foot(engine)
