"""One thing that waits for the person, answered where it is shown: in the chat and in the inbox.

Buttons act in callbacks, before the page is drawn again, so an answer never needs a second click. An answer that
came too late (from another tab, or because the run ended) is said as such.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.errors import LogicianError
from pages.components.rule_words import rule_sentence
from pages.components.who import signed_in
from pages.components.words import plain
from storage import StorageError

TITLES = {
    "execute": ("Run this command?", ":material/terminal:"),
    "write": ("Make this change?", ":material/edit_document:"),
    "network": ("Reach the network?", ":material/public:"),
    "read": ("Read this?", ":material/visibility:"),
}


def approval_card(engine: Engine, approval_id: str, request: Mapping[str, Any], kind: str, *, key: str) -> None:
    """Draw an open request and take the person's answer. ``key`` must be unique on the page."""
    with st.container(border=True, key=f"approval_{key}"):
        if kind == "question":
            _question(engine, approval_id, request, key)
        else:
            _approval(engine, approval_id, request, key)


def request_body(request: Mapping[str, Any]) -> None:
    """The exact command, the diff, or the arguments of a call."""
    preview = request.get("preview")
    if not preview:
        st.code(request.get("description") or "", language=None, wrap_lines=True)
        if request.get("arguments"):
            st.json(request["arguments"], expanded=True)
    elif request.get("effect") == "execute":
        st.code(preview, language="bash", wrap_lines=True)
    else:
        tall = preview.count("\n") > 18
        st.code(preview, language="diff", wrap_lines=True, height=380 if tall else "content")


def _approval(engine: Engine, approval_id: str, request: Mapping[str, Any], key: str) -> None:
    title, icon = TITLES.get(str(request.get("effect")), ("Allow this call?", ":material/build:"))
    st.markdown(f"{icon} **{title}**")
    if request.get("effect") != "execute":
        st.caption(plain(str(request.get("description") or request.get("tool") or "")))
    request_body(request)
    if request.get("reason"):
        st.caption(f":material/info: {plain(str(request['reason']))}")
    reason_key, always_key = f"{key}_reason", f"{key}_always"

    def allow() -> None:
        _settle(lambda: engine.answer_approval(approval_id, "allow", by=signed_in()), "Allowed. The run goes on.")

    def always() -> None:
        chosen = st.session_state.get(always_key)
        if chosen is not None:
            words = "Allowed, and the rule is kept. The settings page lists it."
            _settle(lambda: engine.answer_approval(approval_id, "allow", always=chosen, by=signed_in()), words)

    def deny() -> None:
        reason = str(st.session_state.get(reason_key) or "")
        _settle(
            lambda: engine.answer_approval(approval_id, "deny", reason=reason, by=signed_in()),
            "Denied. The agent is told.",
        )

    suggestions = list(request.get("suggestions") or [])
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("Allow once", type="primary", icon=":material/check:", key=f"{key}_allow", on_click=allow)
        if suggestions:
            st.menu_button(
                "Always allow",
                range(len(suggestions)),
                format_func=lambda index: rule_sentence(suggestions[index]).removeprefix("Allow ").capitalize(),
                icon=":material/verified_user:",
                key=always_key,
                on_click=always,
            )
        st.button("Deny", icon=":material/block:", key=f"{key}_deny", on_click=deny)
        st.text_input(
            "Reason for the agent, if you deny",
            key=reason_key,
            label_visibility="collapsed",
            placeholder="If you deny: why, or what to do instead (optional)",
            max_chars=2000,
            on_change="ignore",
            width=360,
        )


def _question(engine: Engine, approval_id: str, request: Mapping[str, Any], key: str) -> None:
    st.markdown(":material/help: **The agent asks**")
    st.markdown(plain(str(request.get("question") or "")))
    text_key = f"{key}_text"

    def send() -> None:
        answer = str(st.session_state.get(text_key) or "")
        _settle(lambda: engine.answer_question(approval_id, answer, by=signed_in()), "Answered. The run goes on.")

    choices = [str(choice) for choice in request.get("choices") or []]
    if choices:
        with st.container(horizontal=True, gap="small"):
            for index, choice in enumerate(choices):
                st.button(plain(choice), key=f"{key}_choice_{index}", on_click=_chooser(engine, approval_id, choice))
    with st.form(f"{key}_form", border=False), st.container(horizontal=True, gap="small"):
        st.text_input(
            "Your answer",
            key=text_key,
            label_visibility="collapsed",
            placeholder="Or answer in your own words" if choices else "Your answer",
        )
        st.form_submit_button("Answer", type="primary", key=f"{key}_send", on_click=send)


def _chooser(engine: Engine, approval_id: str, choice: str) -> Callable[[], None]:
    return lambda: _settle(
        lambda: engine.answer_question(approval_id, choice, by=signed_in()), "Answered. The run goes on."
    )


def _settle(act: Callable[[], None], words: str) -> None:
    try:
        act()
    except (LogicianError, StorageError) as error:
        st.toast(plain(str(error)), icon=":material/error:")
    else:
        st.toast(words, icon=":material/check:")
