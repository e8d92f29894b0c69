"""``python -m logician_graph.gateway``: the health check of the container.

Prints one line and exits 0 when ``/healthz`` answers 200, else 1.
"""

from __future__ import annotations

import sys

from logician_graph.errors import SettingsError
from logician_graph.gateway.probe import probe
from logician_graph.settings import Settings


def main() -> int:
    """Probe once. Returns the exit code."""
    try:
        problem = probe(Settings.load())
    except SettingsError as error:
        problem = str(error)
    print(problem or "ok")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
