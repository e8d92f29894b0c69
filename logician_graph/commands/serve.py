"""``logician run``: the server, as ``python app.py`` starts it, in this same process."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from logician_graph.errors import SettingsError

APP = Path(__file__).resolve().parents[2] / "app.py"


def serve(host: str | None, port: int | None) -> NoReturn:
    """Become the server. Raises SettingsError where the program is not installed with its pages."""
    if not APP.is_file():
        raise SettingsError(f"The server {str(APP)!r} is not there: install Logician from its repository.")
    if host is not None:
        os.environ["LOGICIAN_HOST"] = host
    if port is not None:
        os.environ["LOGICIAN_PORT"] = str(port)
    os.execv(sys.executable, [sys.executable, str(APP)])  # noqa: S606 - this same interpreter
