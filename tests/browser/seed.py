"""Runs that a test needs to be there, put where the server finds them: into its database."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import insert

from logician_graph.orchestrator import Conversations, RunOptions
from storage import Database, Run, RunLedger, Thread, ThreadStore, now
from storage.ids import first_id
from tests.browser.server import Server

PATIENCE_S = 60.0


@contextmanager
def database(server: Server) -> Iterator[Database]:
    opened = Database(f"sqlite:///{server.home / 'logician.db'}")
    try:
        yield opened
    finally:
        opened.close()


def submit(server: Server, text: str, *, mode: str = "ask", until: tuple[str, ...] = ("done", "waiting")) -> Run:
    """Send a message to a new chat, as another tab would, and wait for the run's status."""
    workspace = server.home / "workspace"
    with database(server) as opened:
        ledger, threads = RunLedger(opened), ThreadStore(opened)
        thread = threads.create(workspace=str(workspace))
        options = RunOptions(model="endpoint:fake-model", mode=mode, workspace=str(workspace))  # type: ignore[arg-type]
        run = Conversations(ledger, threads, lambda: None).send(thread.id, text, options)
        deadline = time.monotonic() + PATIENCE_S
        while (found := ledger.get(run.id)) is None or found.status not in until:
            assert time.monotonic() < deadline, f"the run is still {found.status if found else 'unknown'}"
            time.sleep(0.05)
        return found


def run_of(server: Server, run_id: str) -> Run:
    with database(server) as opened:
        found = RunLedger(opened).get(run_id)
        assert found is not None
        return found


def many_runs(server: Server, count: int) -> None:
    """Runs of the last weeks, five to a chat."""
    dice = random.Random(7)
    start = now() - 60
    topics = [
        "Fix the failing parser test",
        "Write a report on last week's sales",
        "Rename the modules",
        "Tidy the docs",
    ]

    def ident(at: float, number: int) -> str:
        return f"{first_id(at)[:10]}{number:08d}"

    threads, runs = [], []
    for number in range(count):
        at = start - number * 120
        chat = number // 5
        thread_at = start - chat * 600
        if number % 5 == 0:
            threads.append(
                {"id": ident(thread_at, chat), "title": f"{topics[chat % 4]} {chat}", "titled_by": "auto",
                 "created_at": thread_at, "updated_at": thread_at}
            )  # fmt: skip
        outcome = dice.choices(["completed", "failed", "cancelled", "blocked"], [80, 10, 6, 4])[0]
        usage = {"model_calls": 3, "unreported_calls": 0, "tool_calls": dice.randint(0, 9), "cached_tokens": None,
                 "input_tokens": dice.randint(400, 30_000), "output_tokens": dice.randint(20, 4_000),
                 "cost_usd": dice.choice([None, 0.0123, 0.0004]), "seconds": round(dice.random() * 100, 2)}  # fmt: skip
        runs.append(
            {"id": ident(at, number), "kind": "chat", "thread_id": ident(thread_at, chat), "status": "done",
             "outcome": outcome, "options": {"model": "endpoint:fake-model", "workspace": "/tmp"}, "usage": usage,
             "last_seq": 0, "attempt": 1, "crashes": 0, "cancel_requested": False, "created_at": at,
             "started_at": at + 0.1, "finished_at": at + 90}
        )  # fmt: skip
    with database(server) as opened, opened.write() as session:
        session.connection().execute(insert(Thread), threads)
        session.connection().execute(insert(Run), runs)
