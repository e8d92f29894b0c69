"""Which engines are alive: each holds a lock file while it lives, and beats in the table for other machines.

A lock is released by the operating system however the process ends, so after a crash the next engine on the same
machine knows at once; an engine on another machine counts as dead when its heartbeat is old.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import delete, update
from sqlmodel import col, select

from storage.database import Database
from storage.ids import new_id, now
from storage.runs import Worker

STALE_AFTER_S = 30.0


class WorkerRegistry:
    """This engine's own entry, and the check of the others."""

    def __init__(self, database: Database, home: Path) -> None:
        self.database = database
        self.folder = home / "workers"
        self.id = new_id()
        self._lock = FileLock(self._path(self.id))

    def _path(self, worker_id: str) -> Path:
        return self.folder / f"{worker_id}.lock"

    def register(self) -> None:
        """Enter this engine; from now on it counts as alive."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock.acquire(timeout=0)
        with self.database.write() as session:
            session.add(self._entry())

    def _entry(self) -> Worker:
        at = now()
        return Worker(id=self.id, host=socket.gethostname(), pid=os.getpid(), started_at=at, heartbeat_at=at)

    def beat(self) -> None:
        """Say that this engine is alive. One that was thought dead, and struck off, enters again."""
        known = update(Worker).where(col(Worker.id) == self.id).values(heartbeat_at=now()).returning(col(Worker.id))
        with self.database.write() as session:
            if session.connection().execute(known).first() is None:
                session.add(self._entry())

    def alive(self) -> set[str]:
        """Ids of the engines that live, this one included; entries of dead ones are removed."""
        with self.database.read() as session:
            workers = list(session.exec(select(Worker)))
        living = {worker.id for worker in workers if self._lives(worker)} | {self.id}
        dead = [worker.id for worker in workers if worker.id not in living]
        if dead:
            with self.database.write() as session:
                session.connection().execute(delete(Worker).where(col(Worker.id).in_(dead)))
            for worker_id in dead:
                self._path(worker_id).unlink(missing_ok=True)
        return living

    def _lives(self, worker: Worker) -> bool:
        if worker.id == self.id:
            return True
        path = self._path(worker.id)
        if not path.exists():
            return now() - worker.heartbeat_at < STALE_AFTER_S and worker.host != socket.gethostname()
        probe = FileLock(path)
        try:
            probe.acquire(timeout=0)
        except Timeout:
            return True
        probe.release()
        return False

    def leave(self) -> None:
        """Remove this engine's entry and give its lock back."""
        with self.database.write() as session:
            session.connection().execute(delete(Worker).where(col(Worker.id) == self.id))
        self._lock.release()
        self._path(self.id).unlink(missing_ok=True)
