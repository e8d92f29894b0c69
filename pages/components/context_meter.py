"""What fills the model's window, as of the newest model call of a chat."""

from __future__ import annotations

import streamlit as st

from logician_graph.orchestrator import AgentTurn, ThreadView
from pages.components.words import count

_PARTS = {"system": "Instructions", "tools": "Tools", "history": "Messages and results"}


def context_meter(view: ThreadView) -> None:
    """A small popover; nothing before the first model call."""
    context = next((t.view.context for t in reversed(view.turns) if isinstance(t, AgentTurn) and t.view.context), None)
    if context is None:
        return
    window = context.get("window")
    parts = {name: context[name] for name in _PARTS if context.get(name) is not None}
    used = sum(parts.values())
    label = f"{used / window:.0%} of the window" if window else f"{count(used, 'token')} in the window"
    with st.popover(label, icon=":material/data_usage:", type="tertiary", key="context_meter", help="Context window"):
        st.markdown("**What the model reads at once**")
        for name, tokens in parts.items():
            share = tokens / (window or used) if used else 0.0
            st.progress(min(1.0, share), text=f"{_PARTS[name]} · {count(tokens, 'token')}")
        if window:
            st.caption(f"{count(max(0, window - used), 'token')} free of {count(window)}.")
        else:
            st.caption("The provider does not say how large its window is.")
        st.caption("Estimated. When the window is full, the oldest turns leave the model's view; they stay here.")
