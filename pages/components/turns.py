"""One turn of a chat: what the person wrote, or what a run did about it.

An active run is drawn by the same code as a finished one, at the same places, so nothing jumps when it ends: the live
text stands exactly where the answer will.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from logician_graph.engine import Engine
from logician_graph.orchestrator import AgentTurn, RunUsage, RunView, Siblings, UserTurn
from pages.components import places
from pages.components.answer_text import answer_markdown
from pages.components.approval_card import approval_card
from pages.components.copy_button import copy_answer_button
from pages.components.ending import ending
from pages.components.live import activity, live_text
from pages.components.notices import attempt, doing
from pages.components.steps import answer_step, block, timeline
from pages.components.words import count, duration, money, plain, shortened

_AGENT = str(Path(__file__).resolve().parent.parent / "assets" / "logician-mark.svg")
_PERSON = ":material/person:"
_LONG, _LINES, _HEIGHT = 4000, 30, 360
"""A message of the person above this many characters or lines scrolls in a box of so many pixels."""
_ONE_LINE = 80
EDITING = "editing_message"
"""Session key: id of the message that is being edited."""


def turn_place(turn: UserTurn | AgentTurn) -> DeltaGenerator:
    """The place of a turn on the page, to be filled in any order."""
    key = f"message_{turn.message['id']}" if isinstance(turn, UserTurn) else f"run_{turn.run.id}"
    return st.container(key=key)


# What the person wrote


def user_turn(engine: Engine, turn: UserTurn, *, idle: bool) -> None:
    """Draw a message of the person; while nothing runs it can be edited and its versions can be switched."""
    message = turn.message
    with st.chat_message("user", avatar=_PERSON):
        if st.session_state.get(EDITING) == message["id"] and idle:
            _editor(engine, message)
            return
        one_line = len(message["text"]) < _ONE_LINE and "\n" not in message["text"]
        place = "center" if one_line else "top"
        with st.container(horizontal=True, gap="small", wrap=False, vertical_alignment=place):
            _text(message["text"] or "See the attachment.")
            _versions(engine, turn.siblings, idle=idle, key=message["id"])
            st.button(
                ":material/edit:",
                key=f"edit_{message['id']}",
                type="tertiary",
                help="Edit and send again, as a new branch",
                disabled=not idle,
                on_click=lambda: st.session_state.update({EDITING: message["id"]}),
            )
        for index, attachment in enumerate(message.get("attachments") or ()):
            _attachment(f"{message['id']}_{index}", attachment)


def _text(text: str) -> None:
    if len(text) > _LONG or text.count("\n") > _LINES:
        with st.container(height=_HEIGHT, border=False):
            st.text(text)
    else:
        st.text(text, width="stretch")


def _attachment(key: str, attachment: Mapping[str, Any]) -> None:
    title = f":material/description: {plain(attachment['name'])} · {count(attachment['characters'], 'character')}"
    box = st.expander(title, type="compact", key=f"file_{key}", on_change="rerun")
    if box.open:
        with box:
            block(attachment["shown"], None)


def _editor(engine: Engine, message: Mapping[str, Any]) -> None:
    key = f"editor_{message['id']}"

    def send() -> None:
        text = str(st.session_state.get(key) or "")
        st.session_state.pop(EDITING, None)
        attempt(lambda: engine.edit(message["id"], text))

    st.text_area("Edit your message", value=message["text"], key=key, label_visibility="collapsed", height="content")
    with st.container(horizontal=True, gap="small"):
        st.button("Send", type="primary", key=f"{key}_send", on_click=send, icon=":material/send:")
        st.button("Cancel", key=f"{key}_cancel", on_click=lambda: st.session_state.pop(EDITING, None))
        st.caption("What follows is kept as another version.")


def _versions(engine: Engine, siblings: Siblings, *, idle: bool, key: str) -> None:
    """The switcher ``‹ 2/3 ›``, where there is more than one version."""
    if len(siblings.ids) < 2:
        return
    at, ids = siblings.position, siblings.ids

    def show(index: int) -> Callable[[], None]:
        return doing(lambda: engine.conversations.show_branch(ids[index]))

    with st.container(horizontal=True, gap=None, width="content", vertical_alignment="center", wrap=False):
        earlier, later = at > 0, at < len(ids) - 1
        st.button(
            ":material/chevron_left:",
            key=f"earlier_{key}",
            type="tertiary",
            help="Earlier version",
            disabled=not (idle and earlier),
            on_click=show(at - 1) if earlier else None,
        )
        st.caption(f"{at + 1}/{len(ids)}", width="content")
        st.button(
            ":material/chevron_right:",
            key=f"later_{key}",
            type="tertiary",
            help="Later version",
            disabled=not (idle and later),
            on_click=show(at + 1) if later else None,
        )


# What a run did about it


def agent_turn(engine: Engine, turn: AgentTurn, *, idle: bool) -> None:
    """Draw a run: its work, its answer or what it writes now, what waits for the person, and its facts."""
    run, view = turn.run, turn.view
    active = run.status != "done"
    with st.chat_message("assistant", avatar=_AGENT):
        if active:
            _work(engine, view, expanded=True)
            live_text(view)
            _cards(engine, view)
        else:
            _past_work(engine, run.id, _label(view))
            _answer(view)
            ending(engine, turn)
            _footer(engine, turn, idle=idle)


def _cards(engine: Engine, view: RunView) -> None:
    requests = [step.approval for step in view.waiting() if step.approval is not None]
    # An empty element takes an answered card away at once, not when the page is done.
    with st.container() if requests else st.empty():
        for request in requests:
            approval_card(engine, request["id"], request["request"], request["kind"], key=f"chat_{request['id']}")


def _work(engine: Engine, view: RunView, *, expanded: bool) -> None:
    box = st.expander(_label(view), expanded=expanded, type="compact", key=f"work_{view.run_id}", on_change="rerun")
    if box.open:
        with box:
            timeline(engine, view)


@st.fragment
def _past_work(engine: Engine, run_id: str, label: str) -> None:
    """Work that is over: read again when it is opened, without the rest of the page."""
    box = st.expander(label, type="compact", key=f"past_{run_id}", on_change="rerun")
    if box.open:
        with box:
            timeline(engine, engine.run_view(run_id))


def _label(view: RunView) -> str:
    tools = len(view.tool_steps)
    tool_words = [count(tools, "tool call")] if tools else []
    if view.status != "done":
        if view.waiting():
            return " · ".join([":orange[:material/front_hand: Waiting for you]", *tool_words])
        return f":shimmer[Working… {plain(shortened(activity(view), 80))}]"
    usage = RunUsage.model_validate(view.usage)
    verb = {"cancelled": "Stopped after", "failed": "Failed after"}.get(view.outcome or "", "Worked for")
    parts = [f"{verb} {duration(usage.seconds)}", *tool_words]
    if usage.input_tokens is not None and usage.output_tokens is not None:
        parts.append(count(usage.input_tokens + usage.output_tokens, "token"))
    return " · ".join(parts)


def _answer(view: RunView) -> None:
    step = answer_step(view)
    if step is not None and step.text:
        st.markdown(answer_markdown(step.text), anchors=False)
        if step.summary:
            st.caption(f":material/content_cut: {plain(step.summary.capitalize())}")


def _footer(engine: Engine, turn: AgentTurn, *, idle: bool) -> None:
    run, view = turn.run, turn.view
    answer = answer_step(view)
    with st.container(horizontal=True, gap="small", vertical_alignment="center", wrap=False):
        st.caption(_facts(turn), width="stretch")
        _versions(engine, turn.siblings, idle=idle, key=run.id)
        if answer is not None and answer.text:
            copy_answer_button(run.id)
        if run.input_message_id is not None:
            asked = run.input_message_id
            st.button(
                ":material/refresh:",
                key=f"again_{run.id}",
                type="tertiary",
                help="Answer again, as another version",
                disabled=not idle,
                on_click=doing(lambda: engine.regenerate(asked)),
            )
        if places.exists(places.RUNS):
            st.page_link(
                places.RUNS, label="", icon=":material/timeline:", help="Open the run", query_params={"run": run.id}
            )


def _facts(turn: AgentTurn) -> str:
    usage = RunUsage.model_validate(turn.run.usage)
    parts = [plain(_model(turn))]
    if usage.input_tokens is None and usage.output_tokens is None:
        parts.append("tokens unknown")
    else:
        parts.append(f"{count(usage.input_tokens)} in")
        parts.append(f"{count(usage.output_tokens)} out")
        if usage.cached_tokens:
            parts.append(f"{count(usage.cached_tokens)} cached")
    parts.append("cost unknown" if usage.cost_usd is None else money(usage.cost_usd).replace("$", r"\$"))
    parts.append(duration(usage.seconds))
    return " · ".join(parts)


def _model(turn: AgentTurn) -> str:
    return str(turn.run.options.get("model", "")).partition(":")[2] or turn.view.model
