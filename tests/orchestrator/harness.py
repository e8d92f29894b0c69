"""A real engine to drive from tests: asks, waits for what happens, reads what was stored."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from logician_graph.engine import Engine
from logician_graph.orchestrator import RunView, fold, repair, to_chat
from logician_graph.settings import Settings, ensure_home
from storage import Approval, Message, Run, Thread
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.tools import FailingTool, FakeTool, SlowTool, declaration

PATIENCE_S = 30.0


class Harness:
    """An engine on its own home, the fake endpoint it talks to, and fake tools to count with."""

    def __init__(self, fake: FakeOpenAI) -> None:
        self.fake = fake
        settings = Settings.load()
        ensure_home(settings)
        self.engine = Engine(settings)
        self.workspace: Path = settings.workspace
        self.count = FakeTool(declaration("count"))
        self.single = FakeTool(declaration("single", parallel_safe=False))
        self.deploy = FakeTool(declaration("deploy", effect="execute", parallel_safe=False, replay="never"))
        self.slow = SlowTool(declaration("slow"))
        self.slow_single = SlowTool(declaration("slow_single", parallel_safe=False))
        self.broken = FailingTool(declaration("broken"))
        for tool in (self.count, self.single, self.deploy, self.slow, self.slow_single, self.broken):
            self.engine.bus.register(tool)
        self._changed = threading.Condition()
        self.engine.ledger.listen(self._notice)

    def _notice(self, *_: object) -> None:
        with self._changed:
            self._changed.notify_all()

    def start(self) -> Harness:
        asyncio.run(self.engine.start())
        return self

    def stop(self) -> None:
        asyncio.run(self.engine.stop())

    # Doing

    def thread(self, **choices: str | None) -> Thread:
        return self.engine.new_thread(**choices)

    def ask(self, text: str, thread: Thread | str | None = None, **options: Any) -> Run:
        """Send ``text`` to a new thread (or the given one)."""
        thread_id = thread if isinstance(thread, str) else (thread or self.thread()).id
        return self.engine.send(thread_id, text, **options)

    def run(self, text: str, thread: Thread | str | None = None, **options: Any) -> Run:
        """Send ``text`` and wait for the end of the run."""
        return self.done(self.ask(text, thread, **options))

    # Waiting

    def until(self, condition: Callable[[], Any], what: str, patience_s: float = PATIENCE_S) -> Any:
        """The first true value of ``condition``, looked at after every commit."""
        deadline = time.monotonic() + patience_s
        while not (value := condition()):
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {patience_s} s for {what}; engine problem: {self.engine.problem}")
            with self._changed:
                self._changed.wait(0.1)
        return value

    def status(self, run: Run, status: str) -> Run:
        def reached() -> Run | None:
            current = self.engine.run(run.id)
            assert current.status != "done" or status == "done", f"{current.outcome}: {current.reason}"
            return current if current.status == status else None

        return self.until(reached, f"run {run.id} to be {status}")

    def done(self, run: Run) -> Run:
        return self.status(run, "done")

    def event(self, run: Run, kind: str, number: int = 1) -> dict[str, Any]:
        """The data of the ``number``-th event of a type, once it is there."""

        def found() -> dict[str, Any] | None:
            events = [e for e in self.engine.ledger.events(run.id) if e.type == kind]
            return {"seq": events[number - 1].seq, **events[number - 1].data} if len(events) >= number else None

        return self.until(found, f"event {kind} #{number} of run {run.id}")

    def asks(self, run: Run, number: int = 1) -> list[Approval]:
        """What the run waits for, oldest first, once it waits for that many things."""
        self.status(run, "waiting")
        open_ = self.engine.ledger.approvals(run_id=run.id, state="open")[::-1]
        assert len(open_) == number
        return open_

    # Reading

    def events(self, run: Run) -> list[dict[str, Any]]:
        return self.engine.hub.stored(run.id)

    def kinds(self, run: Run) -> list[str]:
        return [event["type"] for event in self.events(run)]

    def of(self, run: Run, kind: str) -> list[dict[str, Any]]:
        return [event["data"] for event in self.events(run) if event["type"] == kind]

    def branch(self, thread_id: str | None) -> list[Message]:
        thread = self.engine.threads.get(thread_id or "")
        assert thread is not None
        return self.engine.threads.branch(thread.leaf_id) if thread.leaf_id else []

    def results(self, run: Run) -> dict[str, str]:
        """Tool results on the branch by call id."""
        return {
            (message.extra or {})["tool_call_id"]: message.text
            for message in self.branch(run.thread_id)
            if message.role == "tool" and message.run_id == run.id
        }

    def answer(self, run: Run) -> str:
        return self.view(run).answer

    def view(self, run: Run) -> RunView:
        return fold(run.id, self.events(run))

    def check_thread(self, thread_id: str | None) -> None:
        """The shown branch is a valid history without any repair, and the thread's ends are sound."""
        branch = self.branch(thread_id)
        for parent, child in itertools.pairwise(branch):
            assert (child.parent_id, child.depth) == (parent.id, parent.depth + 1)
        chats = [to_chat(message) for message in branch]
        repaired, issues = repair(chats)
        assert issues == []
        assert repaired == chats


def gapless(events: Sequence[dict[str, Any]]) -> bool:
    """Whether events come in order; transient ones may have left holes."""
    seqs = [event["seq"] for event in events]
    return seqs == sorted(set(seqs))
