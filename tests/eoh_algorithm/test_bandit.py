"""The choice follows gain per cost, leaves everyone a chance, and follows from seed, key and records alone."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logician_graph.eoh.bandit import Bandit
from logician_graph.errors import UsageError

RECORDS = st.lists(st.tuples(st.sampled_from(["a", "b", "c", "gone"]), st.floats(0, 1), st.floats(0, 1e6)), max_size=40)


@given(RECORDS, st.integers(), st.floats(0, 1))
def test_probabilities_are_sound_and_survive_saving(
    records: list[tuple[str, float, float]], seed: int, explore: float
) -> None:
    bandit = Bandit(["a", "b", "c"], seed=seed, explore=explore)
    for name, gain, cost in records:
        bandit.record(name, gain, cost)
    values = bandit.probabilities()
    assert sum(values.values()) == pytest.approx(1)
    assert min(values.values()) >= explore / 3 - 1e-12
    again = Bandit.from_json(json.loads(json.dumps(bandit.to_json(), allow_nan=False)))
    assert again.probabilities() == values
    assert [again.choose(key) for key in range(20)] == [bandit.choose(key) for key in range(20)]


def test_it_starts_even() -> None:
    assert Bandit(["a", "b"], seed=0).probabilities() == {"a": 0.5, "b": 0.5}


def test_the_better_value_for_the_money_is_chosen_most() -> None:
    bandit = Bandit(["cheap", "good", "useless"], seed=1)
    for key in range(300):
        name = bandit.choose(key)
        gain, cost = {"cheap": (0.3, 1.0), "good": (0.9, 12.0), "useless": (0.0, 1.0)}[name]
        bandit.record(name, gain, cost)
    counts = Counter(bandit.choose(key) for key in range(300, 1300))
    assert counts["cheap"] > counts["good"] > 0
    assert counts["cheap"] > counts["useless"] > 0


def test_it_follows_when_an_arm_dries_up() -> None:
    bandit = Bandit(["a", "b"], seed=1)
    for _ in range(100):
        bandit.record("a", 1.0)
        bandit.record("b", 0.2)
    assert bandit.probabilities()["a"] > 0.6
    for _ in range(60):
        bandit.record("a", 0.0)
    assert bandit.probabilities()["b"] > 0.6


def test_a_free_model_does_not_take_everything() -> None:
    bandit = Bandit(["local", "paid"], seed=1)
    for _ in range(50):
        bandit.record("local", 0.5, 0.0)
        bandit.record("paid", 0.5, 0.02)
    assert 0.09 < bandit.probabilities()["paid"] < 0.2


def test_the_list_of_models_may_change() -> None:
    bandit = Bandit(["a", "b"], seed=1)
    for _ in range(30):
        bandit.record("a", 1.0)
        bandit.record("b", 0.0)
    changed = bandit.with_arms(["c", "a"])
    assert list(changed.arms) == ["c", "a"]
    assert changed.arms["a"] == bandit.arms["a"]
    assert changed.arms["c"].records == 0
    changed.record("b", 1.0)
    assert list(changed.arms) == ["c", "a"]


def test_lists_without_or_with_double_names_are_refused() -> None:
    for names in ([], ["a", "a"]):
        with pytest.raises(UsageError, match="each once"):
            Bandit(names, seed=0)
    with pytest.raises(ValueError, match="negative"):
        Bandit(["a"], seed=0).record("a", -1.0)
