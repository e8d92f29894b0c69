"""The schedules make exactly the calls of the table, reproducibly, and go on from any saved state as if nothing was."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logician_graph.eoh.individual import Individual
from logician_graph.eoh.plan import (
    RULES,
    SCHEDULES,
    Finished,
    Proposal,
    ScheduleName,
    ScheduleSettings,
    Wait,
    default_settings,
)
from logician_graph.eoh.population import Islands, MapElites
from logician_graph.eoh.schedule import Generational, load_schedule, new_schedule
from logician_graph.errors import UsageError
from tests.eoh_algorithm.makers import Schedule, Study, individual, outcome

GENERATIONAL: list[ScheduleName] = ["paper", "official-0.1", "official-0.2"]


def run(
    name: ScheduleName, given_settings: ScheduleSettings | None = None, **how: Any
) -> tuple[Schedule, list[Proposal]]:
    schedule = new_schedule(name, given_settings or default_settings(name), "min")
    return schedule, Study(schedule, random.Random(1), **how).finish()


def by_generation(made: list[Proposal], generation: int) -> list[str]:
    return [one.operator for one in made if one.generation == generation]


def test_the_paper_makes_its_two_thousand_queries() -> None:
    schedule, made = run("paper", workers=30)
    assert by_generation(made, 0) == ["I1"] * 20
    assert len(made) - 20 == 2000
    assert schedule.planned == len(made) == 2020
    for generation in range(1, 21):
        assert by_generation(made, generation) == [op for op in ("E1", "E2", "M1", "M2", "M3") for _ in range(20)]
    wanted = {"I1": 0, "E1": 5, "E2": 5, "M1": 1, "M2": 1, "M3": 1}
    assert all(len(one.parents) == wanted[one.operator] == len(set(one.parents)) for one in made)


def test_official_one_starts_with_2n_and_survives_after_each_operator() -> None:
    schedule = new_schedule("official-0.1", default_settings("official-0.1"), "min")
    survivals: list[int] = []
    made: list[Proposal] = []
    while not isinstance(answer := schedule.next(), Finished):
        assert isinstance(answer, Proposal)
        made.append(answer)
        if schedule.record(answer.index, outcome(answer)):
            survivals.append(answer.index + 1)
    assert len(made) == 10 + 4 * 5 * 5 == 110
    assert survivals == [10, *range(15, 111, 5)]
    assert by_generation(made, 3) == [op for op in ("E1", "E2", "M1", "M2") for _ in range(5)]
    assert all(len(one.parents) in {0, 1, 2} for one in made)
    assert any(len(set(one.parents)) == 1 < len(one.parents) for one in made), "parents come with replacement"


def test_official_one_leaves_whole_operators_out_by_weight() -> None:
    chosen = ScheduleSettings(4, 400, 2, {"E1": 1.0, "M1": 0.25, "M3": 0.0}, seed=3)
    schedule, made = run("official-0.1", chosen)
    counts = Counter(one.operator for one in made)
    assert counts["E1"] == 4 * 400
    assert counts["M1"] % 4 == 0
    assert 70 <= counts["M1"] // 4 <= 130
    assert "M3" not in counts
    assert schedule.planned == len(made)


def test_official_two_makes_n_in_total_by_weight() -> None:
    schedule, made = run("official-0.2")
    assert len(made) == schedule.planned == 10 + 5 * 20 == 110
    assert all(len(by_generation(made, generation)) == 5 for generation in range(1, 21))
    weighted = ScheduleSettings(20, 100, 2, {"E1": 3.0, "M2": 1.0, "M3": 0.0})
    counts = Counter(one.operator for one in run("official-0.2", weighted)[1])
    assert 1400 <= counts["E1"] <= 1600
    assert counts["E1"] + counts["M2"] == 2000


def test_the_steady_state_keeps_k_in_flight_and_waits_for_nobody() -> None:
    chosen = ScheduleSettings(5, 6, 3, default_settings("logician").weights, in_flight=3)
    schedule = new_schedule("logician", chosen, "min")
    first = [schedule.next() for _ in range(3)]
    assert schedule.next() == Wait(3)
    made = [one for one in first if isinstance(one, Proposal)]
    slowest = made[0]
    for _ in range(37):  # the first proposal hangs all the time
        done = next(one for one in made if one.index in schedule.open and one is not slowest)
        schedule.record(done.index, outcome(done))
        answer = schedule.next()
        assert isinstance(answer, Proposal)
        made.append(answer)
    assert [one.operator for one in made[:10]] == ["I1"] * 10
    assert {one.generation for one in made} == {0, 1, 2, 3, 4, 5, 6}
    assert len(made) == schedule.planned == 40
    for one in [made[n] for n in list(schedule.open)]:
        assert schedule.next() == Wait(len(schedule.open))
        schedule.record(one.index, None)
    assert schedule.next() == Finished(40)


def test_the_steady_state_prefers_operators_that_succeed() -> None:
    def only_m2(proposal: Proposal) -> Individual | None:
        if proposal.operator not in {"I1", "M2"}:
            return None
        return individual(proposal.index, 100.0 - proposal.index, per_instance=(proposal.index,))

    chosen = ScheduleSettings(5, 60, 2, default_settings("logician").weights)
    counts = Counter(one.operator for one in run("logician", chosen, result=only_m2)[1])
    assert counts["M2"] > 0.5 * (counts.total() - 10)
    assert all(counts[name] > 5 for name in ("E1", "E2", "M1", "M3"))


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_study_whose_samples_all_fail_goes_on_to_its_end(name: ScheduleName) -> None:
    schedule, made = run(name, ScheduleSettings(3, 4, 2, {"E1": 1.0, "M1": 1.0}), result=lambda proposal: None)
    assert {one.operator for one in made} == {"I1"}
    assert len(made) == schedule.planned
    assert schedule.population.members() == []


SETTINGS = st.builds(
    ScheduleSettings,
    size=st.integers(1, 5),
    generations=st.integers(0, 4),
    parents=st.integers(1, 4),
    weights=st.dictionaries(
        st.sampled_from(["E1", "E2", "M1", "M2", "M3"]), st.sampled_from([0.3, 1.0, 2.0]), min_size=1
    ),
    seed=st.integers(0, 1000),
    in_flight=st.integers(1, 5),
)


def populated(name: ScheduleName, chosen: ScheduleSettings, kind: str) -> Schedule:
    population: Any = None
    if kind == "islands":
        population = Islands(3, chosen.size, "max", interval=4)
    elif kind == "grid":
        population = MapElites("max")
    return new_schedule(name, chosen, "max", population=population)


@pytest.mark.parametrize("kind", ["single", "islands", "grid"])
@pytest.mark.parametrize("name", SCHEDULES)
@settings(max_examples=25)
@given(chosen=SETTINGS, seed=st.integers(), stop=st.integers(0, 80))
def test_saving_and_restoring_anywhere_changes_nothing(
    name: ScheduleName, kind: str, chosen: ScheduleSettings, seed: int, stop: int
) -> None:
    """A study that is saved, thrown away and restored after some steps makes the same proposals to its end."""
    whole = Study(populated(name, chosen, kind), random.Random(seed), workers=chosen.in_flight)
    whole.finish()

    rng = random.Random(seed)
    first = Study(populated(name, chosen, kind), rng, workers=chosen.in_flight)
    going = all(first.step() for _ in range(stop))
    state = json.loads(json.dumps(first.schedule.to_json(), allow_nan=False))
    restored = load_schedule(state, first.known.__getitem__)
    assert restored.to_json() == first.schedule.to_json()
    second = Study(restored, rng, workers=chosen.in_flight)
    second._pending = list(first._pending)  # the order in which they finish is the test's, not the schedule's
    if going:
        second.finish()
    assert first.made + second.made == whole.made
    assert len(whole.made) == whole.schedule.planned
    assert [one.id for one in restored.population.members()] == [one.id for one in whole.schedule.population.members()]


@pytest.mark.parametrize("name", GENERATIONAL)
@settings(max_examples=25)
@given(
    chosen=SETTINGS,
    seeds=st.tuples(st.integers(), st.integers()),
    workers=st.tuples(st.integers(1, 9), st.integers(1, 9)),
)
def test_with_generations_the_order_of_arrival_does_not_matter(
    name: ScheduleName, chosen: ScheduleSettings, seeds: tuple[int, int], workers: tuple[int, int]
) -> None:
    made = [
        Study(new_schedule(name, chosen, "min"), random.Random(seed), workers=count).finish()
        for seed, count in zip(seeds, workers, strict=True)
    ]
    assert made[0] == made[1]


def test_the_steady_state_repeats_with_the_same_sequence_of_calls() -> None:
    chosen = ScheduleSettings(4, 10, 2, default_settings("logician").weights, seed=5)
    runs = [Study(new_schedule("logician", chosen, "min"), random.Random(9)).finish() for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0] != Study(new_schedule("logician", chosen, "min"), random.Random(10)).finish()


@pytest.mark.parametrize("name", SCHEDULES)
def test_another_seed_is_another_study(name: ScheduleName) -> None:
    assert run(name)[1] != run(name, default_settings(name, seed=1))[1]


def test_on_islands_parents_live_where_the_child_will() -> None:
    chosen = ScheduleSettings(4, 12, 2, {"E1": 1.0, "M1": 1.0})
    islands = Islands(3, 4, "min", interval=1000)
    made = Study(new_schedule("paper", chosen, "min", population=islands), random.Random(2)).finish()
    home = {f"c{one.index}": one.island for one in made}
    assert {one.island for one in made} == {0, 1, 2}
    assert all(home[parent] == one.island for one in made for parent in one.parents)


def test_heuristics_to_start_from_are_parents_and_no_samples() -> None:
    schedule = new_schedule("logician", ScheduleSettings(2, 1, 2, {"M1": 1.0}), "max")
    schedule.start_with([individual(-1, 5.0, operator="start"), individual(-2, 7.0, operator="start")])
    assert [one.order for one in schedule.population.members()] == [-2, -1]
    made = Study(schedule, random.Random(0), result=lambda proposal: None).finish()
    assert len(made) == schedule.planned == 6
    assert {one.parents for one in made if one.operator == "M1"} <= {("c-1",), ("c-2",)}
    with pytest.raises(UsageError, match="before its first sample"):
        schedule.start_with([])


def test_a_result_is_taken_once_and_only_for_what_was_proposed() -> None:
    schedule = new_schedule("paper", default_settings("paper"), "min")
    schedule.next()
    with pytest.raises(UsageError, match="belongs to 5"):
        schedule.record(0, individual(5, 1.0))
    schedule.record(0, None)
    for index in (0, 1):
        with pytest.raises(UsageError, match="not open"):
            schedule.record(index, None)


def test_what_makes_no_schedule_is_refused() -> None:
    with pytest.raises(UsageError, match="no schedule 'fast'"):
        new_schedule("fast", default_settings("paper"), "min")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no operators"):
        ScheduleSettings(2, 2, 2, {"X9": 1.0})  # type: ignore[dict-item]
    with pytest.raises(UsageError, match="one must be above 0"):
        ScheduleSettings(2, 2, 2, {"E1": 0.0})
    with pytest.raises(UsageError, match="at least 1"):
        ScheduleSettings(0, 2, 2, {"E1": 1.0})
    state = new_schedule("paper", default_settings("paper"), "min").to_json()
    with pytest.raises(UsageError, match="version 7"):
        load_schedule({**state, "v": 7}, lambda name: individual(0, 0))


def test_the_state_stays_small() -> None:
    """It is written after every record: ids only, no code, no generator."""
    schedule = new_schedule("paper", default_settings("paper"), "min")
    study = Study(schedule, random.Random(0))
    for _ in range(1500):
        study.step()
    assert isinstance(schedule, Generational)
    assert len(json.dumps(schedule.to_json())) < 4000


def test_rules_follow_the_table() -> None:
    assert [RULES[name].initial for name in SCHEDULES] == [1, 2, 2, 2]
    assert [RULES[name].replacement for name in SCHEDULES] == [False, True, True, False]
    assert [RULES[name].duplicate_tries for name in SCHEDULES] == [0, 1, 2, 0]
