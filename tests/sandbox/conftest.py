"""One sandbox per isolation level that this machine allows; the others are skipped by name."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from logician_graph.errors import SandboxError
from logician_graph.sandbox import CommandResult, IsolationLevel, Sandbox, SandboxPolicy, select_sandbox

CONFINING = (IsolationLevel.FULL, IsolationLevel.LANDLOCK)


@lru_cache
def sandbox_at(level: IsolationLevel) -> Sandbox | str:
    try:
        return asyncio.run(select_sandbox(forced=level))
    except SandboxError as error:
        return str(error)


def sandbox_or_skip(level: IsolationLevel) -> Sandbox:
    sandbox = sandbox_at(level)
    if isinstance(sandbox, str):
        pytest.skip(sandbox)
    return sandbox


@pytest.fixture(params=list(IsolationLevel), ids=lambda level: level.value)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return sandbox_or_skip(request.param)


@pytest.fixture(params=CONFINING, ids=lambda level: level.value)
def confining(request: pytest.FixtureRequest) -> Sandbox:
    return sandbox_or_skip(request.param)


class Runner:
    """Runs shell text in a workspace below ``tmp_path`` and keeps the output at hand."""

    def __init__(self, root: Path) -> None:
        self.workspace = root / "workspace"
        self.workspace.mkdir()
        self.output_path = root / "output.txt"
        self.policy = SandboxPolicy(writable=(self.workspace,))

    @property
    def output(self) -> str:
        return self.output_path.read_text(encoding="utf-8", errors="replace")

    async def __call__(
        self,
        sandbox: Sandbox,
        command: str | list[str],
        *,
        timeout_s: float = 20.0,
        env: Mapping[str, str] | None = None,
        cancelled: asyncio.Event | None = None,
        on_output: Callable[[bytes], None] | None = None,
        **policy: Any,
    ) -> CommandResult:
        argv = ["bash", "-c", command] if isinstance(command, str) else command
        return await sandbox.run(
            argv,
            cwd=self.workspace,
            policy=replace(self.policy, **policy),
            output_path=self.output_path,
            timeout_s=timeout_s,
            env=env,
            cancelled=cancelled,
            on_output=on_output,
        )


Run = Callable[..., Awaitable[CommandResult]]


@pytest.fixture
def run(tmp_path: Path) -> Runner:
    return Runner(tmp_path)
