"""The API key is in the request to the endpoint and nowhere else: not in tables, events, exports, outputs or logs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.openai_server import Reply
from tests.orchestrator.harness import Harness

CANARY = "sk-canary-5f0e1d7c9b8a"


@pytest.fixture
def keyed(
    environment: pytest.MonkeyPatch, build: Callable[..., Harness], caplog: pytest.LogCaptureFixture
) -> Iterator[Harness]:
    environment.setenv("LOGICIAN_API_KEY", CANARY)
    caplog.set_level(logging.DEBUG)
    yield build()


def places(folder: Path) -> list[str]:
    """Files below ``folder`` that hold the canary."""
    return [str(path) for path in sorted(folder.rglob("*")) if path.is_file() and CANARY.encode() in path.read_bytes()]


def echoing(body: Any) -> Reply:
    """An endpoint that puts the key into everything it says when it fails."""
    text = body["messages"][-1]["content"]
    if "401" in text:
        return Reply.failing(401, f"Incorrect API key provided: {CANARY}.")
    if "400" in text:
        return Reply(status=400, error=f"bad request with Authorization: Bearer {CANARY}")
    if "500" in text:
        return Reply.failing(500, f"upstream refused Bearer {CANARY}")
    return Reply("fine")


def test_the_key_is_nowhere(keyed: Harness, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    h = keyed
    h.fake.api_key = CANARY
    seen = [h.run("say hello"), h.run('call bash {"command": "env; cat /proc/self/environ"}\nsay x', mode="accept_all")]
    h.fake.handler = echoing
    seen += [h.run("please 401"), h.run("please 400"), h.run("please 500")]
    assert [run.outcome for run in seen] == ["completed", "completed", "failed", "failed", "failed"]
    assert h.fake.requests[-1].headers["authorization"] == f"Bearer {CANARY}"
    for run in seen:
        assert CANARY not in str(h.events(run)) and CANARY not in str(h.view(run)) and CANARY not in str(run)
        assert CANARY not in h.engine.export_thread(run.thread_id or "", "json")
        assert CANARY not in h.engine.export_thread(run.thread_id or "", "md")
        assert CANARY not in str(h.engine.run_json(run.id))
    check = h.engine.check_endpoint(h.fake.base_url, None, "fake-model")
    assert CANARY not in str(check)
    assert places(tmp_path) == []
    assert CANARY not in "".join(record.getMessage() + str(record.exc_info) for record in caplog.records)


def test_a_key_from_the_settings_page_is_in_its_own_file_alone(
    environment: pytest.MonkeyPatch, build: Callable[..., Harness], tmp_path: Path
) -> None:
    environment.delenv("LOGICIAN_API_KEY")
    h = build()
    h.fake.api_key = CANARY
    assert h.run("say hello").outcome == "failed"
    h.engine.save_settings({"temperature": 0.5}, api_key=CANARY)
    run = h.run("say hello")
    assert run.outcome == "completed"
    assert h.fake.bodies[-1]["temperature"] == 0.5
    assert [Path(path).name for path in places(tmp_path)] == ["secrets.json"]
    assert (tmp_path / "home" / "secrets.json").stat().st_mode & 0o777 == 0o600
    h.engine.save_settings({}, api_key="")
    assert h.run("say hello").outcome == "failed"
    assert places(tmp_path) == []
