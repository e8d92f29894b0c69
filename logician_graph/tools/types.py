"""What the rest of the house knows about tools: a declaration, a call, an output, a permission decision.

A tool never decides whether it may run: the gate does, from the declaration, the parsed arguments, the mode and the
rules. A tool's output is bounded here, with a saved path for the rest; it never raises past the bus.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from logician_graph.sandbox import Sandbox

Effect = Literal["read", "write", "execute", "network", "ask"]
"""What a call does to the world. ``ask``: it waits for a person and touches nothing."""
Replay = Literal["safe", "never"]
"""After a crash between intent and result: ``safe`` runs again, ``never`` gets "interrupted, outcome unknown"."""
Mode = Literal["plan", "ask", "accept_edits", "accept_all"]
Action = Literal["allow", "ask", "deny"]
ToolStatus = Literal["ok", "error", "denied", "interrupted", "cancelled"]


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """A tool's fixed facts. ``parameters`` is a JSON schema of type object with ``additionalProperties: false``."""

    name: str
    description: str
    """For the model: what it does, when to use it, in as few words as a small model needs."""
    parameters: Mapping[str, Any]
    effect: Effect
    parallel_safe: bool
    replay: Replay
    timeout_s: float
    output_chars: int = 12_000
    icon: str = ":material/build:"
    for_small_models: bool = True
    """False: not offered to a model that needs a short list of tools."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Where and for whom a call runs."""

    run_id: str
    call_id: str
    workspace: Path
    """The only folder the call may write."""
    artifacts: Path
    """Folder of this thread's saved outputs and attachments; readable by the read tools, written by the bus only."""
    sandbox: Sandbox
    cancelled: asyncio.Event
    emit: Callable[[str], None] = lambda _text: None
    """Shows live output to whoever follows the run."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What came back. ``text`` is what the model reads, already bounded to the declaration's ``output_chars``."""

    text: str
    status: ToolStatus = "ok"
    summary: str = ""
    """One line for a person, such as ``edit_file app.py +12 −3`` or ``exit 1 in 2.4 s``."""
    diff: str | None = None
    """Unified diff of what a write changed, for the page; None where nothing was written."""
    saved_path: str | None = None
    """Where the whole output is when ``text`` holds only a preview of it."""
    untrusted: bool = False
    """The text came from the network: after it, write and execute need a person."""
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    """Facts measured by the tool (exit_code, bytes, matches …); JSON values only."""


class Tool(Protocol):
    """One tool. Stateless: everything about a call comes in with it."""

    declaration: ToolDeclaration

    def describe(self, arguments: Mapping[str, Any]) -> str:
        """One line for a person naming the exact thing the call touches; must not fail on odd arguments."""
        ...

    def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> str | None:
        """What an approval card shows: the exact command, or the unified diff the call would make; else None."""
        ...

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Do it. Arguments were validated against the schema. May raise ``ToolFailed`` with a text for the model."""
        ...


class ToolFailed(Exception):
    """The call failed in a way the model should read: short, specific, with the next best action."""


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """A standing decision. All given fields must match; deny beats ask beats allow.

    ``argv_prefix`` matches a bash call when *every* segment of the command that is not allowed otherwise starts with
    these words; ``path_prefix`` matches a file call whose path, resolved inside the workspace, lies below it.
    ``workspace`` None means everywhere.
    """

    id: str
    action: Action
    tool: str
    argv_prefix: tuple[str, ...] | None = None
    path_prefix: str | None = None
    workspace: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """The gate's answer for one call; every decision becomes an event."""

    action: Action
    reason: str
    """A sentence for a person: why it is allowed, asked or denied."""
    rule_id: str | None = None
    suggestions: tuple[PermissionRule, ...] = ()
    """Rules that "Always allow …" could store, narrowest first; empty where no rule can be offered safely."""
