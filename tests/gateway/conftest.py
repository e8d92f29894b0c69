"""The whole server as a real child process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[2]
START_S = 60.0


@dataclass
class ServerProcess:
    """A started server. Its stdout and stderr go to files, which a full pipe cannot block."""

    process: subprocess.Popen[bytes]
    port: int
    home: Path
    folder: Path

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    @property
    def token(self) -> str:
        return (self.home / "token").read_text().strip()

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    @property
    def out(self) -> str:
        return (self.folder / "stdout").read_text()

    @property
    def err(self) -> str:
        return (self.folder / "stderr").read_text()

    def wait_until_it_serves(self) -> None:
        """Return when ``/healthz`` answers and the address was printed."""
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            if self.process.poll() is not None:
                pytest.fail(f"the server ended with {self.process.returncode}: {self.err}")
            try:
                headers = self.bearer if (self.home / "token").exists() else {}
                if httpx.get(f"{self.url}/healthz", headers=headers, timeout=2).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        pytest.fail(f"the server did not answer within {START_S} s: {self.err}")

    def stop(self, number: signal.Signals = signal.SIGTERM, seconds: float = 15) -> float:
        """Send a signal; returns how long it took to end."""
        started = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(seconds)
        return time.monotonic() - started


StartServer = Callable[..., ServerProcess]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[StartServer]:
    """Start ``python app.py`` (or ``command``) with a fresh home; ``serving=False`` does not wait for it."""
    started: list[ServerProcess] = []

    def starting(
        command: tuple[str, ...] = ("app.py",), *, serving: bool = True, cwd: Path = ROOT, **variables: str
    ) -> ServerProcess:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("LOGICIAN_") and k != "DATABASE_URL"}
        home = Path(variables.get("LOGICIAN_HOME", tmp_path / "home"))
        port = int(variables.get("LOGICIAN_PORT", free_port()))
        settled = {
            "LOGICIAN_HOME": str(home),
            "LOGICIAN_PORT": str(port),
            # With an endpoint nothing is downloaded.
            "LOGICIAN_BASE_URL": "http://127.0.0.1:9/v1",
            "LOGICIAN_MODEL": "none",
        }
        folder = tmp_path / f"server-{len(started)}"
        folder.mkdir()
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
            process = subprocess.Popen(
                [sys.executable, *(part.replace("PORT", str(port)) for part in command)],
                cwd=cwd,
                env={**kept, **settled, **variables},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        server = ServerProcess(process, port, home, folder)
        started.append(server)
        if serving:
            server.wait_until_it_serves()
        return server

    yield starting
    for server in started:
        if server.process.poll() is None:
            server.process.kill()
        server.process.wait()
