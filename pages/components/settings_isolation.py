"""Isolation of commands: the level in force, what it covers, what it leaves open, and what would make it stronger."""

from __future__ import annotations

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.errors import LogicianError
from pages.components.settings_form import SettingsForm
from pages.components.words import plain

_LEVELS = {
    "full": ("Full", "files, network, processes and memory"),
    "landlock": ("Landlock", "files and network; limits on time, memory and processes"),
    "rlimits": ("Limits only", "time, memory and output; files and network are open"),
}
_COVERS = ("Files outside the workspace", "Network", "Processes", "Memory and time")
_MARKS = {
    "full": ("confined", "confined", "confined", "limited"),
    "landlock": ("confined", "confined", "watched", "limited"),
    "rlimits": ("open", "open", "watched", "limited"),
}
_COLORS = {"confined": "green", "limited": "green", "watched": "orange", "open": "red"}
_PROBES = "isolation_probes"


def isolation(engine: Engine) -> None:
    """The isolation section."""
    sandbox = engine.sandbox
    if sandbox is None:
        st.info("The engine is still choosing the strongest level that works here.", icon=":material/hourglass_top:")
        return
    level = sandbox.level.value
    name, covers = _LEVELS[level]
    with st.container(border=True, key="isolation"):
        st.markdown(f":material/shield_lock: Commands run at level **{name}**: it confines {covers}.")
        if sandbox.warning and not engine.settings.isolated:
            st.warning(plain(sandbox.warning), icon=":material/warning:")
        st.table(
            {what: f":{_COLORS[mark]}-badge[{mark}]" for what, mark in zip(_COVERS, _MARKS[level], strict=True)},
            border="horizontal",
            width="content",
        )
        st.caption(_stronger(level))
    _levels(engine)
    form = SettingsForm(engine, "isolation")
    with st.container(border=True, key="isolation_choice"):
        options = {"": "The strongest that works here", **{key: words for key, (words, _) in _LEVELS.items()}}
        form.choice("sandbox_level", "Level to use", options)
        st.caption(
            "A change counts from the next start of Logician. With a level that does not work, no run is worked on."
        )
        if not form.locked("sandbox_level"):
            form.save()


def _stronger(level: str) -> str:
    match level:
        case "full":
            return "This is the strongest level there is."
        case "landlock":
            return (
                "Stronger: install the package `sandlock` (it is in requirements.txt) on a kernel that lets it work, "
                "then start Logician again."
            )
        case _:
            return (
                "Stronger: run Logician on Linux 5.13 or newer with Landlock switched on, or in its container. In a "
                "throw-away container or virtual machine set `LOGICIAN_ISOLATED=true` to leave out the warning."
            )


@st.fragment
def _levels(engine: Engine) -> None:
    if st.button(
        "Try every level",
        icon=":material/troubleshoot:",
        key="probe_levels",
        help="Runs a small hostile program under each level; takes some seconds.",
    ):
        try:
            with st.spinner("Trying each level …"):
                st.session_state[_PROBES] = engine.probe_isolation()
        except LogicianError as error:
            st.error(plain(str(error)))
    probes = st.session_state.get(_PROBES)
    if probes:
        st.table(
            [
                {
                    "Level": _LEVELS[probe.level.value][0],
                    "Here": ":green-badge[:material/check: works]"
                    if probe.available
                    else ":gray-badge[:material/close: does not work]",
                    "What was found": plain(probe.detail),
                }
                for probe in probes
            ],
            border="horizontal",
            hide_index=True,
        )
