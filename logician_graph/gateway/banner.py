"""The lines that say where to go once the server listens."""

from __future__ import annotations

from pathlib import Path

from logician_graph.gateway.policy import is_loopback
from logician_graph.gateway.token import AccessToken


def banner(host: str, port: int, home: Path, token: AccessToken | None) -> str:
    """The address to open; with ``token``, the one that signs a browser in."""
    everywhere = host in {"", "0.0.0.0", "::"}  # noqa: S104 - recognised, not bound
    name = "localhost" if everywhere or is_loopback(host) else f"[{host}]" if ":" in host else host
    address = f"http://{name}:{port}/"
    lines = ["", f"  Logician is at  {address}{f'?token={token.value}' if token else ''}", f"  It keeps all in {home}"]
    if token is not None:
        lines.append("  Whoever has this address can use it. The token is also in the file token there.")
    if everywhere:
        lines.append("  From another machine, use this machine's name in place of localhost.")
    return "\n".join([*lines, ""])
