"""Seconds from process start to ``/healthz``, and resident memory of the idle server without a model.

    python -m benchmarks.startup [--runs 5] [--json]

Each run starts ``app.py`` in a process of its own with a fresh home folder; the first run of the machine, with nothing
in the file cache, is the slowest. Memory is VmRSS after ten idle seconds (Linux).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from benchmarks.ports import free_port

ROOT = Path(__file__).resolve().parent.parent


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as reply:
            return reply.status == 200
    except (urllib.error.URLError, OSError):
        return False


def _resident_mb(pid: int) -> float | None:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return None
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return round(int(line.split()[1]) / 1024, 1)


def measure(idle_s: float) -> dict[str, Any]:
    """One start."""
    with tempfile.TemporaryDirectory() as home:
        port = free_port()
        environment = {
            **os.environ,
            "LOGICIAN_HOME": home,
            "LOGICIAN_PORT": str(port),
            "LOGICIAN_BASE_URL": "http://127.0.0.1:9/v1",
            "LOGICIAN_MODEL": "none",
        }
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "app.py")],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            while not _answers(f"http://127.0.0.1:{port}/healthz"):
                if process.poll() is not None or time.perf_counter() - began > 60:
                    raise SystemExit("The server did not start.")
                time.sleep(0.01)
            seconds = time.perf_counter() - began
            time.sleep(idle_s)
            resident = _resident_mb(process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)
        return {"healthz_s": round(seconds, 3), "idle_rss_mb": resident}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = [measure(10.0 if number == 0 else 0.5) for number in range(arguments.runs)]
    times = [row["healthz_s"] for row in rows]
    result = {
        "runs": arguments.runs,
        "healthz_s": {"first": times[0], "median": statistics.median(times), "max": max(times)},
        "idle_rss_mb": rows[0]["idle_rss_mb"],
    }
    print(json.dumps(result, indent=None if arguments.json else 2))


if __name__ == "__main__":
    main()
