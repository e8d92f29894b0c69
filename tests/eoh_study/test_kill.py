"""A study whose process is killed goes on with no sample lost or made twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.eoh_study.conftest import Bench
from tests.eoh_study.test_studies import history


def _command(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "logician_graph", "eoh", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.parametrize("after", [0.0, 0.35, 0.8])
def test_kill_and_resume(bench: Bench, tmp_path: Path, after: float) -> None:
    whole = bench.finished(bench.create(schedule="official-0.2"))
    bench.stop()
    arguments = ["run", "knapsack", "--schedule", "official-0.2", "--size", "3", "--generations", "3"]
    process = _command(*arguments)
    assert process.stderr is not None
    study_id = process.stderr.readline().split()[-1]
    store = bench.studies.store
    deadline = time.monotonic() + 60
    while not store.samples(study_id, recorded=True) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    done = _command("resume", study_id)
    _, errors = done.communicate(timeout=120)
    assert done.returncode == 0, errors
    bench.start()
    view = bench.studies.view(study_id)
    assert history(view) == history(whole)
    records = [one.record for one in view.recorded]
    assert records == list(range(1, len(records) + 1))


def test_a_server_takes_over_what_a_killed_command_left(bench: Bench) -> None:
    bench.stop()
    process = _command("run", "knapsack", "--schedule", "official-0.2", "--size", "3", "--generations", "2")
    assert process.stderr is not None
    study_id = process.stderr.readline().split()[-1]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    bench.start()
    study = bench.studies.store.get(study_id)
    assert study is not None
    assert bench.finished(study).row.state == "completed"
