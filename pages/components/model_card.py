"""The state of the model that a chat would use: how far its download is, or what went wrong and what to do."""

from __future__ import annotations

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.model_desk import LocalModel
from pages.components import places
from pages.components.download_progress import download_progress
from pages.components.notices import doing, say_notices
from pages.components.pulse import pulse
from pages.components.words import plain, size

_LOCAL = "local:"
_READY = ("ready", "unverified")


def blocking_model(engine: Engine, ref: str) -> LocalModel | None:
    """The local model behind ``ref`` when it cannot answer yet, else None."""
    if not ref.startswith(_LOCAL):
        return None
    found = next((model for model in engine.models.local_models() if model.id == ref.removeprefix(_LOCAL)), None)
    return found if found is not None and found.state not in _READY else None


def model_card(engine: Engine, ref: str) -> None:
    """Draw the card while the model of ``ref`` is not here; draws the page again when it is."""
    if blocking_model(engine, ref) is not None:
        _card(engine, ref)


@st.fragment
def _card(engine: Engine, ref: str) -> None:
    model = blocking_model(engine, ref)
    if model is None:
        st.rerun()
    say_notices()
    with st.container(border=True, key="model_card"):
        if model.state == "downloading":
            _downloading(engine, model)
        else:
            _missing(engine, model)
    pulse(engine, key="model", soonest_s=1, latest_s=1)


def _downloading(engine: Engine, model: LocalModel) -> None:
    st.markdown(f":material/download: **{plain(model.title)} is on its way to this machine**")
    download_progress(model.progress)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption("It runs here, without a key and without sending anything away. This happens once.", width="stretch")
        st.button(
            "Cancel",
            key="model_cancel",
            icon=":material/close:",
            on_click=doing(lambda: engine.models.cancel_download(model.id)),
        )


def _missing(engine: Engine, model: LocalModel) -> None:
    st.markdown(f":material/neurology: **{plain(model.title)} is not on this machine yet**")
    if model.state == "corrupt":
        st.markdown(":red[:material/error:] The file is damaged: it does not match its checksum.")
    if model.error:
        st.markdown(f":red[:material/error:] {plain(model.error)}")
    words = "Go on with the download" if model.state == "partial" else f"Download {size(model.bytes)}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        label = "Try again" if model.error else words
        st.button(
            label,
            key="model_download",
            type="primary",
            icon=":material/download:",
            on_click=doing(lambda: engine.models.start_download(model.id)),
        )
        if places.exists(places.SETTINGS):
            st.page_link(places.SETTINGS, label="Use an endpoint instead", icon=":material/settings:")
    st.caption(
        f"{size(model.bytes)}, {plain(model.licence)}. It runs here, without a key. What was fetched before is kept."
    )
