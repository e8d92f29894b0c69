"""The ``logician`` command as a real child process, with a home of its own and a fake endpoint."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.openai_server import FakeOpenAI

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 90


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    def lines(self) -> list[dict[str, Any]]:
        """stdout as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(api_key="sk-fake-0123456789") as server:
        yield server


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of the commands: this process's without its Logician settings, and a fresh home."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("LOGICIAN_") and k != "DATABASE_URL"}
    return {**kept, "LOGICIAN_HOME": str(tmp_path / "home")}


@pytest.fixture
def endpoint(environment: dict[str, str], fake: FakeOpenAI) -> dict[str, str]:
    """The same with the fake endpoint configured."""
    return {
        **environment,
        "LOGICIAN_BASE_URL": fake.base_url,
        "LOGICIAN_API_KEY": "sk-fake-0123456789",
        "LOGICIAN_MODEL": "fake-model",
    }


Start = Callable[..., subprocess.Popen[str]]
Run = Callable[..., Done]


@pytest.fixture
def start(environment: dict[str, str]) -> Iterator[Start]:
    """Start ``logician ARGUMENTS``; what is left at the end of the test is killed."""
    children: list[subprocess.Popen[str]] = []

    def starting(*arguments: str, env: Mapping[str, str] = environment, **options: Any) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, "-m", "logician_graph", *arguments],
            cwd=options.pop("cwd", ROOT),
            env=dict(env),
            stdin=options.pop("stdin", subprocess.DEVNULL),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )
        children.append(child)
        return child

    yield starting
    for child in children:
        if child.poll() is None:
            child.kill()
        child.communicate()


@pytest.fixture
def run(start: Start) -> Run:
    """Run ``logician ARGUMENTS`` to its end."""

    def running(*arguments: str, given: str | None = None, **options: Any) -> Done:
        if given is not None:
            options["stdin"] = subprocess.PIPE
        child = start(*arguments, **options)
        out, err = child.communicate(given, timeout=SECONDS)
        return Done(child.returncode, out, err)

    return running
