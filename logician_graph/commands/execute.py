"""``logician exec``: one task from start to end, by the same engine as the pages, told on stdout.

The process serves just the run that it submits; a server on the same home goes on with its own. The run is an ordinary
one: it is found again in the thread list. Nobody can answer here, so what would need a person ends the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from logician_graph.commands.exit_codes import OF_OUTCOME, ExitCode
from logician_graph.commands.narration import JsonLines, Narrator, Prose
from logician_graph.errors import LogicianError, SettingsError, UsageError
from logician_graph.redaction import configure_logging
from logician_graph.settings import PermissionMode, Settings, ensure_home

if TYPE_CHECKING:
    from logician_graph.engine import Engine
    from storage import Run

_WATCH_S = 0.5
"""How often to see whether the engine can still work while no event comes."""
_END_S = 10.0
"""How long a run that nobody follows any more may take to end before it is left to the next start."""


@dataclass(frozen=True, slots=True)
class Task:
    """What was asked for on the command line; None leaves it to the settings."""

    text: str
    json: bool = False
    workspace: Path | None = None
    mode: PermissionMode | None = None
    verify: tuple[str, ...] = ()
    max_turns: int | None = None
    model: str | None = None


def execute(task: Task) -> ExitCode:
    """Do the task. Raises UsageError before anything is started when it cannot be what was meant."""
    if not task.text.strip():
        raise UsageError("The task is empty: say what is to be done.")
    if task.workspace is not None and not task.workspace.is_dir():
        raise UsageError(f"The workspace {str(task.workspace)!r} is not a folder.")
    settings = Settings.load()
    ensure_home(settings)
    # Log lines would drown what is told, so less is logged unless more was asked for.
    configure_logging(settings.log_level if settings.sources()["log_level"] != "default" else "error")
    narrator: Narrator = JsonLines(sys.stdout) if task.json else Prose(sys.stdout, sys.stderr)
    try:
        return asyncio.run(_execute(task, settings, narrator))
    except asyncio.CancelledError:  # a second signal
        return ExitCode.CANCELLED


async def _execute(task: Task, settings: Settings, narrator: Narrator) -> ExitCode:
    from logician_graph.engine import Engine

    engine = Engine(settings, only_own=True)
    await engine.start()
    try:
        run = _submit(engine, task)
        with Stopping(lambda: engine.cancel(run.id)):
            try:
                async for envelope in events_of(engine, run.id):
                    narrator.event(envelope)
            except BrokenPipeError:
                await _give_up(engine, run.id)
                raise
            result = _result(engine, engine.run(run.id))
            narrator.result(result)
            return OF_OUTCOME[result["outcome"]]
    finally:
        await engine.stop()


async def _give_up(engine: Engine, run_id: str) -> None:
    """Stop the run and see that it ends, within bounds."""
    engine.cancel(run_id)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_END_S):
            async for _ in events_of(engine, run_id):
                pass


def _submit(engine: Engine, task: Task) -> Run:
    model = None if task.model is None else reference_of(engine, task.model)
    thread = engine.new_thread(
        workspace=str(task.workspace.absolute()) if task.workspace is not None else None, mode=task.mode, model=model
    )
    return engine.send(
        thread.id,
        task.text,
        reserved=True,
        interactive=False,
        verify=task.verify,
        max_turns=task.max_turns,
    )


def reference_of(engine: Engine, name: str) -> str:
    """The model reference that ``name`` stands for: as it is, else a model of the configured provider."""
    from logician_graph.model_desk import ENDPOINT_PREFIX, LOCAL_PREFIX

    known = name.startswith((ENDPOINT_PREFIX, LOCAL_PREFIX))
    reference = name if known else f"{ENDPOINT_PREFIX if engine.settings.base_url else LOCAL_PREFIX}{name}"
    try:
        engine.models.config(reference)
    except SettingsError as error:
        raise UsageError(str(error)) from error
    return reference


async def events_of(engine: Engine, run_id: str) -> AsyncGenerator[Mapping[str, Any]]:
    """The run's events until it is done. Raises LogicianError when the engine has stopped working on runs."""
    following = cast("AsyncGenerator[Mapping[str, Any]]", engine.follow(run_id))
    async with contextlib.aclosing(following) as events:
        upcoming: asyncio.Future[Mapping[str, Any] | None] | None = None
        try:
            while True:
                upcoming = upcoming or asyncio.ensure_future(anext(events, None))
                await asyncio.wait({upcoming}, timeout=_WATCH_S)
                if upcoming.done():
                    envelope, upcoming = upcoming.result(), None
                    if envelope is None:
                        return
                    yield envelope
                elif engine.problem is not None:
                    raise LogicianError(f"The engine cannot work on runs: {engine.problem}")
        finally:
            if upcoming is not None:
                upcoming.cancel()
                await asyncio.gather(upcoming, return_exceptions=True)


def _result(engine: Engine, run: Run) -> dict[str, Any]:
    answer = engine.threads.message(run.answer_message_id) if run.answer_message_id else None
    return {
        "type": "result",
        "outcome": run.outcome,
        "reason": run.reason or "",
        "answer": answer.text if answer is not None else None,
        "usage": run.usage,
        "run_id": run.id,
        "thread_id": run.thread_id,
    }


class Stopping:
    """While it is entered, Ctrl-C and SIGTERM stop the run; a second one gives up waiting for it."""

    def __init__(self, stop: Callable[[], object]) -> None:
        self._stop = stop
        self._asked = False
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()

    def __enter__(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, self._signalled)

    def __exit__(self, *_: object) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.remove_signal_handler(number)

    def _signalled(self) -> None:
        if self._asked and self._task is not None:
            self._task.cancel()
            return
        self._asked = True
        self._stop()
