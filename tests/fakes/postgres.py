"""A private PostgreSQL server for tests: a throw-away cluster on a Unix socket, run by an unprivileged user.

Nothing of the machine's own PostgreSQL service is touched: the cluster lives in a temporary folder, listens on no
network address and is gone when the tests end. Durability is switched off, semantics are not.
"""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Collection
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

BINARIES = Path("/usr/lib/postgresql/15/bin")
OPTIONS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "32MB",
    "logging_collector": "off",
}


def available() -> str | None:
    """None when the server can be started here, else why not."""
    if not (BINARIES / "initdb").exists():
        return f"PostgreSQL 15 is not installed: there is no {BINARIES}/initdb (Debian: apt install postgresql-15)"
    return None


class PostgresServer:
    """One cluster; use it as a context manager, then ask for databases."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="logician-pg-", dir=_memory()))
        self._names = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._as_user: dict[str, Any] = {}

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _start(self) -> None:
        self._initialise()
        self.serve()

    def _initialise(self) -> None:
        if os.geteuid() == 0:  # the server refuses to run as root
            account = _unprivileged()
            os.chown(self.folder, account.pw_uid, account.pw_gid)
            self._as_user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        data = self.folder / "data"
        self._run("initdb", "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")

    def serve(self) -> None:
        """Start the server (again) and wait until it answers."""
        arguments = [str(BINARIES / "postgres"), "-D", str(self.folder / "data"), "-k", str(self.folder)]
        for name, value in OPTIONS.items():
            arguments += ["-c", f"{name}={value}"]
        log = (self.folder / "server.log").open("ab")
        with log:
            self._process = subprocess.Popen(arguments, stdout=log, stderr=log, cwd="/", **self._as_user)
        self._wait_until_ready()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(signal.SIGQUIT)  # its data goes as well: nothing needs to be written any more
        shutil.rmtree(self.folder, ignore_errors=True)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server, whoever is connected; :meth:`serve` brings it back with all its data."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def url(self, database: str) -> str:
        """SQLAlchemy URL of a database of this server."""
        return f"postgresql+psycopg://postgres@/{database}?host={quote(str(self.folder), safe='')}"

    def create(self, template: str = "template0") -> str:
        """A new database (a copy of ``template``); returns its name."""
        name = f"t{next(self._names)}"
        self.sql(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def wipe(self, database: str, *, keep: Collection[str]) -> None:
        """Empty the tables ``keep`` of a database and drop its other tables, but for Alembic's."""
        disconnect = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        self.sql(disconnect % f"'{database}'")
        names = "', '".join([*keep, "alembic_version"])
        others = f"SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('{names}')"
        dropped = [f'DROP TABLE "{name}" CASCADE' for (name,) in self.sql(others, database)]
        emptied = [f'DELETE FROM "{name}"' for name in keep]
        self.sql("; ".join(["SET session_replication_role = replica", *dropped, *emptied]), database)

    def sql(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement outside of a transaction; returns its rows."""
        import psycopg

        target = f"host={self.folder} user=postgres dbname={database}"
        with psycopg.connect(target, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description is not None else []

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [BINARIES / program, *arguments],
            capture_output=True,
            check=False,
            text=True,
            cwd="/",
            timeout=60,
            **self._as_user,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed: {done.stderr}")

    def _wait_until_ready(self) -> None:
        import psycopg

        deadline = time.monotonic() + 30
        while True:
            try:
                self.sql("SELECT 1")
                return
            except psycopg.OperationalError:
                assert self._process is not None
                if self._process.poll() is not None or time.monotonic() > deadline:
                    log = (self.folder / "server.log").read_text("utf-8", "replace")
                    raise RuntimeError(f"PostgreSQL did not start:\n{log}") from None
                time.sleep(0.05)


def _memory() -> str | None:
    """A file system in memory with enough room: thousands of small files come and go there at no cost."""
    folder = Path("/dev/shm")
    usable = folder.is_dir() and os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > 2 * 2**30
    return str(folder) if usable else None


def _unprivileged() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("There is neither a user 'postgres' nor 'nobody' to run PostgreSQL as.")
