"""``python app.py`` for real: who is let in, how it starts, how it stops, and what it says when it cannot."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
import websockets.sync.client
from websockets.exceptions import InvalidStatus

from tests.fakes.openai_server import FakeOpenAI
from tests.gateway.conftest import ROOT, StartServer, free_port

HTML = {"accept": "text/html"}


def test_on_loopback_this_machine_is_at_home_and_other_sites_are_not(start_server: StartServer) -> None:
    server = start_server()
    with httpx.Client(base_url=server.url) as client:
        page = client.get("/", headers=HTML)
        assert page.status_code == 200
        assert "<title>" in page.text
        assert page.headers["x-frame-options"] == "SAMEORIGIN"
        assert client.get("/readyz").json()["status"] == "ready"
        assert "logician_up 1" in client.get("/metrics").text
        font = client.get("/app/static/fonts/inter-latin-wght-normal.woff2")
        assert font.content.startswith(b"wOF2")
        assert client.get("/", headers={"host": "evil.example"}).status_code == 403
        assert client.get("/api/runs/none").json()["error"]["type"] == "NotFound"

    address = f"ws://localhost:{server.port}/_stcore/stream"
    with websockets.sync.client.connect(address, origin=f"http://localhost:{server.port}"):  # type: ignore[arg-type]
        pass
    with pytest.raises(InvalidStatus) as refused:
        websockets.sync.client.connect(address, origin="https://evil.example")  # type: ignore[arg-type]
    assert refused.value.response.status_code == 403
    assert "token=" not in server.out
    assert f"Logician is at  {server.url}/" in server.out


def test_bound_everywhere_every_door_asks_for_the_token(start_server: StartServer) -> None:
    server = start_server(LOGICIAN_HOST="0.0.0.0")
    paths = [
        "/",
        "/runs",
        "/healthz",
        "/readyz",
        "/metrics",
        "/api/runs/x",
        "/api/runs/x/events",
        "/api/threads/x/export.json",
        "/app/static/fonts/inter-latin-wght-normal.woff2",
        "/static/index.html",
        "/_stcore/health",
        "/_stcore/host-config",
        "/media/x",
    ]
    with httpx.Client(base_url=server.url) as client:
        assert {path: client.get(path).status_code for path in paths} == dict.fromkeys(paths, 401)
        assert client.post("/api/runs/x/cancel").status_code == 401
        assert client.get("/healthz", headers=server.bearer).status_code == 200
        signed_in = client.get(f"/?token={server.token}", headers=HTML)
        assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/")
        assert client.get("/", headers=HTML).status_code == 200

    address = f"ws://localhost:{server.port}/_stcore/stream"
    origin = f"http://localhost:{server.port}"
    with pytest.raises(InvalidStatus):
        websockets.sync.client.connect(address, origin=origin)  # type: ignore[arg-type]
    cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    with websockets.sync.client.connect(address, origin=origin, additional_headers={"Cookie": cookie}):  # type: ignore[arg-type]
        pass
    assert f"{server.url}/?token={server.token}" in server.out
    assert server.token not in server.err


def test_the_health_check_of_the_container_knows_the_token(start_server: StartServer) -> None:
    server = start_server(LOGICIAN_HOST="0.0.0.0")
    env = {**os.environ, "LOGICIAN_HOME": str(server.home), "LOGICIAN_HOST": "0.0.0.0"}
    probe = [sys.executable, "-m", "logician_graph.gateway"]
    well = subprocess.run(probe, env={**env, "LOGICIAN_PORT": str(server.port)}, cwd=ROOT, timeout=30, check=False)
    ill = subprocess.run(probe, env={**env, "LOGICIAN_PORT": str(free_port())}, cwd=ROOT, timeout=30, check=False)
    assert (well.returncode, ill.returncode) == (0, 1)


@pytest.mark.slow
def test_a_run_is_followed_over_http_from_another_process_and_stopped(start_server: StartServer) -> None:
    with FakeOpenAI() as fake:
        server = start_server(LOGICIAN_BASE_URL=fake.base_url, LOGICIAN_MODEL="fake-model")
        env = {
            **os.environ,
            "LOGICIAN_HOME": str(server.home),
            "LOGICIAN_BASE_URL": fake.base_url,
            "LOGICIAN_MODEL": "fake-model",
        }
        task = subprocess.Popen(
            [sys.executable, "-m", "logician_graph", "exec", "--json", "say slow 0.2 " + "word " * 300],
            env=env,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert task.stdout is not None
        run_id = json.loads(task.stdout.readline())["run_id"]
        seen: list[dict[str, Any]] = []
        end: dict[str, Any] = {}
        with httpx.stream("GET", f"{server.url}/api/runs/{run_id}/events", timeout=30) as stream:
            kind = "message"
            for line in stream.iter_lines():
                if line.startswith("event: "):
                    kind = line.removeprefix("event: ")
                elif line.startswith("data: ") and kind == "message":
                    seen.append(json.loads(line.removeprefix("data: ")))
                    if seen[-1]["type"] == "text.delta":
                        httpx.post(f"{server.url}/api/runs/{run_id}/cancel").raise_for_status()
                elif line.startswith("data: "):
                    end = json.loads(line.removeprefix("data: "))
        assert task.wait(30) == 130
        # Between processes transient events may be gone before they were read; what came is in order.
        numbers = [event["seq"] for event in seen]
        assert numbers == sorted(set(numbers))
        assert seen[0]["type"] == "run.queued"
        assert seen[-1]["type"] == "run.finished"
        assert (end["id"], end["outcome"]) == (run_id, "cancelled")
        thread_id = json.loads(task.communicate()[0].splitlines()[-1])["thread_id"]
        exported = httpx.get(f"{server.url}/api/threads/{thread_id}/export.md").text
        assert "say slow" in exported


def test_ctrl_c_stops_it(start_server: StartServer) -> None:
    server = start_server()
    assert server.stop(signal.SIGINT) < 10  # as long as `docker stop` waits
    assert "Traceback" not in server.err


@pytest.mark.slow
def test_it_stops_in_time_with_a_stream_open_and_a_run_goes_on_later(start_server: StartServer) -> None:
    with FakeOpenAI() as fake:
        settings = {"LOGICIAN_BASE_URL": fake.base_url, "LOGICIAN_MODEL": "fake-model"}
        server = start_server(**settings)
        run_id = _submit(server.home, "say slow 0.2 " + "word " * 30)
        deadline = time.monotonic() + 20
        while httpx.get(f"{server.url}/api/runs/{run_id}").json()["status"] != "running":
            assert time.monotonic() < deadline
            time.sleep(0.1)
        with httpx.stream("GET", f"{server.url}/api/runs/{run_id}/events", timeout=30) as stream:
            lines = stream.iter_lines()
            while "text.delta" not in next(lines):
                pass
            assert server.stop() < 10
            rest = [line for line in lines if line.startswith("event: end")]
        assert rest == []

        again = start_server(**settings)
        deadline = time.monotonic() + 60
        while (run := httpx.get(f"{again.url}/api/runs/{run_id}").json())["status"] != "done":
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert run["outcome"] == "completed"


def _submit(home: Path, text: str) -> str:
    """Queue a run in the home's database, as a page does."""
    code = (
        "import sys; from logician_graph.engine import Engine; from logician_graph.settings import Settings\n"
        "engine = Engine(Settings.load()); print(engine.send(engine.new_thread().id, sys.argv[1]).id)"
    )
    env = {**os.environ, "LOGICIAN_HOME": str(home), "LOGICIAN_BASE_URL": "http://x/v1", "LOGICIAN_MODEL": "fake-model"}
    done = subprocess.run(
        [sys.executable, "-c", code, text], env=env, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    "command",
    [
        ("-m", "logician_graph", "run", "--port", "PORT"),
        ("-m", "streamlit", "run", str(ROOT / "app.py"), "--server.port", "PORT"),
    ],
)
def test_the_other_ways_to_start_it(start_server: StartServer, command: tuple[str, ...], tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    server = start_server(command, cwd=elsewhere, PYTHONPATH=str(ROOT), LOGICIAN_PORT=str(free_port()))
    assert httpx.get(f"{server.url}/", headers=HTML).status_code == 200
    assert httpx.get(f"{server.url}/readyz").json()["status"] == "ready"


def _cannot_start(start_server: StartServer, **variables: str) -> str:
    server = start_server(serving=False, **variables)
    assert server.process.wait(60) == 1
    assert len(server.err.splitlines()) == 1, server.err
    return server.err


def test_a_port_in_use_is_said(start_server: StartServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        said = _cannot_start(start_server, LOGICIAN_PORT=str(port))
    assert said.startswith(f"Port {port} on 127.0.0.1 is in use")
    assert f"LOGICIAN_PORT={port + 1}" in said


def test_an_address_of_another_machine_is_said(start_server: StartServer) -> None:
    assert "Set LOGICIAN_HOST" in _cannot_start(start_server, LOGICIAN_HOST="192.0.2.1")


def test_a_wrong_setting_is_said(start_server: StartServer) -> None:
    said = _cannot_start(start_server, LOGICIAN_MAX_TURNS="many")
    assert said.startswith("Logician cannot start. LOGICIAN_MAX_TURNS='many' from the environment")


def test_a_home_that_cannot_be_made_is_said(start_server: StartServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = _cannot_start(start_server, LOGICIAN_HOME=str(tmp_path / "file" / "home"))
    assert "set LOGICIAN_HOME" in said


def test_a_damaged_database_is_said_and_left_as_it_is(start_server: StartServer, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "logician.db").write_bytes(b"no database" * 1000)
    assert "file is not a database" in _cannot_start(start_server)
    assert (home / "logician.db").read_bytes() == b"no database" * 1000


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounting a small disk needs root on Linux")
@pytest.mark.parametrize("options", ["size=64k", "size=4k", "ro"])
def test_a_disk_that_is_full_or_read_only_is_said(start_server: StartServer, tmp_path: Path, options: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        if options == "size=4k":
            (disk / "full").write_bytes(bytes(4096))
        said = _cannot_start(start_server, LOGICIAN_HOME=str(disk))
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert ("Read-only file system" if options == "ro" else "full" if options == "size=64k" else "No space") in said
