# ruff: noqa: E501
"""The same candidate gets the same score: twice on one worker, on every worker, and through Dask. And racing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from logician_graph.eoh.evaluator import Evaluator, dask_evaluator, local_evaluator
from logician_graph.eoh.evaluator.types import spec_of
from logician_graph.errors import NotFound, SettingsError, UsageError
from tests.eoh_evaluator.conftest import MakeEvaluator
from tests.eoh_evaluator.problems import SQUARE, instances, write_problem

Cluster = Callable[[], str]

RANDOM = """
import numpy as np
import random
def f(x):
    rng = np.random.default_rng()
    words = {'alpha', 'beta', 'gamma', 'delta', 'epsilon'}
    total = rng.random() + np.random.rand() + random.random() + np.random.RandomState().rand() + random.Random().random()
    random.seed(); np.random.seed()
    total += random.random() + np.random.rand() + np.empty(1000).sum()
    return total + sum(len(w) * 0.1 ** k for k, w in enumerate(words))
"""


@pytest.fixture(scope="module")
def scheduler() -> object:
    """A real cluster: two processes of one thread each."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(params=["local", "dask"])
async def both(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Callable[..., Evaluator]]:
    made: list[Evaluator] = []

    def make(**problem: object) -> Evaluator:
        written = write_problem(tmp_path / f"p{len(made)}", **problem)  # type: ignore[arg-type]
        if request.param == "local":
            made.append(local_evaluator(written, workers=2))
        else:
            made.append(dask_evaluator(written, scheduler=request.getfixturevalue("scheduler")))
        return made[-1]

    yield make
    for one in made:
        await one.close()


async def test_random_candidates_are_not(both: Callable[..., Evaluator]) -> None:
    one = both(imports=("numpy", "random"))
    seen = await asyncio.gather(*(one.evaluate(RANDOM) for _ in range(6)))
    assert [each.status for each in seen] == ["valid"] * 6, seen[0]
    assert len({each.per_instance for each in seen}) == 1


async def test_an_instance_is_worth_the_same_in_any_set(both: Callable[..., Evaluator]) -> None:
    one = both(imports=("numpy", "random"))
    train = await one.evaluate(RANDOM)
    other = await one.evaluate(RANDOM, instances="other")
    assert len(other.per_instance) == 5 and other.per_instance[:3] == train.per_instance


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (SQUARE, "valid"),
        ("def f(x): return 1 / 0", "failed"),
        ("def f(x):\n    while True: pass", "timeout"),
        ("import os", "rejected"),
        ("def f(x): return [0] * 10**9", "memory"),
        ("def f(x): return 'a'", "infeasible"),
        ("\udc80", "rejected"),
    ],
)
async def test_every_status(code: str, status: str, both: Callable[..., Evaluator]) -> None:
    one = both(seconds=1.0)
    assert (await one.evaluate(code)).status == status
    assert (await one.evaluate(SQUARE)).objective == 0.0


async def test_a_hanging_candidate_holds_up_nobody(both: Callable[..., Evaluator]) -> None:
    one = both(seconds=3.0)
    await asyncio.gather(*(one.evaluate(SQUARE) for _ in range(4)))
    loop = asyncio.get_running_loop()
    hanging = asyncio.create_task(one.evaluate("def f(x):\n    while True: pass"))
    await asyncio.sleep(0.2)
    started, late = loop.time(), 0.0
    for _ in range(10):
        before = loop.time()
        assert (await one.evaluate(SQUARE)).objective == 0.0
        await asyncio.sleep(0.01)
        late = max(late, loop.time() - before)
    assert loop.time() - started < 2.0
    assert not hanging.done()
    seen = await hanging
    assert seen.status == "timeout" and 3.0 <= seen.seconds < 3.6


async def test_cancelling_frees_the_worker_at_once(both: Callable[..., Evaluator]) -> None:
    one = both(seconds=30.0)
    await one.evaluate(SQUARE)
    hanging = [asyncio.create_task(one.evaluate("def f(x):\n    while True: pass")) for _ in range(2)]
    await asyncio.sleep(0.5)
    for task in hanging:
        task.cancel()
    results = await asyncio.gather(*hanging, return_exceptions=True)
    assert all(isinstance(one, asyncio.CancelledError) for one in results)
    async with asyncio.timeout(5):
        assert (await one.evaluate(SQUARE)).objective == 0.0


async def test_closing_returns_what_is_under_way_as_cancelled(both: Callable[..., Evaluator]) -> None:
    one = both(seconds=30.0)
    await one.evaluate(SQUARE)
    waiting = [asyncio.create_task(one.evaluate("def f(x):\n    while True: pass")) for _ in range(4)]
    await asyncio.sleep(0.3)
    async with asyncio.timeout(8):
        await one.close()
        seen = await asyncio.gather(*waiting)
    assert {each.status for each in seen} == {"cancelled"}
    assert (await one.evaluate(SQUARE)).status == "cancelled"


async def test_isolation_is_told(both: Callable[..., Evaluator]) -> None:
    assert (await both().isolation()).warning is None


async def test_unknown_sets_and_broken_problems(both: Callable[..., Evaluator]) -> None:
    with pytest.raises(NotFound, match="'nowhere'"):
        await both().evaluate(SQUARE, instances="nowhere")
    with pytest.raises(UsageError, match=r"evaluate\.py, line 3: ZeroDivisionError"):
        await both(evaluate="\n\n1 / 0\ndef evaluate(h, i): return 1").evaluate(SQUARE)
    with pytest.raises(UsageError, match=r"train\.json"):
        await both(data={"wrong": 1}).evaluate(SQUARE)


async def test_two_studies_at_once(both: Callable[..., Evaluator]) -> None:
    first, second = both(), both(data=instances(4))
    one, two = await asyncio.gather(first.evaluate(SQUARE), second.evaluate(SQUARE))
    assert (len(one.per_instance), len(two.per_instance)) == (3, 4)
    await first.close()
    assert (await second.evaluate(SQUARE)).status == "valid"


OFF_BY = "def f(x): return x * x + {}"  # costs 3 * that on each of the three instances; the objective is the mean


async def test_what_cannot_enter_is_cut(both: Callable[..., Evaluator]) -> None:
    one = both()
    full = await one.evaluate(OFF_BY.format(2))
    assert (full.objective, full.per_instance, full.stage) == (6.0, (6.0, 6.0, 6.0), "full")
    cut = await one.evaluate(OFF_BY.format(2), cut_above=3.9)
    assert (cut.status, cut.stage, cut.objective, cut.per_instance) == ("valid", "cut", None, (6.0, 6.0, None))
    for limit in (4.0, 5.0, 6.0, 7.0):
        # 5.0 is passed by the third instance only: then the whole is known and is told.
        seen = await one.evaluate(OFF_BY.format(2), cut_above=limit)
        assert (seen.stage, seen.objective) == ("full", 6.0), limit


async def test_a_tie_by_another_order_of_sums_is_not_cut(evaluator: MakeEvaluator) -> None:
    one = evaluator()
    exact = (await one.evaluate(OFF_BY.format(0.1))).objective
    assert exact is not None
    assert (await one.evaluate(OFF_BY.format(0.1), cut_above=exact - 1e-12)).stage == "full"


async def test_maximising_cuts_below(evaluator: MakeEvaluator) -> None:
    code = (
        "def solve(h, v): return h(v['xs'][0])\ndef measure(s, i): return float(s)\n"
        "def partial_bound(values, instances): return (sum(values) + 10 * (len(instances) - len(values))) / len(instances)\n"
    )
    one = evaluator(evaluate=code, direction="max")
    assert (await one.evaluate("def f(x): return 1", cut_above=8.0)).per_instance == (1.0, None, None)
    assert (await one.evaluate("def f(x): return 9", cut_above=8.0)).objective == 9.0


async def test_without_a_scheduler(tmp_path: Path) -> None:
    one = dask_evaluator(write_problem(tmp_path / "p"), scheduler="tcp://127.0.0.1:9")
    import logician_graph.eoh.evaluator.dask_pool as module

    module._CONNECT_TIMEOUT_S = 1  # type: ignore[misc]
    with pytest.raises(SettingsError, match="no Dask scheduler answers"):
        await one.evaluate(SQUARE)
    await one.close()


def test_imports_that_cannot_be_offered(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'os'"):
        spec_of(write_problem(tmp_path / "p", imports=("numpy", "os")))
