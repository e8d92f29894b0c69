"""What a person may ask about runs and permissions: lists, sums, what was sent to the model, what the gate would say.

Reads only. Nothing here changes a run, and nothing is computed in another way than the run itself computed it: the
request is rebuilt from the ledger's record, the decision comes from the gate's own function.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from logician_graph import __version__
from logician_graph.errors import LogicianError, NotFound, UsageError
from logician_graph.inference import ChatRequest
from logician_graph.orchestrator import rebuild
from logician_graph.tools import Decision, Mode, PermissionRule, ToolBus, decide
from storage import Database, Message, PreferenceStore, Rule, RunFilter, RunLedger, RunOverview, ThreadStore

_DOCTOR_S = 120.0
_PACKAGES = ("streamlit", "langgraph", "langchain-openai", "sqlmodel", "xllamacpp", "sandlock")
"""Distributions whose versions a problem report needs."""


@dataclass(frozen=True, slots=True)
class StorageFacts:
    """Where everything is kept and how much of it there is. Sizes in bytes."""

    home: Path
    database: str
    """The database's address without its password."""
    database_bytes: int | None
    """None where the database is a server."""
    models_bytes: int
    artifacts_bytes: int
    free_bytes: int
    threads: int
    runs: int


class Inspector:
    """Questions about what was and what would be."""

    def __init__(
        self,
        home: Path,
        database: Database,
        ledger: RunLedger,
        threads: ThreadStore,
        preferences: PreferenceStore,
        bus: ToolBus,
    ) -> None:
        self._home = home
        self._database = database
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

    def storage(self) -> StorageFacts:
        """Measured now."""
        url = self._database.url
        files = [Path(f"{url.database}{end}") for end in ("", "-wal", "-shm")] if self._database.is_sqlite else None
        return StorageFacts(
            home=self._home,
            database=self._database.safe_url,
            database_bytes=sum(_size(file) for file in files) if files is not None else None,
            models_bytes=_size(self._home / "models"),
            artifacts_bytes=_size(self._home / "artifacts"),
            free_bytes=shutil.disk_usage(self._home).free,
            threads=self._threads.count(),
            runs=self.runs.count(RunFilter()),
        )

    def versions(self) -> dict[str, str]:
        """Logician's version and those of what it stands on; what is not installed is left out."""
        found = {"logician": __version__, "python": sys.version.split()[0]}
        for name in _PACKAGES:
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                continue
        return found

    def doctor(self) -> dict[str, Any]:
        """The report of ``logician doctor``, made by the command itself; takes some seconds. Raises LogicianError."""
        command = [sys.executable, "-m", "logician_graph", "doctor", "--json"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_DOCTOR_S, check=False)
            return json.loads(done.stdout)
        except subprocess.TimeoutExpired as error:
            raise LogicianError(f"The checks did not end within {_DOCTOR_S:.0f} s.") from error
        except ValueError as error:
            raise LogicianError("The checks could not be made: run `logician doctor` in a terminal.") from error


def _size(path: Path) -> int:
    """Bytes of a file, or of everything below a folder; 0 for what is not there."""
    if path.is_dir():
        return sum(_size(child) for child in path.iterdir() if not child.is_symlink())
    try:
        return path.stat().st_size
    except OSError:
        return 0


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
