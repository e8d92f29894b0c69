"""Versions, and the doctor's report to copy into a question or a bug report."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from logician_graph.engine import Engine
from logician_graph.errors import LogicianError
from pages.components.words import code, plain

_REPORT = "doctor_report"
_MARKS = {
    "ok": ":green-badge[:material/check_circle: fine]",
    "warn": ":orange-badge[:material/warning: look at it]",
    "fail": ":red-badge[:material/error: broken]",
}


def about(engine: Engine) -> None:
    """The about section."""
    versions = engine.inspector.versions()
    st.markdown(f"**Logician {versions['logician']}** · a workbench for agent work that is measured, not claimed")
    st.table(
        {plain(name): code(number) for name, number in versions.items() if name != "logician"},
        border="horizontal",
        width="content",
    )
    _doctor(engine)


@st.fragment
def _doctor(engine: Engine) -> None:
    st.subheader("Doctor", anchor=False)
    st.caption(
        "Tries Python, packages, disk, database, isolation, model and port for real: the same as `logician doctor`."
    )
    if st.button("Check this machine", icon=":material/stethoscope:", key="doctor"):
        try:
            with st.spinner("Checking; this takes some seconds …"):
                st.session_state[_REPORT] = engine.inspector.doctor()
        except LogicianError as error:
            st.error(plain(str(error)), icon=":material/error:")
    report: dict[str, Any] | None = st.session_state.get(_REPORT)
    if report is None:
        return
    st.table(
        [
            {
                "": _MARKS[check["status"]],
                "What": check["name"],
                "Found": plain(check["summary"])
                + (f"  \n:material/build: {plain(check['mend'])}" if check["mend"] else ""),
            }
            for check in report["checks"]
        ],
        border="horizontal",
        hide_index=True,
    )
    versions = engine.inspector.versions()
    with st.expander("Report to copy", icon=":material/content_copy:", key="doctor_text"):
        st.code(json.dumps({"versions": versions, **report}, indent=1, ensure_ascii=False), language="json", height=320)
