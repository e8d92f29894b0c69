"""A child that dies and an engine in this process that finds what it left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from storage import Run
from tests.crash.tools import register
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.tools import executions
from tests.orchestrator.harness import Harness

ROOT = Path(__file__).parents[2]


class Zygote:
    """The process that forks children; see ``tests.crash.child``."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert self._answer() == {"ready": True}

    def order(self, order: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the zygote died"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        self.process.communicate(timeout=10)


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    made = Zygote()
    yield made
    made.close()


class Scene:
    """One home, one endpoint, first a child and then this process."""

    def __init__(self, zygote: Zygote, fake: FakeOpenAI, folder: Path) -> None:
        self.fake = fake
        self.effects = folder / "effects.txt"
        self.run_id = ""
        self.pid = 0
        self._zygote = zygote
        self._folder = folder
        self._harnesses: list[Harness] = []

    def begin(self, ask: str, *, kill: tuple[str, str, int] | None = None, **options: Any) -> None:
        """Start a child on ``ask``; returns when its run is accepted."""
        order = {"ask": ask, "kill": kill, "options": options, "folder": str(self._folder), "env": dict(os.environ)}
        self.pid = self._zygote.order(order)["pid"]
        deadline = time.monotonic() + 30
        accepted = self._folder / "run.txt"
        while not accepted.exists():
            assert time.monotonic() < deadline, "the child accepted no run"
            time.sleep(0.01)
        self.run_id = accepted.read_text("utf-8")

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self) -> int:
        """The child's exit code, or minus the signal that ended it."""
        status: int = self._zygote.order({"wait": self.pid})["status"]
        self.pid = 0
        return status

    def died(self) -> None:
        """Wait for the child's SIGKILL."""
        assert self.wait() == -signal.SIGKILL

    def reopen(self) -> Harness:
        """An engine in this process on the same home."""
        harness = Harness(self.fake)
        register(harness.engine, self.effects)
        self._harnesses.append(harness)
        return harness.start()

    @property
    def executions(self) -> list[str]:
        return executions(self.effects)

    def close(self) -> None:
        if self.pid:
            self.signal(signal.SIGKILL)
            self.wait()
        for harness in self._harnesses:
            harness.stop()


@pytest.fixture
def scene(zygote: Zygote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    with FakeOpenAI() as fake:
        monkeypatch.setenv("LOGICIAN_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("LOGICIAN_BASE_URL", fake.base_url)
        monkeypatch.setenv("LOGICIAN_MODEL", "fake-model")
        monkeypatch.setenv("LOGICIAN_API_KEY", "sk-test-0123456789")
        opened = Scene(zygote, fake, tmp_path)
        try:
            yield opened
        finally:
            opened.close()


@pytest.fixture
def sound() -> Callable[[Harness, Run], None]:
    """Checks what must hold for a run however often it was interrupted."""
    return _sound


def _sound(h: Harness, run: Run) -> None:
    h.check_thread(run.thread_id)
    events = h.events(run)
    seqs = [event["seq"] for event in events]
    assert seqs == sorted(set(seqs))
    kinds = [event["type"] for event in events]
    assert (kinds[-1], kinds.count("run.finished"), kinds.count("run.queued")) == ("run.finished", 1, 1)
    for kind, key in (("message.added", "message_id"), ("tool.finished", "call_id"), ("model.finished", "call_id")):
        values = [event["data"][key] for event in events if event["type"] == kind]
        assert len(set(values)) == len(values), f"{kind} twice for one {key}"
    asked = [event["data"]["call_id"] for event in events if event["type"] == "approval.requested"]
    assert len(set(asked)) == len(asked)
    branch = h.branch(run.thread_id)
    added = [event["data"]["message_id"] for event in events if event["type"] == "message.added"]
    assert added and set(added) == {message.id for message in branch if message.run_id == run.id}
    assert len(h.engine.threads.all_messages(run.thread_id or "")) == len(branch), "no message hangs beside the branch"
    assert all(step.state not in ("running", "waiting") for step in h.view(run).steps)
    after = h.run("say next", run.thread_id)
    assert (after.outcome, h.answer(after)) == ("completed", "next")
    h.check_thread(run.thread_id)
