"""Who survives: the best stay, duplicates do not enter, nothing depends on the direction but its sign."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logician_graph.eoh.individual import Direction, Individual
from logician_graph.eoh.population import Axis, Islands, MapElites, Population, Single, load_population
from logician_graph.errors import UsageError
from tests.eoh_algorithm.makers import individual

DIRECTIONS: tuple[Direction, ...] = ("min", "max")
KINDS: list[dict[str, Any]] = [
    {"kind": "single", "size": 4, "duplicates": "objective"},
    {"kind": "single", "size": 4, "duplicates": "behaviour"},
    {"kind": "islands", "count": 3, "size": 3, "interval": 4, "migrants": 2},
    {"kind": "map_elites", "axes": [{"feature": "branches", "cuts": [1, 3]}, {"feature": "nodes", "cuts": [20]}]},
]


def nothing(name: str) -> Individual:
    raise KeyError(name)


def made(kind: dict[str, Any], direction: Direction) -> Population:
    return load_population({**kind, "direction": direction}, nothing)


@st.composite
def newcomers(draw: st.DrawFn) -> list[list[Individual]]:
    """Batches of individuals with unique ids, repeated scores and codes of several sizes."""
    order = 0
    batches: list[list[Individual]] = []
    for size in draw(st.lists(st.integers(0, 6), max_size=6)):
        batch: list[Individual] = []
        for _ in range(size):
            objective, rest = draw(st.integers(-4, 4)) / 2, draw(st.integers(0, 1))
            branches = "".join(f"    if a > {n}: a = {n}\n" for n in range(draw(st.integers(0, 4))))
            code = f"def f(a):\n{branches}    return a\n"
            batch.append(
                individual(order, objective, per_instance=(objective, rest), code=code, island=draw(st.integers(0, 4)))
            )
            order += 1
        batches.append(batch)
    return batches


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind['kind']}-{kind.get('duplicates', '')}")
@given(batches=newcomers())
def test_every_population_keeps_the_best_and_its_word(kind: dict[str, Any], batches: list[list[Individual]]) -> None:
    population, mirror = made(kind, "min"), made(kind, "max")
    best: float | None = None
    everyone: dict[str, Individual] = {}
    for batch in batches:
        before = {one.id for one in population.members()}
        bars = {one.id: population.bar(one.code, one.island) for one in batch}
        everyone |= {one.id: one for one in batch}
        survival = population.admit(batch)
        mirrored = mirror.admit([replace(one, objective=-one.objective) for one in batch])
        assert survival == mirrored
        members = population.members()
        now = {one.id for one in members}
        assert [one.objective for one in members] == sorted(one.objective for one in members)
        assert set(survival.verdicts) == {one.id for one in batch}
        assert now <= before | {name for name, verdict in survival.verdicts.items() if verdict == "entered"}
        assert set(survival.left) == (before | {n for n, v in survival.verdicts.items() if v == "entered"}) - now
        for one in batch:
            bar = bars[one.id]
            if bar is not None and one.objective > bar:
                assert survival.verdicts[one.id] != "entered"
        best = min([one.objective for one in batch] + ([] if best is None else [best]), default=None)
        assert not members or members[0].objective == best
        state = json.loads(json.dumps(population.to_json(), allow_nan=False))
        again = load_population(state, everyone.__getitem__)
        assert again.to_json() == population.to_json()
        assert [again.breeding(n) for n in range(again.islands)] == [
            population.breeding(n) for n in range(population.islands)
        ]


def test_the_official_rule_drops_equal_objectives_even_when_behaviour_differs() -> None:
    one, two = individual(0, 0.006241, per_instance=(1, 2)), individual(1, 0.006242, per_instance=(2, 1))
    assert Single(5, "min").admit([one, two]).verdicts == {"c0": "entered", "c1": "duplicate"}
    by_behaviour = Single(5, "min", "behaviour")
    assert by_behaviour.admit([one, two]).verdicts == {"c0": "entered", "c1": "entered"}
    assert by_behaviour.admit([replace(two, id="c9", order=9)]).verdicts == {"c9": "duplicate"}


def test_a_full_population_drops_the_worst_and_says_so() -> None:
    population = Single(2, "min")
    population.admit([individual(0, 3.0), individual(1, 2.0)])
    assert population.bar("", 0) == 3.0
    survival = population.admit([individual(2, 1.0), individual(3, 9.0)])
    assert survival.verdicts == {"c2": "entered", "c3": "behind"}
    assert survival.left == ("c0",)


def test_islands_breed_apart_and_migrate_in_a_ring() -> None:
    islands = Islands(3, 2, "min", interval=6, migrants=1)
    islands.admit([individual(n, n + 1.0, island=n) for n in range(3)])
    assert [[one.id for one in islands.breeding(n)] for n in range(3)] == [["c0"], ["c1"], ["c2"]]
    islands.admit([individual(n, n + 10.0, island=n % 3) for n in range(3, 6)])
    assert [[one.id for one in islands.breeding(n)] for n in range(3)] == [["c0", "c2"], ["c0", "c1"], ["c1", "c2"]]
    assert [one.id for one in islands.members()] == ["c0", "c1", "c2"]


def test_a_grid_keeps_the_best_of_each_cell() -> None:
    grid = MapElites("max", (Axis("branches", (1, 2)), Axis("lines", (4,))))
    plain, branched = "def f(a):\n    return a", "def f(a):\n    if a: return 1\n    return a"
    grid.admit([individual(0, 1.0, code=plain), individual(1, 0.5, code=branched)])
    survival = grid.admit([individual(2, 0.7, code=branched), individual(3, 0.6, code=branched)])
    assert survival.verdicts == {"c2": "entered", "c3": "behind"}
    assert survival.left == ("c1",)
    assert {cell: one.id for cell, one in grid.cells().items()} == {(0, 0): "c0", (1, 1): "c2"}
    assert grid.bar(branched, 0) == 0.7
    assert grid.bar("def f(a):\n    if a: return 1\n    if 1: return 2\n    return a", 0) is None


def test_an_individual_has_finite_numbers_only() -> None:
    for objective in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="finite"):
            individual(0, objective)
    with pytest.raises(ValueError, match="per instance"):
        individual(0, 1.0, per_instance=(float("nan"),))
    one = individual(4, 1.5, per_instance=(1.0, None), parents=("a", "a"), island=2)
    assert Individual.from_json(json.loads(json.dumps(one.to_json()))) == one


def test_descriptions_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UsageError, match="rings"):
        load_population({"kind": "rings"}, nothing)
    with pytest.raises(UsageError, match="at least one place"):
        Single(0, "min")
    with pytest.raises(UsageError, match="interval"):
        Islands(2, 2, "min", interval=0)
    with pytest.raises(UsageError, match="ascending"):
        Axis("nodes", (3, 2))
