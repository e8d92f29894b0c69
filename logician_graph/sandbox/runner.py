"""Running one command through the launcher: start, follow, stop, tidy up. The same for every isolation level.

The event loop is never blocked: starting and tidying are done in threads, waiting is on a descriptor. However ``run``
is left (result, error, cancelled task, killed app), the control pipe closes and the launcher ends the command.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Literal, Self

from logician_graph.errors import SandboxError
from logician_graph.sandbox.launch import Command, Launch, launch, remove
from logician_graph.sandbox.launcher import processes
from logician_graph.sandbox.launcher.job import (
    FAST_GRACE_S,
    GENTLE_GRACE_S,
    STOP_FAST,
    STOP_GENTLY,
    SWEEP_LIMIT_S,
    Report,
)
from logician_graph.sandbox.output import OutputFollower
from logician_graph.sandbox.types import CommandResult, IsolationLevel, SandboxPolicy

_TICK_S = 0.1
_FAST_TICK_S = 0.03
_TIDY_WAIT_S = 0.1

Ended = Literal["exited", "timeout", "cancelled", "output_limit"]


@dataclass(slots=True)
class LaunchedSandbox:
    """A :class:`~logician_graph.sandbox.types.Sandbox`: one launcher process per command. Many may run at once."""

    level: IsolationLevel
    warning: str | None = None
    _background: set[asyncio.Future[None]] = field(default_factory=set[asyncio.Future[None]], init=False, repr=False)

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        policy: SandboxPolicy,
        output_path: Path,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        cancelled: asyncio.Event | None = None,
        on_output: Callable[[bytes], None] | None = None,
    ) -> CommandResult:
        """See :meth:`logician_graph.sandbox.types.Sandbox.run`."""
        started = time.monotonic()
        launched = await self._launch(Command(tuple(argv), cwd, policy, output_path, env or {}))
        try:
            follower = OutputFollower(launched.output, policy.output_bytes, on_output)
            with _Following(launched, follower) as following:
                ended = await _follow(following, follower, started + timeout_s, cancelled)
                report = following.final_report()
            while follower.move(launched.pipe):
                pass
            if follower.problem is not None:
                raise SandboxError(f"The command's output could not be kept: {follower.problem}.")
            size = follower.finish(_note(report, ended, policy))
        finally:
            launched.close()
            await self._tidy(launched.private)
        if "error" in report:
            raise SandboxError(f"The command could not be started: {report['error']}.")
        return CommandResult(
            exit_code=report.get("exit_code") if ended == "exited" else None,
            signal=report.get("signal"),
            duration_s=time.monotonic() - started,
            ended=ended,
            output_path=output_path,
            output_bytes=size,
        )

    async def _launch(self, command: Command) -> Launch:
        """Start in a thread. When this task is cancelled meanwhile, what was started is given up as soon as it is."""
        # Not a task: who cancels every task of the loop at its end must not lose what the thread brings.
        starting = asyncio.get_running_loop().run_in_executor(None, launch, self.level, command)
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            self._keep(asyncio.ensure_future(_give_up(starting)))
            raise

    async def _tidy(self, private: Path) -> None:
        """Remove the command's private folder; a big one goes on being removed after ``run`` has returned."""
        removal = asyncio.ensure_future(asyncio.to_thread(remove, private))
        self._keep(removal)
        await asyncio.wait({removal}, timeout=_TIDY_WAIT_S)

    def _keep(self, task: asyncio.Future[None]) -> None:
        # The loop itself holds tasks only weakly.
        self._background.add(task)
        task.add_done_callback(self._background.discard)


async def _give_up(starting: asyncio.Future[Launch]) -> None:
    with contextlib.suppress(SandboxError):
        launched = await starting
        launched.close()
        _reap_later(launched)
        await asyncio.to_thread(remove, launched.private)


async def _follow(
    following: _Following, follower: OutputFollower, deadline: float, cancelled: asyncio.Event | None
) -> Ended:
    """Show output until the launcher is done; tell it to stop when time, output or patience run out."""
    stop = asyncio.ensure_future(cancelled.wait()) if cancelled is not None else None
    wakers = {following.done} if stop is None else {following.done, stop}
    tick = _FAST_TICK_S
    try:
        while True:
            wait = max(0.0, min(tick, deadline - time.monotonic()))
            await asyncio.wait(wakers, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            tick = _FAST_TICK_S if follower.poll() else _TICK_S
            if following.done.done():
                return "output_limit" if follower.over_limit else "exited"
            if stop is not None and stop.done():
                await following.stop(STOP_FAST, FAST_GRACE_S)
                return "cancelled"
            if follower.over_limit:
                await following.stop(STOP_FAST, FAST_GRACE_S)
                return "output_limit"
            if time.monotonic() >= deadline:
                await following.stop(STOP_GENTLY, GENTLE_GRACE_S)
                return "timeout"
    finally:
        if stop is not None:
            stop.cancel()


class _Following:
    """Listens to a launcher's report; ``done`` is set when the launcher has ended."""

    def __init__(self, launched: Launch, follower: OutputFollower) -> None:
        self._launched = launched
        self._follower = follower
        self._received = bytearray()

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(self._launched.report, self._on_report)
        self._loop.add_reader(self._launched.pipe, self._on_output)
        return self

    def __exit__(self, *_exception: object) -> None:
        self._loop.remove_reader(self._launched.report)
        self._loop.remove_reader(self._launched.pipe)
        _reap_later(self._launched)

    def _on_output(self) -> None:
        if not self._follower.move(self._launched.pipe):  # its end, or its bound
            self._loop.remove_reader(self._launched.pipe)

    def _on_report(self) -> None:
        with contextlib.suppress(BlockingIOError):
            received = os.read(self._launched.report, 65536)
            if received:
                self._received += received
                return
            self._loop.remove_reader(self._launched.report)
            if not self.done.done():
                self.done.set_result(None)

    async def stop(self, how: bytes, grace_s: float) -> None:
        """Have the launcher end the command; end both by force when it does not answer in time."""
        self._launched.tell(how)
        await asyncio.wait({self.done}, timeout=grace_s + SWEEP_LIMIT_S + 0.5)
        if not self.done.done():
            pid = self._launched.process.pid
            await asyncio.to_thread(processes.kill_tree, pid, limit_s=0.5)
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
            await asyncio.wait({self.done}, timeout=0.5)

    def final_report(self) -> Report:
        """The launcher's last word. Was it killed before it could give one, its command is found and killed here."""
        lines = [json.loads(line) for line in self._received.splitlines()]
        merged: Report = {}
        for part in lines:
            merged.update(part)
        if len(lines) < 2 and "error" not in merged:
            left = processes.strays(merged.get("pid", -1), f"LOGICIAN_SANDBOX={self._launched.marker}")
            processes.signal_all(left, signal.SIGKILL)
            note = "the command's supervisor was killed, and the command with it"
            merged.update({"signal": int(signal.SIGKILL), "note": note})
        return merged


def _note(report: Report, ended: Ended, policy: SandboxPolicy) -> str | None:
    if ended == "output_limit":
        return f"stopped: more than {policy.output_bytes} bytes of output"
    return report.get("note")


def _reap_later(launched: Launch) -> None:
    """Collect the launcher when it ends; at once where it has."""
    if launched.process.poll() is None:
        Thread(target=launched.process.wait, name="sandbox-reaper", daemon=True).start()
