"""Who sits before the page, as far as an identity provider said."""

from __future__ import annotations

import streamlit as st


def signed_in() -> str | None:
    """The signed-in person's address or name; None where nobody has to sign in."""
    if not st.user.get("is_logged_in"):
        return None
    return str(st.user.get("email") or st.user.get("name") or st.user.get("sub") or "signed in")
