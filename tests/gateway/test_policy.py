"""Who may come in, decided from facts alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logician_graph.gateway.policy import GUARDED, Rules, Visit, host_name, is_loopback, judge, matches_host

HOME = Rules(loopback=True)
OPEN = Rules(loopback=False)
VISIT = Visit(
    kind="http",
    method="GET",
    path="/",
    host="localhost:8501",
    origin=None,
    fetch_site=None,
    peer="127.0.0.1",
    forwarded=False,
    credential="none",
)


def action(rules: Rules, **facts: object) -> str:
    return judge(replace(VISIT, **facts), rules).action  # type: ignore[arg-type]


def test_this_machines_visitor_comes_in_without_a_token() -> None:
    assert action(HOME) == "allow"
    assert action(HOME, host="127.0.0.1:8501") == "allow"
    assert action(HOME, host="[::1]:8501", peer="::1") == "allow"
    assert action(HOME, kind="websocket", origin="http://localhost:8501") == "allow"


@pytest.mark.parametrize(
    "facts",
    [
        {"peer": "192.168.1.7"},
        {"peer": None},
        {"forwarded": True},
    ],
)
def test_whoever_may_be_elsewhere_is_asked(facts: dict[str, object]) -> None:
    assert action(HOME, **facts) == "ask"


@pytest.mark.parametrize("rules", [replace(HOME, always=True), replace(HOME, proxied=True), OPEN])
def test_rules_that_ask_of_everyone(rules: Rules) -> None:
    assert action(rules) == "ask"
    assert action(rules, credential="wrong") == "ask"
    assert action(rules, credential="token") == "allow"
    assert action(rules, credential="header") == "allow"


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "10.0.0.1:8501"])
def test_a_rebound_name_is_refused_even_with_the_token(host: str) -> None:
    assert action(HOME, host=host) == "refuse"
    assert action(HOME, host=host, credential="token") == "refuse"


@pytest.mark.parametrize("host", [None, "", "a/b", "user@host", "host:port", "[::1"])
def test_a_host_header_that_is_none_is_refused(host: str | None) -> None:
    assert action(OPEN, host=host, credential="token") == "refuse"


def test_allowed_hosts_open_a_loopback_server_and_narrow_an_open_one() -> None:
    rules = replace(HOME, allowed_hosts=("work.example.org",))
    assert action(rules, host="work.example.org") == "ask"
    assert action(rules, host="work.example.org", credential="token") == "allow"
    narrowed = replace(OPEN, allowed_hosts=("*.example.org",))
    assert action(narrowed, host="a.example.org", credential="token") == "allow"
    assert action(narrowed, host="example.org", credential="token") == "refuse"
    assert action(OPEN, host="anything.example", credential="token") == "allow"


@pytest.mark.parametrize("facts", [{"method": "POST"}, {"kind": "websocket"}])
@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://localhost:9999", "null", "file:///x", "http://[", "chrome-extension://x"]
)
def test_another_site_may_not_change_anything(facts: dict[str, object], origin: str) -> None:
    assert action(HOME, origin=origin, **facts) == "refuse"
    assert action(OPEN, origin=origin, credential="token", **facts) == "refuse"


def test_a_browser_that_says_cross_site_without_an_origin_is_believed() -> None:
    assert action(HOME, method="POST", fetch_site="cross-site") == "refuse"
    assert action(HOME, method="POST", fetch_site="same-origin") == "allow"
    assert action(HOME, method="POST") == "allow"


def test_a_proxys_own_name_is_the_same_site() -> None:
    rules = replace(HOME, allowed_hosts=("work.example.org",))
    facts = {"method": "POST", "origin": "https://work.example.org", "credential": "token"}
    assert action(rules, host="localhost:8501", **facts) == "allow"


@pytest.mark.parametrize("path", [*GUARDED, "/api/runs/1/events", "/media/x.png", "/metrics"])
def test_with_an_identity_provider_only_the_page_shell_is_open(path: str) -> None:
    rules = replace(HOME, oidc=True)
    assert action(rules, path="/") == "allow"
    assert action(rules, path="/static/x.js") == "allow"
    assert action(rules, path="/apis") == "allow"
    assert action(rules, path=path) == "ask"
    assert action(rules, path=path, credential="oidc") == "allow"


@given(
    peer=st.none() | st.ip_addresses().map(str) | st.text(max_size=8),
    forwarded=st.booleans(),
    host=st.none() | st.text(max_size=30) | st.sampled_from(["localhost", "127.0.0.1:1", "evil.example"]),
    origin=st.none() | st.text(max_size=30) | st.sampled_from(["http://localhost", "http://evil.example"]),
    kind=st.sampled_from(["http", "websocket"]),
    method=st.sampled_from(["GET", "POST", "DELETE"]),
    credential=st.sampled_from(["none", "wrong"]),
)
def test_without_a_credential_only_this_machine_ever_comes_in(
    peer: str | None,
    forwarded: bool,
    host: str | None,
    origin: str | None,
    kind: str,
    method: str,
    credential: str,
) -> None:
    facts = {"peer": peer, "forwarded": forwarded, "host": host, "origin": origin, "kind": kind, "method": method}
    assert action(OPEN, credential=credential, **facts) != "allow"
    if action(HOME, credential=credential, **facts) == "allow":
        assert peer is not None
        assert is_loopback(peer)
        assert not forwarded
        assert is_loopback(host_name(host) or "")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("a.localhost", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("[::1]", True),
        ("0.0.0.0", False),
        ("", False),
        ("localhost.example", False),
    ],
)
def test_loopback_names(name: str, expected: bool) -> None:
    assert is_loopback(name) is expected


def test_a_wildcard_stands_for_names_below_only() -> None:
    assert matches_host("a.b.example.org", ["*.example.org"])
    assert not matches_host("example.org", ["*.example.org"])
    assert not matches_host("evilexample.org", ["*.example.org"])
