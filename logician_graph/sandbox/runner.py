"""Running one command through the launcher: start, follow, stop, tidy up. The same for every isolation level.

The event loop is never blocked: waiting is on a descriptor, file work is a few small calls. However ``run`` is left
(result, error, cancelled task, killed app) the launcher notices its control pipe closing and kills the command.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self

from logician_graph.errors import SandboxError
from logician_graph.sandbox.environment import child_environment, git_identity, search_path
from logician_graph.sandbox.grants import system_readable, system_writable
from logician_graph.sandbox.launcher import processes
from logician_graph.sandbox.launcher.job import (
    FAST_GRACE_S,
    GENTLE_GRACE_S,
    STOP_FAST,
    STOP_GENTLY,
    SWEEP_LIMIT_S,
    Job,
    Report,
)
from logician_graph.sandbox.output import OutputFollower, open_output
from logician_graph.sandbox.types import CommandResult, IsolationLevel, SandboxPolicy

_LAUNCHER = Path(__file__).parent / "launcher"
_TICK_S = 0.1
_FAST_TICK_S = 0.03
_TIDY_WAIT_S = 0.1

Ended = Literal["exited", "timeout", "cancelled", "output_limit"]


@dataclass(slots=True)
class LaunchedSandbox:
    """A :class:`~logician_graph.sandbox.types.Sandbox`: one launcher process per command. Many may run at once."""

    level: IsolationLevel
    warning: str | None = None
    _tidying: set[asyncio.Future[None]] = field(default_factory=set[asyncio.Future[None]], init=False, repr=False)

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
        private = Path(tempfile.mkdtemp(prefix="logician-"))
        output = -1
        try:
            try:
                output = open_output(output_path)
            except OSError as error:
                raise SandboxError(f"The output file {str(output_path)!r} cannot be made: {error.strerror}.") from error
            marker = secrets.token_hex(8)
            job = self._job(argv, cwd=cwd, policy=policy, env=env or {}, private=private, marker=marker)
            follower = OutputFollower(output, policy.output_bytes, on_output)
            started = time.monotonic()
            with _Launched(job, private, output) as launched:
                ended = await self._follow(launched, follower, timeout_s, cancelled)
                report = launched.final_report(marker)
            return _result(report, ended, started, output_path, follower, policy)
        finally:
            if output >= 0:
                os.close(output)
            await self._tidy(private)

    def _job(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        policy: SandboxPolicy,
        env: Mapping[str, str],
        private: Path,
        marker: str,
    ) -> Job:
        for folder in (cwd, *policy.writable):
            if (not folder.is_dir() and folder not in policy.writable) or not folder.exists():
                raise SandboxError(f"The folder {str(folder)!r} does not exist; create it or choose another.")
        home, scratch = private / "home", private / "tmp"
        home.mkdir()
        scratch.mkdir()
        (home / ".gitconfig").write_text(git_identity(cwd), encoding="utf-8")
        writable = [*_real(policy.writable), *_real((home, scratch)), *map(str, system_writable())]
        readable = [*map(str, system_readable()), *_real(policy.readable)]
        roots = None if self.level is IsolationLevel.RLIMITS else [Path(path) for path in (*readable, *writable)]
        path = search_path(os.environ, roots)
        environment = child_environment(os.environ, env, path=path, home=home, scratch=scratch, marker=marker)
        return Job(
            level=self.level.value,
            argv=[_program(argv, environment["PATH"]), *argv[1:]],
            cwd=os.path.realpath(cwd),
            env=environment,
            writable=writable,
            readable=readable,
            network=policy.network,
            memory_bytes=policy.memory_bytes,
            processes=policy.processes,
            file_bytes=policy.file_bytes,
            report_fd=-1,
            import_path=[entry for entry in sys.path if entry] if self.level is IsolationLevel.FULL else [],
        )

    async def _follow(
        self, launched: _Launched, follower: OutputFollower, timeout_s: float, cancelled: asyncio.Event | None
    ) -> Ended:
        """Show output until the launcher is done; tell it to stop when time, output or patience run out."""
        deadline = time.monotonic() + timeout_s
        stop = asyncio.ensure_future(cancelled.wait()) if cancelled is not None else None
        wakers = {launched.done} if stop is None else {launched.done, stop}
        tick = _FAST_TICK_S
        try:
            while True:
                wait = max(0.0, min(tick, deadline - time.monotonic()))
                await asyncio.wait(wakers, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
                tick = _FAST_TICK_S if follower.poll() else _TICK_S
                if launched.done.done():
                    return "output_limit" if follower.over_limit else "exited"
                if stop is not None and stop.done():
                    await launched.stop(STOP_FAST, FAST_GRACE_S)
                    return "cancelled"
                if follower.over_limit:
                    await launched.stop(STOP_FAST, FAST_GRACE_S)
                    return "output_limit"
                if time.monotonic() >= deadline:
                    await launched.stop(STOP_GENTLY, GENTLE_GRACE_S)
                    return "timeout"
        finally:
            if stop is not None:
                stop.cancel()

    async def _tidy(self, private: Path) -> None:
        """Remove the command's private folder; a big one goes on being removed after ``run`` has returned."""
        removal = asyncio.get_running_loop().run_in_executor(None, _remove, private)
        self._tidying.add(removal)
        removal.add_done_callback(self._tidying.discard)
        await asyncio.wait({removal}, timeout=_TIDY_WAIT_S)


class _Launched:
    """A running launcher. Leaving the context closes its control pipe, which ends the command whatever happened."""

    def __init__(self, job: Job, private: Path, output: int) -> None:
        self._job, self._private, self._output = job, private, output
        self._received = bytearray()

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self._loop.create_future()
        self._report_read, report_write = os.pipe()
        try:
            self._job["report_fd"] = report_write
            job_file = self._private / "job.json"
            job_file.write_text(json.dumps(self._job), encoding="utf-8")
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_LAUNCHER), str(job_file)],
                stdin=subprocess.PIPE,
                stdout=self._output,
                stderr=self._output,
                cwd="/",
                env=_launcher_environment(self._private),
                pass_fds=(report_write,),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            os.close(self._report_read)
            raise SandboxError(f"The command's supervisor could not be started: {error}") from error
        finally:
            os.close(report_write)
        os.set_blocking(self._report_read, False)
        self._loop.add_reader(self._report_read, self._on_report)
        return self

    def __exit__(self, *_exception: object) -> None:
        self._loop.remove_reader(self._report_read)
        os.close(self._report_read)
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        if self.done.done():
            # It has closed its report, so it is past its last statement.
            self._process.wait()
        else:
            _reap_later(self._process)

    def _on_report(self) -> None:
        with contextlib.suppress(BlockingIOError):
            received = os.read(self._report_read, 65536)
            if received:
                self._received += received
                return
            self._loop.remove_reader(self._report_read)
            if not self.done.done():
                self.done.set_result(None)

    async def stop(self, how: bytes, grace_s: float) -> None:
        """Have the launcher end the command; end both by force when it does not answer in time."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.write(how)
                self._process.stdin.flush()
        await asyncio.wait({self.done}, timeout=grace_s + SWEEP_LIMIT_S + 0.5)
        if not self.done.done():
            processes.kill_tree(self._process.pid, limit_s=0.5)
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await asyncio.wait({self.done}, timeout=0.5)

    def final_report(self, marker: str) -> Report:
        """The launcher's last word. Was it killed before it could give one, its command is found and killed here."""
        lines = [json.loads(line) for line in self._received.splitlines()]
        merged: Report = {}
        for part in lines:
            merged.update(part)
        if len(lines) < 2 and "error" not in merged:
            left = processes.strays(merged.get("pid", -1), f"LOGICIAN_SANDBOX={marker}")
            processes.signal_all(left, signal.SIGKILL)
            merged.update(
                {"signal": signal.SIGKILL, "note": "the command's supervisor was killed, and the command with it"}
            )
        return merged


def _result(
    report: Report,
    ended: Ended,
    started: float,
    output_path: Path,
    follower: OutputFollower,
    policy: SandboxPolicy,
) -> CommandResult:
    if "error" in report:
        raise SandboxError(f"The command could not be started: {report['error']}.")
    note = report.get("note")
    if ended == "output_limit":
        note = f"stopped: more than {policy.output_bytes} bytes of output"
    size = follower.finish(note)
    return CommandResult(
        exit_code=report.get("exit_code") if ended == "exited" else None,
        signal=report.get("signal"),
        duration_s=time.monotonic() - started,
        ended=ended,
        output_path=output_path,
        output_bytes=size,
    )


def _program(argv: Sequence[str], path: str) -> str:
    """Absolute path of the program; raises SandboxError naming it when it is not there."""
    if not argv:
        raise SandboxError("There is no command to run.")
    if "/" in argv[0]:
        return argv[0]
    found = shutil.which(argv[0], path=path)
    if found is None:
        raise SandboxError(f"The program {argv[0]!r} is not on the PATH of sandboxed commands ({path}).")
    return found


def _launcher_environment(private: Path) -> dict[str, str]:
    """As good as empty: a command may be able to read it. sandlock asks for a home, which not every user has."""
    passed_on = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return {"HOME": str(private), **passed_on}


def _real(paths: Sequence[Path]) -> list[str]:
    return [os.path.realpath(path) for path in paths]


def _reap_later(process: subprocess.Popen[bytes]) -> None:
    """Collect a launcher that is on its way out without waiting for it here."""
    from threading import Thread

    Thread(target=process.wait, name="sandbox-reaper", daemon=True).start()


def _remove(folder: Path) -> None:
    """Remove ``folder`` although a command may have taken its own rights to parts of it."""

    def retry(function: Callable[[str], object], path: str, _error: object) -> None:
        with contextlib.suppress(OSError):
            Path(path).parent.chmod(stat.S_IRWXU)
            Path(path).chmod(stat.S_IRWXU)
            function(path)

    shutil.rmtree(folder, onerror=retry)
