"""How to reach an endpoint and how long to wait for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit, urlunsplit

from pydantic import SecretStr

from logician_graph.inference.retry import RetryPolicy


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """Address, key and patience. The key and the headers' values never appear in ``repr``, errors or logs."""

    base_url: str
    api_key: SecretStr | None = None
    headers: Mapping[str, SecretStr] = field(default_factory=dict[str, SecretStr])
    """Sent with every request; values are treated like keys."""
    connect_timeout_s: float = 10.0
    first_token_timeout_s: float = 300.0
    """Generous: a local model on a CPU may read a long prompt for minutes."""
    stall_timeout_s: float = 120.0
    """Longest silence between two chunks."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    @property
    def shown_url(self) -> str:
        """The base URL without user, password and query, fit for messages."""
        parts = urlsplit(self.base_url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    @property
    def is_loopback(self) -> bool:
        """Whether the endpoint is on this machine, where no proxy belongs in between."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every value that must not appear in a message."""
        values = (secret.get_secret_value() for secret in (self.api_key, *self.headers.values()) if secret is not None)
        password = urlsplit(self.base_url).password
        return (*values, *((password,) if password else ()))

    def __repr__(self) -> str:
        return f"EndpointOptions({self.shown_url!r})"
