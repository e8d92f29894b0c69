"""The tool bus: typed, visible, gated calls. Everything that touches the world is one.

``default_bus`` has the built-in tools; ``decide`` says whether a call may run; ``ToolBus.call`` runs it.
"""

from __future__ import annotations

from logician_graph.tools.builtin import default_bus
from logician_graph.tools.permissions import decide
from logician_graph.tools.registry import ToolBus
from logician_graph.tools.rules import explain_rule, rule_matches
from logician_graph.tools.types import (
    Action,
    Decision,
    Effect,
    Mode,
    PermissionRule,
    Replay,
    Tool,
    ToolContext,
    ToolDeclaration,
    ToolFailed,
    ToolOutput,
    ToolStatus,
)

__all__ = [
    "Action",
    "Decision",
    "Effect",
    "Mode",
    "PermissionRule",
    "Replay",
    "Tool",
    "ToolBus",
    "ToolContext",
    "ToolDeclaration",
    "ToolFailed",
    "ToolOutput",
    "ToolStatus",
    "decide",
    "default_bus",
    "explain_rule",
    "rule_matches",
]
