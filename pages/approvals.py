"""Approvals: everything that waits for the person, answered in place, and what was answered before."""

from __future__ import annotations

import streamlit as st

from logician_graph.engine import Engine
from pages.components.approval_card import approval_card

engine = Engine.current()
st.title("Approvals")
for approval in engine.ledger.approvals(state="open"):
    approval_card(engine, approval.id, approval.request, approval.kind, key=f"inbox_{approval.id}")
