"""A heuristic as a plain Python module that stands alone: code, provenance, what was measured, and its test."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime

from logician_graph.eoh.problem import TRAIN, Problem
from storage import Sample, Score, Study

EOH = (
    "Liu et al., Evolution of Heuristics: Towards Efficient Automatic Algorithm Design Using Large Language Model, "
    "ICML 2024, arXiv:2401.02051"
)


def module_text(study: Study, sample: Sample, problem: Problem, scores: Sequence[Score]) -> str:
    """The module. It needs nothing but what the heuristic itself imports."""
    when = datetime.fromtimestamp(sample.recorded_at or sample.proposed_at, UTC).strftime("%Y-%m-%d")
    parents = ", ".join(map(str, sample.parents)) or "none"
    source = (
        f"Study {study.id} ({_one_line(study.title)}), sample {sample.n}, operator {sample.operator}, "
        f"parents {parents}, model {sample.model or 'none'}, {when}."
    )
    lines = [
        f"{problem.signature.name}: a heuristic for {problem.title}, evolved with Logician.",
        "",
        *textwrap.wrap(f"Idea: {sample.thought}", 100),
        "",
        source,
        f"Measured, {problem.direction}imal is better:",
        f"  {TRAIN}: {sample.objective!r}",
    ]
    baselines = [score for score in scores if score.subject.startswith("baseline:") and score.objective is not None]
    own = [score for score in scores if score.subject == f"sample:{sample.n}"]
    lines += [f"  {score.set_name}: {score.objective!r}" for score in own]
    lines += [f"  {score.subject.partition(':')[2]}, {score.set_name}: {score.objective!r}" for score in baselines]
    cited = [problem.citation] if problem.citation else []
    lines += ["", "To cite: " + "; ".join([*cited, EOH])]
    header = "\n".join(lines).replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{header}\n"""\n\n{(sample.code or "").strip()}\n\n\n{_test(study, sample, problem)}'


def _test(study: Study, sample: Sample, problem: Problem) -> str:
    return (
        f"def test_{problem.signature.name}() -> None:\n"
        f'    """Measured again by Logician: `logician eoh score {problem.id} THIS_FILE.py --json`."""\n'
        f"    expected = {sample.objective!r}\n"
        "    import json\n    import subprocess\n\n"
        f'    command = ["logician", "eoh", "score", {problem.id!r}, __file__, "--json"]\n'
        "    done = subprocess.run(command, capture_output=True, text=True, check=True)\n"
        '    assert json.loads(done.stdout)["objective"] == expected\n'
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
