"""What a person may ask about runs and permissions: lists, sums, what was sent to the model, what the gate would say.

Reads only. Nothing here changes a run, and nothing is computed in another way than the run itself computed it: the
request is rebuilt from the ledger's record, the decision comes from the gate's own function.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from logician_graph.errors import NotFound, UsageError
from logician_graph.inference import ChatRequest
from logician_graph.orchestrator import rebuild
from logician_graph.tools import Decision, Mode, PermissionRule, ToolBus, decide
from storage import Database, Message, PreferenceStore, Rule, RunLedger, RunOverview, ThreadStore


class Inspector:
    """Questions about what was and what would be."""

    def __init__(
        self,
        database: Database,
        ledger: RunLedger,
        threads: ThreadStore,
        preferences: PreferenceStore,
        bus: ToolBus,
    ) -> None:
        self._ledger = ledger
        self._threads = threads
        self._preferences = preferences
        self._bus = bus
        self.runs = RunOverview(database)
        """Lists and sums over many runs."""

    def request_of(self, run_id: str, seq: int) -> ChatRequest:
        """Exactly what the model call of event ``seq`` (a ``model.started``) sent, rebuilt from the ledger."""
        found = self._ledger.events(run_id, after=seq - 1, limit=1)
        if not found or found[0].seq != seq:
            raise NotFound(f"Run {run_id!r} has no event {seq}.")
        event = found[0]
        if event.type != "model.started":
            raise UsageError(f"Event {seq} of run {run_id!r} is a {event.type!r}, not a model call.")
        record: Mapping[str, Any] = event.data["request"]
        branch = self._branch(record["first"], record["last"])
        return rebuild(record, event.data["model"], branch, self._threads.blobs([record["frame"]]))

    def _branch(self, first: str, last: str) -> list[Message]:
        end = self._threads.messages([first, last])
        if first not in end or last not in end:
            raise NotFound("The messages of this model call are gone: their thread was removed for good.")
        return self._threads.branch(last, limit=end[last].depth - end[first].depth + 1)

    def explain_call(self, tool: str, arguments: Mapping[str, Any], mode: Mode, workspace: str) -> Decision:
        """What the gate would decide on a call now. Nothing is run."""
        known = self._bus.get(tool)
        if known is None:
            raise NotFound(f"There is no tool {tool!r}. Tools: {', '.join(self._bus.names())}.")
        rules = [permission_rule(rule) for rule in self._preferences.rules()]
        return decide(known.declaration, arguments, mode=mode, rules=rules, workspace=workspace, tainted=False)


def permission_rule(rule: Rule) -> PermissionRule:
    """A stored rule as the gate reads it."""
    return PermissionRule(
        id=rule.id,
        action=rule.action,  # pyright: ignore[reportArgumentType]  (checked when it was stored)
        tool=rule.tool,
        argv_prefix=tuple(rule.argv_prefix) if rule.argv_prefix is not None else None,
        path_prefix=rule.path_prefix,
        workspace=rule.workspace,
        note=rule.note,
    )
