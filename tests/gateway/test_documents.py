"""The commands in ``docs/http-api.md`` do what they say, on a real server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.gateway.conftest import ROOT, ServerProcess, StartServer

PAGE = (ROOT / "docs" / "http-api.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^curl .*$", PAGE, re.MULTILINE)


def _run_task(server: ServerProcess, fake: FakeOpenAI) -> dict[str, str]:
    env = {
        **os.environ,
        "LOGICIAN_HOME": str(server.home),
        "LOGICIAN_BASE_URL": fake.base_url,
        "LOGICIAN_MODEL": "fake-model",
    }
    done = subprocess.run(
        [sys.executable, "-m", "logician_graph", "exec", "--json", "say Hello"],
        env=env,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=90,
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_every_command_works(start_server: StartServer, tmp_path: Path) -> None:
    with FakeOpenAI() as fake:
        server = start_server(LOGICIAN_HOST="0.0.0.0", LOGICIAN_BASE_URL=fake.base_url, LOGICIAN_MODEL="fake-model")
        result = _run_task(server, fake)
        variables = {
            "URL": server.url,
            "TOKEN": server.token,
            "RUN": result["run_id"],
            "THREAD": result["thread_id"],
        }
        answers: dict[str, str] = {}
        for command in COMMANDS:
            done = subprocess.run(
                ["bash", "-c", command],
                env={**os.environ, **variables},
                capture_output=True,
                text=True,
                timeout=30,
                check=False,
            )
            assert done.returncode == 0, f"{command}: {done.stderr}"
            answers[command] = done.stdout

    assert len(answers) == 10
    by_route = {command.rsplit('"', 2)[1].removeprefix("$URL"): text for command, text in answers.items()}
    assert json.loads(by_route["/healthz"])["status"] == "ok"
    assert json.loads(by_route["/api/runs/$RUN"])["outcome"] == "completed"
    assert "event: end" in by_route["/api/runs/$RUN/events"]
    assert "id: 3\n" not in by_route["/api/runs/$RUN/events?after=3"]
    assert "Hello" in by_route["/api/threads/$THREAD/export.md"]
    assert json.loads(by_route["/api/threads/$THREAD/export.json"])


def test_every_route_is_described() -> None:
    from logician_graph.gateway import Gateway, build_routes

    routes = build_routes(Gateway(door=lambda: None))
    for route in routes:
        shown = (
            route.path.replace("{run_id}", "{id}").replace("{thread_id}", "{id}").replace("export.{fmt}", "export.md")
        )
        method = "POST" if "POST" in (route.methods or set()) else "GET"
        assert f"| `{method} {shown}` |" in PAGE, shown
