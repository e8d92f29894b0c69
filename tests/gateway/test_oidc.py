"""The cookie of a person that ``st.login`` signed in, read for plain HTTP with Streamlit's own code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import json, sys
from streamlit import config
config.set_option("secrets.files", [sys.argv[1]])
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME
from logician_graph.gateway import oidc_configured, oidc_user
claims, secret = json.loads(sys.argv[2]), sys.argv[3]
signed = create_signed_value(secret, USER_COOKIE_NAME, json.dumps(claims))
cookie = signed.decode() if isinstance(signed, bytes) else signed
people = [oidc_user(jar) for jar in ({USER_COOKIE_NAME: cookie}, {}, {USER_COOKIE_NAME: "x"})]
print(json.dumps([oidc_configured(), *people]))
"""
SECRETS = """
[auth]
redirect_uri = "https://work.example.org/oauth2callback"
cookie_secret = "the-cookie-secret"
client_id = "x"
client_secret = "x"
server_metadata_url = "https://id.example.org/.well-known/openid-configuration"
"""
CLAIMS = {"is_logged_in": True, "origin": "https://work.example.org", "email": "ada@example.org"}


def ask(folder: Path, secrets: str, claims: dict[str, Any], secret: str = "the-cookie-secret") -> list[Any]:
    """In a process of its own: Streamlit reads its secrets once."""
    file = folder / "secrets.toml"
    file.write_text(secrets)
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(file), json.dumps(claims), secret],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=ROOT,
    )
    return json.loads(done.stdout)


def test_a_signed_in_person_is_known_and_a_missing_or_broken_cookie_is_not(tmp_path: Path) -> None:
    assert ask(tmp_path, SECRETS, CLAIMS) == [True, "ada@example.org", None, None]


@pytest.mark.parametrize(
    ("claims", "secret"),
    [
        (CLAIMS, "another-secret"),
        ({**CLAIMS, "is_logged_in": False}, "the-cookie-secret"),
        ({**CLAIMS, "origin": "https://other.example.org"}, "the-cookie-secret"),
    ],
)
def test_a_cookie_that_is_not_from_here_is_nobody(tmp_path: Path, claims: dict[str, Any], secret: str) -> None:
    assert ask(tmp_path, SECRETS, claims, secret)[1] is None


def test_without_an_auth_section_nothing_is_configured(tmp_path: Path) -> None:
    assert ask(tmp_path, "other = 1\n", CLAIMS)[:2] == [False, None]
