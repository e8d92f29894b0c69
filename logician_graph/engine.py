"""The composition root: builds, starts and stops the services, and is the one door for pages, HTTP and commands.

It starts with the server, before the first visitor, and owns the event loop on which runs are worked on. Methods may
be called from any thread unless they say otherwise; what they accept is durable when they return.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import SecretStr

from logician_graph import eoh
from logician_graph.engine_loop import EngineLoop
from logician_graph.errors import Conflict, LogicianError, NotFound, SettingsError, UsageError
from logician_graph.inference import ProviderCheck
from logician_graph.inspector import Inspector
from logician_graph.model_desk import LOCAL_PREFIX, ModelDesk
from logician_graph.orchestrator import (
    Attachment,
    BranchCache,
    Conversations,
    EventHub,
    RunContext,
    RunOptions,
    RunUsage,
    RunView,
    ThreadView,
    fold,
    list_workspace,
    thread_view,
    to_json,
    to_markdown,
)
from logician_graph.sandbox import IsolationLevel, LevelProbe, Sandbox, probe_levels, select_sandbox
from logician_graph.secrets import SecretStore
from logician_graph.settings import STORABLE, Settings
from logician_graph.study_tools import Evolve, ReadStudy
from logician_graph.sweeping import purge_deleted, sweep_checkpoints
from logician_graph.tools import ToolBus, default_bus
from logician_graph.workspaces import missing_workspace, usable_workspace
from storage import (
    Approval,
    Database,
    NotOpen,
    PreferenceStore,
    Rule,
    Run,
    RunLedger,
    StudyStore,
    Thread,
    ThreadStore,
    WorkerRegistry,
    new_id,
    now,
    open_checkpoints,
    upgrade,
)

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from logician_graph.orchestrator.worker import Job, RunWorker

log = logging.getLogger(__name__)


class Engine:
    """Everything Logician does, behind one object per process."""

    _current: ClassVar[Engine | None] = None

    def __init__(self, settings: Settings, *, only_own: bool = False) -> None:
        """``only_own``: serve just the runs that this process submits, beside a server that serves the rest."""
        self.home = settings.home
        self._only_own = only_own
        self.database = Database(settings.database_url)
        upgrade(self.database)
        self.preferences = PreferenceStore(self.database)
        self.secrets = SecretStore(self.home)
        self._settings = self._load_settings()
        self.ledger = RunLedger(self.database)
        self.threads = ThreadStore(self.database)
        self.hub = EventHub(self.ledger, self.threads)
        self._loop = EngineLoop()
        self.models = ModelDesk(self.home, lambda: self.settings, self._loop.call)
        self.conversations = Conversations(self.ledger, self.threads, self._wake)
        self.registry = WorkerRegistry(self.database, self.home)
        self.bus: ToolBus = default_bus()
        self.bus.register(Evolve(lambda: self.studies, self.ledger, self.models.default_ref))
        self.bus.register(ReadStudy(lambda: self.studies))
        self.inspector = Inspector(self.home, self.database, self.ledger, self.threads, self.preferences, self.bus)
        self.sandbox: Sandbox | None = None
        """None until the probe at start has chosen one."""
        self.problem: str | None = None
        """Why the engine cannot work on runs, or None."""
        self._branches = BranchCache()
        self._worker: RunWorker | None = None
        self._beside: asyncio.Future[None] | None = None
        self._stopping = threading.Event()
        self._resources = AsyncExitStack()

    @cached_property
    def studies(self) -> eoh.Studies:
        """Studies of the evolution of heuristics. The room is loaded when it is first entered."""
        return eoh.Studies(
            self.ledger,
            StudyStore(self.database),
            self.home,
            self.models.provider,
            self._wake,
            self.cancel,
            self.registry.alive,
        )

    @classmethod
    def current(cls) -> Engine:
        """The engine of this process."""
        if cls._current is None:
            raise LogicianError("The engine is not running in this process.")
        return cls._current

    # Life

    async def start(self) -> None:
        """Start working. Returns as soon as work can be accepted; the heavy parts load behind it."""
        self.registry.register()
        self._loop.start()
        Engine._current = self
        self._loop.submit(self._serve())
        if not self._only_own:
            self.models.start_missing()

    async def _serve(self) -> None:
        try:
            from logician_graph.orchestrator.graph import build_graph
            from logician_graph.orchestrator.runner import ChatJob
            from logician_graph.orchestrator.worker import Kind, RunWorker

            level = self.settings.sandbox_level
            self.sandbox = await select_sandbox(forced=IsolationLevel(level) if level else None)
            url = self.database.url.render_as_string(hide_password=False)
            checkpoints = await self._resources.enter_async_context(open_checkpoints(url, self.home))
            graph = build_graph(checkpoints)
            chat = Kind(
                lambda run: ChatJob(self._open_context(run), graph, checkpoints),
                slots=lambda: self.settings.max_concurrent_runs,
            )
            study = Kind(self._open_study, slots=lambda: self.settings.max_concurrent_studies)
            kinds = {"chat": chat, eoh.KIND: study}
            worker = RunWorker(self.ledger, self.registry, kinds, only_own=self._only_own)
            self._worker = worker
            self._beside = asyncio.ensure_future(self._work_beside(checkpoints))
            await worker.serve()
        except Exception as error:  # the loop boundary: shown by health, pages and doctor
            self.problem = f"{type(error).__name__}: {error}"
            log.critical("The engine stopped working on runs", exc_info=True)

    async def _work_beside(self, checkpoints: BaseCheckpointSaver[str]) -> None:
        """What nobody should wait for: loading what the first tool call needs, then sweeping. In threads of its own."""
        try:
            await asyncio.to_thread(self.bus.warm)
            if not self._only_own:
                await sweep_checkpoints(checkpoints, self.ledger)
                await asyncio.to_thread(purge_deleted, self.threads, self.artifacts, self._stopping)
        except Exception:  # nothing that runs depends on it: calls load what is missing, the next start sweeps
            log.exception("Work beside the runs failed")

    async def stop(self) -> None:
        """Drain: running steps finish or are cut at a clean point, runs go on at the next start."""
        Engine._current = None if Engine._current is self else Engine._current
        if self._loop.alive:
            await asyncio.wrap_future(self._loop.submit(self._close()))
            await asyncio.to_thread(self._loop.stop)
        await asyncio.to_thread(self.registry.leave)
        self.database.close()

    async def _close(self) -> None:
        self._stopping.set()
        if self._worker is not None:
            await self._worker.drain()
        if self._beside is not None:
            await self._beside
        await self.models.aclose()
        await self._resources.aclose()

    def _wake(self) -> None:
        if self._worker is not None:
            self._loop.call(self._worker.wake)

    def artifacts(self, thread_id: str) -> Path:
        """Folder of a thread's saved outputs and attachments."""
        return self.home / "artifacts" / thread_id

    def _open_study(self, run: Run) -> Job:
        return self.studies.open_job(run)

    def _open_context(self, run: Run) -> RunContext:
        options = RunOptions.model_validate(run.options)
        provider, model, prices = self.models.provider(options.model)
        if self.sandbox is None:
            raise LogicianError("The sandbox is not ready.")
        artifacts = self.artifacts(run.thread_id or run.id)
        artifacts.mkdir(parents=True, exist_ok=True)
        return RunContext(
            run=run,
            options=options,
            owner=self.registry.id,
            ledger=self.ledger,
            threads=self.threads,
            preferences=self.preferences,
            branches=self._branches,
            answer_message_id=run.answer_message_id,
            provider=provider,
            model=model,
            prices=prices,
            bus=self.bus,
            sandbox=self.sandbox,
            workspace=Path(options.workspace),
            artifacts=artifacts,
            usage=RunUsage.model_validate(run.usage),
        )

    # Settings

    @property
    def settings(self) -> Settings:
        """The settings as they are now."""
        return self._settings

    def _load_settings(self) -> Settings:
        stored = self.preferences.settings()
        key = self.secrets.get("api_key")
        return Settings.load({**stored, "api_key": key} if key is not None else stored)

    def save_settings(self, values: Mapping[str, Any], *, api_key: str | None = None) -> None:
        """Store settings (None removes one); ``api_key`` "" removes the key. On ``SettingsError`` nothing is stored."""
        unknown = set(values) - STORABLE
        if unknown:
            raise SettingsError(f"These settings cannot be stored: {sorted(unknown)}.")
        merged = {**self.preferences.settings(), **values}
        Settings.load({name: value for name, value in merged.items() if value is not None})
        for name, value in values.items():
            self.preferences.put_setting(name, value)
        if api_key == "":
            self.secrets.delete("api_key")
        elif api_key is not None:
            self.secrets.put("api_key", api_key)
        self._settings = self._load_settings()

    def choose_workspace(self, path: str, *, create: bool = False) -> None:
        """Store the workspace folder of new threads, making it first if asked. Raises ``SettingsError``."""
        self.save_settings({"workspace": str(usable_workspace(path, create=create))})

    def can_create_workspace(self, path: str) -> bool:
        """True when making the folder would turn ``path`` into a usable workspace, as far as can be told."""
        return missing_workspace(path)

    def probe_isolation(self) -> tuple[LevelProbe, ...]:
        """Try every isolation level for real; blocks for some seconds."""
        return self._loop.submit(probe_levels()).result()

    def check_endpoint(self, base_url: str, api_key: str | None, model: str) -> ProviderCheck:
        """Try an endpoint for real; blocks until it answered. ``api_key`` None uses the configured one."""
        key = SecretStr(api_key) if api_key else self.settings.api_key
        return self._loop.submit(self.models.check(base_url, key, model)).result()

    # Threads and runs

    def options(self, thread: Thread | None = None, **overrides: Any) -> RunOptions:
        """What a new run is asked to do: the thread's choices over the settings."""
        settings = self.settings
        workspace = (thread.workspace if thread else None) or str(settings.workspace)
        values: dict[str, Any] = {
            "model": (thread.model if thread else None) or self.models.default_ref(),
            "mode": (thread.mode if thread else None) or settings.mode,
            "workspace": workspace,
            "max_turns": settings.max_turns,
            "max_tool_calls": settings.max_tool_calls,
            "max_tokens": settings.max_tokens,
            "max_seconds": settings.max_seconds,
            "max_cost_usd": settings.max_cost_usd,
            "temperature": settings.temperature,
        }
        options = RunOptions(**{**values, **{k: v for k, v in overrides.items() if v is not None}})
        folder = Path(options.workspace)
        if not folder.is_dir():
            raise UsageError(f"The workspace {options.workspace!r} is not a folder: choose another in the settings.")
        return options

    def new_thread(self, **choices: str | None) -> Thread:
        """A new empty thread; it keeps the workspace it starts with."""
        values = {"workspace": str(self.settings.workspace), **{k: v for k, v in choices.items() if v is not None}}
        return self.threads.create(**values)

    def send(
        self,
        thread_id: str,
        text: str,
        *,
        files: Sequence[tuple[str, bytes]] = (),
        reserved: bool = False,
        **overrides: Any,
    ) -> Run:
        """Send a message with text files to a thread and queue the run that answers it."""
        thread = self.conversations.thread(thread_id)
        options = self.options(thread, **overrides)
        return self.conversations.send(
            thread_id,
            text,
            options,
            attachments=[self._attach(thread_id, name, data) for name, data in files],
            context=self._surroundings(thread, options),
            reserved_for=self.registry.id if reserved else None,
        )

    def edit(self, message_id: str, text: str) -> Run:
        """Ask again with other words, as a new branch."""
        thread = self._thread_of(message_id)
        options = self.options(thread)
        return self.conversations.edit(message_id, text, options, context=self._listing(options))

    def regenerate(self, message_id: str) -> Run:
        """Answer the person's message ``message_id`` again, as a new branch."""
        return self.conversations.regenerate(message_id, self.options(self._thread_of(message_id)))

    def _thread_of(self, message_id: str) -> Thread:
        message = self.threads.message(message_id)
        if message is None:
            raise NotFound(f"There is no message {message_id!r}.")
        return self.conversations.thread(message.thread_id)

    def _listing(self, options: RunOptions) -> str | None:
        return list_workspace(Path(options.workspace), contents=options.model.startswith(LOCAL_PREFIX))

    def _surroundings(self, thread: Thread, options: RunOptions) -> str | None:
        """The workspace's files, unless the branch's newest listing says the same."""
        listing = self._listing(options)
        if listing is None or thread.leaf_id is None:
            return listing
        for message in reversed(self.threads.branch(thread.leaf_id, limit=16)):
            if (known := (message.extra or {}).get("context")) is not None:
                return None if known == listing else listing
        return listing

    def _attach(self, thread_id: str, name: str, data: bytes) -> Attachment:
        if b"\x00" in data[:8192]:
            raise UsageError(f"{name!r} is not a text file: attach text, or put the file in the workspace.")
        folder = self.artifacts(thread_id) / "attachments"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{new_id()[-6:]}-{Path(name).name[-100:] or 'file'}"
        path.write_bytes(data)
        return Attachment(Path(name).name, data.decode("utf-8", "replace"), str(path))

    def cancel(self, run_id: str) -> None:
        """Ask a run to stop; at once when this engine runs it. Raises ``NotFound``."""
        if self.ledger.request_cancel(run_id) is None:
            raise NotFound(f"There is no run {run_id!r}.")
        if self._worker is not None:
            self._loop.call(self._worker.signal_cancel, run_id)

    def answer_approval(
        self,
        approval_id: str,
        decision: Literal["allow", "deny"],
        *,
        reason: str = "",
        always: int | None = None,
        by: str | None = None,
    ) -> None:
        """Answer an approval; ``always`` stores the request's suggestion of that number as a standing rule.

        ``by`` names the signed-in person, where there is one. Raises ``Conflict`` when it is not open any more.
        """
        approval = self._asked(approval_id, "approval")
        answer: dict[str, Any] = {"decision": decision, "reason": reason.strip()[:2000]} | ({"by": by} if by else {})
        rule = _rule(approval.request["suggestions"][always]) if always is not None and decision == "allow" else None
        if rule is not None:
            answer["rule_id"] = rule.id
        self._answer(approval_id, answer)
        if rule is not None:  # only now: an answer that came too late must leave no rule behind
            self.preferences.put_rule(rule)

    def answer_question(self, approval_id: str, text: str, *, by: str | None = None) -> None:
        """Answer a question of the agent. Raises ``Conflict`` when it is not open any more."""
        self._asked(approval_id, "question")
        if not text.strip():
            raise UsageError("The answer is empty: write something first.")
        self._answer(approval_id, {"text": text.strip()} | ({"by": by} if by else {}))

    def _asked(self, approval_id: str, kind: Literal["approval", "question"]) -> Approval:
        approval = self.approval(approval_id)
        if approval.kind != kind:
            needed = "in words" if approval.kind == "question" else "with allow or deny"
            raise UsageError(f"Request {approval_id!r} must be answered {needed}.")
        return approval

    def _answer(self, approval_id: str, answer: dict[str, Any]) -> None:
        try:
            self.ledger.answer(approval_id, answer)
        except NotOpen as error:
            raise Conflict(_why_not_open(self.approval(approval_id))) from error
        self._wake()

    def approval(self, approval_id: str) -> Approval:
        """An approval or question; raises ``NotFound``."""
        approval = self.ledger.approval(approval_id)
        if approval is None:
            raise NotFound(f"There is no request {approval_id!r}.")
        return approval

    # Views

    def thread_view(self, thread_id: str, *, limit: int = 40) -> ThreadView:
        """The newest part of a thread as the chat page shows it."""
        return thread_view(self.ledger, self.threads, self.hub, self.conversations.thread(thread_id), limit=limit)

    def run(self, run_id: str) -> Run:
        """A run; raises ``NotFound``."""
        run = self.ledger.get(run_id)
        if run is None:
            raise NotFound(f"There is no run {run_id!r}.")
        return run

    def run_view(self, run_id: str) -> RunView:
        """A run folded from its events."""
        return fold(run_id, self.hub.stored(run_id))

    # The gateway's door

    async def follow(self, run_id: str, after: int = 0) -> AsyncIterator[dict[str, Any]]:
        """Envelopes of a run after ``after``, live, on the caller's loop."""
        async with aclosing(self.hub.follow(run_id, after)) as events:
            async for item in events:
                yield item

    def run_json(self, run_id: str) -> dict[str, Any]:
        """A run as JSON."""
        return self.run(run_id).model_dump(exclude={"owner", "reserved_for"})

    def export_thread(self, thread_id: str, fmt: Literal["md", "json"]) -> str:
        """A thread as Markdown (the shown branch) or JSON (everything)."""
        thread = self.conversations.thread(thread_id)
        runs = {run.id: run for run in self.ledger.of_thread(thread_id)}
        if fmt == "md":
            branch = self.threads.branch(thread.leaf_id) if thread.leaf_id else []
            return to_markdown(thread, branch, runs)
        events = {run_id: self.hub.stored(run_id) for run_id in runs}
        return to_json(thread, self.threads.all_messages(thread_id), runs, events)

    def change_token(self) -> str:
        """A text that differs from before when anything was committed here or the engine's own state changed."""
        return f"{self.registry.id}.{self.hub.version}.{self.problem is None:d}.{self.sandbox is None:d}"

    def health(self) -> Any:
        """What ``/readyz`` and ``/metrics`` show, measured now."""
        return {
            "database_writable": self.ledger.writable(),
            "loop_alive": self._loop.alive and self.problem is None,
            "provider": self.models.health(),
            "runs": self.ledger.count_by_status(),
            "events_written": self.hub.events_written,
        }


def _why_not_open(approval: Approval) -> str:
    if approval.state == "withdrawn":
        return "This needs no answer any more: its run has ended, or a rule decided it."
    answer = approval.answer or {}
    said = {"allow": "allowed", "deny": "denied"}.get(answer.get("decision", ""), f"“{answer.get('text', '')[:80]}”")
    return f"This was answered already: {said}. The first answer counts."


def _rule(suggestion: Mapping[str, Any]) -> Rule:
    return Rule(
        id=new_id(),
        action=suggestion["action"],
        tool=suggestion["tool"],
        argv_prefix=suggestion["argv_prefix"],
        path_prefix=suggestion["path_prefix"],
        workspace=suggestion["workspace"],
        note=suggestion["note"],
        created_at=now(),
    )
