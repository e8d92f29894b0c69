"""``logician eoh score``: what any candidate file is worth on any instance file, in the same sandbox as a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from logician_graph.eoh.evaluator import local_evaluator
from logician_graph.eoh.problem import TRAIN, Problem
from logician_graph.eoh.problem_file import InstanceSet
from logician_graph.eoh.types import Evaluation
from logician_graph.errors import UsageError

GIVEN = "given"


async def score_file(
    problem: Problem, candidate: Path, instances: Sequence[Path] = (), *, set_name: str | None = None
) -> Evaluation:
    """Evaluate ``candidate`` on ``instances`` (files of the problem's shape), else on ``set_name``, else on train.

    Raises UsageError for files that cannot be read and SandboxError where nothing can be run.
    """
    code = _read(candidate)
    chosen = set_name or TRAIN
    if instances:
        problem, chosen = _with_files(problem, instances), GIVEN
    evaluator = local_evaluator(problem, workers=1)
    try:
        return await evaluator.evaluate(code, instances=chosen)
    finally:
        await evaluator.close()


def _read(candidate: Path) -> str:
    try:
        return candidate.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{candidate}: cannot be read: {error}") from error


def _with_files(problem: Problem, paths: Sequence[Path]) -> Problem:
    for path in paths:
        problem.load_instances(path)  # says what is wrong with a file better than a worker could
    given = InstanceSet(files=[str(path.resolve()) for path in paths])
    return replace(problem, sets={**problem.sets, GIVEN: given})
