"""A real server process with a home of its own, as a person would start it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

import httpx

ROOT = Path(__file__).resolve().parents[2]
START_S = 60.0


class Server:
    """``python app.py`` on a free loopback port; can be killed and started again on the same port and home."""

    def __init__(self, home: Path, environment: dict[str, str]) -> None:
        self.home = home
        self.port = _free_port()
        self.log = home.parent / f"{home.name}.log"
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Self:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("LOGICIAN_")}
        environment = {
            **clean,
            "LOGICIAN_HOME": str(self.home),
            "LOGICIAN_PORT": str(self.port),
            **self._environment,
        }
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "app.py"], cwd=ROOT, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        deadline = time.monotonic() + START_S
        while True:
            try:
                if httpx.get(f"{self.url}/readyz", timeout=2).status_code == 200:
                    return self
            except httpx.TransportError:
                pass
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"The server did not start:\n{self.log.read_text(encoding='utf-8')[-3000:]}")
            time.sleep(0.1)

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None

    def stop(self) -> None:
        """End it as Ctrl+C would, and not much more politely when that takes too long."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(15)
            self._process = None
        except subprocess.TimeoutExpired:
            self.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
