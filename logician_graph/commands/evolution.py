"""``logician eoh``: studies without the browser, and what a candidate file is worth. Each function is one action."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from logician_graph.commands.configuration import load_settings
from logician_graph.commands.execute import Stopping, events_of, reference_of
from logician_graph.commands.exit_codes import OF_OUTCOME, ExitCode
from logician_graph.eoh import Evaluation, Studies, StudyView, score_file, template
from logician_graph.errors import UsageError
from logician_graph.redaction import configure_logging
from logician_graph.settings import Settings, ensure_home
from storage import Study


def list_studies(options: argparse.Namespace) -> ExitCode:
    """Every study of this home."""
    with _reading() as studies:
        rows = studies.all()
    if options.json:
        print(json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=1))
        return ExitCode.COMPLETED
    for row in rows:
        best = "-" if row.best is None else f"{row.best:.5g}"
        print(f"{row.id}  {row.state:<10} {row.samples:>6}/{row.planned:<6} best {best:<10} {row.problem}  {row.title}")
    if not rows:
        print("There are no studies yet. `logician eoh run online_bin_packing` begins one.")
    return ExitCode.COMPLETED


def list_problems(options: argparse.Namespace) -> ExitCode:
    """Bundled and own problems."""
    with _reading() as studies:
        problems, broken = studies.problems()
    if options.json:
        rows = [
            {"id": each.id, "title": each.title, "direction": each.direction, "sets": list(each.sets)}
            for each in problems
        ]
        print(json.dumps(rows, ensure_ascii=False, indent=1))
    else:
        for each in problems:
            print(f"{each.id:<20} {each.title}")
    for folder, error in broken.items():
        print(f"logician: {folder} cannot be used: {error}", file=sys.stderr)
    return ExitCode.COMPLETED


def init(options: argparse.Namespace) -> ExitCode:
    """A new problem folder."""
    folder = options.folder or load_settings().home / "problems"
    made = template(options.name, Path(folder))
    print(f"{made} is ready: edit problem.toml and evaluate.py, then `logician eoh run {made}`.")
    return ExitCode.COMPLETED


def run(options: argparse.Namespace) -> ExitCode:
    """Begin a study and work on it until it ends."""
    names = ("schedule", "size", "generations", "parents", "population", "seed", "workers")
    values = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    problem = str(Path(options.problem).resolve()) if Path(options.problem).is_dir() else options.problem
    values |= {"problem": problem, "budget": _budget(options)}

    def begin(studies: Studies, models: list[str], owner: str) -> Study:
        return studies.create({**values, "models": models}, title=options.title, reserved_for=owner)

    return _work(options, begin)


def resume(options: argparse.Namespace) -> ExitCode:
    """Go on with a study until it ends."""

    def begin(studies: Studies, models: list[str], owner: str) -> Study:
        changes: dict[str, Any] = {"models": models} if options.models else {}
        if budget := _budget(options):
            changes["budget"] = budget
        if options.workers:
            changes["workers"] = options.workers
        return studies.resume(options.study, changes, reserved_for=owner)

    return _work(options, begin)


def replay(options: argparse.Namespace) -> ExitCode:
    """Repeat a study without a model."""
    return _work(options, lambda studies, _, owner: studies.replay(options.study, reserved_for=owner))


def status(options: argparse.Namespace) -> ExitCode:
    """Where a study stands."""
    with _reading() as studies:
        view = studies.view(options.study)
    if options.json:
        print(json.dumps(summary(view), ensure_ascii=False, indent=1))
        return ExitCode.COMPLETED
    row = view.row
    print(f"{row.title} ({row.problem}): {row.state}{f', {row.reason}' if row.reason else ''}")
    print(f"samples {row.samples} of {row.planned}, {row.valid} valid, best {row.best}, {row.cost_usd:.4f} USD")
    for name, tally in view.operators.items():
        print(f"  {name:<5} {tally.samples:>5} samples, {tally.entered} entered, {tally.improved} improved")
    return ExitCode.COMPLETED


def best(options: argparse.Namespace) -> ExitCode:
    """The best heuristic."""
    with _reading() as studies:
        sample = studies.best(options.study)
    if options.json:
        names = ("n", "operator", "generation", "parents", "model", "objective", "per_instance", "thought", "code")
        print(json.dumps({name: getattr(sample, name) for name in names}, ensure_ascii=False, indent=1))
    else:
        print(f"# sample {sample.n}, objective {sample.objective}: {sample.thought}\n{sample.code}")
    return ExitCode.COMPLETED


def export(options: argparse.Namespace) -> ExitCode:
    """A heuristic as a module on stdout."""
    with _reading() as studies:
        print(studies.export(options.study, options.sample), end="")
    return ExitCode.COMPLETED


def score(options: argparse.Namespace) -> ExitCode:
    """What a candidate file is worth."""
    from logician_graph.eoh.problem import find_problem

    problem = find_problem(options.problem, home=load_settings().home / "problems")
    found = asyncio.run(score_file(problem, options.candidate, options.instances, set_name=options.set_name))
    if options.json:
        print(json.dumps(_evaluation(found), ensure_ascii=False))
    else:
        print(f"{found.status}: {found.objective}" + (f" ({found.error})" if found.error else ""))
        for number, value in enumerate(found.per_instance, 1):
            print(f"  instance {number}: {value}")
    return ExitCode.COMPLETED if found.status == "valid" else ExitCode.FAILED


def _evaluation(found: Evaluation) -> dict[str, Any]:
    return {
        "status": found.status,
        "objective": found.objective,
        "per_instance": list(found.per_instance),
        "seconds": found.seconds,
        "cpu_seconds": found.cpu_seconds,
        "error": found.error,
    }


def summary(view: StudyView) -> dict[str, Any]:
    """A study in numbers, for ``--json``."""
    best = view.best
    return {
        **asdict(view.row),
        "outcomes": view.total.outcomes if view.total else {},
        "operators": {name: asdict(tally) for name, tally in view.operators.items()},
        "best_sample": best.n if best else None,
        "held_out": {
            number: {name: score.objective for name, score in scores.items()}
            for number, scores in view.held_out.items()
        },
        "baselines": {
            name: {each: score.objective for each, score in scores.items()} for name, scores in view.baselines.items()
        },
    }


def _budget(options: argparse.Namespace) -> dict[str, Any]:
    names = ("samples", "tokens", "cost_usd", "hours")
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


class _reading:  # noqa: N801 - used like a function
    """The studies of this home, for reading, without an engine at work."""

    def __enter__(self) -> Studies:
        from logician_graph.engine import Engine

        settings = load_settings()
        ensure_home(settings)
        self._engine = Engine(settings, only_own=True)
        return self._engine.studies

    def __exit__(self, *_: object) -> None:
        self._engine.database.close()


def _work(options: argparse.Namespace, begin: Callable[[Studies, list[str], str], Study]) -> ExitCode:
    settings = Settings.load()
    ensure_home(settings)
    configure_logging(settings.log_level if settings.sources()["log_level"] != "default" else "error")
    try:
        return asyncio.run(_worked(options, settings, begin))
    except asyncio.CancelledError:  # a second signal
        return ExitCode.CANCELLED


async def _worked(
    options: argparse.Namespace, settings: Settings, begin: Callable[[Studies, list[str], str], Study]
) -> ExitCode:
    from logician_graph.engine import Engine

    engine = Engine(settings, only_own=True)
    await engine.start()
    try:
        given: list[str] = list(getattr(options, "models", None) or [])
        models = [reference_of(engine, name) for name in given] or [engine.models.default_ref()]
        study = begin(engine.studies, models, engine.registry.id)
        if study.run_id is None:
            raise UsageError("the study has no run")
        print(f"study {study.id}", file=sys.stderr)
        with Stopping(lambda: engine.studies.stop(study.id)):
            async for envelope in events_of(engine, study.run_id):
                _tell(envelope, as_json=options.json)
        view = engine.studies.view(study.id)
        if options.json:
            print(json.dumps({"type": "result", "study_id": study.id, **summary(view)}, ensure_ascii=False))
        else:
            print(f"{view.row.state}: {view.row.reason} Best {view.row.best}.")
        outcome = engine.run(study.run_id).outcome
        return OF_OUTCOME.get(outcome or "failed", ExitCode.FAILED)
    finally:
        await engine.stop()


def _tell(envelope: Any, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(envelope, ensure_ascii=False), flush=True)
        return
    data = envelope["data"]
    match envelope["type"]:
        case "study.sample":
            mark = "*" if data["best"] else " "
            value = "" if data["objective"] is None else f" {data['objective']:.6g}"
            print(f"{mark} {data['n']:>5} {data['operator']:<5} {data['outcome']}{value}", flush=True)
        case "study.waiting":
            print(f"waits {data['wait_s']:g} s for {data['model']}: {data['error']}", file=sys.stderr, flush=True)
        case "study.warning":
            print(f"warning: {data['text']}", file=sys.stderr, flush=True)
        case _:
            pass
