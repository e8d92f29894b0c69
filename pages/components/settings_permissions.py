"""What the agent may do: workspace, mode, standing rules, and a tester that asks the gate itself."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, cast

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.errors import LogicianError
from logician_graph.inspector import Mode
from pages.components.rule_words import rule_sentence
from pages.components.settings_form import SettingsForm, field_key, note, store, told
from pages.components.words import ago, plain
from storage import Rule, StorageError, now

MODES = {"plan": "Plan", "ask": "Ask", "accept_edits": "Accept edits", "accept_all": "Accept all"}
_MODE_WORDS = (
    "The agent reads and answers. It changes no file and runs no command that could.",
    "Every file change and every command waits for you.",
    "Changes to files in the workspace pass; commands wait for you unless they only read or a rule allows them.",
    "Everything passes except what a rule denies. For throw-away folders and containers.",
)
_DECISIONS = {
    "allow": ("check_circle", "green", "Allowed"),
    "ask": ("front_hand", "orange", "Waits for you"),
    "deny": ("block", "red", "Denied"),
}
_TRIALS = {
    "bash": ("Command", "command", "git push origin main"),
    "write_file": ("File to write", "path", "src/app.py"),
}
_DELETED = "deleted_rule"


def permissions(engine: Engine) -> None:
    """The permissions section."""
    _workspace(engine)
    _mode(engine)
    _rules(engine)
    _tester(engine)


def _workspace(engine: Engine) -> None:
    form = SettingsForm(engine, "workspace")
    with st.container(border=True, key="workspace"):
        st.markdown("**Workspace**")
        st.caption(
            "The folder in which the agent reads, writes and runs commands. A chat keeps the one it started with."
        )
        form.text("workspace", "Folder", placeholder="/home/you/project")
        with st.container(horizontal=True, vertical_alignment="center"):
            if not form.locked("workspace"):
                st.button(
                    "Save",
                    type="primary",
                    icon=":material/save:",
                    key="save_workspace",
                    on_click=_choose,
                    args=(engine, form),
                )
                if st.session_state.get("can_create") == st.session_state.get(field_key("workspace")):
                    st.button(
                        "Create this folder",
                        icon=":material/create_new_folder:",
                        key="create_workspace",
                        on_click=_choose,
                        args=(engine, form),
                        kwargs={"create": True},
                    )
            told("workspace")


def _choose(engine: Engine, form: SettingsForm, *, create: bool = False) -> None:
    path = str(st.session_state.get(field_key("workspace")) or "")
    if path == str(engine.settings.workspace):
        note("workspace", "Nothing has changed.", icon="info")
        return
    if not path.strip():
        store(engine, "workspace", {"workspace": None}, form.fields)
        return
    saved = store(
        engine, "workspace", {"workspace": path}, form.fields, act=lambda: engine.choose_workspace(path, create=create)
    )
    st.session_state["can_create"] = path if not saved and not create and engine.can_create_workspace(path) else None


def _mode(engine: Engine) -> None:
    form = SettingsForm(engine, "mode")
    with st.container(border=True, key="mode"):
        st.markdown("**Permission mode of new chats**")
        form.radio("mode", "Mode", MODES, _MODE_WORDS)
        if not form.locked("mode"):
            form.save()


def _rules(engine: Engine) -> None:
    st.subheader("Standing rules", anchor=False)
    st.caption(
        "Made with “Always allow” on an approval; followed in the modes Ask and Accept edits. "
        "Deny beats ask, ask beats allow."
    )
    deleted: Rule | None = st.session_state.get(_DELETED)
    if deleted is not None:
        with st.container(horizontal=True, vertical_alignment="center", key="undo_rule_row"):
            st.markdown(f":material/delete: Deleted: {rule_sentence(asdict_rule(deleted))}", width="content")
            st.button(
                "Undo",
                key="undo_rule",
                type="tertiary",
                icon=":material/undo:",
                on_click=_restore,
                args=(engine, deleted),
            )
    rules = engine.preferences.rules()
    if not rules:
        st.caption("No rules yet: the mode alone decides.")
        return
    with st.container(border=True, gap="xsmall", key="rules"):
        for rule in rules:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(rule_sentence(asdict_rule(rule)))
                st.caption(ago(rule.created_at, now()), width="content")
                st.button(
                    "Delete",
                    icon=":material/delete:",
                    type="tertiary",
                    key=f"delete_rule_{rule.id}",
                    on_click=_delete,
                    args=(engine, rule),
                )


def asdict_rule(rule: Rule) -> dict[str, Any]:
    """A stored rule as the words need it."""
    return rule.model_dump()


def _delete(engine: Engine, rule: Rule) -> None:
    try:
        engine.preferences.delete_rule(rule.id)
    except StorageError as error:
        st.toast(plain(str(error)), icon=":material/error:")
    else:
        st.session_state[_DELETED] = rule


def _restore(engine: Engine, rule: Rule) -> None:
    try:
        engine.preferences.put_rule(Rule(**rule.model_dump()))
    except StorageError as error:
        st.toast(plain(str(error)), icon=":material/error:")
    else:
        st.session_state.pop(_DELETED, None)


@st.fragment
def _tester(engine: Engine) -> None:
    st.subheader("What would happen?", anchor=False)
    st.caption("Asks the permission gate itself; nothing is run.")
    with st.container(border=True, key="rule_tester"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            tool = st.selectbox(
                "Call", list(_TRIALS), format_func=lambda name: _TRIALS[name][0], key="try_tool", width=180
            )
            mode = st.selectbox(
                "Mode",
                list(MODES),
                index=list(MODES).index(engine.settings.mode),
                key="try_mode",
                width=190,
                format_func=MODES.__getitem__,
            )
            _, argument, example = _TRIALS[tool]
            text = st.text_input("Command or path", key="try_text", placeholder=example, live=True)
        if not text.strip():
            return
        try:
            decision = engine.inspector.explain_call(
                tool, _arguments(tool, argument, text), cast("Mode", mode), str(engine.settings.workspace)
            )
        except LogicianError as error:
            st.error(plain(str(error)))
            return
        icon, color, word = _DECISIONS[decision.action]
        st.markdown(f":{color}[:material/{icon}: **{word}**] · {plain(decision.reason)}")
        for rule in decision.suggestions:
            st.caption(f"“Always allow” would offer: {rule_sentence(asdict(rule))}")


def _arguments(tool: str, argument: str, text: str) -> dict[str, Any]:
    return {argument: text, "content": ""} if tool == "write_file" else {argument: text}
