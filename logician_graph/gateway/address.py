"""Whether the address to listen on can be had."""

from __future__ import annotations

import errno
import socket


def unavailable(host: str, port: int) -> str | None:
    """Why ``host``:``port`` cannot be listened on and what to do about it, or None."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
            trial.listen(1)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return (
                    f"Port {port} on {host} is in use, perhaps by another Logician. Stop that one, or choose "
                    f"another port: LOGICIAN_PORT={port + 1 if port < 65535 else 8501}"
                )
            return f"Cannot listen on {host}:{port} ({error.strerror}). Set LOGICIAN_HOST and LOGICIAN_PORT."
    return None
