"""The bundled problems give the values known from the literature and from re-runs of the published rules, exactly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from logician_graph.eoh.problem import (
    Problem,
    bundled_problems,
    evaluate_baseline,
    evaluate_here,
    find_problem,
    measure_here,
)

PROBLEMS = {problem.id: problem for problem in bundled_problems()}


def test_the_bundled_problems_are_there() -> None:
    assert list(PROBLEMS) == ["cap_set", "fit_function", "flow_shop", "online_bin_packing", "tsp_construct", "tsp_gls"]


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_set_loads_and_every_baseline_is_feasible(name: str) -> None:
    problem = PROBLEMS[name]
    for chosen in problem.sets:
        assert problem.instances(chosen)
    for baseline in problem.baselines:
        objective, values = measure_here(problem, problem.baseline_solver(baseline), problem.instances()[:1])
        assert np.isfinite(objective)
        assert len(values) == 1


@pytest.mark.parametrize("name", PROBLEMS)
def test_files_of_instances_name_their_source(name: str) -> None:
    folder = PROBLEMS[name].folder / "instances"
    for path in folder.glob("*.json"):
        assert '"source"' in path.read_text(encoding="utf-8")[:20], path
    if list(folder.glob("*.txt")):
        assert (folder / "SOURCE.md").is_file()


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_bound_on_part_of_the_values_is_never_beaten_by_the_rest(name: str) -> None:
    problem = PROBLEMS[name]
    bound = problem.code.partial_bound
    if bound is None:
        pytest.skip("has no bound")
    instances = problem.instances()
    baseline = next(iter(problem.baselines))
    objective, values = evaluate_baseline(problem, baseline)
    bounds = [bound(list(values[:count]), instances) for count in range(len(values) + 1)]
    assert bounds == sorted(bounds)
    assert bounds[-1] == pytest.approx(objective, rel=1e-12)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_heuristic_that_writes_into_its_inputs_changes_nothing_else(name: str) -> None:
    """Also not the instances, which the next candidate gets."""
    problem = PROBLEMS[name]
    code = problem.code
    instances = problem.instances()[:1]
    heuristic = _seed(problem)

    def vandal(*inputs: Any) -> Any:
        answer = heuristic(*inputs)
        answer = answer.copy() if isinstance(answer, np.ndarray) else answer
        for value in inputs:
            if isinstance(value, np.ndarray):
                value[...] = 0
        return answer

    clean = measure_here(problem, lambda shown: code.solve(heuristic, shown), instances)
    assert measure_here(problem, lambda shown: code.solve(vandal, shown), instances) == clean
    assert measure_here(problem, lambda shown: code.solve(heuristic, shown), instances) == clean


def _seed(problem: Problem) -> Callable[..., Any]:
    assert problem.seed is not None
    names: dict[str, Any] = {}
    exec(problem.seed, names)
    return names[problem.signature.name]


# Online bin packing

BINS = {
    ("First Fit", "Weibull 1k"): [425, 425, 422, 425, 421],
    ("Best Fit", "Weibull 1k"): [424, 424, 420, 423, 418],
    ("FunSearch, Weibull", "Weibull 1k"): [416, 420, 413, 413, 425],
    ("EoH", "Weibull 1k"): [411, 413, 411, 410, 411],
    ("First Fit", "Weibull 5k"): [2079, 2097, 2102, 2090, 2104],
    ("Best Fit", "Weibull 5k"): [2077, 2087, 2095, 2083, 2098],
    ("FunSearch, Weibull", "Weibull 5k"): [2010, 2026, 2029, 2012, 2034],
    ("EoH", "Weibull 5k"): [2011, 2024, 2030, 2014, 2032],
    ("First Fit", "train"): [2098, 2067, 2065, 2070, 2059],
    ("Best Fit", "train"): [2094, 2059, 2057, 2067, 2058],
    ("FunSearch, Weibull", "train"): [2019, 2002, 1992, 2000, 1994],
    ("EoH", "train"): [2025, 1994, 1995, 2001, 1992],
}
GAPS = {
    ("First Fit", "Weibull 1k"): 5.32,
    ("Best Fit", "Weibull 1k"): 4.87,
    ("FunSearch, Weibull", "Weibull 1k"): 3.78,
    ("EoH", "Weibull 1k"): 2.24,
    ("First Fit", "Weibull 5k"): 4.40,
    ("Best Fit", "Weibull 5k"): 4.08,
    ("FunSearch, Weibull", "Weibull 5k"): 0.80,
    ("EoH", "Weibull 5k"): 0.80,
    ("First Fit", "Weibull 5k, capacity 500"): 0.50,
    ("Best Fit", "Weibull 5k, capacity 500"): 0.50,
    ("FunSearch, Weibull", "Weibull 5k, capacity 500"): 16.14,
    ("EoH", "Weibull 5k, capacity 500"): 0.35,
    ("First Fit", "train"): 4.226,
    ("Best Fit", "train"): 3.984,
    ("FunSearch, Weibull", "train"): 0.684,
    ("EoH", "train"): 0.684,
    ("First Fit", "OR3"): 5.741,
    ("Best Fit", "OR3"): 5.368,
    ("FunSearch, OR", "OR3"): 3.106,
    ("EoH", "OR3"): 7.98,
    ("FunSearch, Weibull", "OR3"): 12.77,
}


@pytest.mark.parametrize(("rule", "chosen"), GAPS)
def test_bins_and_gaps_are_those_of_the_published_rules(rule: str, chosen: str) -> None:
    objective, values = evaluate_baseline(PROBLEMS["online_bin_packing"], rule, chosen)
    published = GAPS[rule, chosen]
    decimals = len(str(published).partition(".")[2])
    assert round(100 * objective, max(decimals, 2)) == published
    if (rule, chosen) in BINS:
        assert list(values) == BINS[rule, chosen]


def _plainly_packed(heuristic: Callable[..., Any], capacity: int, items: np.ndarray) -> list[int]:
    """The published loop, word for word in what it does: every bin is filtered for every item."""
    left = np.full(len(items), capacity)
    placed: list[int] = []
    for item in items:
        feasible = np.nonzero(left >= item)[0]
        place = feasible[np.argmax(heuristic(item, left[feasible]))]
        left[place] -= item
        placed.append(int(place))
    return placed


def _last(item: int, bins: np.ndarray) -> np.ndarray:
    return np.arange(len(bins))


def _scattered(item: int, bins: np.ndarray) -> np.ndarray:
    return (np.arange(len(bins)) * 7919 + int(bins.sum()) * 31 + int(item)) % 101


def _not_a_number_at_times(item: int, bins: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.log(np.log(bins - item)) * np.arange(len(bins))


def _infinite(item: int, bins: np.ndarray) -> np.ndarray:
    return np.where(bins % 2 == 0, np.inf, -np.inf)


@pytest.mark.parametrize("heuristic", [_last, _scattered, _not_a_number_at_times, _infinite])
@pytest.mark.parametrize("smallest", [0, 1, 20])
def test_packing_is_what_the_plain_loop_gives(heuristic: Callable[..., Any], smallest: int) -> None:
    """For rules that use the order, the number and the emptiness of the bins, and open them anywhere."""
    code = PROBLEMS["online_bin_packing"].code
    random = np.random.default_rng(5)
    for count, capacity in ((1, 30), (40, 30), (400, 100)):
        items = random.integers(smallest, 1 + min(capacity, 70), count)
        placed = code.solve(heuristic, {"capacity": capacity, "items": items})
        assert placed.tolist() == _plainly_packed(heuristic, capacity, items)


def test_a_bin_scored_not_a_number_is_taken_first() -> None:
    code = PROBLEMS["online_bin_packing"].code
    scores = {3: [0.0, np.nan, 5.0], 2: [np.nan, 9.0]}
    items = np.array([60, 30, 50])
    seen: list[list[int]] = []

    def heuristic(item: int, bins: np.ndarray) -> Any:
        seen.append(bins.tolist())
        return np.array(scores.get(len(bins), [0.0]))

    # 60 goes to bin 1; 30 to bin 1 as well; 50 does not fit there any more and goes to bin 0.
    assert code.solve(heuristic, {"capacity": 100, "items": items}).tolist() == [1, 1, 0]
    assert seen == [[100, 100, 100], [100, 40, 100], [100, 100]]


@pytest.mark.parametrize("answer", [0.0, np.zeros(2), np.zeros((3, 3)), None, [], "abc"])
def test_scores_that_are_not_one_for_each_bin_fail(answer: Any) -> None:
    code = PROBLEMS["online_bin_packing"].code
    with pytest.raises(ValueError, match="for 4 bins"):
        code.solve(lambda item, bins: answer, {"capacity": 10, "items": np.array([1, 2, 3, 4])})


@pytest.mark.parametrize(
    ("placed", "why"),
    [
        ([0, 0, 0], "bin 0 holds 18"),
        ([0, 1, 3], "does not exist"),
        ([0, 1, -1], "does not exist"),
        ([0, 1], "one bin index for each of 3"),
        ([0.0, 1.0, 2.0], "one bin index"),
        ("abc", "one bin index"),
        (None, "one bin index"),
    ],
)
def test_packings_against_the_rules_are_infeasible(placed: Any, why: str) -> None:
    code = PROBLEMS["online_bin_packing"].code
    with pytest.raises(ValueError, match=why):
        code.measure(placed, {"capacity": 10, "items": np.array([6, 6, 6])})


# Tours


@pytest.mark.parametrize(("chosen", "length"), [("train", 6.60788), ("20 cities", 4.558), ("50 cities", 7.014)])
def test_nearest_neighbour_gives_the_known_mean_length(chosen: str, length: float) -> None:
    objective, _ = evaluate_baseline(PROBLEMS["tsp_construct"], "Nearest neighbour", chosen)
    assert round(objective, 5 if chosen == "train" else 3) == length


def test_guided_search_beats_local_search_beats_construction_and_is_exact() -> None:
    guided = evaluate_baseline(PROBLEMS["tsp_gls"], "Guided local search")
    assert guided == evaluate_baseline(PROBLEMS["tsp_gls"], "Guided local search")
    plain, lengths = evaluate_baseline(PROBLEMS["tsp_gls"], "Local search")
    assert guided[0] == pytest.approx(5.6086, abs=1e-4)
    assert all(better <= worse for better, worse in zip(guided[1], lengths, strict=True))
    assert plain < evaluate_baseline(PROBLEMS["tsp_construct"], "Nearest neighbour and 2-opt")[0]


def test_no_change_of_the_descent_is_left_that_shortens_a_tour() -> None:
    """Every exchange and every move, tried one by one on the tour that local search gives."""
    problem = PROBLEMS["tsp_gls"]
    instance = problem.load_instances(problem.folder / "instances/uniform_20.json")[0]
    tour = problem.baseline_solver("Local search")(problem.code.visible(instance)).tolist()
    length = problem.code.measure(np.array(tour), instance)
    for first in range(20):
        for last in range(first + 1, 21):
            exchanged = tour[:first] + tour[first:last][::-1] + tour[last:]
            assert problem.code.measure(np.array(exchanged), instance) >= length - 1e-9
        rest = tour[:first] + tour[first + 1 :]
        for place in range(20):
            moved = [*rest[:place], tour[first], *rest[place:]]
            assert problem.code.measure(np.array(moved), instance) >= length - 1e-9


@pytest.mark.parametrize("name", ["tsp_construct", "tsp_gls"])
@pytest.mark.parametrize("tour", [[0, 1, 2, 2], [0, 1, 2], [0, 1, 2, 4], [0.0, 1.0, 2.0, 3.0], None, [[0, 1], [2, 3]]])
def test_tours_against_the_rules_are_infeasible(name: str, tour: Any) -> None:
    with pytest.raises(ValueError, match="each of 4 cities once"):
        PROBLEMS[name].code.measure(tour, {"coordinates": np.random.default_rng(1).random((4, 2))})


@pytest.mark.parametrize("answer", [0, 99, np.nan, None, "a", [1, 2], 1.5])
def test_a_city_that_is_not_open_fails(answer: Any) -> None:
    coordinates = np.random.default_rng(1).random((5, 2))
    with pytest.raises(ValueError, match="unvisited cities"):
        PROBLEMS["tsp_construct"].code.solve(lambda *_: answer, {"coordinates": coordinates})


@pytest.mark.parametrize("answer", [np.zeros((4, 4)), np.full((5, 5), np.nan), np.full((5, 5), np.inf), 0.0])
def test_distances_that_cannot_be_searched_fail(answer: Any) -> None:
    coordinates = np.random.default_rng(1).random((5, 2))
    with pytest.raises(ValueError, match="shape|finite"):
        PROBLEMS["tsp_gls"].code.solve(lambda *_: answer, {"coordinates": coordinates})


@pytest.mark.parametrize("scale", [0.0, -1.0, 1e300, 1e-300])
def test_a_descent_under_absurd_distances_ends(scale: float) -> None:
    coordinates = np.random.default_rng(1).random((12, 2))
    tour = PROBLEMS["tsp_gls"].code.solve(lambda distance, *_: distance * scale, {"coordinates": coordinates})
    assert sorted(tour) == list(range(12))


# Flow shop

EXCESS = {
    "NEH": (3.25, 4.59, 3.73, 0.73, 4.57, 6.06),
    "CDS": (9.82, 12.08, 9.47, 6.75, 12.38, 13.42),
    "Gupta": (12.90, 24.05, 22.58, 12.41, 21.38, 23.44),
}


@pytest.mark.parametrize("rule", EXCESS)
def test_flow_shop_rules_give_the_known_excess_on_taillards_instances(rule: str) -> None:
    problem = PROBLEMS["flow_shop"]
    found = [evaluate_baseline(problem, rule, chosen)[0] for chosen in problem.held_out]
    assert tuple(round(excess, 2) for excess in found) == EXCESS[rule]


def test_the_makespan_is_that_of_the_schedule_written_out() -> None:
    times = np.array([[3, 2], [1, 4], [2, 2]])
    instance = {"times": times, "upper": 9, "lower": 9}
    # Machine 1: job 1 until 1, job 0 until 4, job 2 until 6; machine 2: until 5, 7, 9.
    assert PROBLEMS["flow_shop"].code.measure(np.array([1, 0, 2]), instance) == 9
    with pytest.raises(ValueError, match="each of 3 jobs once"):
        PROBLEMS["flow_shop"].code.measure(np.array([1, 0, 0]), instance)


def test_processing_times_are_those_of_the_seeds_in_the_files() -> None:
    """Taillard's generator, EJOR 64: a file that lost or changed a number would not match."""
    folder = PROBLEMS["flow_shop"].folder / "instances"
    for path in sorted(folder.glob("*.txt")):
        seeds = [int(line.split()[2]) for line in path.read_text(encoding="utf-8").splitlines() if _is_header(line)]
        for seed, instance in zip(seeds, PROBLEMS["flow_shop"].load_instances(path), strict=True):
            jobs, machines = instance["times"].shape
            drawn = _uniform(seed, jobs * machines)
            assert np.array_equal(np.array(drawn).reshape(machines, jobs).T, instance["times"]), path.name


def _is_header(line: str) -> bool:
    words = line.split()
    return len(words) == 5 and all(word.isdigit() for word in words)


def _uniform(seed: int, count: int) -> list[int]:
    drawn: list[int] = []
    for _ in range(count):
        seed = (16807 * seed) % (2**31 - 1)
        drawn.append(1 + int(seed / (2**31 - 1) * 99))
    return drawn


def test_bounds_of_flow_shop_instances_stay_out_of_the_candidates_sight() -> None:
    problem = PROBLEMS["flow_shop"]
    assert set(problem.code.visible(problem.instances()[0])) == {"times"}


@pytest.mark.parametrize("answer", [None, np.zeros(2), np.array([0.0, np.nan, 1.0]), "abc", 1.0])
def test_priorities_that_cannot_be_sorted_fail(answer: Any) -> None:
    with pytest.raises(ValueError, match="gave"):
        PROBLEMS["flow_shop"].code.solve(lambda _: answer, {"times": np.ones((3, 2), dtype=np.int64)})


# Cap sets


def test_cap_sets_have_the_known_sizes() -> None:
    problem = PROBLEMS["cap_set"]
    assert evaluate_baseline(problem, "FunSearch, n = 8") == (512.0, (512.0,))
    assert evaluate_baseline(problem, "All equal") == (256.0, (256.0,))


def test_any_priority_gives_a_maximal_cap_set() -> None:
    code = PROBLEMS["cap_set"].code
    for number, priority in enumerate([lambda v, n: -sum(v), lambda v, n: float("nan"), lambda v, n: hash(v) % 97]):
        chosen = code.solve(priority, {"n": 4})
        assert 9 <= code.measure(chosen, {"n": 4}) <= 20, number
    assert code.measure(code.solve(lambda v, n: float("-inf"), {"n": 3}), {"n": 3}) == 0


@pytest.mark.parametrize(
    ("vectors", "why"),
    [
        ([[0, 0], [1, 1], [2, 2]], "on a line"),
        ([[0, 1], [0, 1]], "twice"),
        ([[0, 3]], "something else"),
        ([[0, -1]], "something else"),
        ([[0, 1, 2]], "vectors of 2"),
        ([[0.0, 1.0]], "vectors of 2"),
        ([0, 1], "vectors of 2"),
        ([[0, 1]] * 10, "twice"),
        (None, "vectors of 2"),
    ],
)
def test_sets_against_the_rules_are_infeasible(vectors: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        PROBLEMS["cap_set"].code.measure(vectors, {"n": 2})


# Fitting


def test_the_law_fits_and_its_values_stay_out_of_sight() -> None:
    problem = PROBLEMS["fit_function"]
    for chosen in problem.sets:
        assert evaluate_baseline(problem, "The law itself", chosen)[0] < 0.001
    assert set(problem.code.visible(problem.instances()[0])) == {"x"}
    assert evaluate_here(problem, lambda x: x * 0)[0] > 0.5
    for wrong in (lambda x: x[:3], lambda x: x * np.nan, lambda x: None):
        with pytest.raises(ValueError, match="gave"):
            evaluate_here(problem, wrong)


def test_numbers_in_files_of_any_bundled_shape_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "bins.json").write_text('{"source": "s", "capacity": 10, "instances": [[1, 2.0, 10], [5]]}', "utf-8")
    (tmp_path / "cities.json").write_text('{"instances": [[[0, 0], [0, 1], [1, 1], [1, 0]]]}', "utf-8")
    (tmp_path / "shop.txt").write_text("jobs machines\n 2 2 1 9 8\ntimes\n 1 2\n 3 4\n", "utf-8")
    assert [len(one["items"]) for one in find_problem("online_bin_packing").load_instances(tmp_path / "bins.json")] == [
        3,
        1,
    ]
    assert find_problem("tsp_gls").load_instances(tmp_path / "cities.json")[0]["coordinates"].shape == (4, 2)
    assert find_problem("flow_shop").load_instances(tmp_path / "shop.txt")[0]["times"].tolist() == [[1, 3], [2, 4]]
