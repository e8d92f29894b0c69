"""The sidebar: logo, new chat, search, navigation with what waits, and at the bottom model, use and health.

Links carry what was selected on their page, so that a click in the navigation never loses it. The two live parts
refresh by themselves and draw the same elements when nothing changed, so nothing blinks.
"""

from __future__ import annotations

import time
from pathlib import Path

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.errors import LogicianError
from pages.components import places
from pages.components.keyboard import keyboard
from pages.components.pulse import pulse
from pages.components.search import search
from pages.components.who import signed_in
from pages.components.words import midnight, money, plain, short_count
from storage import UsageSum

_ASSETS = Path(__file__).resolve().parent.parent / "assets"
_SEEN = "seen_problem"
"""The engine's problem as the banner last showed it."""
ICON = str(_ASSETS / "logician-mark.svg")


def sign_in() -> None:
    """Ask who is there, with the identity provider that is configured."""
    with st.container(horizontal_alignment="center"):
        st.space("large")
        st.image(_logo(), width=220)
        st.markdown("Sign in to use this workbench.")
        st.button("Sign in", type="primary", icon=":material/login:", on_click=st.login, key="sign_in")


def head(engine: Engine, current: str) -> None:
    """Logo, new chat, search and navigation. ``current`` is the file of the page that is shown."""
    st.logo(_logo(), size="large", icon_image=ICON)
    with st.sidebar:
        if places.exists(places.CHAT):
            st.button(
                "New chat",
                icon=":material/edit_square:",
                width="stretch",
                shortcut="n",
                key="new_chat",
                on_click=places.go_to_thread,
                args=(None,),
            )
        search(engine)
        _navigation(engine, current)
        keyboard()


def banner(engine: Engine) -> None:
    """What keeps the engine from working, above every page."""
    st.session_state[_SEEN] = engine.problem
    if engine.problem is not None:
        st.error(
            f"**Runs are not being worked on.** {plain(engine.problem)}\n\n"
            "What you send is kept and waits. Mend the cause, then start Logician again; "
            "`logician doctor` checks this machine.",
            icon=":material/error:",
        )


def foot(engine: Engine) -> None:
    """The model, the use of today, the engine's health, and who is signed in."""
    with st.sidebar:
        _state(engine)
        if who := signed_in():
            with st.container(horizontal=True, vertical_alignment="center", key="signed_in"):
                st.caption(f":material/person: {plain(who)}")
                st.button("Sign out", type="tertiary", on_click=st.logout, key="sign_out")


def _logo() -> str:
    return str(_ASSETS / f"logician-{'dark' if st.context.theme.type == 'dark' else 'light'}.svg")


@st.fragment
def _navigation(engine: Engine, current: str) -> None:
    waiting = engine.ledger.count_open_approvals()
    for group, entries in places.NAVIGATION.items():
        shown = [entry for entry in entries if places.exists(entry.file)]
        if not shown:
            continue
        with st.container(gap="xxsmall", key=f"navigation_{group.lower()}"):
            st.caption(group)
            for entry in shown:
                badge = f" :orange-badge[{waiting}]" if entry.file == places.APPROVALS and waiting else ""
                target = None if entry.file == current and entry.selects in ("run", "study") else places.kept(entry)
                st.page_link(
                    entry.file, label=entry.title + badge, icon=entry.icon, query_params=target, width="stretch"
                )
    pulse(engine, key="navigation")


@st.fragment
def _state(engine: Engine) -> None:
    if st.session_state.get(_SEEN) != engine.problem:
        st.rerun()
    today = engine.inspector.runs.usage_since(midnight(time.time(), st.context.timezone))
    with st.container(gap=None, key="engine_state"):
        st.caption(f":material/neurology: {_model(engine)}")
        st.caption(f":material/toll: {tokens_today(today)}")
        st.caption(f":material/payments: {cost_today(today)}")
        st.caption(_health(engine))
        busy = any(model.progress for model in engine.models.local_models())
        pulse(engine, key="state", soonest_s=4, latest_s=3 if busy else 30)


def tokens_today(used: UsageSum) -> str:
    """Tokens of the day, as far as they were reported."""
    total = used.input_tokens + used.output_tokens
    if used.unknown_tokens and not total:
        return "Tokens today: unknown"
    return f"Tokens today: {'over ' if used.unknown_tokens else ''}{short_count(total)}"


def cost_today(used: UsageSum) -> str:
    """Cost of the day; a run without a price makes it a lower bound, or unknown."""
    if used.unknown_cost and not used.cost_usd:
        return "Cost today: unknown"
    return f"Cost today: {'over ' if used.unknown_cost else ''}{money(used.cost_usd)}"


def _model(engine: Engine) -> str:
    try:
        kind, _, name = engine.models.default_ref().partition(":")
    except LogicianError:
        return ":orange[No model is chosen]"
    if kind != "local":
        return plain(name)
    model = next((known for known in engine.models.local_models() if known.id == name), None)
    if model is None:
        return f":red[{plain(name)} is not in the catalogue]"
    if model.progress is not None and model.progress.bytes_total:
        share = model.progress.bytes_done / model.progress.bytes_total
        return f":blue[{plain(name)}: downloading, {share:.0%}]"
    words = {"ready": "built in", "unverified": "built in", "downloading": "downloading", "corrupt": "damaged"}
    state = words.get(model.state, "not downloaded")
    return f"{plain(name)} · {state}" if state == "built in" else f":orange[{plain(name)}: {state}]"


def _health(engine: Engine) -> str:
    if engine.problem is not None:
        return ":red[:material/error: Engine stopped]"
    if engine.sandbox is None:
        return ":material/hourglass_top: Engine is starting"
    if engine.sandbox.warning:
        return f":orange[:material/warning: Engine ready, isolation {engine.sandbox.level.value}]"
    return f":green[:material/check_circle:] Engine ready · isolation {engine.sandbox.level.value}"
