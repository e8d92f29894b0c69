"""Where the person writes: message and files, model, permission mode, what fills the window, and Stop.

A message is accepted in a callback, before the page is drawn again, so it is on screen with the next drawing; what
could not be accepted is put back into the box.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.errors import LogicianError
from logician_graph.orchestrator import AgentTurn, ThreadView
from pages.components import places
from pages.components.column import column
from pages.components.context_meter import context_meter
from pages.components.model_card import blocking_model, model_card
from pages.components.notices import attempt, doing
from pages.components.words import plain, shortened
from storage import StorageError, Thread

BOX = "composer"
PROBLEM = "composer_problem"
SENT = "composer_sent"
"""Session keys: the box, where and why the last message was not accepted, and the run that answers the last one."""

FILE_TYPES = [
    "txt",
    "md",
    "rst",
    "csv",
    "tsv",
    "json",
    "jsonl",
    "yaml",
    "yml",
    "toml",
    "ini",
    "cfg",
    "conf",
    "env",
    "log",
    "xml",
    "html",
    "css",
    "js",
    "ts",
    "tsx",
    "jsx",
    "py",
    "ipynb",
    "r",
    "jl",
    "java",
    "kt",
    "c",
    "h",
    "cpp",
    "hpp",
    "cs",
    "go",
    "rs",
    "rb",
    "php",
    "pl",
    "sh",
    "bash",
    "zsh",
    "ps1",
    "bat",
    "sql",
    "tex",
    "bib",
    "diff",
    "patch",
    "svg",
    "proto",
    "graphql",
    "dockerfile",
    "makefile",
    "lp",
    "mps",
    "sol",
]

MODES = {
    "plan": ("Plan", ":material/visibility:", "Reads only. Nothing is changed and nothing is run."),
    "ask": ("Ask first", ":material/front_hand:", "Asks before every change and every command."),
    "accept_edits": (
        "Accept edits",
        ":material/edit_document:",
        "Edits files in the workspace freely; asks before it runs commands.",
    ),
    "accept_all": (
        "Accept all",
        ":material/bolt:",
        "Does not ask, except where a rule of yours says so. For workspaces you can throw away.",
    ),
}


def composer(engine: Engine, view: ThreadView | None) -> None:
    """Draw the box and its tools at the bottom of the page."""
    thread = view.thread if view is not None else None
    active = view.active if view is not None else None
    place, problem = st.session_state.get(PROBLEM, (None, None))
    ref = _ref(engine, thread)
    blocked = blocking_model(engine, ref)
    with st.bottom, column():
        if blocked is not None and view is not None and view.turns:
            model_card(engine, ref)
        if problem and place == (thread.id if thread is not None else None):
            st.error(plain(problem), icon=":material/error:")
        with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False, key="composer_row"):
            _box(engine, thread, active, blocked=blocked is not None)
            if active is not None:
                _stop(engine, active)
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="composer_tools"):
            _model(engine, thread)
            _mode(engine, thread)
            if view is not None:
                context_meter(view)
            folder = _workspace(engine, thread)
            st.caption(f":material/folder: {plain(shortened(PurePath(folder).name or folder, 24))}", width="content")


def send(engine: Engine, thread_id: str | None, text: str, files: list[tuple[str, bytes]]) -> None:
    """Send a message to a thread, or to a new one; on success the thread is selected."""
    created: Thread | None = None
    st.session_state.pop(PROBLEM, None)
    try:
        if thread_id is None:
            created = engine.new_thread(model=st.session_state.get("new_model"), mode=st.session_state.get("new_mode"))
            thread_id = created.id
        run = engine.send(thread_id, text, files=files)
    except (LogicianError, StorageError) as error:
        st.session_state[BOX] = text
        if created is not None:
            engine.conversations.delete(created.id)
        st.session_state[PROBLEM] = (None if created is not None else thread_id, str(error))
        return
    if created is not None:  # the choices were for this chat; the next new one starts from the settings again
        st.session_state.pop("new_model", None)
        st.session_state.pop("new_mode", None)
    places.select("thread", thread_id)
    st.query_params.pop("run", None)
    st.session_state[SENT] = run.id


def _box(engine: Engine, thread: Thread | None, active: AgentTurn | None, *, blocked: bool) -> None:
    placeholder = "Give the agent a task"
    if active is not None:
        placeholder = "Working… Stop it to write the next message"
        if active.run.status == "waiting":
            placeholder = "Waiting for your answer above"
    elif blocked:
        placeholder = "You can start as soon as the model is here"
    elif thread is not None:
        placeholder = "Answer, or give the next task"

    def submit() -> None:
        value: Any = st.session_state[BOX]
        files = [(file.name, file.getvalue()) for file in value.files]
        send(engine, thread.id if thread is not None else None, value.text, files)

    st.chat_input(
        placeholder,
        key=BOX,
        accept_file="multiple",
        file_type=FILE_TYPES,
        max_upload_size=5,
        disabled=active is not None or blocked,
        on_submit=submit,
    )


def _stop(engine: Engine, active: AgentTurn) -> None:
    run_id = active.run.id

    stopping = active.run.cancel_requested
    st.button(
        "Stopping" if stopping else "Stop",
        icon=":material/stop:",
        type="secondary" if active.run.status == "waiting" else "primary",
        key="stop",
        shortcut="Esc",
        disabled=stopping,
        on_click=doing(lambda: engine.cancel(run_id)),
    )


# Choices, kept with the thread; before there is one, in the session


def _ref(engine: Engine, thread: Thread | None) -> str:
    chosen = thread.model if thread is not None else st.session_state.get("new_model")
    if chosen:
        return chosen
    try:
        return engine.models.default_ref()
    except LogicianError:
        return ""


def _choose(engine: Engine, thread: Thread | None, column_name: str, key: str) -> None:
    value = st.session_state[key]
    if thread is None:
        st.session_state[f"new_{column_name}"] = value
        return
    attempt(lambda: engine.threads.update(thread.id, **{column_name: value}))


def _model(engine: Engine, thread: Thread | None) -> None:
    current = _ref(engine, thread)
    choices = {choice.ref: choice for choice in engine.models.choices()}
    refs = [*choices, *([current] if current and current not in choices else [])]
    titles = {ref: choices[ref].title if ref in choices else ref.partition(":")[2] for ref in refs}
    key = f"model_{thread.id if thread is not None else 'new'}"
    shown = shortened(titles.get(current, "No model"), 28)
    with st.popover(plain(shown), icon=":material/neurology:", type="tertiary", key="model_picker", help="Model"):
        st.radio(
            "Model for this chat",
            refs,
            index=refs.index(current) if current in refs else None,
            format_func=lambda ref: plain(titles[ref]),
            captions=[plain(choices[ref].note) if ref in choices else "Not available any more" for ref in refs],
            key=key,
            on_change=_choose,
            args=(engine, thread, "model", key),
        )
        if places.exists(places.SETTINGS):
            st.page_link(places.SETTINGS, label="More models and endpoints", icon=":material/settings:")


def _mode(engine: Engine, thread: Thread | None) -> None:
    chosen = thread.mode if thread is not None else st.session_state.get("new_mode")
    current = chosen if chosen in MODES else engine.settings.mode
    title, icon, _ = MODES[current]
    key = f"mode_{thread.id if thread is not None else 'new'}"
    with st.popover(title, icon=icon, type="tertiary", key="mode_picker", help="What the agent may do by itself"):
        st.radio(
            "What may the agent do by itself?",
            list(MODES),
            index=list(MODES).index(current),
            format_func=lambda mode: MODES[mode][0],
            captions=[words for _, _, words in MODES.values()],
            key=key,
            on_change=_choose,
            args=(engine, thread, "mode", key),
        )
        st.caption(f"It works in `{_workspace(engine, thread)}` and can write nowhere else.")


def _workspace(engine: Engine, thread: Thread | None) -> str:
    return (thread.workspace if thread is not None else None) or str(engine.settings.workspace)
