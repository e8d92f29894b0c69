"""``logician model``: what is here, what is not, and what is damaged."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from logician_graph.commands.models import progress_line
from logician_graph.inference.progress import PullProgress
from tests.cli.conftest import Run

SMALLEST = "SmolLM2-135M-Instruct.Q4_1.gguf"


def test_the_catalogue_is_listed_with_states(run: Run, environment: dict[str, str]) -> None:
    done = run("model", "list")
    rows = json.loads(run("model", "list", "--json").out)

    assert done.code == 0
    assert done.out.splitlines()[0].startswith("* qwen2.5-coder-1.5b")
    assert [(row["id"], row["state"]) for row in rows] == [
        ("qwen2.5-coder-1.5b", "absent"),
        ("qwen2.5-coder-0.5b", "absent"),
        ("smollm2-135m", "absent"),
    ]


def test_nothing_is_downloaded_where_an_endpoint_is_configured(run: Run, endpoint: dict[str, str]) -> None:
    done = run("model", "pull", "--if-needed", env=endpoint)

    assert done.code == 0
    assert "none is downloaded" in done.out


def test_an_unknown_model_is_a_wrong_command_line(run: Run) -> None:
    done = run("model", "pull", "gpt-9")

    assert done.code == 2
    assert "It has: qwen2.5-coder-1.5b" in done.err


def test_a_network_that_is_not_there_is_said_in_one_line(run: Run, environment: dict[str, str]) -> None:
    done = run("model", "pull", "smollm2-135m", env={**environment, "LOGICIAN_INDEX_URL": "http://127.0.0.1:9/simple"})

    assert done.code == 1
    assert done.err.splitlines()[-1].startswith("logician: ")
    assert "LOGICIAN_INDEX_URL" in done.err
    assert "Traceback" not in done.err


@pytest.mark.model
def test_a_file_is_verified_and_damage_is_found(run: Run, environment: dict[str, str], tmp_path: Path) -> None:
    source = Path(os.environ.get("LOGICIAN_TEST_MODELS", "")) / SMALLEST
    if not source.is_file():
        pytest.skip(f"no {SMALLEST} in LOGICIAN_TEST_MODELS")
    models = tmp_path / "home" / "models"
    models.mkdir(parents=True)
    copy = models / SMALLEST
    shutil.copyfile(source, copy)

    assert run("model", "verify").out == "smollm2-135m: the bytes are right\n"
    assert run("model", "pull", "smollm2-135m").out == f"smollm2-135m is here: {copy}\n"
    with copy.open("r+b") as file:
        file.seek(50_000_000)
        file.write(b"?")
    done = run("model", "verify", "smollm2-135m")
    assert done.code == 1
    assert "DAMAGED" in done.out


def test_progress_says_how_much_how_fast_and_how_long() -> None:
    line = progress_line("tiny", PullProgress("download", 25_000_000, 100_000_000, 5_000_000.0, 75.0))
    assert line == "tiny [#######.....................]  25%  25 of 100 MB  5.0 MB/s  1:15 left"
    assert "index" in progress_line("tiny", PullProgress("index", 0, 100))
