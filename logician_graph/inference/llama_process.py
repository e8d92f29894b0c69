"""Owns one llama.cpp server process: start, liveness, stop.

The child is ``llama_child``; it listens on loopback under a random key that only this process knows, and it dies with
this process. What it prints goes to a log file, never to a pipe. Nothing here speaks HTTP.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

from pydantic import SecretStr

import logician_graph
from logician_graph.errors import ModelNotReady
from logician_graph.inference.llama_child import ChildOptions
from logician_graph.inference.machine import Threads

_STOP_S = 3.0
_LONGEST_LOG = 4 * 1024 * 1024
_TAIL = 2000


class LlamaProcess:
    """A running server. Made by :meth:`start`; never restarts by itself."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, api_key: str) -> None:
        self._process = process
        self.port = port
        self.api_key = SecretStr(api_key)

    def __repr__(self) -> str:
        return f"LlamaProcess(pid={self._process.pid}, port={self.port})"

    @classmethod
    async def start(
        cls, model_path: Path, *, alias: str, n_ctx: int, n_parallel: int, threads: Threads, log: Path, timeout_s: float
    ) -> LlamaProcess:
        """Start the child and wait until the weights are loaded. Raises ``ModelNotReady``."""
        key = secrets.token_urlsafe(32)
        options = ChildOptions(
            str(model_path),
            key,
            alias=alias,
            n_ctx=n_ctx,
            n_parallel=n_parallel,
            n_threads=threads.writing,
            n_threads_prompt=threads.reading,
        )
        spawning = asyncio.ensure_future(asyncio.to_thread(_spawn, options, log))
        try:
            process = await asyncio.shield(spawning)
        except asyncio.CancelledError:
            _kill(await spawning)  # the thread makes the child all the same; it must not be left without an owner
            raise
        try:
            async with asyncio.timeout(timeout_s):
                answer = await asyncio.to_thread(_read_answer, process)
        except TimeoutError:
            _kill(process)
            raise ModelNotReady(f"{model_path.name!r} was not loaded within {timeout_s:.0f} s; see {log}.") from None
        except asyncio.CancelledError:
            _kill(process)
            raise
        if "port" not in answer:
            _kill(process)
            reason = _reason(answer, log)
            mend = (
                "A library of this machine is missing: `logician doctor` says which package brings it."
                if "ImportError" in reason
                else "The file may be damaged: delete it and download it again."
            )
            raise ModelNotReady(f"llama.cpp could not load {model_path.name!r}: {reason} {mend} Details are in {log}.")
        return cls(process, int(answer["port"]), key)

    @property
    def alive(self) -> bool:
        """Whether the child still runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """How it ended; negative for a signal; None while it runs."""
        return self._process.poll()

    async def stop(self) -> None:
        """End the child: politely by closing its stdin, by force after a moment. Safe to call twice."""
        await asyncio.to_thread(_stop, self._process)


def _spawn(options: ChildOptions, log: Path) -> subprocess.Popen[bytes]:
    log.parent.mkdir(parents=True, exist_ok=True)
    fresh = not log.exists() or log.stat().st_size > _LONGEST_LOG
    root = Path(logician_graph.__file__).resolve().parent.parent
    with log.open("wb" if fresh else "ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "logician_graph.inference.llama_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            cwd=root,
            start_new_session=True,  # Ctrl-C in the terminal is for the engine, which then stops the child
        )
    assert process.stdin is not None
    try:
        process.stdin.write(options.to_line().encode())
        process.stdin.flush()
    except BrokenPipeError:
        pass  # it died at once; reading its answer tells
    return process


def _read_answer(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    try:
        answer: Any = json.loads(process.stdout.readline() or b"{}")
    except ValueError:
        answer = None
    return answer if isinstance(answer, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _reason(answer: dict[str, Any], log: Path) -> str:
    """What the child said, else the last error in its log."""
    said = str(answer.get("error") or "")
    try:
        lines = log.read_bytes()[-_TAIL:].decode("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    errors = [line for line in lines if "error" in line.lower()]
    last = errors[-1].strip() if errors else ""
    return f"{said or 'the process ended'}{f' ({last})' if last else ''}."


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    _close_pipes(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    _close_stdin(process)
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    _close_pipes(process)


def _close_stdin(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None and not process.stdin.closed:
        try:
            process.stdin.close()
        except BrokenPipeError:
            return  # it is gone already


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    _close_stdin(process)
    if process.stdout is not None:
        process.stdout.close()
