"""Measuring what a study is not trained on: every new best on the held-out sets, and the baselines on all sets."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from logician_graph.eoh.desk import StudyDesk
from logician_graph.eoh.evaluator import Evaluator
from logician_graph.eoh.individual import is_better
from logician_graph.eoh.problem import TRAIN
from storage import Sample, Score

BASELINE_S = 600.0
"""Seconds for one baseline on one set."""


class HeldOut:
    """Works beside the evolution, on the best of each generation and in the order in which they came up."""

    def __init__(self, desk: StudyDesk, evaluator: Evaluator) -> None:
        self._desk, self._evaluator = desk, evaluator
        self._done = {(score.subject, score.set_name) for score in desk.store.scores(desk.study.id)}
        self._wake = asyncio.Event()
        self._finishing = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin with the baselines, then with what there is."""
        self._wake.set()
        self._task = asyncio.create_task(self._serve(), name="held-out")

    def look(self) -> None:
        """There may be a new best."""
        self._wake.set()

    async def finish(self) -> None:
        """Measure what is left, then end. Raises what the work raised."""
        self._finishing = True
        self._wake.set()
        if self._task is not None:
            await self._task

    async def close(self) -> None:
        """Stop at once."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _serve(self) -> None:
        await self._baselines()
        while True:
            await self._wake.wait()
            self._wake.clear()
            for sample in generation_bests(self._desk.samples.values(), self._desk.problem.direction):
                await self._measure(sample)
            if self._finishing and not self._wake.is_set():
                return

    async def _measure(self, sample: Sample) -> None:
        for name in self._desk.problem.held_out:
            subject = f"sample:{sample.n}"
            if (subject, name) in self._done or sample.code is None:
                continue
            found = await self._evaluator.evaluate(sample.code, instances=name)
            self._keep(subject, name, found.status, found.objective, found.per_instance, found.error, found.seconds)

    async def _baselines(self) -> None:
        for name in self._desk.problem.baselines:
            for chosen in (TRAIN, *self._desk.problem.held_out):
                subject = f"baseline:{name}"
                if (subject, chosen) not in self._done:
                    found = await measure_baseline(self._desk.problem.folder, name, chosen)
                    self._keep(
                        subject, chosen, found["status"], found["objective"], found["per_instance"], found["error"],
                        found["seconds"],
                    )  # fmt: skip

    def _keep(
        self,
        subject: str,
        name: str,
        status: str,
        objective: float | None,
        values: Iterable[float | None],
        error: str | None,
        seconds: float,
    ) -> None:
        score = Score(
            study_id=self._desk.study.id,
            subject=subject,
            set_name=name,
            status=status,
            objective=objective,
            per_instance=list(values),
            error=error,
            seconds=seconds,
        )
        self._done.add((subject, name))
        self._desk.write([("study.score", {"subject": subject, "set": name, "objective": objective})], [score])


def generation_bests(samples: Iterable[Sample], direction: Any) -> list[Sample]:
    """The best recorded sample as of the end of each generation, each once, in the order of their records."""
    recorded = sorted((each for each in samples if each.record is not None), key=lambda each: each.record or 0)
    bests: dict[int, Sample] = {}
    best: Sample | None = None
    for sample in recorded:
        if sample.objective is None:
            continue
        if best is None or best.objective is None or is_better(sample.objective, best.objective, direction):
            best = sample
            bests[sample.generation] = sample
    unique = {each.n: each for each in bests.values()}
    return sorted(unique.values(), key=lambda each: each.record or 0)


async def measure_baseline(folder: Path, name: str, set_name: str) -> dict[str, Any]:
    """A baseline's worth, found out in a process of its own: it is trusted, but it may take long."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "logician_graph.eoh.baseline", str(folder), name, set_name,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    nothing: dict[str, Any] = {"status": "failed", "objective": None, "per_instance": [], "seconds": 0.0}
    try:
        output, errors = await asyncio.wait_for(process.communicate(), BASELINE_S)
    except TimeoutError:
        return {**nothing, "status": "timeout", "error": f"took more than {BASELINE_S:g} s"}
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        lines = errors.decode(errors="replace").strip().splitlines()
        return {**nothing, "error": lines[-1] if lines else f"ended with {process.returncode}"}
    return json.loads(output)
