"""What one model call sent, rebuilt from the ledger: every message, every tool, every option."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.errors import LogicianError
from pages.components.words import count, plain, shortened
from storage import Run, StorageError

_ICONS = {"system": "settings_suggest", "user": "person", "assistant": "smart_toy", "tool": "build"}
_NAMES = {"system": "System prompt", "user": "User", "assistant": "Assistant", "tool": "Tool result"}


def request_view(engine: Engine, run: Run, seq: int) -> None:
    """Draw the request of the ``model.started`` event ``seq``."""
    st.title("Sent to the model", anchor=False)
    try:
        request = asdict(engine.inspector.request_of(run.id, seq))
    except (LogicianError, StorageError) as error:
        st.warning(plain(str(error)), icon=":material/search_off:")
        return
    messages: list[dict[str, Any]] = request["messages"]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            f"{plain(request['model'])} · {count(len(messages), 'message')} · {count(len(request['tools']), 'tool')} · "
            "rebuilt from the ledger, word for word"
        )
        st.download_button(
            "JSON",
            json.dumps(request, ensure_ascii=False, indent=2, default=str),
            f"request-{run.id}-{seq}.json",
            "application/json",
            icon=":material/download:",
            type="tertiary",
            key="request_json",
        )
    for number, message in enumerate(messages):
        _message(message, number, shown=number > 0 and number >= len(messages) - 8)
    if request["tools"]:
        names = ", ".join(tool["name"] for tool in request["tools"])
        with st.expander(f"Tools · {plain(shortened(names, 100))}", icon=":material/build:", key="request_tools"):
            st.json(request["tools"], expanded=1)
    options = {name: request[name] for name in ("temperature", "max_output_tokens", "seed", "excluded_calls")}
    with st.expander("Options", icon=":material/tune:", key="request_options"):
        st.json({name: value for name, value in options.items() if value is not None})


def _message(message: dict[str, Any], number: int, *, shown: bool) -> None:
    role, text = message["role"], message["text"]
    title = f"{_NAMES.get(role, role)} · {plain(shortened(text or _calls(message), 100))}"
    with st.expander(title, expanded=shown, icon=f":material/{_ICONS.get(role, 'chat')}:", key=f"request_{number}"):
        if text:
            st.code(text, language=None, wrap_lines=True, height=420 if text.count("\n") > 22 else "content")
        if message["tool_calls"]:
            st.json(message["tool_calls"], expanded=True)


def _calls(message: dict[str, Any]) -> str:
    return ", ".join(call["name"] for call in message["tool_calls"])
