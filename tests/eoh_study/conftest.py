"""A real engine, a fake endpoint that writes heuristics, and a problem that is measured in milliseconds."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from logician_graph.engine import Engine
from logician_graph.eoh import Studies, StudyView, template
from logician_graph.settings import Settings, ensure_home
from storage import Run, Study
from tests.fakes.openai_server import FakeOpenAI, Reply, Usage

Write = Callable[[Mapping[str, Any]], Reply]


def writer(body: Mapping[str, Any]) -> Reply:
    """A model that mostly writes valid rules: what it writes depends on the request's seed and nothing else."""
    rng = random.Random(body["seed"])
    text = body["messages"][-1]["content"]
    name = re.findall(r"def (\w+\([^)]*\))", text)[-1]
    power, weight = round(rng.uniform(0.2, 2.0), 2), round(rng.uniform(-1, 1), 2)
    lines = {
        0: "    return [value",
        1: "    return undefined_name * value",
        2: "    return float('nan')",
    }
    kind = rng.randrange(6)
    line = lines.get(kind, f"    return value ** {power} / weight + {weight} * value / capacity")
    block = f"```python\ndef {name}:\n{line}\n```"
    return Reply(f"{{Prefer value to the power {power}.}}\n{block}", usage=Usage(prompt=200, completion=60, cached=0))


class Bench:
    """The engine and the studies on it."""

    def __init__(self, home: Path, endpoint: FakeOpenAI) -> None:
        self.fake = endpoint
        self.settings = Settings.load()
        ensure_home(self.settings)
        self.problem = template("knapsack", home / "problems")
        self.start()

    def start(self) -> None:
        self.engine = Engine(self.settings)
        asyncio.run(self.engine.start())

    def stop(self) -> None:
        asyncio.run(self.engine.stop())

    @property
    def studies(self) -> Studies:
        return self.engine.studies

    def create(self, **options: Any) -> Study:
        values: dict[str, Any] = {"problem": "knapsack", "models": [self.engine.models.default_ref()], "size": 3}
        return self.studies.create({**values, "generations": 3, **options})

    def run(self, study: Study) -> Run:
        return self.engine.run(str(study.run_id))

    def until(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "it did not come about"
            time.sleep(0.02)

    def finished(self, study: Study, outcome: str = "completed") -> StudyView:
        self.until(lambda: self.run(study).status == "done")
        run = self.run(study)
        assert run.outcome == outcome, run.reason
        return self.studies.view(study.id)


@pytest.fixture
def endpoint() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(writer, context_window=32_768) as fake:
        yield fake


@pytest.fixture
def bench(tmp_path: Path, endpoint: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("LOGICIAN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LOGICIAN_BASE_URL", endpoint.base_url)
    monkeypatch.setenv("LOGICIAN_MODEL", "fake-model")
    monkeypatch.setenv("LOGICIAN_API_KEY", "sk-test-0123456789")
    made = Bench(tmp_path / "home", endpoint)
    yield made
    made.stop()
