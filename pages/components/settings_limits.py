"""What one run may use, and how many work at once."""

from __future__ import annotations

import streamlit as st

from logician_graph.engine import Engine
from pages.components.settings_form import SettingsForm
from pages.components.words import duration, money


def limits(engine: Engine) -> None:
    """Budgets of a run, and concurrency."""
    st.caption("A run that reaches one of these ends as blocked, says which, and keeps everything done until then.")
    form = SettingsForm(engine, "limits")
    with st.container(border=True, key="limits"):
        st.markdown("**What one run may use**")
        left, right = st.columns(2)
        with left:
            form.number("max_turns", "Model calls", least=1)
            form.number("max_tokens", "Tokens, in and out together", least=1, step=1000, unset="no limit")
            form.number(
                "max_cost_usd",
                "Cost in US dollars",
                least=0.0,
                step=0.1,
                unset="no limit",
                shown=money,
                number_format="%.2f",
            )
        with right:
            form.number("max_tool_calls", "Tool calls", least=1)
            form.number("max_seconds", "Seconds of work", least=1.0, step=60.0, shown=duration, number_format="%.0f")
            form.number(
                "temperature", "Temperature", least=0.0, step=0.1, unset="the provider's default", number_format="%.1f"
            )
        st.markdown("**All runs together**")
        with st.columns(2)[0]:
            form.number("max_concurrent_runs", "Runs that work at the same time", least=1)
            form.number("max_concurrent_studies", "Studies that evolve at the same time", least=1)
        form.save()
