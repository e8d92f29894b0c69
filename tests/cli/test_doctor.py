"""``logician doctor``: each thing that can be wrong is found, and its mending said."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.fakes.openai_server import FakeOpenAI

NAMES = ["python", "packages", "home", "database", "disk", "sandbox", "model", "port"]


def report(run: Run, env: dict[str, str]) -> tuple[int, str, dict[str, dict[str, Any]]]:
    done = run("doctor", "--json", env=env)
    found = json.loads(done.out)
    return done.code, found["status"], {check["name"]: check for check in found["checks"]}


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_a_fresh_machine_lacks_only_the_model(run: Run, environment: dict[str, str], free_port: int) -> None:
    code, status, checks = report(run, {**environment, "LOGICIAN_PORT": str(free_port)})

    assert (code, status) == (0, "warn")
    assert list(checks) == NAMES
    assert {name for name, check in checks.items() if check["status"] != "ok"} == {"model"}
    assert "logician model pull qwen2.5-coder-1.5b" in checks["model"]["mend"]


def test_an_endpoint_is_asked_for_real(run: Run, endpoint: dict[str, str], fake: FakeOpenAI, free_port: int) -> None:
    code, status, checks = report(run, {**endpoint, "LOGICIAN_PORT": str(free_port)})

    assert (code, status) == (0, "ok")
    assert fake.base_url in checks["model"]["summary"]
    assert any(request.path.endswith("/chat/completions") for request in fake.requests)


def test_a_wrong_key_fails_and_is_not_shown(run: Run, endpoint: dict[str, str], fake: FakeOpenAI) -> None:
    fake.api_key = "another"
    done = run("doctor", env=endpoint)

    assert done.code == 1
    line, mend = _about(done.out, "model")
    assert line.startswith("fail")
    assert "LOGICIAN_API_KEY" in mend
    assert "sk-fake-0123456789" not in done.out + done.err


def test_a_port_in_use_fails(run: Run, environment: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        code, _, checks = report(run, {**environment, "LOGICIAN_PORT": str(port)})

    assert code == 1
    assert checks["port"]["status"] == "fail"
    assert f"LOGICIAN_PORT={port + 1}" in checks["port"]["mend"]


def test_a_damaged_model_file_fails(run: Run, environment: dict[str, str], tmp_path: Path) -> None:
    models = tmp_path / "home" / "models"
    models.mkdir(parents=True)
    (models / "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf").write_bytes(b"GGUF, but short")
    code, _, checks = report(run, environment)

    assert code == 1
    assert checks["model"]["status"] == "fail"
    assert "damaged" in checks["model"]["summary"]


def test_a_home_that_cannot_be_made_fails(run: Run, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    code, _, checks = report(run, {**environment, "LOGICIAN_HOME": str(tmp_path / "file" / "home")})

    assert code == 1
    assert checks["home"]["status"] == "fail"
    assert "LOGICIAN_HOME" in checks["home"]["mend"]


def test_a_database_that_does_not_answer_fails(run: Run, environment: dict[str, str]) -> None:
    url = "postgresql+psycopg://me:hunter2hunter2@127.0.0.1:9/none?connect_timeout=2"
    code, _, checks = report(run, {**environment, "DATABASE_URL": url})

    assert code == 1
    assert checks["database"]["status"] == "fail"
    assert "hunter2" not in json.dumps(checks)


def test_settings_that_cannot_be_used_are_named(run: Run, environment: dict[str, str]) -> None:
    code, _, checks = report(run, {**environment, "LOGICIAN_PORT": "eighty"})

    assert code == 1
    assert "LOGICIAN_PORT='eighty'" in checks["settings"]["summary"]


def _about(text: str, name: str) -> tuple[str, str]:
    lines = text.splitlines()
    at = next(number for number, line in enumerate(lines) if f" {name}: " in line)
    return lines[at], lines[at + 1]
