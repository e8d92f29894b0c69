"""Keeps a live part of a page true without polling scripts: the browser asks one cheap route whether anything changed.

Call it inside the fragment that it should redraw. Nothing is redrawn while the page works or right after a key or a
click: two requests that meet on their way are merged by Streamlit, and a page change among them would be lost.
"""

from __future__ import annotations

from pathlib import Path

from streamlit.components.v2 import component

from logician_graph.engine import Engine

_PULSE = component(
    "logician_pulse",
    html="<span hidden>\n</span>",
    js=(Path(__file__).parent / "pulse.js").read_text(encoding="utf-8"),
)


def pulse(engine: Engine, *, key: str, soonest_s: float = 2.0, latest_s: float = 30.0) -> None:
    """Redraw this fragment when something changed, not before ``soonest_s``; at the latest after ``latest_s``."""
    data = {"token": engine.change_token(), "soonest_ms": soonest_s * 1000, "latest_ms": latest_s * 1000}
    _PULSE(key=f"pulse_{key}", data=data, height=0, on_changed_change=lambda: None)
