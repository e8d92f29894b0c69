"""Which engines live: told by locks on this machine, by heartbeats on others. With processes that really die."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import select

from storage import Change, Database, RunLedger, ThreadStore, Worker, WorkerRegistry, now
from storage.worker_registry import STALE_AFTER_S
from tests.storage import rows

CHILD = """
import sys
from pathlib import Path
from storage import Database, WorkerRegistry
registry = WorkerRegistry(Database(sys.argv[1]), Path(sys.argv[2]))
registry.register()
print(registry.id, flush=True)
sys.stdin.read()
registry.leave()
"""


@pytest.fixture
def registry(database: Database, tmp_path: Path) -> Iterator[WorkerRegistry]:
    mine = WorkerRegistry(database, tmp_path)
    mine.register()
    yield mine
    mine.leave()


@pytest.fixture
def child(url: str, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Another engine, in a process of its own, with its id."""
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, url, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert process.stdout is not None
    worker_id = process.stdout.readline().strip()
    assert worker_id
    yield process, worker_id
    process.kill()
    process.communicate(timeout=10)


def table(database: Database) -> set[str]:
    with database.read() as session:
        return set(session.exec(select(Worker.id)))


def test_a_killed_engine_is_dead_at_once(
    database: Database, registry: WorkerRegistry, child: tuple[subprocess.Popen[str], str], tmp_path: Path
) -> None:
    process, other = child
    assert registry.alive() == {registry.id, other}
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    assert registry.alive() == {registry.id}
    assert table(database) == {registry.id}
    assert [path.stem for path in (tmp_path / "workers").iterdir()] == [registry.id]


def test_the_work_of_a_killed_engine_is_found(
    registry: WorkerRegistry,
    child: tuple[subprocess.Popen[str], str],
    ledger: RunLedger,
    threads: ThreadStore,
) -> None:
    process, other = child
    work = rows.claimed(ledger, threads, owner=other)
    assert ledger.running_elsewhere(registry.alive()) == []
    process.kill()
    process.wait(10)
    assert [run.id for run in ledger.running_elsewhere(registry.alive())] == [work.id]
    mine = rows.claimed(ledger, threads, owner=registry.id)
    assert mine.id not in [run.id for run in ledger.running_elsewhere(registry.alive())]
    ledger.commit(work.id, Change(run={"owner": None}), owner=other)
    assert [run.id for run in ledger.running_elsewhere(registry.alive())] == [work.id]


def test_an_engine_that_leaves_takes_its_entry_along(
    database: Database, registry: WorkerRegistry, child: tuple[subprocess.Popen[str], str]
) -> None:
    process, other = child
    assert other in registry.alive()
    process.communicate("", timeout=10)
    assert process.returncode == 0
    assert table(database) == {registry.id}
    assert registry.alive() == {registry.id}


def test_a_stopped_engine_still_lives(registry: WorkerRegistry, child: tuple[subprocess.Popen[str], str]) -> None:
    """A suspended process (a laptop's lid, a debugger) keeps its lock: its runs are not taken from it."""
    process, other = child
    process.send_signal(signal.SIGSTOP)
    try:
        assert other in registry.alive()
    finally:
        process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize(("age", "lives"), [(0.0, True), (STALE_AFTER_S + 1, False)])
def test_an_engine_elsewhere_lives_by_its_heartbeat(
    database: Database, registry: WorkerRegistry, age: float, lives: bool
) -> None:
    with database.write() as session:
        session.add(Worker(id="far", host="elsewhere", pid=1, started_at=0.0, heartbeat_at=now() - age))
    assert ("far" in registry.alive()) is lives
    assert ("far" in table(database)) is lives


def test_an_entry_of_this_machine_without_a_lock_is_dead(database: Database, registry: WorkerRegistry) -> None:
    with database.write() as session:
        session.add(Worker(id="gone", host=socket.gethostname(), pid=1, started_at=0.0, heartbeat_at=now()))
    assert "gone" not in registry.alive()


def test_beating_moves_the_heartbeat(database: Database, registry: WorkerRegistry) -> None:
    with database.write() as session:
        session.get_one(Worker, registry.id).heartbeat_at = 1.0
    registry.beat()
    with database.read() as session:
        assert now() - session.get_one(Worker, registry.id).heartbeat_at < 5


def test_an_engine_that_was_thought_dead_enters_again(
    database: Database, registry: WorkerRegistry, tmp_path: Path
) -> None:
    """Else the others would take its runs from it at every beat."""
    with database.write() as session:
        session.delete(session.get_one(Worker, registry.id))
    registry.beat()
    assert table(database) == {registry.id}
    assert registry.id in WorkerRegistry(database, tmp_path).alive()


def test_engines_in_one_process_see_each_other(database: Database, registry: WorkerRegistry, tmp_path: Path) -> None:
    other = WorkerRegistry(database, tmp_path)
    other.register()
    assert registry.alive() == other.alive() == {registry.id, other.id}
    other.leave()
    assert registry.alive() == {registry.id}
