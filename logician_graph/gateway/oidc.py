"""Sign-in with an identity provider, as Streamlit's ``st.login`` does it, for the routes beside the pages.

Streamlit keeps the signed-in person in a signed cookie. The pages read it through ``st.user``; here the same cookie is
verified for plain HTTP, with Streamlit's own code and secret.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast


def oidc_configured() -> bool:
    """True when Streamlit's secrets have an ``[auth]`` section, so that pages must call ``st.login``."""
    from streamlit.auth_util import get_secrets_auth_section

    section = cast("Mapping[str, Any]", get_secrets_auth_section())
    return "redirect_uri" in section and "cookie_secret" in section


def oidc_user(cookies: Mapping[str, str]) -> str | None:
    """The signed-in person's address or subject, or None when no cookie of this site verifies."""
    from streamlit.auth_util import get_cookie_with_chunks, get_origin_from_redirect_uri
    from streamlit.web.server.server_util import get_cookie_secret
    from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
    from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

    secret = get_cookie_secret()
    if not secret:
        return None

    def verified(name: str) -> bytes | None:
        value = cookies.get(name)
        return None if value is None else decode_signed_value(secret, name, value.encode("latin-1", "ignore"))

    payload = get_cookie_with_chunks(verified, USER_COOKIE_NAME)
    return None if payload is None else _person(payload, get_origin_from_redirect_uri())


def _person(payload: bytes, origin: str | None) -> str | None:
    try:
        claims: Any = json.loads(payload)
    except ValueError:
        return None
    if not isinstance(claims, dict):
        return None
    claims = cast("dict[str, Any]", claims)
    # Streamlit binds the cookie to the site in redirect_uri; so does this.
    if not claims.get("is_logged_in") or origin is None or claims.get("origin") != origin:
        return None
    return str(claims.get("email") or claims.get("sub") or "signed in")
