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
        self.folder = Path(tempfile.mkdtemp(prefix="logician-pg-"))
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
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def stop(self) -> None:
        """Stop the server at once, whoever is connected; :meth:`serve` brings it back with all its data."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(20)
            self._process = None

    def url(self, database: str) -> str:
        """SQLAlchemy URL of a database of this server."""
        return f"postgresql+psycopg://postgres@/{database}?host={quote(str(self.folder), safe='')}"

    def create(self, template: str = "template0") -> str:
        """A new database (a copy of ``template``); returns its name."""
        name = f"t{next(self._names)}"
        self.sql(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def sql(self, statement: str) -> None:
        """Run one statement outside of a transaction, in the maintenance database."""
        import psycopg

        with psycopg.connect(f"host={self.folder} user=postgres dbname=postgres", autocommit=True) as connection:
            connection.execute(statement.encode())

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


def _unprivileged() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("There is neither a user 'postgres' nor 'nobody' to run PostgreSQL as.")
