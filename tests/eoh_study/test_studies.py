"""Studies from end to end: what they record, how they end, and that a replay and a resumed study are the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from logician_graph.eoh import StudyView, planned_samples
from logician_graph.errors import Conflict, UsageError
from tests.eoh_study.conftest import Bench
from tests.fakes.openai_server import Reply


def history(view: StudyView) -> list[tuple[Any, ...]]:
    """What a study did, without times."""
    return [
        (one.n, one.operator, one.parents, one.code, one.thought, one.outcome, one.objective, one.verdict, one.best)
        for one in view.samples
    ]


@pytest.mark.parametrize("schedule", ["paper", "official-0.1", "official-0.2", "logician"])
def test_a_study_makes_every_sample_and_says_what_became_of_it(bench: Bench, schedule: str) -> None:
    study = bench.create(schedule=schedule, in_flight=2, calls=2)
    view = bench.finished(study)
    made = [one for one in view.samples if one.n >= 0]
    assert all(one.phase == "recorded" for one in made)
    assert len(made) == planned_samples(view.options)
    assert view.total is not None and view.total.samples == len(made)
    assert sum(view.total.outcomes.values()) == len(made)
    failed = sum(view.total.outcomes.get(name, 0) for name in ("generation_failed", "failed"))
    repaired = [one for one in made if any("repaired once" in note for note in one.notes or ())]
    assert failed + len(repaired) > 0
    assert all(one.error for one in made if one.outcome in ("failed", "generation_failed"))
    assert view.row.state == "completed"
    assert view.best is not None and view.population[0].objective == view.best.objective
    assert [one.n for one in view.members_at(view.recorded[-1].record or 0)] == sorted(one.n for one in view.population)
    # Everything is told as it was measured: the calls that the endpoint saw are the calls that were counted.
    calls = [request for request in bench.fake.requests if request.path.endswith("/chat/completions")]
    assert view.total.tries == len(calls) == bench.run(study).usage["model_calls"]
    assert view.total.output_tokens == 60 * len(calls)


def test_the_best_of_each_generation_and_the_baselines_are_measured_on_what_was_held_out(bench: Bench) -> None:
    view = bench.finished(bench.create())
    assert set(view.baselines) == {"Value per weight", "Value"}
    assert set(view.baselines["Value"]) == {"train", "More objects", "Half the capacity"}
    assert view.best is not None
    assert set(view.held_out[view.best.n]) == {"More objects", "Half the capacity"}
    assert all(score.status == "valid" for scores in view.held_out.values() for score in scores.values())


@pytest.mark.parametrize("schedule", ["official-0.2", "logician"])
def test_a_replay_is_the_same_study_without_a_model(bench: Bench, schedule: str) -> None:
    study = bench.create(schedule=schedule, in_flight=3, calls=3, workers=2)
    first = bench.finished(study)
    asked = len(bench.fake.requests)
    again = bench.finished(bench.studies.replay(study.id))
    assert len(bench.fake.requests) == asked
    assert history(again) == history(first)
    assert [one.n for one in again.recorded] == [one.n for one in first.recorded]


def test_a_study_that_was_stopped_goes_on_where_it_stood(bench: Bench) -> None:
    whole = bench.finished(bench.create(schedule="official-0.2"))
    study = bench.create(schedule="official-0.2")
    bench.until(lambda: len([one for one in bench.studies.view(study.id).samples if one.record]) >= 5)
    bench.studies.stop(study.id)
    stopped = bench.finished(study, "cancelled")
    assert 5 <= len(stopped.recorded) < len(whole.recorded)
    resumed = bench.studies.resume(study.id)
    assert history(bench.finished(resumed)) == history(whole)


def test_a_study_goes_on_after_logician_stopped_and_started(bench: Bench) -> None:
    whole = bench.finished(bench.create(schedule="official-0.2"))
    study = bench.create(schedule="official-0.2")
    bench.until(lambda: len([one for one in bench.studies.view(study.id).samples if one.record]) >= 4)
    bench.stop()
    bench.start()
    assert history(bench.finished(study)) == history(whole)


def test_a_budget_ends_a_study_and_more_of_it_goes_on(bench: Bench) -> None:
    study = bench.create(budget={"samples": 5})
    view = bench.finished(study)
    assert len([one for one in view.samples if one.n >= 0]) == 5
    assert "5 samples" in str(view.row.reason)
    resumed = bench.studies.resume(study.id, {"budget": {"samples": 9}})
    assert len([one for one in bench.finished(resumed).samples if one.n >= 0]) == 9
    with pytest.raises(UsageError, match="schedule"):
        bench.studies.resume(study.id, {"schedule": "paper"})


def test_two_studies_work_at_once(bench: Bench) -> None:
    one, other = bench.create(seed=1), bench.create(seed=2)
    first, second = bench.finished(one), bench.finished(other)
    assert history(first) != history(second)
    with pytest.raises(Conflict):
        running = bench.create(generations=50)
        try:
            bench.studies.delete(running.id)
        finally:
            bench.studies.stop(running.id)
            bench.finished(running, "cancelled")


def test_what_cannot_be_a_study_is_refused(bench: Bench) -> None:
    with pytest.raises(UsageError, match="nowhere"):
        bench.create(problem="nowhere")
    with pytest.raises(UsageError, match="size"):
        bench.create(size=0)
    with pytest.raises(UsageError, match="model"):
        bench.create(models=[])
    assert bench.studies.all() == []


def test_a_winner_is_exported_as_a_module_that_stands_alone(bench: Bench, tmp_path: Path) -> None:
    study = bench.create()
    view = bench.finished(study)
    text = bench.studies.export(study.id)
    spaces: dict[str, Any] = {}
    exec(compile(text, "winner.py", "exec"), spaces)
    assert callable(spaces["priority"])
    assert study.id in text
    assert "arXiv:2401.02051" in text
    assert repr(view.best.objective if view.best else None) in text


def test_exchanges_are_kept_as_sent_and_received(bench: Bench) -> None:
    study = bench.create(budget={"samples": 2})
    view = bench.finished(study)
    sample, exchanges = bench.studies.sample(study.id, 0)
    assert sample.tries == len(exchanges)
    seen = [json.dumps(request.body["messages"]) for request in bench.fake.requests if request.body]
    assert any(json.dumps(exchanges[0].request["user"]) in body for body in seen)
    assert "priority" in exchanges[0].reply
    assert view.samples[0].n in (-1, 0)


def test_a_provider_that_is_away_is_waited_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logician_graph.eoh.sampling.FIRST_WAIT_S", 0.2)
    whole = bench.fake.handler
    bench.fake.handler = lambda _: Reply.failing(503, "away")
    study = bench.create(budget={"samples": 3})
    bench.until(lambda: bench.studies.view(study.id).waiting is not None)
    assert bench.run(study).status == "running"
    bench.fake.handler = whole
    assert len([one for one in bench.finished(study).samples if one.n >= 0]) == 3
