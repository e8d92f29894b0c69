from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from logician_graph.eoh.evaluator import Evaluator, local_evaluator
from tests.eoh_evaluator.problems import write_problem

MakeEvaluator = Callable[..., Evaluator]


@pytest.fixture
async def evaluator(tmp_path: Path) -> AsyncIterator[MakeEvaluator]:
    """Makes an evaluator of a small problem; closes all it made."""
    made: list[Evaluator] = []

    def make(*, workers: int = 1, **problem: Any) -> Evaluator:
        made.append(local_evaluator(write_problem(tmp_path / f"p{len(made)}", **problem), workers=workers))
        return made[-1]

    yield make
    for one in made:
        await one.close()


Eventually = Callable[[Callable[[], bool]], Awaitable[None]]


@pytest.fixture
def eventually() -> Eventually:
    """Wait for a condition, ten seconds at most."""
    import asyncio
    import time

    async def wait(holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 10
        while not holds():
            assert time.monotonic() < deadline, "it did not come about"
            await asyncio.sleep(0.02)

    return wait
