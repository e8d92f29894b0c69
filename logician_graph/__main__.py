"""``python -m logician_graph``: the ``logician`` command."""

from __future__ import annotations

import sys

from logician_graph.cli import main

if __name__ == "__main__":
    sys.exit(main())
