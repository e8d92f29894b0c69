"""Running what we do not trust under the strongest isolation that this machine allows.

``select_sandbox`` picks the level by trying it; the returned ``Sandbox`` runs one command after the other or many at
once. The room does not decide whether a command may run, and it does not parse commands.
"""

from __future__ import annotations

from logician_graph.sandbox.probe import LevelProbe, probe_levels, select_sandbox
from logician_graph.sandbox.types import CommandResult, IsolationLevel, Sandbox, SandboxPolicy

__all__ = [
    "CommandResult",
    "IsolationLevel",
    "LevelProbe",
    "Sandbox",
    "SandboxPolicy",
    "probe_levels",
    "select_sandbox",
]
