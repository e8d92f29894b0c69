"""Settings: where the model comes from, what the agent may do, limits, isolation, storage, and about."""

from __future__ import annotations

import streamlit as st

from logician_graph.engine import Engine
from pages.components.settings_about import about
from pages.components.settings_isolation import isolation
from pages.components.settings_limits import limits
from pages.components.settings_model import model
from pages.components.settings_permissions import permissions
from pages.components.settings_storage import storage

SECTIONS = {
    "Model": model,
    "Permissions": permissions,
    "Limits": limits,
    "Isolation": isolation,
    "Storage": storage,
    "About": about,
}

engine = Engine.current()
st.title("Settings", anchor=False)
tabs = st.tabs(list(SECTIONS), key="tab", bind="query-params", on_change="rerun")
for tab, draw in zip(tabs, SECTIONS.values(), strict=True):
    if tab.open:
        with tab:
            draw(engine)
