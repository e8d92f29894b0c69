"""The access token: made at first start, kept in the home folder, carried by a cookie that does not contain it.

The cookie's value is an HMAC under the token, so a new token ends all sessions and a leaked cookie does not give the
token away. Comparisons take constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from logician_graph.errors import SettingsError
from logician_graph.redaction import register_secret
from logician_graph.secrets import write_private

COOKIE_SECONDS = 30 * 24 * 3600


@dataclass(frozen=True, slots=True, repr=False)
class AccessToken:
    """One server's token."""

    value: str

    @property
    def cookie_name(self) -> str:
        """Carries a mark of the token: browsers share cookies between all ports of one host."""
        return f"logician_{self._mac('cookie name')[:8]}"

    @property
    def cookie_value(self) -> str:
        """What the cookie of a signed-in browser holds."""
        return self._mac("cookie value 1")

    def matches(self, given: str) -> bool:
        """True when ``given`` is the token."""
        return hmac.compare_digest(given.encode(), self.value.encode())

    def matches_cookie(self, given: str) -> bool:
        """True when ``given`` is the cookie value of a signed-in browser."""
        return hmac.compare_digest(given.encode(), self.cookie_value.encode())

    def _mac(self, purpose: str) -> str:
        return hmac.new(self.value.encode(), f"logician {purpose}".encode(), hashlib.sha256).hexdigest()


def read_token(home: Path) -> AccessToken | None:
    """The token kept in ``home``, or None where none was made yet."""
    try:
        value = (home / "token").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"The access token in {str(home / 'token')!r} cannot be read: {error.strerror}.") from error
    return AccessToken(value) if value else None


def obtain_token(home: Path, chosen: str | None = None) -> AccessToken:
    """The token in force: ``chosen`` if given, else the one kept in ``home``, made now if there is none."""
    token = AccessToken(chosen) if chosen else read_token(home) or _made(home)
    register_secret(token.value)
    register_secret(token.cookie_value)
    return token


def _made(home: Path) -> AccessToken:
    fresh = home / f".token-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        write_private(fresh, secrets.token_urlsafe(32) + "\n")
        try:
            os.link(fresh, home / "token")  # the first of several processes wins, whole
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    except OSError as error:
        raise SettingsError(f"The access token cannot be kept in {str(home)!r}: {error.strerror}.") from error
    token = read_token(home)
    if token is None:
        raise SettingsError(f"The access token file {str(home / 'token')!r} is empty; delete it and start again.")
    return token
