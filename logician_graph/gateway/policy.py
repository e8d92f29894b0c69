"""Who may come in: one decision per request or websocket, from facts, without effects.

Two kinds of attack matter for a workbench that runs commands. A web page that the person happens to visit may send
requests to a loopback port (cross-site requests, DNS rebinding); the Host and Origin checks stop it. Anyone else on
the network may find the port; a credential stops them. Invariants: nothing is let in because a fact is missing, and
this machine's own visitors go without a credential only when every fact says that they are on this machine.

What it does not do: check credentials (the caller hands over whether one held) or read the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

GUARDED: tuple[str, ...] = (
    "/api",
    "/healthz",
    "/hooks",
    "/mcp",
    "/metrics",
    "/readyz",
    "/_stcore/agent",
    "/_stcore/metrics",
    "/_stcore/script-health-check",
    "/_stcore/upload_file",
    "/media",
)
"""Paths that need a person even while the page shell is open to everyone so that ``st.login`` can happen."""

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
Credential = Literal["none", "wrong", "token", "header", "oidc"]


@dataclass(frozen=True, slots=True)
class Rules:
    """How this server is set up. ``loopback``: it listens on a loopback address only."""

    loopback: bool
    always: bool = False
    """A credential is asked of this machine's own visitors too."""
    proxied: bool = False
    """A trusted proxy names the person, so a visitor from this machine may be anyone."""
    oidc: bool = False
    allowed_hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Visit:
    """The facts of one request. ``forwarded``: some proxy handed it on."""

    kind: Literal["http", "websocket"]
    method: str
    path: str
    host: str | None
    origin: str | None
    fetch_site: str | None
    peer: str | None
    forwarded: bool
    credential: Credential


@dataclass(frozen=True, slots=True)
class Verdict:
    """``ask`` wants a credential (401), ``refuse`` will not have the request at all (403)."""

    action: Literal["allow", "ask", "refuse"]
    reason: str = ""


def judge(visit: Visit, rules: Rules) -> Verdict:
    """Decide about one visit."""
    name = host_name(visit.host)
    if name is None:
        return Verdict("refuse", "The request has no usable Host header.")
    at_home = is_loopback(name)
    expected = at_home or matches_host(name, rules.allowed_hosts)
    if not expected and (rules.loopback or rules.allowed_hosts):
        return Verdict("refuse", f"The host name {name!r} is not one of LOGICIAN_ALLOWED_HOSTS.")
    changing = visit.kind == "websocket" or visit.method not in _SAFE_METHODS
    if changing and _cross_site(visit, rules.allowed_hosts):
        return Verdict("refuse", "The request comes from another site.")
    if at_home and _local(visit, rules):
        return Verdict("allow")
    if visit.credential in {"token", "header", "oidc"}:
        return Verdict("allow")
    if rules.oidc and not is_under(visit.path, GUARDED):
        return Verdict("allow")
    return Verdict("ask", "The access token is wrong." if visit.credential == "wrong" else "An access token is needed.")


def is_loopback(host: str) -> bool:
    """True for ``localhost``, names under it, and loopback addresses."""
    name = host.lower().rstrip(".").removeprefix("[").removesuffix("]")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def host_name(host: str | None) -> str | None:
    """The name in a Host header without its port, in lower case; None when there is none that can be used."""
    try:
        parts = urlsplit(f"//{host or ''}")
        _ = parts.port  # raises ValueError when it is no number
    except ValueError:
        return None
    plain = not (parts.path or parts.query or parts.fragment or "@" in parts.netloc)
    return parts.hostname.rstrip(".") if parts.hostname and plain else None


def matches_host(name: str, patterns: Sequence[str]) -> bool:
    """True when ``name`` is one of ``patterns``; ``*.example.org`` stands for every name below ``example.org``."""
    for pattern in patterns:
        wanted = pattern.lower().rstrip(".")
        if name == wanted or (wanted.startswith("*.") and name.endswith(wanted[1:])):
            return True
    return False


def is_under(path: str, prefixes: Sequence[str]) -> bool:
    """True when ``path`` is one of ``prefixes`` or below it."""
    return any(path == prefix or path.startswith(f"{prefix}/") for prefix in prefixes)


def _local(visit: Visit, rules: Rules) -> bool:
    trusting = rules.loopback and not (rules.always or rules.proxied or rules.oidc)
    return trusting and visit.peer is not None and is_loopback(visit.peer) and not visit.forwarded


def _cross_site(visit: Visit, allowed_hosts: Sequence[str]) -> bool:
    if visit.origin is None:
        # Browsers send Origin with everything that changes state; without it this is another program, unless it
        # says otherwise.
        return visit.fetch_site in {"cross-site", "same-site"}
    try:
        origin = urlsplit(visit.origin)
        name = origin.hostname
    except ValueError:
        return True
    if name is None or origin.scheme not in {"http", "https"}:
        return True
    same = origin.netloc.lower() == (visit.host or "").lower()
    return not (same or matches_host(name, allowed_hosts))
