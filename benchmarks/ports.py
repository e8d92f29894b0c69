"""A TCP port on loopback that was free a moment ago."""

from __future__ import annotations

import socket


def free_port() -> int:
    """Its number."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
