"""Where the person looks: follows the newest text, brings a linked run into view, gives the keyboard back."""

from __future__ import annotations

from pathlib import Path

from streamlit.components.v2 import component

_DESK = component(
    "logician_desk",
    html="<span hidden>\n</span>",
    js=(Path(__file__).parent / "desk.js").read_text(encoding="utf-8"),
)


def desk(*, thread: str | None, sent: str | None, target: str | None, busy: bool) -> None:
    """``sent`` changes when the person sent something; ``target`` is a container's key; ``busy``: a run works."""
    _DESK(key="desk", data={"thread": thread, "sent": sent, "target": target, "busy": busy}, height=0)
