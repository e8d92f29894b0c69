"""Where the model comes from: what is in use, the endpoint with its test, and the models on this machine."""

from __future__ import annotations

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.errors import LogicianError
from pages.components.settings_catalogue import catalogue
from pages.components.settings_endpoint import endpoint
from pages.components.settings_form import told
from pages.components.words import code, plain

_STATES = {
    "configured": ("cloud_done", "green", "answers at"),
    "ready": ("check_circle", "green", ""),
    "unverified": ("check_circle", "green", ""),
    "downloading": ("downloading", "blue", ""),
    "misconfigured": ("error", "red", ""),
}


def model(engine: Engine) -> None:
    """The model section."""
    with st.container(border=True, key="model_in_use"):
        _in_use(engine)
    told("model")
    endpoint(engine)
    catalogue(engine)


def _in_use(engine: Engine) -> None:
    health = engine.models.health()
    try:
        kind, _, name = engine.models.default_ref().partition(":")
    except LogicianError as error:
        st.markdown(f":red[:material/error:] **New chats have no model.** {plain(str(error))}")
        return
    icon, color, _ = _STATES.get(health["state"], ("warning", "orange", ""))
    if kind == "endpoint":
        st.markdown(f":{color}[:material/{icon}:] New chats use **{plain(name)}** at {code(health['message'])}")
    else:
        st.markdown(f":{color}[:material/{icon}:] New chats use the built-in model. {plain(health['message'])}")
    source = engine.settings.sources()["base_url" if kind == "endpoint" else "model"]
    words = {
        "environment": "Set in the environment.",
        "stored": "Chosen here.",
        "default": "The default: it runs on this machine, needs no account and sends nothing anywhere.",
    }
    st.caption(f"{words[source]} A chat keeps the model it was started with; its model picker changes it.")
