"""The readable column of the chat."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

WIDTH = 736
"""Pixels: 46 rem of 16 pixels."""


@contextmanager
def column() -> Iterator[None]:
    """Draw in the middle of the page, no wider than reads well."""
    with st.container(horizontal_alignment="center"), st.container(width=WIDTH):
        yield
