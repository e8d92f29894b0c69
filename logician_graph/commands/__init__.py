"""What the ``logician`` command does, one file per subcommand. Parsing its options is :mod:`logician_graph.cli`'s work.

Nothing here is imported before its subcommand is chosen, so that ``logician --help`` stays quick.
"""

from __future__ import annotations

__all__: list[str] = []
