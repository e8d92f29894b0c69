"""The OpenAI-compatible endpoint: address, key, model, and a test against the real thing.

The key goes from the browser to the secret store and never back: the page only knows whether there is one.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.errors import LogicianError, SettingsError
from pages.components.settings_form import SettingsForm, field_key, note, problem_note, store, told
from pages.components.words import code, count, duration, plain

_KEY, _MODEL, _CHECK = "new_api_key", "endpoint_model", "endpoint_check"
_CALLING = {
    "": "Automatic: what suits the model",
    "native": "Native: the endpoint's own tool calls",
    "constrained": "Constrained: replies held to a JSON schema",
    "text": "Text: calls written into the reply",
}
_PRICES = ("price_input_per_mtok", "price_output_per_mtok", "price_cached_per_mtok")


def endpoint(engine: Engine) -> None:
    """The form."""
    st.subheader("OpenAI-compatible endpoint", anchor=False)
    st.caption("OpenAI, a gateway, or your own server (vLLM, llama.cpp, Ollama, LM Studio). Tasks go to this address.")
    form = SettingsForm(engine, "endpoint")
    with st.container(border=True, key="endpoint"):
        # Row by row, so that fields stay beside each other however tall their notes are.
        left, right = st.columns(2)
        with left:
            form.text("base_url", "Base URL", placeholder="https://api.openai.com/v1")
        with right, st.container(gap="xxsmall"):
            _key(engine)
        left, right = st.columns(2)
        with left, st.container(gap="xxsmall"):
            _model(engine, form)
        with right:
            form.choice("tool_calling", "Tool calls", _CALLING)
        with st.expander("Context window and prices", icon=":material/tune:", key="endpoint_more"):
            columns = st.columns(2)
            with columns[0]:
                form.number(
                    "context_window",
                    "Context window in tokens",
                    least=1024,
                    step=1024,
                    unset="what the endpoint reports",
                )
                form.number(
                    _PRICES[1],
                    "US dollars per million output tokens",
                    least=0.0,
                    step=0.1,
                    unset="unknown",
                    number_format="%.3f",
                )
            with columns[1]:
                form.number(
                    _PRICES[0],
                    "US dollars per million input tokens",
                    least=0.0,
                    step=0.1,
                    unset="unknown",
                    number_format="%.3f",
                )
                form.number(
                    _PRICES[2],
                    "US dollars per million cached input tokens",
                    least=0.0,
                    step=0.1,
                    unset="as other input",
                    number_format="%.3f",
                )
        _buttons(engine, form)
        if kept := st.session_state.get(_CHECK):
            _result(*kept)


def _model(engine: Engine, form: SettingsForm) -> None:
    locked = form.locked("model")
    current = engine.settings.model if engine.settings.base_url else None
    if _MODEL not in st.session_state or locked:
        st.session_state[_MODEL] = current
    check = st.session_state.get(_CHECK)
    served = list(check[2].models) if check else []
    chosen = st.session_state[_MODEL]
    options = list(dict.fromkeys([*([chosen] if chosen else []), *([current] if current else []), *served]))
    st.selectbox(
        "Model name",
        options,
        key=_MODEL,
        accept_new_options=True,
        disabled=locked,
        placeholder="Type a name, or test the address to choose one",
        help="The model's name as the endpoint knows it.",
        on_change="ignore",
    )
    problem_note("model")
    st.caption(form.source_note("model") if engine.settings.base_url else "Not set")


def _key(engine: Engine) -> None:
    source = engine.settings.sources()["api_key"]
    has_key = engine.settings.api_key is not None
    words = "A key is set" if source == "environment" else "A key is stored; type another to replace it"
    st.text_input(
        "API key",
        type="password",
        key=_KEY,
        disabled=source == "environment",
        placeholder=words if has_key else "None stored; many own servers need none",
        help="Kept in secrets.json in the home folder, readable by its owner alone. It is never shown again.",
        on_change="ignore",
    )
    if source == "environment":
        st.caption(":material/lock: Set by `LOGICIAN_API_KEY` in the environment")
    elif has_key:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(":material/key: A key is stored")
            st.button("Remove", type="tertiary", key="remove_key", on_click=_remove_key, args=(engine,))
    else:
        st.caption("No key is stored")


def _buttons(engine: Engine, form: SettingsForm) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Save", type="primary", icon=":material/save:", key="save_endpoint", on_click=_save, args=(engine, form)
        )
        _test(engine)
        if engine.settings.base_url and form.locked("base_url"):
            st.caption("To use the built-in model, unset `LOGICIAN_BASE_URL` and start Logician again.")
        elif engine.settings.base_url:
            st.button(
                "Use the built-in model instead",
                icon=":material/computer:",
                key="use_builtin",
                on_click=_builtin,
                args=(engine,),
            )
    told("endpoint")


def _save(engine: Engine, form: SettingsForm) -> None:
    values = form.changed()
    model = (st.session_state.get(_MODEL) or "").strip() or None
    base_url = values.get("base_url", engine.settings.base_url)
    if not form.locked("model") and base_url and model != engine.settings.model:
        values["model"] = model
    key = str(st.session_state.get(_KEY) or "").strip() or None

    def act() -> None:
        if base_url and not (model or form.locked("model")):
            sentence = "An endpoint needs a model name: type one, or test the address to see what it serves."
            raise SettingsError(sentence, problems={"model": sentence})
        engine.save_settings(values, api_key=key)

    fields = {**form.fields, "model": ("Model", str)}
    changed = bool(values or key)
    if store(engine, "endpoint", values, fields, act=act if changed else None) and key:
        note("endpoint", "Saved, with the key. It applies to the next run.", icon="check_circle")
        st.session_state[_KEY] = ""


def _builtin(engine: Engine) -> None:
    fields = {"base_url": ("Base URL", str), "model": ("Model", str)}
    if store(engine, "model", {"base_url": None, "model": None}, fields):
        note("model", "New chats use the built-in model. It applies to the next run.", icon="check_circle")
        st.session_state.pop(_MODEL, None)
        st.session_state.pop(_CHECK, None)


def _remove_key(engine: Engine) -> None:
    try:
        engine.save_settings({}, api_key="")
    except LogicianError as error:
        note("endpoint", str(error), icon="error")
    else:
        note("endpoint", "The key was removed.", icon="check_circle")


@st.fragment
def _test(engine: Engine) -> None:
    if not st.button(
        "Test",
        icon=":material/network_check:",
        key="test_endpoint",
        help="Sends three short requests with the values above, stored or not.",
    ):
        return
    base_url = str(st.session_state.get(field_key("base_url")) or "").strip()
    model = str(st.session_state.get(_MODEL) or "").strip()
    key = str(st.session_state.get(_KEY) or "").strip() or None
    st.session_state[_CHECK] = None
    if not base_url:
        note("endpoint", "Type a base URL first.", icon="error")
        st.rerun()
    try:
        with st.spinner("Asking the endpoint …"):
            st.session_state[_CHECK] = (model, base_url, engine.check_endpoint(base_url, key, model))
    except LogicianError as error:
        note("endpoint", str(error), icon="error")
    st.rerun()


def _result(model: str, base_url: str, check: Any) -> None:
    if check.models and not model:
        served = count(len(check.models), "model")
        st.info(f"The address answers and serves {served}. Choose one above, then test again.", icon=":material/info:")
        return
    (st.success if check.ok else st.error)(
        plain(check.message), icon=":material/check_circle:" if check.ok else ":material/error:"
    )
    with st.container(horizontal=True, gap="medium", key="check_facts"):
        st.caption(f"Tested: {code(f'{model} at {base_url}')}", width="content")
        st.caption(f"Whole answer: **{duration(check.latency_s)}**", width="content")
        st.caption(f"First token: **{duration(check.first_token_s)}**", width="content")
        for name, works in (
            ("Streaming", check.streaming),
            ("Tool calls", check.tools),
            ("JSON schema", check.json_schema),
        ):
            mark = {
                True: ":green[:material/check: works]",
                False: ":orange[:material/close: does not work]",
                None: "not tried",
            }
            st.caption(f"{name}: {mark[works]}", width="content")
        if check.models:
            st.caption(f"{count(len(check.models), 'model')} to choose from", width="content")
