"""What waits for the person across all chats, newest first, and the history of what was decided."""

from __future__ import annotations

import math
import time

import streamlit as st

from logician_graph.engine import Engine
from pages.components import places
from pages.components.approval_card import approval_card, request_body
from pages.components.pulse import pulse
from pages.components.words import ago, code, count, exact, plain, shortened
from storage import Approval, ApprovalRow

_MOST_OPEN = 50
_PAGE = 20


def inbox(engine: Engine) -> None:
    """The open requests, each with a card; refreshed while the page is open."""
    st.title("Approvals", anchor=False)
    _open(engine)


@st.fragment
def _open(engine: Engine) -> None:
    rows = engine.inspector.runs.approvals(answered=False, limit=_MOST_OPEN)
    if rows:
        _cards(engine, rows)
    else:
        _nothing()
    pulse(engine, key="inbox", soonest_s=1)


def _cards(engine: Engine, rows: list[ApprovalRow]) -> None:
    total = engine.inspector.runs.count_approvals(answered=False)
    st.caption(
        f"{count(total, 'request waits', 'requests wait')} for you; their runs go on when you answer."
        + (f" The newest {_MOST_OPEN} are shown." if total > len(rows) else "")
    )
    for row in rows:
        approval = row.approval
        with st.container(gap="xsmall", key=f"waiting_{approval.id}"):
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                _where(row)
                st.caption(_age("Asked", approval.created_at), help=_exactly(approval.created_at))
            approval_card(engine, approval.id, approval.request, approval.kind, key=f"inbox_{approval.id}")


def _where(row: ApprovalRow) -> None:
    approval = row.approval
    title = plain(shortened(row.title or "Untitled chat", 70))
    if approval.thread_id and not row.deleted and places.exists(places.CHAT):
        st.page_link(
            places.CHAT, label=f"**{title}**", icon=":material/forum:", query_params={"thread": approval.thread_id}
        )
    elif places.exists(places.RUNS):
        st.page_link(
            places.RUNS, label=f"**{title}**", icon=":material/timeline:", query_params={"run": approval.run_id}
        )


def _nothing() -> None:
    with st.container(border=True, horizontal_alignment="center", key="no_approvals"):
        st.space("small")
        st.markdown(":green[:material/task_alt:] **Nothing waits for you**", text_alignment="center")
        st.caption(
            "When the agent wants to run a command, change a file outside the rules, or ask you something, "
            "it stops and the request appears here and in its chat, with the exact command or change.",
            text_alignment="center",
        )
        with st.container(horizontal=True, horizontal_alignment="center"):
            if places.exists(places.CHAT):
                st.page_link(places.CHAT, label="Start a chat", icon=":material/forum:")
            if places.exists(places.SETTINGS):
                st.page_link(
                    places.SETTINGS,
                    label="Choose what needs approval",
                    icon=":material/verified_user:",
                    query_params={"tab": "Permissions"},
                )
        st.space("small")


def decided(engine: Engine) -> None:
    """What was answered or withdrawn, newest first, one page at a time."""
    total = engine.inspector.runs.count_approvals(answered=True)
    if not total:
        return
    st.subheader("Decided before", anchor=False)
    pages = math.ceil(total / _PAGE)
    number = min(int(st.session_state.get("decided_page") or 1), pages)
    for row in engine.inspector.runs.approvals(answered=True, limit=_PAGE, offset=(number - 1) * _PAGE):
        _decided(row)
    if pages > 1:
        st.pagination(pages, key="decided_page", bind="query-params")


def _decided(row: ApprovalRow) -> None:
    approval = row.approval
    icon, word, color = verdict(approval)
    what = approval.request.get("description") or approval.request.get("question") or approval.request.get("tool") or ""
    when = approval.answered_at or approval.created_at
    label = f":{color}[**{word}**] · {code(shortened(str(what), 90))} · :gray[{ago(when, time.time())}]"
    with st.expander(label, icon=f":material/{icon}:", key=f"decided_{approval.id}", type="compact"):
        who = (approval.answer or {}).get("by") or ("you" if approval.state == "answered" else "nobody: the run ended")
        st.caption(f"{word} by {plain(str(who))} at {_exactly(when)}")
        if approval.kind == "question":
            st.markdown(plain(str(approval.request.get("question") or "")))
            st.markdown(f"> {plain(str((approval.answer or {}).get('text') or '–'))}")
        else:
            request_body(approval.request)
            if reason := (approval.answer or {}).get("reason"):
                st.caption(f"Reason given: {plain(str(reason))}")
        with st.container(horizontal=True):
            _where(row)
            if places.exists(places.RUNS):
                st.page_link(
                    places.RUNS, label="Open the run", icon=":material/timeline:", query_params={"run": approval.run_id}
                )


def verdict(approval: Approval) -> tuple[str, str, str]:
    """Icon, word and colour of what became of a request."""
    if approval.state == "withdrawn":
        return "undo", "Withdrawn", "gray"
    answer = approval.answer or {}
    if approval.kind == "question":
        return "chat", "Answered", "green"
    if answer.get("decision") != "allow":
        return "block", "Denied", "red"
    return ("verified_user", "Always allowed", "green") if answer.get("rule_id") else ("check", "Allowed", "green")


def _age(verb: str, at: float) -> str:
    return f"{verb} {ago(at, time.time())}"


def _exactly(at: float) -> str:
    return exact(at, st.context.timezone)
