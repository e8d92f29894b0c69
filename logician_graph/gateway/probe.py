"""Is the server on this machine answering? It reads the access token from the home folder."""

from __future__ import annotations

from http.client import HTTPConnection, HTTPException

from logician_graph.gateway.token import obtain_token
from logician_graph.settings import Settings

_SECONDS = 4.0


def probe(settings: Settings) -> str | None:
    """What is wrong, or None."""
    chosen = settings.access_token.get_secret_value() if settings.access_token else None
    token = obtain_token(settings.home, chosen)
    host = "127.0.0.1" if settings.host in {"", "0.0.0.0", "::"} else settings.host  # noqa: S104 - not bound here
    connection = HTTPConnection(host, settings.port, timeout=_SECONDS)
    try:
        connection.request(
            "GET", "/healthz", headers={"Authorization": f"Bearer {token.value}", "Host": f"localhost:{settings.port}"}
        )
        status = connection.getresponse().status
    except (OSError, HTTPException) as error:
        return f"{host}:{settings.port} does not answer: {error}"
    finally:
        connection.close()
    return None if status == 200 else f"/healthz answered {status}"
