"""One worker: a freshly executed interpreter, spoken to over pipes. Never a fork of this process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import struct
import sys
from pathlib import Path
from typing import Any, Self

from logician_graph.eoh.evaluator.types import Isolation, ProblemSpec
from logician_graph.errors import SandboxError, UsageError

_WORKER = Path(__file__).resolve().parent / "worker"
_LENGTH = struct.Struct("<I")
_START_TIMEOUT_S = 60.0
_CLOSE_TIMEOUT_S = 2.0
_KEPT_COMPLAINT = 2000
_THREADS = ("OPENBLAS", "OMP", "MKL", "NUMEXPR", "VECLIB_MAXIMUM")


class WorkerDied(Exception):
    """The worker's process is gone; the message is the end of what it wrote to stderr."""


class WorkerProcess:
    """A judge and its nursery. Serves one request at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._complaint = ""
        self._listener = asyncio.create_task(self._listen())
        self._sets: set[str] = set()
        self.isolation = Isolation(landlock=False, filter=False)

    @classmethod
    async def start(cls, spec: ProblemSpec) -> Self:
        """Start and let it read the problem. Raises UsageError about the problem's files, SandboxError else."""
        # Not -I: it would ignore the hash seed too. The environment is ours alone, and -s and -P keep the rest out.
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-s", "-P", "-B", str(_WORKER), str(os.getpid()),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
                env=_environment(), cwd="/", start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise SandboxError(f"the evaluator's worker cannot be started: {error}") from error
        worker = cls(process)
        try:
            ready = await worker.ask({
                "do": "problem", "folder": spec.folder, "function": spec.function, "imports": spec.imports,
                "seconds": spec.seconds, "memory_mb": spec.memory_mb, "direction": spec.direction,
            }, timeout_s=_START_TIMEOUT_S)  # fmt: skip
        except (WorkerDied, TimeoutError) as error:
            await worker.kill()
            raise SandboxError(f"the evaluator's worker did not start: {error or 'no answer'}") from error
        except BaseException:
            await worker.kill()
            raise
        worker.isolation = Isolation(landlock=ready["landlock"], filter=ready["filter"])
        return worker

    async def hold(self, spec: ProblemSpec, name: str) -> None:
        """Let it load a set of instances, unless it has. Raises NotFound, UsageError, WorkerDied, TimeoutError."""
        files, overrides = spec.files_of(name)
        if name not in self._sets:
            message = {"do": "set", "name": name, "files": files, "overrides": overrides}
            await self.ask(message, timeout_s=_START_TIMEOUT_S)
            self._sets.add(name)

    async def ask(self, message: dict[str, Any], *, timeout_s: float) -> dict[str, Any]:
        """The answer. Raises WorkerDied, TimeoutError, and UsageError when the problem's files are at fault."""
        try:
            async with asyncio.timeout(timeout_s):
                self._send(message)
                answer = await self._answer()
        except TimeoutError:
            raise
        except (OSError, asyncio.IncompleteReadError) as error:
            await asyncio.wait([self._listener], timeout=_CLOSE_TIMEOUT_S)
            raise WorkerDied(self._complaint.strip()[-500:]) from error
        if "broken" in answer:
            raise UsageError(answer["broken"])
        return answer

    def interrupt(self) -> None:
        """Make the evaluation that runs answer ``cancelled``."""
        try:
            self._send({"do": "cancel"})
        except OSError:
            return

    async def close(self) -> None:
        """Let it end by itself, its children first; kill it if it does not."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                await self._process.wait()
        except TimeoutError:
            pass
        await self.kill()

    async def kill(self) -> None:
        """End it now. Its nursery sees the end of a socket, kills the candidate and follows."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        await asyncio.wait([self._listener], timeout=_CLOSE_TIMEOUT_S)
        self._listener.cancel()
        # The pipes' transports would otherwise be closed by a collector, with a warning.
        self._process._transport.close()  # type: ignore[attr-defined]

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        data = json.dumps(message).encode()
        if self._process.stdin.is_closing():
            raise BrokenPipeError
        self._process.stdin.write(_LENGTH.pack(len(data)) + data)

    async def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        (length,) = _LENGTH.unpack(await self._process.stdout.readexactly(_LENGTH.size))
        return json.loads(await self._process.stdout.readexactly(length))

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(4096):
            self._complaint = (self._complaint + data.decode(errors="replace"))[-_KEPT_COMPLAINT:]


def _environment() -> dict[str, str]:
    """Nothing of this process's own (keys!) but what an interpreter needs to start."""
    passed = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR") if name in os.environ}
    # Threads would be lost in a fork and change sums; a hash seed would change the order of sets.
    single = {f"{name}_NUM_THREADS": "1" for name in _THREADS} | {"VECLIB_MAXIMUM_THREADS": "1"}
    return {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONHASHSEED": "0", **single, **passed}
